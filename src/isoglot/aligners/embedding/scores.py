"""Score the links of sentence pairs: from states of pieces to links and their probabilities.

All functions work on a batch of pairs that are padded to the same size. ``score_links`` compares the states and calls
the function of the method; each of them ends in the links, a matrix of source pieces by target pieces.

- *similarity*: the dot product of two states, or ``(cosine + 1) / 2``.
- *forward*, *backward*: weights of a link by either direction: the shares of the target pieces for each source piece
  (rows that sum to 1), and of the source pieces for each target piece (columns that sum to 1).
- *probability*: their geometric mean.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from isoglot.aligners.embedding.options import (
    EmbeddingOptions,
    IterMax,
    PointerNetwork,
    Similarity,
    Threshold,
    Transport,
)
from isoglot.modules.extraction import (
    adjacent_probabilities,
    adjacent_weights,
    backward_links,
    distort,
    entmax15,
    forward_links,
    intersection_links,
    itermax_links,
    joined_links,
    max_weight_links,
    pair_mask,
    printed_links,
    softmax_probabilities,
    union_links,
)
from isoglot.modules.pointer import Pointer, pointer_alignment
from isoglot.modules.sinkhorn import sinkhorn
from isoglot.modules.text_path import near_path


class Side(NamedTuple):
    """The states of one side of a batch of pairs, padded to n pieces."""

    states: Tensor
    """(batch, n, hidden), float32, of length 1 where the cosine is compared."""
    mask: Tensor
    """(batch, n): true for pieces, false for padding."""
    words: Tensor
    """(batch, n): the word of each piece, negative where it belongs to none."""


def score_links(
    options: EmbeddingOptions, source: Side, target: Side, mask: Tensor, pointer: Pointer | None = None
) -> tuple[Tensor, Tensor]:
    """Find the links of a batch of pairs by the method of ``options``; returns links and probabilities.

    A link's probability is the similarity ``(cosine + 1) / 2`` for SimAlign's methods with ``compare=cosine``; in all
    other cases the geometric mean of the two directions' normalised weights (softmax, entmax, the rows and columns of
    a Sinkhorn plan, the pointer's attention).

    **Shape**: mask of :func:`~isoglot.modules.extraction.pair_mask` (batch, n, m) -> both (batch, n, m).
    """
    if pointer is not None and isinstance(options, PointerNetwork):
        forward, backward = pointer_alignment(pointer, source.states, target.states, source.mask, target.mask)
        probability = (forward * backward).sqrt()
        if options.links == "intersection":
            # Both directions look for the best by their geometric mean.
            forward = backward = probability
        return _read(options, options.links, probability, forward, backward, mask), probability
    if not isinstance(options, Similarity):
        raise TypeError(f"{type(options).__name__} is not the options of a method")
    similarity = source.states @ target.states.transpose(1, 2)
    if options.compare == "cosine":
        similarity = similarity.add_(1.0).div_(2.0)
    if options.distortion:
        similarity = distort(similarity, mask, ratio=options.distortion)
    if isinstance(options, Transport):
        return _by_sinkhorn(options, similarity, mask)
    if isinstance(options, Threshold):
        return _by_threshold(options, similarity, mask, (source.words, target.words))
    return _by_similarity(options, similarity, mask)


def _by_similarity(options: Similarity, similarity: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Link by SimAlign's methods: argmax, itermax, match, forward, backward."""
    scores = similarity
    if isinstance(options, IterMax) and options.compare == "dot":
        # itermax multiplies scores by a discount below 1, which would raise negative ones. XLM-Align, which discounts
        # dot products, first sets those to 1e-6.
        scores = torch.where(similarity > 0, similarity, 1e-6)
    links = _read(options, options.method, scores, scores, scores, mask)
    if options.compare == "dot":
        forward, backward = softmax_probabilities(similarity, mask)
        return links, (forward * backward).sqrt()
    return links, similarity.clamp(0.0, 1.0)


