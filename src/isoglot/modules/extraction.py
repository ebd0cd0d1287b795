"""Word links out of similarity matrices, batched over padded sentences, on the device that holds them.

Every extractor maps ``similarity (batch, n, m)`` and ``mask (batch, n, m)`` to boolean links of the same
shape. Cells outside the mask are padding: they never win an argmax and never carry a link, whatever they
hold. Where several cells hold the maximum the first index wins, on every device (:func:`first_argmax`, which takes one
more pass over the matrix than a device's own argmax).

Memory is a few times ``batch · n · m``; nothing is built per candidate.
"""

import torch
from torch import Tensor

from isoglot.core.errors import ConfigurationError

_REACH = 2
"""Largest distance, in words, between the choices of two neighbouring words that support each other."""


def pair_mask(source_mask: Tensor, target_mask: Tensor) -> Tensor:
    """Mask of the cells whose row and column are both real: ``(batch, n), (batch, m) -> (batch, n, m)``."""
    return source_mask.bool()[:, :, None] & target_mask.bool()[:, None, :]


def first_argmax(scores: Tensor, dim: int) -> Tensor:
    """Index of the maximum along ``dim``, the first where several are equal, on every device."""
    size = scores.shape[dim]
    shape = [1] * scores.dim()
    shape[dim] = size
    index = torch.arange(size, device=scores.device, dtype=torch.int32).view(shape)
    best = scores.amax(dim, keepdim=True)
    # The least index that holds the maximum; all others count as the last index, which is never less.
    return torch.where(scores == best, index, size - 1).amin(dim).long()


def forward_links(similarity: Tensor, mask: Tensor) -> Tensor:
    """One link for each row, to its best column: {(i, j) : j = argmax_k S_ik} (XLM-Align Eq. 7).

    **Shape**: (batch, n, m) -> bool (batch, n, m).
    """
    return _chosen(similarity.masked_fill(~mask, -torch.inf), dim=2) & mask


def backward_links(similarity: Tensor, mask: Tensor) -> Tensor:
    """One link for each column, to its best row: {(i, j) : i = argmax_k S_kj}.

    **Shape**: (batch, n, m) -> bool (batch, n, m).
    """
    return _chosen(similarity.masked_fill(~mask, -torch.inf), dim=1) & mask


def intersection_links(similarity: Tensor, mask: Tensor, by_column: Tensor | None = None) -> Tensor:
    """Links that both directions choose: SimAlign's Argmax; with two matrices XLM-Align's released aligner.

    Rows choose in ``similarity``; columns choose in ``by_column`` if given, else in ``similarity``. Of a Sinkhorn plan,
    these are π and ξ.

    **Shape**: all (batch, n, m).
    """
    if by_column is None:
        by_column = similarity
    return forward_links(similarity, mask) & backward_links(by_column, mask)


def union_links(similarity: Tensor, mask: Tensor, by_column: Tensor | None = None) -> Tensor:
    """Links that one direction chooses or the other; arguments as :func:`intersection_links`."""
    if by_column is None:
        by_column = similarity
    return forward_links(similarity, mask) | backward_links(by_column, mask)


