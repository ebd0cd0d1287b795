"""Nearest neighbours between two sets of vectors: cosine, CSLS and the ratio margin, in blocks.

A vector that is near to everything (a hub) has a high *neighbour mean*, r(x) = the mean cosine of x to its k nearest
vectors of the other set. CSLS and the margin compare a cosine with the neighbour means of both vectors:

    csls(x, y)   = 2 cos(x, y) − r(x) − r(y)
    margin(x, y) = cos(x, y) / m                      with m = (r(x) + r(y)) / 2, if m ≥ 0.1
                 = 1 + (cos(x, y) − m) / 0.1          else

The second line of the margin is not in the paper: centred vectors can have a mean near or below 0, and a ratio to such
a mean says nothing. At m = 0.1 both lines are equal, and both are 1 where a pair is as near as its neighbours.

Source: Conneau et al. 2018 (CSLS, k = 10); Artetxe and Schwenk 2019 (ratio margin, k = 4).
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from isoglot.core.errors import ConfigurationError

SIMILARITIES = ("cosine", "csls", "margin")
NEIGHBOURS = {"csls": 10, "margin": 4}
"""Default k of the neighbour means."""

_LEAST_MEAN = 0.1
"""Below this m the margin is a difference."""
_BLOCK = 1024
"""Queries that are compared with all keys at a time."""
_SEARCH_ROWS, _SEARCH_COLUMNS = 2048, 8192
"""Size of the blocks of a search on a CPU: 64 MB in float32."""
_TIMES_ROWS = 16
"""On a GPU a block has this many times as many rows, 1 GB: each block of rows copies all columns to the GPU again."""


class Neighbours(NamedTuple):
    """The nearest vectors of each query, best first; of equally near ones the first. **Shape**: (n, count).

    While a search runs, places that are still free have the similarity −∞ and the number −1.
    """

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
    """Compare all queries with all keys, a block of queries at a time.

    ``neighbours``: k; by default as in :data:`NEIGHBOURS`.
    ``reference``: the vectors in which the neighbours of keys are looked for, in the queries' language; by default the
    queries. With few queries, give more sentences of their language.

    Yields:
        The number of the block's first query, and its similarities.

    **Shape**: queries (n, hidden), keys (m, hidden) and reference (o, hidden), all unit vectors; blocks (rows, m).
    """
    if similarity not in SIMILARITIES:
        raise ConfigurationError(f"unknown similarity {similarity!r}; known: {', '.join(SIMILARITIES)}")
    k = neighbours or NEIGHBOURS.get(similarity, 1)
    query_mean = key_mean = torch.zeros(0)
    if similarity != "cosine":
        query_mean = _neighbour_means(queries, keys, k)
        key_mean = _neighbour_means(keys, queries if reference is None else reference, k)
    for start in range(0, len(queries), _BLOCK):
        rows = slice(start, start + _BLOCK)
        cosine = queries[rows] @ keys.T
        yield start, compared(cosine, query_mean[rows, None], key_mean[None], similarity=similarity)


def compared(cosine: Tensor, query_mean: Tensor, key_mean: Tensor, *, similarity: str) -> Tensor:
    """Compute a similarity from cosines and the neighbour means of both sides.

    With ``similarity="cosine"`` the cosines are returned unchanged, and the means are not read.
    """
    if similarity == "csls":
        return 2 * cosine - query_mean - key_mean
    if similarity == "margin":
        mean = (query_mean + key_mean) / 2
        ratio = cosine / mean.clamp(min=_LEAST_MEAN)
        # Below the least mean `ratio` is cos / 0.1, and 1 + (cos − m) / 0.1 is that plus 1 − m / 0.1.
        return torch.where(mean < _LEAST_MEAN, ratio + 1 - mean / _LEAST_MEAN, ratio)
    return cosine


def gold_ranks(queries: Tensor, keys: Tensor, *, similarity: str = "cosine") -> tuple[Tensor, Tensor]:
    """Rank key i among all keys of query i, and find the best key of each query.

    1. The rank of the best key is 1.
    2. Of keys that are equally near, the first is nearer.
    3. A null vector is near to nothing: if key i or query i is null, the rank is ``len(keys) + 1``.
    4. A null query has the best key −1.
    """
    ranks, best = [], []
    null_queries, null_keys = ~queries.any(1), ~keys.any(1)
    for start, block in similarity_blocks(queries, keys, similarity=similarity):
        block[null_queries[start : start + len(block)]] = -torch.inf
        block[:, null_keys] = -torch.inf
        gold = torch.arange(start, start + len(block), device=block.device)
        similarity_of_gold = block.gather(1, gold[:, None])
        before_gold = torch.arange(block.shape[1], device=block.device)[None] < gold[:, None]
        nearer = (block > similarity_of_gold) | ((block == similarity_of_gold) & before_gold)  # 2
        rank = 1 + nearer.sum(1)  # 1
        ranks.append(rank.masked_fill(similarity_of_gold[:, 0] == -torch.inf, len(keys) + 1))  # 3
        # argmax takes the first of equal maxima (2).
        best.append(block.argmax(1).masked_fill(block.amax(1) == -torch.inf, -1))  # 4
    return torch.cat(ranks), torch.cat(best)


def top_neighbours(
    queries: Tensor, keys: Tensor, count: int, *, similarity: str = "cosine", reference: Tensor | None = None
) -> Tensor:
    """The numbers of each query's nearest keys, best first; equally near keys stand in no fixed order.

    Arguments as of :func:`similarity_blocks`. **Shape**: (n, count).
    """
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
    """Find the nearest vectors of each set in the other by cosine: exactly, from one product of the sets, in blocks.

    Either set may be mapped from a file: only the results and some blocks are in memory.

    ``device``: where blocks are multiplied, and where the results are; by default the device of ``first``.
    ``progress``: called with the number of vectors of ``first`` that are done, and of all.

    Example:
        >>> one, other = torch.eye(3), torch.eye(3)[[2, 0, 1]]
        >>> [found.numbers[:, 0].tolist() for found in nearest_both_ways(one, other, 2)]
        [[1, 2, 0], [2, 0, 1]]

    **Shape**: unit vectors (n, hidden) and (m, hidden); neighbours (n, count) and (m, count), or fewer columns where
    the other set has fewer vectors.
    """
    device = device or first.device
    forward = none_found(first, second, count, device)
    backward = none_found(second, first, count, device)
    step = _SEARCH_ROWS * (1 if device.type == "cpu" else _TIMES_ROWS)
    for row in range(0, len(first), step):
        rows = first[row : row + step].to(device)
        for column in range(0, len(second), _SEARCH_COLUMNS):
            # One block serves both directions: its rows look among its columns, its columns among its rows.
            block = rows @ second[column : column + _SEARCH_COLUMNS].to(device).T
            _enter_block(forward, block, first_row=row, first_column=column)
            _enter_block(backward, block.T, first_row=column, first_column=row)
        if progress is not None:
            progress(min(row + step, len(first)), len(first))
    return forward, backward


def none_found(queries: Tensor, keys: Tensor, count: int, device: torch.device | None = None) -> Neighbours:
    """The neighbours of each query before a search: all places are free."""
    shape = len(queries), min(count, len(keys))
    numbers = torch.full(shape, -1, dtype=torch.long, device=device)
    return Neighbours(torch.full(shape, -torch.inf, device=device), numbers)


def _enter_block(nearest: Neighbours, block: Tensor, *, first_row: int, first_column: int) -> None:
    """Enter the nearest columns of a block of similarities into ``nearest``, in place.

    ``first_row``, ``first_column``: the numbers of the block's first row and column in the whole matrix.
    """
    count = nearest.numbers.shape[1]
    rows: slice | Tensor = slice(first_row, first_row + len(block))
    # Late in a search, most rows of a block have nothing nearer than what was found before. If fewer than half of the
    # rows have, only those are copied and searched.
    better = (block.amax(1) > nearest.similarities[rows, -1]).nonzero()[:, 0]
    if 2 * len(better) < len(block):
        rows, block = better + first_row, block[better]
    block = block.contiguous()
    similarities, columns = block.topk(min(count + 1, block.shape[1]), dim=1)
    # Of equally near columns topk takes any. That is wrong where the last place and the next column are tied, so one
    # column more than `count` is read to see it. A stable sort of such rows, which are few, takes the first column.
    if similarities.shape[1] > count:
        tied = (similarities[:, count - 1] == similarities[:, count]).nonzero()[:, 0]
        if len(tied):
            exact = block[tied].sort(dim=1, descending=True, stable=True)
            similarities[tied] = exact.values[:, : count + 1]
            columns[tied] = exact.indices[:, : count + 1]
    enter_candidates(nearest, rows, similarities, columns + first_column)


def enter_candidates(
    nearest: Neighbours, rows: slice | Tensor, similarities: Tensor, numbers: Tensor
) -> None:
    """Enter candidates of some rows into ``nearest``, in place; of equally near ones the first is kept.

    A row with the neighbours 4 (0.9) and 2 (0.5) and the candidates 7 (0.8) and 1 (0.5) then has 4 and 7.

    ``similarities``, ``numbers``: the candidates of each row, (rows, candidates).
    """
    count = nearest.numbers.shape[1]
    similarities = torch.cat([nearest.similarities[rows], similarities], 1)
    numbers = torch.cat([nearest.numbers[rows], numbers], 1)
    # By number, then stably by similarity: equally near ones stay in the order of their numbers.
    numbers, by_number = numbers.sort(dim=1)
    similarities = similarities.gather(1, by_number)
    similarities, by_similarity = similarities.sort(dim=1, descending=True, stable=True)
    nearest.similarities[rows] = similarities[:, :count]
    nearest.numbers[rows] = numbers.gather(1, by_similarity)[:, :count]


def _neighbour_means(queries: Tensor, keys: Tensor, k: int) -> Tensor:
    """The neighbour mean of each query: its mean cosine to its k nearest keys, (n,)."""
    means = []
    for start in range(0, len(queries), _BLOCK):
        cosine = queries[start : start + _BLOCK] @ keys.T
        nearest = cosine.topk(min(k, len(keys)), dim=1).values
        means.append(nearest.mean(1))
    return torch.cat(means)
