"""Nearest neighbours among more vectors than one machine compares: with an index of faiss, or on several machines."""

from collections.abc import Callable
from importlib.util import find_spec
from itertools import product

import numpy as np
import torch
from torch import Tensor

from isoglot.core.checks import missing_package
from isoglot.modules.neighbours import Neighbours, enter_candidates, nearest_both_ways, none_found
from isoglot.runs.pool import WorkPool

_PART = 1 << 23
"""Floats of each side in one piece of work, 34 MB: a core takes seconds for it."""
_PACKAGES = {"faiss": "faiss-cpu", "ray": "ray"}
"""The package that each value of the option ``search`` needs."""


def require_package(search: str) -> None:
    """Refuse a value of ``search`` whose package is not installed, before the vectors are made."""
    if search in _PACKAGES and find_spec(search) is None:
        # [[…]] is an option, shown as Python or as the command line spells it (core/named_options.py).
        raise missing_package(f"[[search='{search}']]", _PACKAGES[search], instead="[[search='exact']]")


def by_parts(
    first: Tensor,
    second: Tensor,
    count: int,
    pool: WorkPool,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Neighbours, Neighbours]:
    """Do the work of :func:`nearest_both_ways` in pieces: each compares a part of one set with a part of the other.

    The workers of ``pool`` get both parts of a piece. Similarities may differ in the last digit from those of one
    machine, because products of other sizes are rounded differently.

    **Shape**: unit vectors (n, hidden) and (m, hidden); neighbours (n, count) and (m, count), or fewer columns where
    the other set has fewer vectors.
    """
    forward, backward = none_found(first, second, count), none_found(second, first, count)
    size = max(1, _PART // first.shape[1])
    starts = list(product(range(0, len(first), size), range(0, len(second), size)))
    # Clones: a view of a large tensor would be sent with all of it.
    pieces = ((first[i : i + size].clone(), second[j : j + size].clone(), count) for i, j in starts)
    results = pool.map(_search_piece, pieces)
    for done, ((i, j), (forward_part, backward_part)) in enumerate(zip(starts, results, strict=True), 1):
        _enter_part(forward, forward_part, first_row=i, first_column=j)
        _enter_part(backward, backward_part, first_row=j, first_column=i)
        if progress is not None:
            progress(done, len(starts))
    return forward, backward


def _search_piece(piece: tuple[Tensor, Tensor, int]) -> tuple[Neighbours, Neighbours]:
    """Search one piece, in a worker: a part of each set, and the number of neighbours."""
    return nearest_both_ways(*piece)


def _enter_part(nearest: Neighbours, part: Neighbours, *, first_row: int, first_column: int) -> None:
    """Enter the neighbours of a part of the queries in a part of the keys into ``nearest``, in place.

    ``first_row``, ``first_column``: the number of the part's first query among all, and of its first key.
    """
    rows = slice(first_row, first_row + len(part.numbers))
    enter_candidates(nearest, rows, part.similarities, part.numbers + first_column)


def by_faiss(queries: Tensor, keys: Tensor, count: int, *, probes: int | None = None) -> Neighbours:
    """Find near keys with an inverted index of faiss, which may miss some of the nearest.

    The index sorts the keys into lists around learnt centres; a query is compared with the keys of the ``probes`` lists
    whose centres are nearest to it. By default a 32nd of the lists, but at least 32.
    """
    import faiss  # noqa: PLC0415 - an extra

    # faiss asks for 39 vectors to learn the centre of a list from.
    lists = max(1, min(int(2 * len(keys) ** 0.5), len(keys) // 39))
    centres = faiss.IndexFlatIP(keys.shape[1])
    index = faiss.IndexIVFFlat(centres, keys.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
    index.train(keys.numpy())
    index.add(keys.numpy())
    index.nprobe = min(lists, probes or max(32, lists // 32))
    similarities, numbers = index.search(queries.numpy(), min(count, len(keys)))
    # Where the lists of a query hold fewer keys than asked for, the nearest key fills the other places.
    missing = numbers < 0
    similarities = np.where(missing, similarities[:, :1], similarities)
    numbers = np.where(missing, numbers[:, :1], numbers)
    return Neighbours(torch.from_numpy(similarities), torch.from_numpy(numbers))