def itermax_links(
    similarity: Tensor,
    mask: Tensor,
    *,
    alpha: float = 0.9,
    passes: int = 2,
) -> Tensor:
    r"""SimAlign's IterMax: the mutual argmax, repeated for the words without a link (Jalili Sabet et al. 2020).

    As in SimAlign's and XLM-Align's code, each pass after the first multiplies the *original* similarities by a
    factor and adds the mutual argmax of the product,

    .. math:: f_{ij} = \min(1, \alpha [i\ \text{free}] + \alpha [j\ \text{free}])

    where cells whose row and column are both covered never become links. A sentence pair stops as soon as no
    row or no column is free, and gets no second pass at all where one side has two tokens or fewer. XLM-Align's
    equations print another rule: :func:`printed_links`.

    ``similarity``: (batch, n, m), non-negative (the discount would *raise* a negative one): SimAlign takes
    ``(cosine + 1) / 2``, XLM-Align a Sinkhorn plan. A row of zeros chooses its first column, as in
    SimAlign.
    ``alpha``: discount, 0.9 in both papers' code.
    ``passes``: number of passes, the first included. Two in both; three trade precision for recall.
    """
    _require_passes("itermax", passes)
    scores = similarity.double()  # as SimAlign, whose masks are float64: links are then equal to the last one
    links = intersection_links(scores, mask)
    if passes == 1 or not similarity.numel():
        return links
    rows, columns = mask.any(2), mask.any(1)
    long_enough = torch.minimum(rows.sum(1), columns.sum(1)) > 2
    for number in range(1, passes):  # passes counted from 0; the first one is done
        free_rows, free_columns = rows & ~links.any(2), columns & ~links.any(1)
        growing = long_enough & free_rows.any(1) & free_columns.any(1)
        row_is_free = free_rows[:, :, None].to(scores.dtype)
        column_is_free = free_columns[:, None, :].to(scores.dtype)
        factor = alpha * row_is_free + alpha * column_is_free
        allowed = (free_rows[:, :, None] | free_columns[:, None, :]) & growing[:, None, None]
        # A cell whose row and column are both covered takes part in the argmax with the value 0 (it is not
        # left out): that is what lets a covered row win a free column. Only as a link it is excluded.
        new = intersection_links(scores * factor.clamp_(max=1.0), mask) & allowed
        links = links | new
        # Looking whether anything is new waits for the device, so it is not worth it before the last pass.
        if number + 1 < passes and not bool(new.any()):
            break
    return links


def printed_links(
    similarity: Tensor,
    mask: Tensor,
    *,
    alpha: float = 0.9,
    passes: int = 2,
) -> Tensor:
    r"""XLM-Align's filter as Eq. 7-9 print it; its code runs :func:`itermax_links`.

    Each pass adds the mutual argmax of :math:`A^*` to the links :math:`\mathcal{A}`, then changes :math:`A^*` itself:

    .. math:: A^*_{ij} \leftarrow \begin{cases} 0 & (i, j) \in \mathcal{A} \\
        \alpha A^*_{ij} & \exists k: (i, k) \in \mathcal{A} \lor (k, j) \in \mathcal{A} \\
        A^*_{ij} & \text{otherwise} \end{cases}

    Unlike itermax, discounts multiply over the passes, a cell whose row and column are both covered can become a
    link, and pairs of any length get every pass.

    ``similarity``: (batch, n, m), non-negative; ``alpha`` and ``passes`` as in :func:`itermax_links`.

    Source: Chi et al. 2021, §3.1.
    """
    _require_passes("printed", passes)
    scores = similarity.double()
    links = torch.zeros_like(mask)
    for _ in range(passes):
        links = links | intersection_links(scores, mask)
        covered = links.any(2, keepdim=True) | links.any(1, keepdim=True)
        scores = torch.where(covered, alpha * scores, scores).masked_fill(links, 0.0)
    return links


def max_weight_links(similarity: Tensor, mask: Tensor) -> Tensor:
    """Maximum-weight matching of maximum cardinality (SimAlign's Match): scipy solves an assignment problem per pair.

    **Shape**: (batch, n, m) -> bool (batch, n, m); n and m tokens get min(n, m) links.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - takes long to load

    links = torch.zeros(mask.shape, dtype=torch.bool)
    scores = similarity.detach().double().cpu()
    rows, columns = mask.any(2).cpu(), mask.any(1).cpu()
    for pair in range(mask.shape[0]):
        i, j = rows[pair].nonzero().flatten(), columns[pair].nonzero().flatten()
        if len(i) and len(j):
            chosen_rows, chosen_columns = linear_sum_assignment(scores[pair][i][:, j].numpy(), maximize=True)
            links[pair, i[torch.from_numpy(chosen_rows)], j[torch.from_numpy(chosen_columns)]] = True
    return links.to(mask.device) & mask


def joined_links(links: Tensor, sure: Tensor) -> Tensor:
    """Keep the links that are ``sure``, and any other beside a kept one: hysteresis, as in Canny's edge detector.

    A word whose translation has several words has links side by side, each with a part of its weight. A link that is
    as weak and has no neighbour is more probably a mistake.

    **Shape**: bool (batch, n, m) -> bool (batch, n, m). A cell has eight neighbours; ``sure`` cells that are not links
    take no part.
    """
    joined = links & sure
    if not joined.numel():
        return joined
    while True:
        # Float, as no device pools booleans.
        near = torch.nn.functional.max_pool2d(joined.float()[:, None], 3, stride=1, padding=1)[:, 0] > 0
        grown = near & links
        if torch.equal(grown, joined):
            return joined
        joined = grown


def softmax_probabilities(similarity: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Row-wise and column-wise softmax in float32 (float64 stays), 0 outside the mask.

    **Shape**: (batch, n, m) -> (batch, n, m) summing to 1 over m, and (batch, n, m) summing to 1 over n.
    """
    scores = similarity if similarity.dtype == torch.float64 else similarity.float()
    scores = scores.masked_fill(~mask, -torch.inf)
    forward, backward = torch.softmax(scores, 2), torch.softmax(scores, 1)
    return forward.masked_fill(~mask, 0.0), backward.masked_fill(~mask, 0.0)


