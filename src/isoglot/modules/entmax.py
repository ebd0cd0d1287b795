"""The exact 1.5-entmax: a softmax that reaches exact zeros."""

from __future__ import annotations

import torch
from torch import Tensor


@torch.no_grad()
def entmax15(scores: Tensor, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    r"""1.5-entmax by sorting (Peters, Niculae and Martins 2019, Algorithm 2), without gradient.

    .. math:: p_i = \left[\tfrac{x_i}{2} - \tau\right]_+^2, \qquad \sum_i p_i = 1

    For a support of the k largest values with mean μ and summed squared deviation s the root is
    :math:`\tau = \mu - \sqrt{(1 - s)/k}`; the support is the largest k for which τ does not exceed the k-th
    value.

    ``mask``: real entries, of the shape of ``scores``; the others get 0. A slice without a real entry is all
    0.
    """
    x = scores if scores.dtype == torch.float64 else scores.float()
    if mask is not None:
        x = x.masked_fill(~mask, -torch.inf)
    best = x.amax(dim, keepdim=True)
    best = best.masked_fill(best == -torch.inf, 0.0)
    # With the maximum at 0 the root lies in [-1, 0), so what is below -1 has probability 0 wherever it is
    # exactly: clamping it there keeps the sums below well conditioned and takes care of the mask's -inf.
    x = ((x - best) / 2).clamp(min=-1.0)
    ordered = x.sort(dim, descending=True).values
    size = x.shape[dim]
    shape = [1] * x.dim()
    shape[dim] = size
    k = torch.arange(1, size + 1, device=x.device, dtype=x.dtype).view(shape)
    mean = ordered.cumsum(dim) / k
    deviation = k * ((ordered**2).cumsum(dim) / k - mean**2)
    tau = mean - ((1.0 - deviation) / k).clamp(min=0.0).sqrt()
    support = (tau <= ordered).sum(dim, keepdim=True)
    root = tau.gather(dim, support - 1)
    # Rounding can leave the root a little below an entry outside the support: those are 0, not 1e-7.
    outside = (x < ordered.gather(dim, support - 1)) | (x <= -1.0)
    probabilities = ((x - root).clamp(min=0.0) ** 2).masked_fill(outside, 0.0)
    return probabilities if mask is None else probabilities.masked_fill(~mask, 0.0)
