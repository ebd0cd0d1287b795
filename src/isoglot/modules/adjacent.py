"""Links of words that stand side by side support each other."""

import torch
from torch import Tensor

_REACH = 2
"""How far apart, in words, the choices of two neighbours may be to support each other."""


def adjacent_weights(weights: Tensor) -> Tensor:
    r"""Weights of each row's choice among columns, raised where the rows before and behind choose nearly the same.

    .. math:: W'_{ij} \propto W_{ij} \Bigl(1 + \sum_{i' = i \pm 1} \sum_{|j' - j| \le 2} W_{i'j'}\Bigr)

    Each row keeps its sum. One step in place of a hidden Markov model over the rows, whose posterior is no better.

    **Shape**: non-negative (batch, n, m), 0 outside the mask -> (batch, n, m).
    """
    if not weights.numel():
        return weights
    window = (1, 2 * _REACH + 1)
    near = torch.nn.functional.avg_pool2d(
        weights[:, None], window, stride=1, padding=(0, _REACH), divisor_override=1
    )[:, 0]
    near = torch.nn.functional.pad(near, (0, 0, 1, 1))
    raised = weights * (1.0 + near[:, :-2] + near[:, 2:])
    tiny = torch.finfo(weights.dtype).tiny
    return raised * (weights.sum(2, keepdim=True) / raised.sum(2, keepdim=True).clamp(min=tiny))


def adjacent_links(probability: Tensor, bonus: float) -> Tensor:
    r"""Probabilities of links, raised beside a likely link of the same word where the other word has none yet.

    .. math:: P'_{ij} = \min\Bigl(1, P_{ij} \bigl(1 + \beta [\max(P_{i,j-1}, P_{i,j+1}) u_j +
        \max(P_{i-1,j}, P_{i+1,j}) u_i]\bigr)\Bigr)

    with :math:`u_j = \max(0, 1 - \sum_k P_{kj})` and :math:`u_i = \max(0, 1 - \sum_k P_{ik})`. Several words that
    together translate one share its weight, and an article belongs to its noun where the other language has none.

    ``bonus``: β.

    **Shape**: (batch, n, m), 0 outside the mask -> (batch, n, m).
    """
    around = torch.nn.functional.pad(probability, (1, 1, 1, 1))
    beside = torch.maximum(around[:, 1:-1, :-2], around[:, 1:-1, 2:])
    above = torch.maximum(around[:, :-2, 1:-1], around[:, 2:, 1:-1])
    free_rows, free_columns = ((1.0 - probability.sum(dim, keepdim=True)).clamp(min=0.0) for dim in (2, 1))
    return (probability * (1.0 + bonus * (beside * free_columns + above * free_rows))).clamp(max=1.0)
