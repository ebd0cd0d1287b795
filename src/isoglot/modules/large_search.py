"""Nearest neighbours among more vectors than one machine compares: an index of faiss, or parts on several machines."""

from collections.abc import Callable
from importlib.util import find_spec
from itertools import product

import numpy as np
import torch
from torch import Tensor

from isoglot.core.checks import missing_package
from isoglot.modules.neighbours import Neighbours, keep_nearest, nearest_both_ways, none_found
from isoglot.runs.pool import WorkPool

_PART = 1 << 23
"""Numbers of each side in a piece of work, 34 MB: seconds of a core."""
_PACKAGES = {"faiss": "faiss-cpu", "ray": "ray"}
"""What a way to search is installed as."""


def require_package(search: str) -> None:
    """Refuse a way to search whose package is not there, before the vectors are made."""
    if search in _PACKAGES and find_spec(search) is None:
        raise missing_package(f"[[search='{search}']]", _PACKAGES[search], instead="[[search='exact']]")


def by_parts(
    first: Tensor,
    second: Tensor,
    count: int,
    pool: WorkPool,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Neighbours, Neighbours]:
    """As :func:`nearest_both_ways`, a part of both sets at a time, which a pool's workers are sent.

    Similarities may differ in the last digit, as products of other sizes do.

    **Shape**: unit vectors (n, hidden) and (m, hidden); neighbours (n, count) and (m, count), or fewer columns where
    the other set has fewer vectors.
    """
    forward, backward = none_found(first, second, count), none_found(second, first, count)
    size = max(1, _PART // first.shape[1])
    starts = list(product(range(0, len(first), size), range(0, len(second), size)))
    pieces = ((first[i : i + size].clone(), second[j : j + size].clone(), count) for i, j in starts)
    for done, ((i, j), (there, back)) in enumerate(zip(starts, pool.map(_piece, pieces), strict=True), 1):
        for nearest, block, row, column in ((forward, there, i, j), (backward, back, j, i)):
            rows = slice(row, row + len(block.numbers))
            keep_nearest(nearest, rows, block.similarities, block.numbers + column)
        if progress is not None:
            progress(done, len(starts))
    return forward, backward


def _piece(sides: tuple[Tensor, Tensor, int]) -> tuple[Neighbours, Neighbours]:
    return nearest_both_ways(*sides)


def by_faiss(queries: Tensor, keys: Tensor, count: int, *, probes: int | None = None) -> Neighbours:
    """The nearest keys that an inverted index of faiss finds in the ``probes`` lists nearest to each query."""
    import faiss  # noqa: PLC0415 - an extra

    # faiss asks for 39 vectors to learn a list from
    lists = max(1, min(int(2 * len(keys) ** 0.5), len(keys) // 39))
    centres = faiss.IndexFlatIP(keys.shape[1])
    index = faiss.IndexIVFFlat(centres, keys.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
    index.train(keys.numpy())
    index.add(keys.numpy())
    index.nprobe = min(lists, probes or max(32, lists // 32))
    similarities, numbers = index.search(queries.numpy(), min(count, len(keys)))
    short = numbers < 0  # where the lists that were searched hold too few, the nearest counts again
    similarities, numbers = (np.where(short, part[:, :1], part) for part in (similarities, numbers))
    return Neighbours(torch.from_numpy(similarities), torch.from_numpy(numbers))