@torch.no_grad()
def entmax15(scores: Tensor, *, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    r"""1.5-entmax by sorting (Peters, Niculae and Martins 2019, Algorithm 2), without gradient.

    .. math:: p_i = \left[\tfrac{x_i}{2} - \tau\right]_+^2, \qquad \sum_i p_i = 1

    The k largest of the values x_i / 2 have a mean μ and a summed squared deviation s. If they alone have a probability
    above 0, the root τ is :math:`\tau_k = \mu - \sqrt{(1 - s)/k}`. The largest k counts for which :math:`\tau_k` does
    not exceed the k-th value.

    ``mask``: real entries, of the shape of ``scores``; the others get 0. A slice without a real entry is all
    0.
    """
    x = scores if scores.dtype == torch.float64 else scores.float()
    if mask is not None:
        x = x.masked_fill(~mask, -torch.inf)
    best = x.amax(dim, keepdim=True)
    best = best.masked_fill(best == -torch.inf, 0.0)
    # With the maximum at 0 the root lies in [-1, 0), so a half below -1 has probability 0, however far below it is.
    # Clamping such halves to -1 keeps the sums below well conditioned and takes care of the mask's -inf.
    half = ((x - best) / 2).clamp(min=-1.0)
    ordered = half.sort(dim, descending=True).values
    size = half.shape[dim]
    shape = [1] * half.dim()
    shape[dim] = size
    k = torch.arange(1, size + 1, device=half.device, dtype=half.dtype).view(shape)
    mean = ordered.cumsum(dim) / k
    squared_deviation = k * ((ordered**2).cumsum(dim) / k - mean**2)
    root_for_k = mean - ((1.0 - squared_deviation) / k).clamp(min=0.0).sqrt()
    # The condition holds for every k up to the one that counts, and for none above it. For the scores 1, 0, −3:
    #
    #     k                      1      2      3
    #     root for k         −1.00  −0.91  −0.91
    #     k-th value          0.00  −0.50  −1.00     the third is clamped from −2
    #     root ≤ value         yes    yes     no     the k that counts is 2, at index 1
    index = (root_for_k <= ordered).sum(dim, keepdim=True) - 1
    root, kth_value = root_for_k.gather(dim, index), ordered.gather(dim, index)
    # Rounding can leave the root a little below a value that is not among the k largest: it gets 0, not 1e-7.
    outside = (half < kth_value) | (half <= -1.0)
    probabilities = ((half - root).clamp(min=0.0) ** 2).masked_fill(outside, 0.0)
    return probabilities if mask is None else probabilities.masked_fill(~mask, 0.0)


def distort(similarity: Tensor, mask: Tensor, *, ratio: float = 0.5) -> Tensor:
    r"""SimAlign's distortion correction: cells far from the diagonal are discounted.

    .. math:: S'_{ij} = S_{ij} \left(1 - \kappa \left(\tfrac{i}{n-1} - \tfrac{j}{m-1}\right)^2\right)

    ``mask``: (batch, n, m); i, j, n and m count real rows and columns. A pair with a side below two tokens is
    kept as is.
    ``ratio``: κ, 0.5 in SimAlign's experiments; 0 changes nothing.
    """
    if ratio == 0.0:
        return similarity
    rows, columns = mask.any(2), mask.any(1)
    n, m = rows.sum(1), columns.sum(1)
    i = (rows.cumsum(1) - 1).double() / (n - 1).clamp(min=1)[:, None]
    j = (columns.cumsum(1) - 1).double() / (m - 1).clamp(min=1)[:, None]
    factor = 1.0 - (i[:, :, None] - j[:, None, :]) ** 2 * ratio
    keep = ((n < 2) | (m < 2))[:, None, None]
    return similarity * factor.masked_fill(keep, 1.0).to(similarity.dtype)


def _require_passes(name: str, passes: int) -> None:
    """Refuse fewer passes than one; ``name`` is the value of the option that chooses the links."""
    if passes < 1:
        raise ConfigurationError(
            f"{name} needs at least 1 pass, got passes {passes}; the usual value is passes: 2"
        )


def _chosen(scores: Tensor, dim: int) -> Tensor:
    """Mark the first maximum of each column (``dim`` 1) or of each row (``dim`` 2): (batch, n, m), bool."""
    if not scores.numel():
        return torch.zeros_like(scores, dtype=torch.bool)
    index = torch.arange(scores.shape[dim], device=scores.device)
    index = index.view(1, -1, 1) if dim == 1 else index  # along the rows or the columns of the matrix
    return index == first_argmax(scores, dim).unsqueeze(dim)


def adjacent_weights(weights: Tensor) -> Tensor:
    r"""Weights of each row's choice among columns, raised where the rows before and behind choose nearly the same.

    .. math:: W'_{ij} \propto W_{ij} \Bigl(1 + \sum_{i' = i \pm 1} \sum_{|j' - j| \le 2} W_{i'j'}\Bigr)

    Each row keeps its sum. One step in place of a hidden Markov model over the rows, whose posterior is no better.

    **Shape**: non-negative (batch, n, m), 0 outside the mask -> (batch, n, m).
    """
    if not weights.numel():
        return weights
    window = (1, 2 * _REACH + 1)
    # Sums over 5 columns of each row, with rows of zeros above and below; then the sums of the rows before and behind.
    near = torch.nn.functional.avg_pool2d(
        weights[:, None], window, stride=1, padding=(0, _REACH), divisor_override=1
    )[:, 0]
    near = torch.nn.functional.pad(near, (0, 0, 1, 1))
    raised = weights * (1.0 + near[:, :-2] + near[:, 2:])
    tiny = torch.finfo(weights.dtype).tiny
    return raised * (weights.sum(2, keepdim=True) / raised.sum(2, keepdim=True).clamp(min=tiny))


def adjacent_probabilities(probability: Tensor, bonus: float) -> Tensor:
    r"""Probabilities of links, raised beside a likely link of the same word where the other word has none yet.

    .. math:: P'_{ij} = \min\Bigl(1, P_{ij} \bigl(1 + \beta [\max(P_{i,j-1}, P_{i,j+1}) u_j +
        \max(P_{i-1,j}, P_{i+1,j}) u_i]\bigr)\Bigr)

    with :math:`u_j = \max(0, 1 - \sum_k P_{kj})` and :math:`u_i = \max(0, 1 - \sum_k P_{ik})`, the weight that a word
    has not given away yet. Several words that together translate one word share its weight; an article belongs to its
    noun where the other language has no article.

    ``bonus``: β.

    **Shape**: (batch, n, m), 0 outside the mask -> (batch, n, m).
    """
    around = torch.nn.functional.pad(probability, (1, 1, 1, 1))  # zeros around the matrix
    best_in_row = torch.maximum(around[:, 1:-1, :-2], around[:, 1:-1, 2:])  # of the cells left and right
    best_in_column = torch.maximum(around[:, :-2, 1:-1], around[:, 2:, 1:-1])  # of the cells above and below
    unused_of_row = (1.0 - probability.sum(2, keepdim=True)).clamp(min=0.0)  # u_i
    unused_of_column = (1.0 - probability.sum(1, keepdim=True)).clamp(min=0.0)  # u_j
    raised = 1.0 + bonus * (best_in_row * unused_of_column + best_in_column * unused_of_row)
    return (probability * raised).clamp(max=1.0)
