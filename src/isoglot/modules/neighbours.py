"""Nearest neighbours between two sets of vectors: cosine, CSLS and the ratio margin, in blocks.

With k-nearest-neighbour means ``r(x) = mean cos(x, its k nearest y)`` and ``r(y)`` likewise,

    csls(x, y)   = 2 cos(x, y) − r(x) − r(y)
    margin(x, y) = cos(x, y) / m                      with m = (r(x) + r(y)) / 2, if m ≥ 0.1
                 = 1 + (cos(x, y) − m) / 0.1          else

A ratio to a mean about or below 0 says nothing, as vectors that are centred have it; there the margin goes on as the
difference, which meets the ratio at m = 0.1 and is 1 too where a pair is as near as its neighbours.

Source: Conneau et al. 2018 (CSLS, k = 10); Artetxe and Schwenk 2019 (ratio margin, k = 4).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from isoglot.core.errors import ConfigurationError

SIMILARITIES = ("cosine", "csls", "margin")
NEIGHBOURS = {"csls": 10, "margin": 4}
"""Usual numbers of neighbours in the means."""

_LEAST_MEAN = 0.1
"""Mean cosine of neighbours below which the margin is a difference."""
_BLOCK = 1024
_SEARCH_ROWS, _SEARCH_COLUMNS = 2048, 8192
"""Similarities that a search on a CPU holds at a time: 64 MB in float32."""
_TIMES_ROWS = 16
"""On a GPU so many times as many rows, as each block of rows brings all the columns there: 1 GB."""


class Neighbours(NamedTuple):
    """The nearest vectors of each query, best first; of equally near ones the first. **Shape**: (n, count)."""

    similarities: Tensor
    numbers: Tensor


def unit(vectors: Tensor) -> Tensor:
    """Vectors of length 1 in float32; a null vector stays null. **Shape**: (n, hidden)."""
    return torch.nn.functional.normalize(vectors.float(), dim=-1)


def similarity_blocks(
    queries: Tensor,
    keys: Tensor,
    *,
    similarity: str = "cosine",
    neighbours: int | None = None,
    reference: Tensor | None = None,
) -> Iterator[tuple[int, Tensor]]:
    """Similarities of all queries to all keys, some rows at a time: the number of the first query and its block.

    ``reference``: vectors of the queries' language among which the keys' neighbours are; by default the queries.

    **Shape**: queries (n, hidden), keys (m, hidden) and others (o, hidden), all unit vectors; blocks (rows, m).
    """
    if similarity not in SIMILARITIES:
        raise ConfigurationError(f"unknown similarity {similarity!r}; known: {', '.join(SIMILARITIES)}")
    k = neighbours or NEIGHBOURS.get(similarity, 1)
    query_mean = key_mean = torch.zeros(0)
    if similarity != "cosine":
        query_mean = _neighbour_means(queries, keys, k)
        key_mean = _neighbour_means(keys, queries if reference is None else reference, k)
    for start in range(0, len(queries), _BLOCK):
        cosine = queries[start : start + _BLOCK] @ keys.T
        yield (
            start,
            compared(cosine, query_mean[start : start + _BLOCK, None], key_mean[None], similarity=similarity),
        )


def compared(cosine: Tensor, query_mean: Tensor, key_mean: Tensor, *, similarity: str) -> Tensor:
    """A similarity from cosines and the neighbour means of both sides, which ``cosine`` does not read."""
    if similarity == "csls":
        return 2 * cosine - query_mean - key_mean
    if similarity == "margin":
        mean = (query_mean + key_mean) / 2
        ratio = cosine / mean.clamp(min=_LEAST_MEAN)
        return torch.where(mean < _LEAST_MEAN, ratio + 1 - mean / _LEAST_MEAN, ratio)
    return cosine


def gold_ranks(queries: Tensor, keys: Tensor, *, similarity: str = "cosine") -> tuple[Tensor, Tensor]:
    """Rank of key i for query i (1 the best; of equal keys the first is nearer), and the best key of each query.

    A null vector is near to nothing: its rank is behind all keys, and as a query it has the best key −1.
    """
    ranks, best = [], []
    null = ~queries.any(1), ~keys.any(1)
    for start, block in similarity_blocks(queries, keys, similarity=similarity):
        null_rows = null[0][start : start + len(block)]
        block[null_rows] = -torch.inf
        block[:, null[1]] = -torch.inf
        gold = torch.arange(start, start + len(block), device=block.device)
        value = block.gather(1, gold[:, None])
        before = torch.arange(block.shape[1], device=block.device)[None] < gold[:, None]
        rank = 1 + ((block > value) | ((block == value) & before)).sum(1)
        ranks.append(rank.masked_fill(value[:, 0] == -torch.inf, len(keys) + 1))
        best.append(block.argmax(1).masked_fill(block.amax(1) == -torch.inf, -1))
    return torch.cat(ranks), torch.cat(best)


def top_neighbours(
    queries: Tensor, keys: Tensor, count: int, *, similarity: str = "cosine", reference: Tensor | None = None
) -> Tensor:
    """The nearest keys of each query, best first; see :func:`similarity_blocks`. **Shape**: (n, count)."""
    blocks = similarity_blocks(queries, keys, similarity=similarity, reference=reference)
    return torch.cat([block.topk(min(count, block.shape[1]), dim=1).indices for _, block in blocks])


def nearest_both_ways(
    first: Tensor,
    second: Tensor,
    count: int,
    *,
    device: torch.device | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Neighbours, Neighbours]:
    """The nearest vectors of each set in the other by cosine, exactly, from one product of them in blocks.

    Either set may be mapped from a file: besides the results only some blocks are in memory. ``device``: Where they are
    multiplied and the results are; by default where ``first`` is.

    Example:
        >>> one, other = torch.eye(3), torch.eye(3)[[2, 0, 1]]
        >>> [found.numbers[:, 0].tolist() for found in nearest_both_ways(one, other, 2)]
        [[1, 2, 0], [2, 0, 1]]

    **Shape**: unit vectors (n, hidden) and (m, hidden); neighbours (n, count) and (m, count), or fewer columns where
    the other set has fewer vectors.
    """
    device = device or first.device
    forward, backward = (none_found(*sides, count, device) for sides in ((first, second), (second, first)))
    step = _SEARCH_ROWS * (1 if device.type == "cpu" else _TIMES_ROWS)
    for start in range(0, len(first), step):
        rows = first[start : start + step].to(device)
        for column in range(0, len(second), _SEARCH_COLUMNS):
            block = rows @ second[column : column + _SEARCH_COLUMNS].to(device).T
            _improve(forward, start, block, column)
            _improve(backward, column, block.T, start)
        if progress is not None:
            progress(min(start + step, len(first)), len(first))
    return forward, backward


def none_found(queries: Tensor, keys: Tensor, count: int, device: torch.device | None = None) -> Neighbours:
    """Room for the neighbours of each vector of a set in another set."""
    shape = len(queries), min(count, len(keys))
    numbers = torch.full(shape, -1, dtype=torch.long, device=device)
    return Neighbours(torch.full(shape, -torch.inf, device=device), numbers)


def _improve(nearest: Neighbours, start: int, block: Tensor, first: int) -> None:
    """Let the columns of a block, which are numbered from ``first``, compete with what its rows have found."""
    count = nearest.numbers.shape[1]
    rows: slice | Tensor = slice(start, start + len(block))
    # late in a search most rows have found nearer ones before; the others are copied only where they are few
    better = (block.amax(1) > nearest.similarities[rows, -1]).nonzero()[:, 0]
    if 2 * len(better) < len(block):
        rows, block = better + start, block[better]
    block = block.contiguous()
    values, numbers = block.topk(min(count + 1, block.shape[1]), dim=1)
    # of equal ones at the border topk takes any; in such rows, which are few, a stable sort takes the first
    full = values.shape[1] > count
    if full and len(tied := (values[:, count - 1] == values[:, count]).nonzero()[:, 0]):
        exact = block[tied].sort(dim=1, descending=True, stable=True)
        values[tied], numbers[tied] = (part[:, : count + 1] for part in exact)
    keep_nearest(nearest, rows, values, numbers + first)


def keep_nearest(nearest: Neighbours, rows: slice | Tensor, values: Tensor, numbers: Tensor) -> None:
    """Let others compete with what some rows have found, in place; of equally near ones the first is kept."""
    count = nearest.numbers.shape[1]
    values = torch.cat([nearest.similarities[rows], values], 1)
    numbers, by_number = torch.cat([nearest.numbers[rows], numbers], 1).sort(dim=1)
    values, order = values.gather(1, by_number).sort(dim=1, descending=True, stable=True)
    nearest.similarities[rows] = values[:, :count]
    nearest.numbers[rows] = numbers.gather(1, order)[:, :count]


def _neighbour_means(queries: Tensor, keys: Tensor, k: int) -> Tensor:
    parts = [
        (queries[start : start + _BLOCK] @ keys.T).topk(min(k, len(keys)), dim=1).values.mean(1)
        for start in range(0, len(queries), _BLOCK)
    ]
    return torch.cat(parts)
