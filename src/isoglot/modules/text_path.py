"""Long texts side by side: the path along which they translate each other, and similarities that fall off beside it."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from isoglot.modules.extraction import softmax_probabilities

_LIKELY = 0.5
"""The path runs through links above this probability (the geometric mean of both directions)."""
_WIDTH = 16.0
"""Distance from the path, in pieces, at which a score loses 1; at twice the distance it loses 4."""
_IN_ORDER = 0.7
"""Least share of the likely links, by weight, near the path. Below it the sentences of the two texts are in different
orders, and the scores stay unchanged."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def near_path(scores: Tensor, mask: Tensor, *, longer_than: int) -> Tensor:
    r"""Lower the scores of long pairs by a penalty for the distance to their path; shorter pairs stay unchanged.

    .. math:: S'_{ij} = S_{ij} - \left(\frac{\min(|j - f(i)|, |i - g(j)|)}{16}\right)^2

    A softmax over a long row divides its weight among many words, and a word that occurs several times in the text is
    as similar each time. The path is the heaviest chain of likely links that increases on both sides; f and g
    interpolate between its links, f(i) giving the column of row i and g(j) the row of column j. A path exists if the
    sentences of the text are in the order of their translations; if the likely links say otherwise, the scores stay
    unchanged. Where no link is likely, the path is the straight diagonal, from the first pieces to the last ones.

    ``longer_than``: a pair is long if its longer side has more pieces than this.

    **Shape**: scores to be exponentiated, and mask (batch, n, m) -> (batch, n, m). The real rows and columns of the
    mask stand in front, padding behind.
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
    """The penalty of each cell of one pair without padding, (1, n, m) -> (n, m); 0 where the texts are not in order."""
    # Likely links, as points of the matrix.
    forward, backward = softmax_probabilities(scores, mask)
    probability = (forward * backward).sqrt()[0]
    i, j = (probability > _LIKELY).nonzero().T
    weight = probability[i, j].double().cpu().numpy()
    rows, columns = i.cpu().numpy(), j.cpu().numpy()

    # The path through the heaviest chain of them, from before the first piece of both sides to behind the last.
    n, m = probability.shape
    chosen = heaviest_chain(rows, columns, weight)
    path_rows = np.r_[-1, rows[chosen], n]
    path_columns = np.r_[-1, columns[chosen], m]
    column_of = np.interp(np.arange(n), path_rows, path_columns)  # f
    row_of = np.interp(np.arange(m), path_columns, path_rows)  # g

    distance = np.minimum(np.abs(columns - column_of[rows]), np.abs(rows - row_of[columns]))
    near = distance <= 2 * _WIDTH
    if weight[near].sum() < _IN_ORDER * weight.sum():
        return torch.zeros_like(probability)

    # The same distance for every cell, on the scores' device.
    f, g = torch.from_numpy(column_of).to(probability), torch.from_numpy(row_of).to(probability)
    in_row = (torch.arange(m, device=scores.device)[None] - f[:, None]).abs()
    in_column = (torch.arange(n, device=scores.device)[:, None] - g[None]).abs()
    return (torch.minimum(in_row, in_column) / _WIDTH) ** 2


def heaviest_chain(rows: Ints, columns: Ints, weight: Floats) -> Ints:
    """Find the points of the largest total weight, each of which has a larger row and column than the one before.

    Returns:
        Numbers of the points, in the order of the chain.

    Example:
        >>> heaviest_chain(np.array([0, 1, 2, 3]), np.array([5, 0, 1, 1]), np.ones(4)).tolist()
        [1, 2]
    """
    # best[c] is the weight of the heaviest chain so far whose columns are all below c, and last[c] its last point, −1
    # for the empty chain. best never decreases with c.
    size = int(columns.max(initial=-1)) + 2
    best = np.zeros(size)
    last = np.full(size, -1)
    before = np.full(len(rows), -1)  # the point before each in the heaviest chain that ends with it
    # By row; within a row from right to left, so that a chain has only one point of a row.
    for point in np.lexsort((-columns, rows)).tolist():
        column = int(columns[point])
        total = best[column] + weight[point]
        before[point] = last[column]
        # Behind this column, the chain replaces those that are lighter. Of equally heavy ones the earlier stays.
        heavier_from = column + 1 + int(np.searchsorted(best[column + 1 :], total))
        best[column + 1 : heavier_from] = total
        last[column + 1 : heavier_from] = point

    chain, point = [], int(last[-1])
    while point >= 0:
        chain.append(point)
        point = int(before[point])
    return np.array(chain[::-1], np.int64)
