"""Nearest neighbours between two sets of vectors: cosine, CSLS and the ratio margin, in blocks.

With k-nearest-neighbour means ``r(x) = mean cos(x, its k nearest y)`` and ``r(y)`` likewise,

    csls(x, y)   = 2 cos(x, y) − r(x) − r(y)
    margin(x, y) = cos(x, y) / ((r(x) + r(y)) / 2)

Source: Conneau et al. 2018 (CSLS, k = 10); Artetxe and Schwenk 2019 (ratio margin, k = 4).
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from isoglot.errors import ConfigurationError

SIMILARITIES = ("cosine", "csls", "margin")
NEIGHBOURS = {"csls": 10, "margin": 4}
"""Usual numbers of neighbours in the means."""

_BLOCK = 1024


def unit(vectors: Tensor) -> Tensor:
    """Vectors of length 1 in float32; a null vector stays null. **Shape**: (n, hidden)."""
    return torch.nn.functional.normalize(vectors.float(), dim=-1)


def similarity_blocks(
    queries: Tensor,
    keys: Tensor,
    *,
    similarity: str = "cosine",
    neighbours: int | None = None,
    others: Tensor | None = None,
) -> Iterator[tuple[int, Tensor]]:
    """Similarities of all queries to all keys, some rows at a time: the number of the first query and its block.

    ``others``: vectors of the queries' language among which the keys' neighbours are; by default the queries.

    **Shape**: queries (n, hidden), keys (m, hidden) and others (o, hidden), all unit vectors; blocks (rows, m).
    """
    if similarity not in SIMILARITIES:
        raise ConfigurationError(f"similarity {similarity!r} given; it is one of {', '.join(SIMILARITIES)}")
    k = neighbours or NEIGHBOURS.get(similarity, 1)
    if similarity != "cosine":
        own = _neighbour_means(queries, keys, k)
        other = _neighbour_means(keys, queries if others is None else others, k)
    for start in range(0, len(queries), _BLOCK):
        cosine = queries[start : start + _BLOCK] @ keys.T
        if similarity == "csls":
            cosine = 2 * cosine - own[start : start + _BLOCK, None] - other[None]
        elif similarity == "margin":
            means = (own[start : start + _BLOCK, None] + other[None]) / 2
            cosine = cosine / means.clamp(min=1e-9)
        yield start, cosine


def gold_ranks(queries: Tensor, keys: Tensor, *, similarity: str = "cosine") -> tuple[Tensor, Tensor]:
    """Rank of key i for query i (1 the best; of equal keys the first is nearer), and the best key of each query."""
    ranks, best = [], []
    for start, block in similarity_blocks(queries, keys, similarity=similarity):
        gold = torch.arange(start, start + len(block), device=block.device)
        value = block.gather(1, gold[:, None])
        before = torch.arange(block.shape[1], device=block.device)[None] < gold[:, None]
        ranks.append(1 + ((block > value) | ((block == value) & before)).sum(1))
        best.append(block.argmax(1))
    return torch.cat(ranks), torch.cat(best)


def top_neighbours(
    queries: Tensor, keys: Tensor, count: int, *, similarity: str = "cosine", others: Tensor | None = None
) -> Tensor:
    """The nearest keys of each query, best first; see :func:`similarity_blocks`. **Shape**: (n, count)."""
    blocks = similarity_blocks(queries, keys, similarity=similarity, others=others)
    return torch.cat([block.topk(min(count, block.shape[1]), dim=1).indices for _, block in blocks])


def _neighbour_means(queries: Tensor, keys: Tensor, k: int) -> Tensor:
    parts = [
        (queries[start : start + _BLOCK] @ keys.T).topk(min(k, len(keys)), dim=1).values.mean(1)
        for start in range(0, len(queries), _BLOCK)
    ]
    return torch.cat(parts)
