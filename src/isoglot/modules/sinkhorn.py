"""Word alignment as optimal transport: Sinkhorn scaling of batched, padded similarity matrices.

:func:`sinkhorn` is XLM-Align's few alternating normalisations. :func:`entropic_transport` and its relatives
solve the entropic problem for given marginals, balanced, unbalanced or with a NULL token on each side. All
are without gradient unless the similarities carry one, and padding changes no result.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from isoglot.errors import ConfigurationError

__all__ = ["entropic_transport", "null_transport", "sinkhorn", "transport_cost", "unbalanced_transport"]

Order = Literal["official", "paper"]


def sinkhorn(
    similarity: Tensor,
    mask: Tensor,
    *,
    iterations: int = 2,
    mu: float = 1.0,
    order: Order = "official",
    epsilon: float | None = 1e-6,
    double: bool = True,
) -> tuple[Tensor, Tensor]:
    r"""XLM-Align's alignment matrix (Chi et al. 2021, Eq. 1 and 3-6), a fixed number of Sinkhorn iterations.

    .. math:: K_{ij} = \max(\epsilon, h_i^\top h_j)^{1/\mu}

    ``order="official"`` (the released code) normalises columns, then rows, in each iteration and takes ε for
    similarities that are not positive; ``order="paper"`` (Eq. 6) normalises rows, then columns, and takes
    max(ε, ·). After a few iterations neither is doubly stochastic.

    Args:
        similarity: (batch, n, m) raw dot products.
        mask: (batch, n, m) real cells.
        iterations: k; 2 in the paper, 0 returns K twice (plain argmax alignment).
        mu: μ of the entropic term; 1 in the paper. Other values are computed in log space.
        order: which side is normalised first.
        epsilon: ε, 1e-6 in the code; ``None``: no floor, as XLM-Align's released aligner runs (its floor is set in
            a copy and lost), so that the plan keeps the signs of the similarities. It takes μ = 1.
        double: compute and return float64. Sums then do not depend on how far a batch is padded, to the
            precision that decides an argmax; else float32.

    Returns:
        π, whose real rows were normalised last, and ξ, whose real columns were normalised last. The plan of
        the last half-step is π for ``official`` and ξ for ``paper``. Both are 0 outside the mask.

    Raises:
        ConfigurationError: μ or ε not positive, no ε with another μ than 1, a negative number of iterations, an
            unknown order.
    """
    _check(iterations=iterations, mu=mu, order=order, epsilon=epsilon)
    kernel = scores = similarity.double() if double else similarity.float()
    if epsilon is not None:
        floor = torch.full((), epsilon, dtype=scores.dtype, device=scores.device)
        official = order == "official"
        kernel = torch.where(scores > 0, scores, floor) if official else torch.maximum(scores, floor)
    axes = (1, 2) if order == "official" else (2, 1)
    if mu != 1.0:
        log_kernel = (kernel.log() / mu).masked_fill(~mask, -torch.inf)
        return _alternate_log(log_kernel, axes, iterations)
    return _alternate(kernel.masked_fill(~mask, 0.0), axes, iterations)


def transport_cost(
    source: Tensor, target: Tensor, mask: Tensor, *, kind: Literal["cosine", "dot", "euclidean"] = "cosine"
) -> Tensor:
    """Cost of aligning each pair of tokens, 0 at best and not negative on real cells.

    Args:
        source: (batch, n, hidden).
        target: (batch, m, hidden).
        mask: (batch, n, m) real cells.
        kind: ``cosine``: 1 − cos, in [0, 2]; ``dot``: (largest dot product of the pair − dot) / (largest −
            smallest), in [0, 1]; ``euclidean``: the distance divided by the pair's largest.

    Returns:
        (batch, n, m), 0 outside the mask.

    Raises:
        ConfigurationError: an unknown kind.
    """
    source, target = source.float(), target.float()
    if kind == "cosine":
        source, target = (
            torch.nn.functional.normalize(source, dim=-1),
            torch.nn.functional.normalize(target, dim=-1),
        )
        cost = (1.0 - source @ target.transpose(1, 2)).clamp(min=0.0)
    elif kind in ("dot", "euclidean"):
        cost = -(source @ target.transpose(1, 2)) if kind == "dot" else torch.cdist(source, target)
        low = cost.masked_fill(~mask, torch.inf).amin((1, 2), keepdim=True) if kind == "dot" else 0.0
        high = cost.masked_fill(~mask, -torch.inf).amax((1, 2), keepdim=True)
        cost = (cost - low) / (high - low).clamp(min=torch.finfo(cost.dtype).tiny)
    else:
        raise ConfigurationError(
            f"transport cost {kind!r} given; there are cosine, dot and euclidean: cost: cosine"
        )
    return cost.masked_fill(~mask, 0.0)


def entropic_transport(
    cost: Tensor,
    mask: Tensor,
    *,
    source_mass: Tensor | None = None,
    target_mass: Tensor | None = None,
    regularisation: float = 0.1,
    iterations: int = 100,
) -> Tensor:
    r"""Balanced entropic optimal transport, in log space (Cuturi 2013).

    .. math:: \min_P \langle P, C\rangle + \lambda \sum_{ij} P_{ij} (\log P_{ij} - 1),\quad P 1 = a,\ P^\top 1
    = b

    Args:
        cost: (batch, n, m).
        mask: (batch, n, m) real cells.
        source_mass: (batch, n) a, 0 for tokens that take no part; uniform with sum 1 by default.
        target_mass: (batch, m) b, with the same sum as a.
        regularisation: λ; smaller is sharper and needs more iterations.
        iterations: of both marginals; the columns' marginal is met exactly.

    Returns:
        The plan P (batch, n, m), 0 outside the mask, float64.

    Raises:
        ConfigurationError: λ not positive or no iterations.
    """
    return _scale(cost, mask, (source_mass, target_mass), regularisation, iterations, relaxation=1.0)


def unbalanced_transport(
    cost: Tensor,
    mask: Tensor,
    *,
    source_mass: Tensor | None = None,
    target_mass: Tensor | None = None,
    regularisation: float = 0.1,
    marginal_penalty: float = 1.0,
    iterations: int = 100,
) -> Tensor:
    r"""Entropic transport whose marginals may be missed at a price, so that words can stay without a partner.

    The constraints become penalties :math:`\rho\,\mathrm{KL}(P1 \| a) + \rho\,\mathrm{KL}(P^\top 1 \| b)`
    (Chizat et al. 2018); the scaling steps are damped by ρ/(ρ+λ). The objective's entropy is relative to a·b,
    so ρ → ∞ is the balanced problem.

    Args:
        cost: (batch, n, m), not negative; costs well above ρ stay unaligned.
        mask: (batch, n, m) real cells.
        source_mass: (batch, n), uniform by default.
        target_mass: (batch, m), uniform by default.
        regularisation: λ.
        marginal_penalty: ρ, in the unit of the cost.
        iterations: of both marginals.

    Returns:
        The plan (batch, n, m), float64; what is missing from a row's or column's mass went unaligned.

    Raises:
        ConfigurationError: λ or ρ not positive, or no iterations.
    """
    if marginal_penalty <= 0:
        raise ConfigurationError(
            f"marginal_penalty {marginal_penalty} given; a positive number is needed: marginal_penalty: 1.0"
        )
    relaxation = marginal_penalty / (marginal_penalty + regularisation)
    return _scale(cost, mask, (source_mass, target_mass), regularisation, iterations, relaxation=relaxation)


def null_transport(
    cost: Tensor,
    mask: Tensor,
    *,
    null_cost: float = 0.5,
    regularisation: float = 0.1,
    iterations: int = 100,
) -> tuple[Tensor, Tensor, Tensor]:
    """Balanced transport with a NULL token on each side, which takes the words that have no partner.

    Each real word has mass 1; the source's NULL can take all m target words and the target's NULL all n
    source words; moving mass from NULL to NULL is free.

    Args:
        cost: (batch, n, m).
        mask: (batch, n, m) real cells.
        null_cost: price of leaving one word unaligned, in the unit of the cost: a pair is worth aligning
            where its cost is below twice this.
        regularisation: λ.
        iterations: of both marginals.

    Returns:
        The plan between real words (batch, n, m), the mass each source word sends to NULL (batch, n) and the
        mass each target word gets from NULL (batch, m); float64. A source word's row and its NULL mass sum to
        1 in the limit, a target word's column and its NULL mass at every iteration.

    Raises:
        ConfigurationError: λ not positive or no iterations.
    """
    rows, columns = mask.any(2), mask.any(1)
    batch, n, m = cost.shape
    extended = cost.new_full((batch, n + 1, m + 1), null_cost)
    extended[:, :n, :m] = cost
    extended[:, n, m] = 0.0
    one = rows.new_ones(batch, 1)
    real = torch.cat([rows, one], 1)[:, :, None] & torch.cat([columns, one], 1)[:, None, :]
    real[:, :n, :m] &= mask
    source = torch.cat([rows.double(), columns.sum(1, keepdim=True).double()], 1)
    target = torch.cat([columns.double(), rows.sum(1, keepdim=True).double()], 1)
    plan = _scale(extended, real, (source, target), regularisation, iterations, relaxation=1.0)
    return plan[:, :n, :m], plan[:, :n, m], plan[:, n, :m]


def _check(*, iterations: int, mu: float, order: str, epsilon: float | None) -> None:
    problems = []
    if iterations < 0:
        problems.append(f"Sinkhorn iterations {iterations} given; 0 or more are needed: iterations: 2")
    if mu <= 0:
        problems.append(f"Sinkhorn mu {mu} given; a positive number is needed: mu: 1.0")
    if epsilon is None and mu != 1.0:
        problems.append(
            f"Sinkhorn epsilon: null given with mu {mu}; without a floor the similarities have no logarithm: mu: 1.0"
        )
    if epsilon is not None and epsilon <= 0:
        problems.append(f"Sinkhorn epsilon {epsilon} given; a positive number is needed: epsilon: 1e-6")
    if order not in ("official", "paper"):
        problems.append(f"Sinkhorn order {order!r} given; there are 'official' and 'paper': order: official")
    if problems:
        raise ConfigurationError(problems)


def _alternate(kernel: Tensor, axes: tuple[int, int], iterations: int) -> tuple[Tensor, Tensor]:
    """Normalise along the first axis, then the second, ``iterations`` times; returns (π, ξ)."""
    first = second = kernel
    for _ in range(iterations):
        first = _normalised(second, axes[0])
        second = _normalised(first, axes[1])
    return (second, first) if axes == (1, 2) else (first, second)


def _normalised(plan: Tensor, axis: int) -> Tensor:
    total = plan.sum(axis, keepdim=True)
    return plan / total.masked_fill(total == 0, 1.0)  # an empty row or column stays 0


def _alternate_log(log_kernel: Tensor, axes: tuple[int, int], iterations: int) -> tuple[Tensor, Tensor]:
    """The same on logarithms, for μ that would overflow or underflow K."""
    first = second = log_kernel
    for _ in range(iterations):
        first = _log_normalised(second, axes[0])
        second = _log_normalised(first, axes[1])
    pi, xi = (second, first) if axes == (1, 2) else (first, second)
    return pi.exp(), xi.exp()


def _log_normalised(plan: Tensor, axis: int) -> Tensor:
    total = plan.logsumexp(axis, keepdim=True)
    return plan - total.masked_fill(total == -torch.inf, 0.0)


def _scale(
    cost: Tensor,
    mask: Tensor,
    mass: tuple[Tensor | None, Tensor | None],
    regularisation: float,
    iterations: int,
    *,
    relaxation: float,
) -> Tensor:
    """Log-space scaling iterations; ``relaxation`` is 1 for hard marginals, ρ/(ρ+λ) for soft ones."""
    if regularisation <= 0:
        raise ConfigurationError(
            f"regularisation {regularisation} given; a positive number is needed: regularisation: 0.1"
        )
    if iterations < 1:
        raise ConfigurationError(f"iterations {iterations} given; at least 1 is needed: iterations: 100")
    rows, columns = mask.any(2), mask.any(1)
    log_a = (_uniform(rows) if mass[0] is None else mass[0].double() * rows).log()
    log_b = (_uniform(columns) if mass[1] is None else mass[1].double() * columns).log()
    gibbs = (-cost.double() / regularisation).masked_fill(~mask, -torch.inf)
    gibbs = gibbs + log_a[:, :, None] + log_b[:, None, :]
    f = torch.zeros_like(log_a)
    g = torch.zeros_like(log_b)
    for _ in range(iterations):
        f = _potential(log_a, (gibbs + g[:, None, :]).logsumexp(2), relaxation)
        g = _potential(log_b, (gibbs + f[:, :, None]).logsumexp(1), relaxation)
    return (gibbs + f[:, :, None] + g[:, None, :]).exp()


def _uniform(real: Tensor) -> Tensor:
    return real.double() / real.sum(1, keepdim=True).clamp(min=1)


def _potential(log_mass: Tensor, log_sum: Tensor, relaxation: float) -> Tensor:
    """Damped log of mass over sum; 0 where a token has no mass (there ``log_sum`` is −inf as well)."""
    return ((log_mass - log_sum) * relaxation).masked_fill(
        (log_mass == -torch.inf) | (log_sum == -torch.inf), 0.0
    )
