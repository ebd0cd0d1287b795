"""From the states of two sentences to links and their probabilities, one function a kind of method, all batched."""

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
    adjacent_links,
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
    """One side of a batch of pairs, padded to n pieces."""

    states: Tensor
    """(batch, n, hidden), float32, of length 1 where the cosine is compared."""
    mask: Tensor
    """(batch, n)."""
    words: Tensor
    """(batch, n): the word of each piece, negative where it belongs to none."""


def score_links(
    options: EmbeddingOptions, source: Side, target: Side, mask: Tensor, pointer: Pointer | None = None
) -> tuple[Tensor, Tensor]:
    """Links and their probabilities by a method.

    A link's probability is the similarity ``(cosine + 1) / 2`` for SimAlign's methods; for all others the
    geometric mean of the two directions' normalised weights (softmax, entmax, the rows and columns of a Sinkhorn
    plan, the pointer's attention).

    **Shape**: mask of :func:`~isoglot.modules.extraction.pair_mask` (batch, n, m) -> both (batch, n, m).
    """
    if pointer is not None and isinstance(options, PointerNetwork):
        forward, backward = pointer_alignment(pointer, source.states, target.states, source.mask, target.mask)
        probability = (forward * backward).sqrt()
        if options.links == "intersection":  # of both directions' geometric mean
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
    scores = similarity
    if isinstance(options, IterMax) and options.compare == "dot":
        # Its discount would raise what is negative; XLM-Align takes 1e-6 for such products before it.
        scores = torch.where(similarity > 0, similarity, 1e-6)
    links = _read(options, options.method, scores, scores, scores, mask)
    if options.compare == "dot":
        forward, backward = softmax_probabilities(similarity, mask)
        return links, (forward * backward).sqrt()
    return links, similarity.clamp(0.0, 1.0)


def _by_threshold(
    options: Threshold, similarity: Tensor, mask: Tensor, words: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    # A cosine is compared as (cosine + 1) / 2, whose softmax at half the temperature is the cosine's.
    scale = options.temperature / (2.0 if options.compare == "cosine" else 1.0)
    similarity = similarity / scale
    if (window := options.window()) is not None and max(similarity.shape[1:]) > window:
        similarity = near_path(similarity, mask, longer_than=window)
    if options.method == "softmax":
        forward, backward = softmax_probabilities(similarity, mask)
        threshold = 1e-3 if options.threshold is None else options.threshold
    else:
        forward, backward = (entmax15(similarity, dim=dim, mask=mask) for dim in (2, 1))
        threshold = options.threshold or 0.0
    if options.word_weights:
        forward, backward = word_weights(forward, backward, *words)
    if options.adjacent:
        forward, backward, probability = by_adjacent(forward, backward, *words, bonus=options.adjacent)
    else:
        probability = (forward * backward).sqrt()
    links = (forward > threshold) & (backward > threshold) & mask
    if options.alone is not None:
        links = joined_links(links & (probability >= options.min_probability), probability >= options.alone)
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
    same = []
    for words in (source_words, target_words):
        real = (words[:, :, None] == words[:, None, :]) & (words >= 0)[:, :, None]
        same.append(real.to(forward.dtype))
    source, target = same
    means = [s / s.sum(2, keepdim=True).clamp(min=1.0) for s in same]
    found = means[0] @ forward @ target, source @ backward @ means[1]
    return found[0].clamp(max=1.0), found[1].clamp(max=1.0)  # rounding


def by_adjacent(
    forward: Tensor, backward: Tensor, source_words: Tensor, target_words: Tensor, *, bonus: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Weights of :func:`word_weights` and their geometric mean, raised beside the links of neighbouring words.

    **Shape**: as :func:`word_weights`, with the probability (batch, n, m) as third; neighbours are words, not pieces.
    """
    (row, first_row), (column, first_column) = _slots(source_words), _slots(target_words)
    batch = torch.arange(len(forward), device=forward.device)[:, None, None]
    own = batch, first_row.clamp(min=0)[:, :, None], first_column.clamp(min=0)[:, None, :]
    real = pair_mask(first_row >= 0, first_column >= 0)
    by_word = [weights[own].masked_fill(~real, 0.0) for weights in (forward, backward)]
    by_row = adjacent_weights(by_word[0])
    by_column = adjacent_weights(by_word[1].transpose(1, 2)).transpose(1, 2)
    probability = adjacent_links((by_row * by_column).sqrt(), bonus)
    place = batch, row.clamp(min=0)[:, :, None], column.clamp(min=0)[:, None, :]
    outside = ~pair_mask(source_words >= 0, target_words >= 0)
    forward, backward, probability = (
        found[place].masked_fill(outside, 0.0) for found in (by_row, by_column, probability)
    )
    return forward, backward, probability


def _slots(words: Tensor) -> tuple[Tensor, Tensor]:
    """The place of each piece's word among the words that have pieces, and the first piece of each such word.

    **Shape**: (batch, n) -> (batch, n), (batch, most words); -1 where a sentence has fewer.
    """
    before = torch.nn.functional.pad(words, (1, 0), value=-1)[:, :-1].cummax(1).values
    first = words > before
    slot = first.cumsum(1) - 1
    found = words.new_full((len(words), max(1, int(first.sum(1).max()))), -1)
    b, piece = first.nonzero().T
    found[b, slot[b, piece]] = piece
    return slot, found


def _by_sinkhorn(options: Transport, similarity: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    rows, columns = sinkhorn(
        similarity, mask,
        iterations=options.iterations, mu=options.mu, order=options.order, epsilon=options.epsilon,
    )  # fmt: skip
    plan = rows if options.order == "official" else columns  # of the last half-step, as in self-labelling
    links = _read(options, options.links, plan, rows, columns, mask)
    # Without iterations the kernel itself comes back, which need not be below 1; without a floor it has signs.
    plan = plan.clamp(min=0.0).masked_fill(~mask, 0.0)
    tiny = torch.finfo(plan.dtype).tiny
    by_row, by_column = (plan.sum(dim, keepdim=True).clamp(min=tiny).sqrt() for dim in (2, 1))
    return links, plan / (by_row * by_column)  # geometric mean of both directions' shares


def _read(
    options: EmbeddingOptions, how: str, scores: Tensor, rows: Tensor, columns: Tensor, mask: Tensor
) -> Tensor:
    """Links by one matrix, or by one whose rows and one whose columns are searched."""
    if how in ("itermax", "printed") and isinstance(options, IterMax | Transport | PointerNetwork):
        grow = printed_links if how == "printed" else itermax_links
        return grow(scores, mask, alpha=options.alpha, max_count=options.passes)
    readers: dict[str, Callable[[], Tensor]] = {
        "argmax": lambda: intersection_links(scores, mask),
        "match": lambda: max_weight_links(scores, mask),
        "forward": lambda: forward_links(rows, mask),
        "backward": lambda: backward_links(columns, mask),
        "union": lambda: union_links(rows, mask, columns),
        "intersection": lambda: intersection_links(rows, mask, columns),
    }
    return readers[how]()
