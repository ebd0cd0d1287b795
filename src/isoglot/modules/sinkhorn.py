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

    ``order="official"`` (the released code) normalises columns, then rows, in each iteration and takes ε for
    similarities that are not positive; ``order="paper"`` (Eq. 6) normalises rows, then columns, and takes
    max(ε, ·). After a few iterations neither is doubly stochastic.

    ``similarity``: (batch, n, m) raw dot products.
    ``iterations``: k; 2 in the paper, 0 returns K twice (plain argmax alignment).
    ``mu``: μ of the entropic term; 1 in the paper. Other values are computed in log space.
    ``epsilon``: ε, 1e-6 in the code; ``None``: no floor, as XLM-Align's released aligner runs (its floor is set in
    a copy and lost), so that the plan keeps the signs of the similarities. It takes μ = 1.

    Returns:
        π, whose real rows were normalised last, and ξ, whose real columns were normalised last. The plan of
        the last half-step is π for ``official`` and ξ for ``paper``. Both are 0 outside the mask.
    """
    if epsilon is None and mu != 1.0:
        raise ConfigurationError(
            f"Sinkhorn epsilon: null needs mu: 1.0, got mu {mu}; without a floor the similarities have no logarithm"
        )
    kernel = scores = similarity.double()  # sums, and so an argmax, do not depend on padding
    if epsilon is not None:
        floor = torch.full((), epsilon, dtype=scores.dtype, device=scores.device)
        official = order == "official"
        kernel = torch.where(scores > 0, scores, floor) if official else torch.maximum(scores, floor)
    axes = (1, 2) if order == "official" else (2, 1)
    logarithms = mu != 1.0
    first = second = (kernel.log() / mu if logarithms else kernel).masked_fill(
        ~mask, -torch.inf if logarithms else 0.0
    )
    for _ in range(iterations):
        first = _normalised(second, axes[0], logarithms)
        second = _normalised(first, axes[1], logarithms)
    pi, xi = (second, first) if axes == (1, 2) else (first, second)
    return (pi.exp(), xi.exp()) if logarithms else (pi, xi)


def _normalised(plan: Tensor, axis: int, logarithms: bool) -> Tensor:
    """An empty row or column stays 0. On logarithms for μ that would overflow or underflow K."""
    if logarithms:
        total = plan.logsumexp(axis, keepdim=True)
        return plan - total.masked_fill(total == -torch.inf, 0.0)
    total = plan.sum(axis, keepdim=True)
    return plan / total.masked_fill(total == 0, 1.0)
