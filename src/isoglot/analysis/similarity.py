"""Measures of how alike the vectors of two languages are: linear CKA, shared neighbours, retrieval.

Row i of both inputs belongs together: a sentence and its translation, or two linked words. A measure makes one number
of all rows, and retrieval one in each direction.
"""

import torch
from torch import Tensor

from isoglot.analysis.alignment_score import nearest_numbers
from isoglot.core.errors import ConfigurationError
from isoglot.modules.neighbours import similarity_blocks, unit


def linear_cka(first: Tensor, second: Tensor, *, debiased: bool = True) -> float:
    r"""Centred kernel alignment with linear kernels.

    .. math:: \mathrm{CKA} = \frac{\mathrm{HSIC}(K, L)}{\sqrt{\mathrm{HSIC}(K, K)\,\mathrm{HSIC}(L, L)}},\quad
        K = XX^\top,\ L = YY^\top

    HSIC is one of two estimates. Kornblith's, with the centred :math:`\bar X` and :math:`\bar Y`, is
    :math:`\mathrm{HSIC}_0(K, L) = \|\bar X^\top \bar Y\|_F^2`. With it CKA lies in [0, 1], but grows with hidden size
    over rows: unrelated Gaussian vectors have about :math:`h / (n + h)`. With the ``debiased`` estimate they have 0 on
    average, and may fall below:

    .. math:: \mathrm{HSIC}_1 = \mathrm{tr}(\tilde K \tilde L)
        + \frac{(1^\top \tilde K 1)(1^\top \tilde L 1)}{(n-1)(n-2)} - \frac{2}{n-2} 1^\top \tilde K \tilde L 1

    where the diagonals of :math:`\tilde K, \tilde L` are 0. Neither n × n matrix is ever made.

    **Shape**: (n, hidden), where the hidden sizes may differ and n is at least 4.

    Returns:
        The CKA; not a number where one side does not vary.

    Source: Kornblith et al. 2019, *Similarity of Neural Network Representations Revisited*; Song et al. 2012
    (the debiased estimator); Nguyen et al. 2021.
    """
    _same_rows(first, second, least=4)
    # HSIC₀ needs centred vectors. Centring does not change HSIC₁, but saves digits.
    x, y = (side.double() - side.double().mean(0) for side in (first, second))
    hsic_xy = _hsic(x, y, debiased=debiased)
    hsic_xx, hsic_yy = _hsic(x, x, debiased=debiased), _hsic(y, y, debiased=debiased)
    scale = (hsic_xx.clamp(min=0) * hsic_yy.clamp(min=0)).sqrt()  # an estimate can fall a little below 0
    return float(hsic_xy / scale)


def neighbour_overlap(first: Tensor, second: Tensor, *, k: int = 10) -> float:
    """Measure which share of a row's k nearest neighbours in its own language its partner has too, in %.

    ``100/n · Σ_i |N_k(x_i) ∩ N_k(y_i)| / k``, neighbours by cosine among the other rows of the same side; by chance
    ``100 k / (n − 1)``. Unlike retrieval it does not ask the two languages to lie in the same place.

    **Shape**: (n, hidden) each; k is 1 to n − 1.
    """
    _same_rows(first, second, least=2)
    if not 1 <= k < len(first):
        raise ConfigurationError(
            f"k={k} neighbours requested, but there are {len(first)} rows; choose 1 to {len(first) - 1}"
        )
    of_first, of_second = own_neighbours(first, k), own_neighbours(second, k)
    # (n, k, k): each neighbour of a row beside each neighbour of its partner.
    is_same = of_first[:, :, None] == of_second[:, None, :]
    shared = is_same.any(2).sum(1)
    return 100.0 * float(shared.double().mean()) / k


def retrieval(first: Tensor, second: Tensor) -> tuple[float, float]:
    """Measure how often the partner is the nearest row of the other side by cosine, in %.

    The first figure is from the first side to the second, the other back. **Shape**: (n, hidden) each.
    """
    _same_rows(first, second, least=1)
    partners = torch.arange(len(first))
    nearest_second, nearest_first = nearest_numbers(first, second, name="retrieval")
    found_forward = 100.0 * float((nearest_second == partners).double().mean())
    found_backward = 100.0 * float((nearest_first == partners).double().mean())
    return found_forward, found_backward


def own_neighbours(vectors: Tensor, k: int) -> Tensor:
    """Each row's k nearest other rows by cosine, best first. **Shape**: (n, hidden) → (n, k)."""
    normal = unit(vectors)
    neighbours = []
    for start, block in similarity_blocks(normal, normal):
        rows = torch.arange(len(block))
        block[rows, rows + start] = -torch.inf  # a row is not its own neighbour
        neighbours.append(block.topk(k, dim=1).indices)
    return torch.cat(neighbours)


def _hsic(first: Tensor, second: Tensor, *, debiased: bool) -> Tensor:
    """Compute HSIC₀, or HSIC₁ as in :func:`linear_cka`, from sums over the rows: neither n × n kernel is made.

    Song et al. 2012 divide HSIC₁ by n (n − 3). CKA is a quotient, in which that factor cancels.
    """
    cross = first.T @ second
    if not debiased:
        return cross.square().sum()
    n = len(first)
    first_norms, second_norms = first.square().sum(1), second.square().sum(1)
    # Row sums of the kernels without their diagonals: x_i · Σx − |x_i|².
    first_sums = first @ first.sum(0) - first_norms
    second_sums = second @ second.sum(0) - second_norms
    # tr(K̃ L̃): all products of entries, without those of the diagonals.
    trace = cross.square().sum() - (first_norms * second_norms).sum()
    means = first_sums.sum() * second_sums.sum() / ((n - 1) * (n - 2))
    return trace + means - 2 * (first_sums * second_sums).sum() / (n - 2)


def _same_rows(first: Tensor, second: Tensor, *, least: int) -> None:
    if len(first) != len(second) or len(first) < least:
        raise ConfigurationError(
            f"both sides need the same number of vectors, at least {least}; got {len(first)} and {len(second)}"
        )