def _by_threshold(
    options: Threshold, similarity: Tensor, mask: Tensor, words: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    """Link where both directions' softmax or entmax is above a threshold, as awesome-align does.

    1. Weights. Softmax or entmax over each row and each column; with ``word_weights`` of words instead of pieces.
    2. Neighbours. With ``adjacent`` weights rise beside likely links of neighbouring words.
    3. Threshold. A link needs a weight above ``threshold`` in both directions.
    4. Lone links. With ``alone`` a link whose probability is below it stays only beside a kept link.
    """
    # The temperature T is that of the cosine c itself, but what is compared here is (c + 1) / 2. Divided by T / 2 it is
    # c / T + 1 / T, and softmax and entmax do not change if a constant is added: they give the weights of c / T.
    divisor = options.temperature
    if options.compare == "cosine":
        divisor = options.temperature / 2.0
    similarity = similarity / divisor
    max_pieces = options.max_pieces()
    longest_in_batch = max(similarity.shape[1:])
    if max_pieces is not None and longest_in_batch > max_pieces:
        # A word that occurs several times in a long text is as similar each time; the nearest occurrence should win.
        # Shorter pairs of the batch stay unchanged: `near_path` looks at the size of each pair without padding.
        similarity = near_path(similarity, mask, longer_than=max_pieces)
    # Without `threshold` the limits are awesome-align's. No softmax is 0, so it needs a small one; entmax sets unlikely
    # links to 0 itself.
    if options.method == "softmax":
        forward, backward = softmax_probabilities(similarity, mask)
        threshold = 1e-3 if options.threshold is None else options.threshold
    else:
        forward = entmax15(similarity, dim=2, mask=mask)
        backward = entmax15(similarity, dim=1, mask=mask)
        threshold = 0.0 if options.threshold is None else options.threshold
    # 1
    if options.word_weights:
        forward, backward = word_weights(forward, backward, *words)
    # 2
    if options.adjacent:
        forward, backward, probability = by_adjacent(forward, backward, *words, bonus=options.adjacent)
    else:
        probability = (forward * backward).sqrt()
    # 3
    links = (forward > threshold) & (backward > threshold) & mask
    # 4
    if options.alone is not None:
        # Sure links are kept, and then every link that touches a kept one. Links below `min_probability` are left out
        # before that, so that none of them keeps others. (Without `alone`, `min_probability` is compared with the links
        # of words only: `EmbeddingAligner._links_of_words` does so for every method.)
        is_sure = probability >= options.alone
        candidates = links & (probability >= options.min_probability)
        links = joined_links(candidates, sure=is_sure)
    return links, probability


def word_weights(
    forward: Tensor, backward: Tensor, source_words: Tensor, target_words: Tensor
) -> tuple[Tensor, Tensor]:
    r"""The weights of pieces as weights of their words, in the place of each of their pieces.

    .. math:: P_{wv} = \frac{1}{|w|} \sum_{i \in w} \sum_{j \in v} P_{ij}, \qquad
        Q_{wv} = \frac{1}{|v|} \sum_{i \in w} \sum_{j \in v} Q_{ij}

    The softmax over pieces divides a word's weight among its pieces, so that no single one of a word of many pieces
    may look likely. P of a word still adds up to 1 over the words of the other side.

    **Shape**: forward P and backward Q (batch, n, m), words (batch, n) and (batch, m) -> P and Q (batch, n, m).
    """
    # Matrices with 1 where two pieces belong to one word: products with them are sums over the pieces of a word.
    source, target = _same_word(source_words, forward.dtype), _same_word(target_words, forward.dtype)
    # Rows that sum to 1: products with these are means over the pieces of a word.
    source_mean = source / source.sum(2, keepdim=True).clamp(min=1.0)
    target_mean = target / target.sum(2, keepdim=True).clamp(min=1.0)
    by_source, by_target = source_mean @ forward @ target, source @ backward @ target_mean
    return by_source.clamp(max=1.0), by_target.clamp(max=1.0)  # rounding


def _same_word(words: Tensor, dtype: torch.dtype) -> Tensor:
    """Mark the pieces that belong to one word: 1 where two of them do. **Shape**: (batch, n) -> (batch, n, n)."""
    same = (words[:, :, None] == words[:, None, :]) & (words >= 0)[:, :, None]
    return same.to(dtype)


def by_adjacent(
    forward: Tensor, backward: Tensor, source_words: Tensor, target_words: Tensor, *, bonus: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Raise the weights of :func:`word_weights`, and their geometric mean, beside the links of neighbouring words.

    Neighbours are words, not pieces. So the matrices are first reduced to one row and one column a word, raised, and
    then given back to the pieces of each word.

    **Shape**: as :func:`word_weights`, with the probability (batch, n, m) as third.
    """
    # Row r of the smaller matrices is the r-th source word that has pieces, column c the c-th target word.
    row_of_piece, first_piece_of_row = _word_slots(source_words)
    column_of_piece, first_piece_of_column = _word_slots(target_words)
    batch = torch.arange(len(forward), device=forward.device)[:, None, None]
    # From pieces to words: all pieces of a word have the same weights, so those of its first piece are taken.
    source_pieces = first_piece_of_row.clamp(min=0)[:, :, None]
    target_pieces = first_piece_of_column.clamp(min=0)[:, None, :]
    first_pieces = batch, source_pieces, target_pieces
    padding = ~pair_mask(first_piece_of_row >= 0, first_piece_of_column >= 0)
    forward_by_word = forward[first_pieces].masked_fill(padding, 0.0)
    backward_by_word = backward[first_pieces].masked_fill(padding, 0.0)
    # Raise the weights of words beside likely links.
    raised_forward = adjacent_weights(forward_by_word)
    raised_backward = adjacent_weights(backward_by_word.transpose(1, 2)).transpose(1, 2)
    raised_probability = adjacent_probabilities((raised_forward * raised_backward).sqrt(), bonus)
    # From words to pieces: two pieces get the value of their two words. Pieces of no word have no weight.
    source_rows = row_of_piece.clamp(min=0)[:, :, None]
    target_columns = column_of_piece.clamp(min=0)[:, None, :]
    has_no_word = ~pair_mask(source_words >= 0, target_words >= 0)

    def to_pieces(by_word: Tensor) -> Tensor:
        return by_word[batch, source_rows, target_columns].masked_fill(has_no_word, 0.0)

    return to_pieces(raised_forward), to_pieces(raised_backward), to_pieces(raised_probability)


def _word_slots(words: Tensor) -> tuple[Tensor, Tensor]:
    """Number the words that have pieces; returns the number of each piece's word, and the first piece of each word.

    Pieces of the words ``[2, 2, -1, 5]`` have the numbers ``[0, 0, 0, 1]``, and the first pieces are ``[0, 3]``. The
    number of a piece without a word means nothing.

    **Shape**: (batch, n) -> (batch, n), (batch, most words), -1 where a sentence has fewer words.
    """
    # A piece begins a word if the word's number is greater than those of all pieces before it.
    before = torch.nn.functional.pad(words, (1, 0), value=-1)[:, :-1].cummax(1).values
    begins_word = words > before
    slot = begins_word.cumsum(1) - 1
    most_words = max(1, int(begins_word.sum(1).max()))
    first_piece = words.new_full((len(words), most_words), -1)
    b, piece = begins_word.nonzero().T
    first_piece[b, slot[b, piece]] = piece
    return slot, first_piece


def _by_sinkhorn(options: Transport, similarity: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Link by optimal transport, as XLM-Align does."""
    rows, columns = sinkhorn(
        similarity, mask,
        iterations=options.iterations, mu=options.mu, order=options.order, epsilon=options.epsilon,
    )  # fmt: skip
    plan = rows if options.order == "official" else columns  # of the last half-step, as in self-labelling
    links = _read(options, options.links, plan, rows, columns, mask)
    # With iterations=0 the plan is the kernel itself, with values above 1; with epsilon=None it may be negative.
    plan = plan.clamp(min=0.0).masked_fill(~mask, 0.0)
    # The geometric mean of a cell's shares in its row and its column: √(p / row sum · p / column sum).
    tiny = torch.finfo(plan.dtype).tiny
    row_sums, column_sums = (plan.sum(dim, keepdim=True).clamp(min=tiny) for dim in (2, 1))
    return links, plan / (row_sums.sqrt() * column_sums.sqrt())


def _read(
    options: EmbeddingOptions, how: str, scores: Tensor, rows: Tensor, columns: Tensor, mask: Tensor
) -> Tensor:
    """Read links off matrices of source pieces by target pieces.

    ``argmax`` and ``intersection`` both keep the mutual best: ``argmax`` by one matrix for both directions,
    ``intersection`` by one matrix for each. SimAlign's methods have only one, which is given three times.

    Args:
        options: Have the options of ``itermax`` and ``printed``.
        how: How links are read: ``argmax``, ``match``, ``itermax`` and ``printed`` look at ``scores``, the others at
            ``rows`` or ``columns`` or both.
        scores: One matrix for both directions.
        rows: A matrix in which the best cell of each row is a link of the forward direction.
        columns: A matrix in which the best cell of each column is a link of the backward direction.
        mask: True where a source piece and a target piece meet, false for padding.
    """
    if how in ("itermax", "printed") and isinstance(options, IterMax | Transport | PointerNetwork):
        grow = printed_links if how == "printed" else itermax_links
        return grow(scores, mask, alpha=options.alpha, passes=options.passes)
    readers: dict[str, Callable[[], Tensor]] = {
        "argmax": lambda: intersection_links(scores, mask),
        "match": lambda: max_weight_links(scores, mask),
        "forward": lambda: forward_links(rows, mask),
        "backward": lambda: backward_links(columns, mask),
        "union": lambda: union_links(rows, mask, columns),
        "intersection": lambda: intersection_links(rows, mask, columns),
    }
    return readers[how]()
