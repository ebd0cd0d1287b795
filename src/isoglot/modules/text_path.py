"""Long texts side by side: the path along which they translate each other, and similarities that fall off beside it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from isoglot.modules.extraction import softmax_probabilities

_LIKELY = 0.5
"""Least probability of the links that the path is laid through."""
_WIDTH = 16.0
"""Pieces beside the path at which a similarity loses 1, and four times as much at twice the distance."""
_IN_ORDER = 0.7
"""Share of the likely links that must stand near the path; else the texts are in another order, and nothing is lost."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def near_path(scores: Tensor, mask: Tensor, *, longer_than: int) -> Tensor:
    r"""Scores of long pairs less a penalty for the distance to their path; those of all others as they are.

    .. math:: S'_{ij} = S_{ij} - \left(\frac{\min(|j - f(i)|, |i - g(j)|)}{16}\right)^2

    A softmax over a long row divides its weight among many words, and a word that occurs again and again in the text
    is as similar each time. The path is the heaviest chain of likely links, increasing on both sides; f and g
    interpolate between them. It holds for a text whose sentences are in the order of its translation; where the likely
    links say otherwise, the scores stay.

    ``longer_than``: pieces of the longer side from which a pair is long.

    **Shape**: scores to be exponentiated, and mask (batch, n, m) -> (batch, n, m).
    """
    sizes = torch.stack([mask.any(2).sum(1), mask.any(1).sum(1)], dim=1).tolist()
    long = [pair for pair, size in enumerate(sizes) if max(size) > longer_than and min(size) > 0]
    if not long:
        return scores
    scores = scores.clone()
    for pair in long:
        n, m = sizes[pair]
        part = scores[pair, :n, :m]
        part -= _penalty(part[None], torch.ones_like(part, dtype=torch.bool)[None]).to(part)
    return scores


def _penalty(scores: Tensor, mask: Tensor) -> Tensor:
    """(n, m), of one pair without padding."""
    forward, backward = softmax_probabilities(scores, mask)
    probability = (forward * backward).sqrt()[0]
    i, j = (probability > _LIKELY).nonzero().T
    weight = probability[i, j].double().cpu().numpy()
    rows, columns = i.cpu().numpy(), j.cpu().numpy()
    n, m = probability.shape
    chosen = heaviest_chain(rows, columns, weight)
    on_rows, on_columns = np.r_[-1, rows[chosen], n], np.r_[-1, columns[chosen], m]
    column_of = np.interp(np.arange(n), on_rows, on_columns)
    row_of = np.interp(np.arange(m), on_columns, on_rows)
    near = np.minimum(np.abs(columns - column_of[rows]), np.abs(rows - row_of[columns])) <= 2 * _WIDTH
    if weight[near].sum() < _IN_ORDER * weight.sum():
        return torch.zeros_like(probability)
    beside, above = (torch.from_numpy(path).to(probability) for path in (column_of, row_of))
    across = (torch.arange(m, device=scores.device)[None] - beside[:, None]).abs()
    along = (torch.arange(n, device=scores.device)[:, None] - above[None]).abs()
    return (torch.minimum(across, along) / _WIDTH) ** 2


def heaviest_chain(rows: Ints, columns: Ints, weight: Floats) -> Ints:
    """Points of the largest total weight of which each has a larger row and column than the one before.

    Example:
        >>> heaviest_chain(np.array([0, 1, 2, 3]), np.array([5, 0, 1, 1]), np.ones(4)).tolist()
        [1, 2]
    """
    # best[c]: the heaviest chain so far that ends before column c, and its last point.
    best, last = np.zeros(int(columns.max(initial=-1)) + 2), np.full(int(columns.max(initial=-1)) + 2, -1)
    before = np.full(len(rows), -1)
    for point in np.lexsort((-columns, rows)).tolist():  # no two points of a row in a chain
        column = int(columns[point])
        total, before[point] = best[column] + weight[point], last[column]
        heavier = slice(column + 1, column + 1 + int(np.searchsorted(best[column + 1 :], total)))
        best[heavier], last[heavier] = total, point
    chain, point = [], int(last[-1])
    while point >= 0:
        chain.append(point)
        point = int(before[point])
    return np.array(chain[::-1], np.int64)
