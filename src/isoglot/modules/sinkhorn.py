"""Word alignment as optimal transport: Sinkhorn scaling of batched, padded similarity matrices.

XLM-Align's few alternating normalisations, without gradient unless the similarities carry one; padding changes no
result.
"""

from typing import Literal

import torch
from torch import Tensor

from isoglot.core.errors import ConfigurationError

Order = Literal["official", "paper"]


def sinkhorn(
    similarity: Tensor,
    mask: Tensor,
    *,
    iterations: int = 2,
    mu: float = 1.0,
    order: Order = "official",
    epsilon: float | None = 1e-6,
) -> tuple[Tensor, Tensor]:
    r"""XLM-Align's alignment matrix (Chi et al. 2021, Eq. 1 and 3-6), a fixed number of Sinkhorn iterations.

    .. math:: K_{ij} = \max(\epsilon, h_i^\top h_j)^{1/\mu}

    An iteration divides the rows and the columns of K by their sums, one after the other. If the rows were
    divided last, the rows sum to 1 and the columns only nearly; and the other way round.

    ``similarity``: raw dot products.
    ``mask``: cells whose row and column are real tokens.
    ``iterations``: k; 2 in the paper, 0 returns K twice (plain argmax alignment).
    ``mu``: μ of the entropic term; 1 in the paper. Other values are computed in log space.
    ``order``: ``official`` (the released code): columns first, then rows; ε replaces similarities that are not
    positive. ``paper`` (Eq. 6): rows first, then columns; K is at least ε.
    ``epsilon``: ε, 1e-6 in the code; ``None``: no floor, as in XLM-Align's released aligner (which sets its floor in
    a copy that it then ignores), so that the plan keeps the signs of the similarities. It takes μ = 1.

    Returns:
        π, the matrix after the last division of rows, and ξ, the matrix after the last division of columns. One ends
        the last iteration (π for ``official``, ξ for ``paper``), the other is the half-way state of that iteration.
        Both are 0 outside the mask.

    **Shape**: similarity and mask (batch, n, m); results the same, in float64.
    """
    if epsilon is None and mu != 1.0:
        raise ConfigurationError(
            f"Sinkhorn epsilon: null needs mu: 1.0, got mu {mu}; without a floor the similarities have no logarithm"
        )
    scores = similarity.double()  # float64: sums, and so an argmax, do not depend on padding
    official = order == "official"
    kernel = scores
    if epsilon is not None:
        floor = torch.full((), epsilon, dtype=scores.dtype, device=scores.device)
        kernel = torch.where(scores > 0, scores, floor) if official else torch.maximum(scores, floor)
    in_logarithms = mu != 1.0  # K itself would overflow or underflow
    plan = kernel.log() / mu if in_logarithms else kernel
    plan = plan.masked_fill(~mask, -torch.inf if in_logarithms else 0.0)

    # Summing over axis 1 normalises the columns, summing over axis 2 the rows.
    first_axis, second_axis = (1, 2) if official else (2, 1)
    half_way = plan
    for _ in range(iterations):
        half_way = _normalise(plan, first_axis, in_logarithms)
        plan = _normalise(half_way, second_axis, in_logarithms)
    pi, xi = (plan, half_way) if official else (half_way, plan)
    return (pi.exp(), xi.exp()) if in_logarithms else (pi, xi)


def _normalise(plan: Tensor, axis: int, in_logarithms: bool) -> Tensor:
    """Divide the rows or columns by their sums; one that is all 0 (padding) stays 0."""
    if in_logarithms:
        total = plan.logsumexp(axis, keepdim=True)
        return plan - total.masked_fill(total == -torch.inf, 0.0)
    total = plan.sum(axis, keepdim=True)
    return plan / total.masked_fill(total == 0, 1.0)
