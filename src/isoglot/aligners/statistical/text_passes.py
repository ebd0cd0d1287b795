"""The HMM aligner's two passes over a text: ``visit`` adds up expected counts (E-step), ``decode`` finds links.

Both go through a text batch by batch (:class:`~isoglot.aligners.statistical.decoding.PairBatch`), in these steps:

    slots of entries ──> probabilities of words ──> posteriors of links ──> visit:  expected links, null counts, jumps
    _slots               _predict or _look_up       forward_backward        decode: best words, agreeing links

An *entry* is a pair of words of one sentence pair, its *slot* the place of these two words in the table of the text
(``pair_table.py``). Arrays of entries hold one sentence pair after the other. Inside a sentence pair of n source words
and m target words entry (i, j) stands

- source word by source word, at ``i · m + j``: slots, contributions, and everything of the reverse direction;
- target word by target word, at ``j · n + i``: everything of the forward direction.

So forward–backward, which goes from generated word to generated word, reads either direction from left to right.
"""

from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.bitext import BitextSide, FlatSide, Ints
from isoglot.aligners.statistical.decoding import (
    BestWords,
    Decoded,
    Doubles,
    PairBatch,
    agreeing,
    best_words,
    of_batches,
    pair_batches,
    require_possible,
    sides_of,
)
from isoglot.aligners.statistical.markov import BothDirections, JumpCounts, forward_backward
from isoglot.aligners.statistical.pair_table import FlatTable, find

UNIT = 65535.0
"""The contribution of an entry, from 0 to 1, is kept as a 16-bit number out of this."""


class WordTables(NamedTuple):
    """One direction's probabilities of words, taken from a model that was learned before."""

    translation: npt.NDArray[np.floating]  # p(generated | condition) of each slot
    null: Doubles  # p(generated | null) of each generated word


class WordCounts(NamedTuple):
    """One direction's expected counts, from which predictive probabilities follow by the formulas of ``hmm.py``."""

    links: Doubles  # c(e, f) of each slot
    totals: Doubles  # c(e) of each conditioning word
    class_links: Doubles  # of the pair of prefix classes of each slot; empty without prefixes
    class_totals: Doubles  # of the prefix class of each conditioning word
    # β · p(f | prefix(f)) of each generated word, by which p(prefix(f) | prefix(e)) is weighted; empty without prefixes
    prefix_weight: Doubles
    null_counts: Doubles  # c(null, f) of each generated word
    alpha: float = 0.0  # added to each count by the prior
    smooth: float = 0.0  # added to c(e) by the prior: α·V + β
    class_smooth: float = 0.0  # added to a class total: α times the number of generated classes
    null_total: float = 0.0  # the sum of `null_counts`, with α for each generated word


class Contributions(NamedTuple):
    """How much the last visit of each entry and token added to the counts; predictions about it leave this out."""

    entries: npt.NDArray[np.int64]  # number of each sentence's first entry
    links: npt.NDArray[np.uint16]  # of each entry, out of UNIT
    null: BothDirections  # of null at each token: float32 arrays


class LinkCounts(NamedTuple):
    """The expected counts that visits add up."""

    links: npt.NDArray[np.int64]  # of each slot, out of UNIT
    jumps: BothDirections  # of JumpCounts
    adding: Lock  # of ``links``, which all parts of a text add to


class _Posteriors(NamedTuple):
    """One direction's probabilities of the words of a batch, which forward–backward turns into posteriors in place.

    Until then the loops call ``links`` *emissions* and ``null`` *silents*, the names that ``markov.py`` has for them.
    """

    links: Doubles  # first p(generated | condition), then p(a_j = i | sentence pair), of each entry
    null: Doubles  # first p(generated | null), then p(a_j = null | sentence pair), of each generated token


@compiled
def _predict(source, target, slots, contributed, contributed_null, forward, reverse, result):
    """Compute both directions' predictive p(generated | condition) and p(generated | null) into ``result``.

    The contribution of an entry itself (``contributed``) is taken out of every count, so that a rare pair cannot
    confirm itself. Both directions have the same counts of links and classes, so one pass over these serves both.

    ``forward``, ``reverse``: :class:`WordCounts` of the directions. ``result``: :class:`_Posteriors` of both, which
    hold these probabilities until forward–backward turns them into posteriors.

    **Shape** of ``slots`` and ``contributed``: each pair's (source, target).
    """
    (forward_emissions, forward_silents), (reverse_emissions, reverse_silents) = result
    # `before`: the entries of the sentence pairs before this one.
    before, alpha = 0, forward.alpha
    for s in range(len(source.offsets) - 1):
        words, target_words = sides_of(source, target, s)
        n, m = len(words), len(target_words)
        for i in range(n):
            word = words[i]
            for j in range(m):
                # c(e, f) − q + α: counts never fall below 0, which rounding of q could cause.
                at, target_word = before + i * m + j, target_words[j]
                slot, q = slots[at], contributed[at] / UNIT
                links = max(forward.links[slot] - q, 0.0) + alpha
                forward_sum = reverse_sum = links
                # The base measure over prefixes: β · p(f | prefix(f)) · p(prefix(f) | prefix(e)).
                if len(forward.prefix_weight):
                    class_links = max(forward.class_links[slot] - q, 0.0) + alpha
                    forward_sum += forward.prefix_weight[target_word] * (
                        class_links / (max(forward.class_totals[word] - q, 0.0) + forward.class_smooth)
                    )
                    reverse_sum += reverse.prefix_weight[word] * (
                        class_links / (max(reverse.class_totals[target_word] - q, 0.0) + reverse.class_smooth)
                    )
                # Divide by the total of the conditioning word: c(e) − q + α·V + β.
                forward_total = max(forward.totals[word] - q, 0.0) + forward.smooth
                reverse_total = max(reverse.totals[target_word] - q, 0.0) + reverse.smooth
                forward_emissions[before + j * n + i] = forward_sum / forward_total
                reverse_emissions[at] = reverse_sum / reverse_total
        before += n * m
    _predict_null(target, contributed_null.forward, forward, forward_silents)
    _predict_null(source, contributed_null.reverse, reverse, reverse_silents)


@helper
def _predict_null(generated, contributed, counts, silents):
    """Compute the predictive p(generated | null) of each token: (c(null, f) − q + α) / (c(null) + α·V).

    Only the count of the word leaves out the contribution q of the token. The total keeps it: it sums up the null links
    of the whole text, so that one contribution, at most 1, hardly changes it.
    """
    for k in range(len(silents)):
        silents[k] = (
            max(counts.null_counts[generated.ids[k]] - contributed[k], 0.0) + counts.alpha
        ) / counts.null_total


@compiled
def _look_up(condition, generated, slots, turned, tables, result):
    """Look p(generated | condition) and p(generated | null) up in tables, into ``result``.

    ``turned``: Whether the source is the generated side. ``tables``: :class:`WordTables` of the direction. ``result``:
    Its :class:`_Posteriors`, which hold these probabilities until forward–backward turns them into posteriors.

    **Shape** of ``slots``: each pair's (source, target); of the result: each pair's (generated, condition).
    """
    emissions, silents = result
    before = 0
    for s in range(len(condition.offsets) - 1):
        n, m = (
            condition.offsets[s + 1] - condition.offsets[s],
            generated.offsets[s + 1] - generated.offsets[s],
        )
        # The distance in `slots` from one conditioning word to the next, and from one generated word to the next.
        condition_step, generated_step = (1, n) if turned else (m, 1)
        for j in range(m):
            for i in range(n):
                slot = slots[before + i * condition_step + j * generated_step]
                emissions[before + j * n + i] = tables.translation[slot]
        before += n * m
    for k in range(len(silents)):
        silents[k] = tables.null[generated.ids[k]]


@compiled
def _slots(source, target, table, slots):
    """Find the slot of each entry. **Shape** of each pair: (source, target)."""
    done = 0
    for s in range(len(source.offsets) - 1):
        words, target_words = sides_of(source, target, s)
        for word in words:
            for target_word in target_words:
                slots[done] = find(table.start, table.key, word, target_word)
                done += 1


@compiled
def _combine(source, target, slots, forward, reverse, contributed, links):
    """Multiply both directions' posteriors, write the products to ``contributed``, and add them to ``links``.

    The product is the expected link of agreement (Liang, Taskar & Klein 2006, §3).

    **Shape** of ``forward``: each pair's (target, source); of ``reverse`` and ``contributed``: (source, target).
    """
    before = 0
    for s in range(len(source.offsets) - 1):
        n, m = source.offsets[s + 1] - source.offsets[s], target.offsets[s + 1] - target.offsets[s]
        for i in range(n):
            for j in range(m):
                k = before + i * m + j
                # Rounding can make a posterior a little more than 1.
                both = min(forward[before + j * n + i], 1.0) * min(reverse[k], 1.0)
                fraction = np.uint16(both * UNIT + 0.5)
                contributed[k] = fraction
                if fraction:  # most are 0, and their slots need not be fetched
                    links[slots[k]] += fraction
        before += n * m


@compiled
def _keep_null(condition, generated, null, contributed):
    """Copy null posteriors of generated words to ``contributed``, except in pairs whose conditioning side is empty."""
    for s in range(len(condition.offsets) - 1):
        if condition.offsets[s] < condition.offsets[s + 1]:
            for k in range(generated.offsets[s], generated.offsets[s + 1]):
                contributed[k] = null[k]


def _found_slots(batch: PairBatch, table: FlatTable) -> Ints:
    """Find the slot of each entry of a batch."""
    slots = np.empty(int(batch.source.lengths @ batch.target.lengths), np.int64)
    _slots(batch.source, batch.target, table, slots)
    return slots


def _probabilities(
    batch: PairBatch,
    slots: Ints,
    learned: BothDirections,
    contributed: npt.NDArray[np.uint16],
    contributed_null: BothDirections,
) -> BothDirections:
    """Compute both directions' p(generated | condition) and p(generated | null) of a batch, from counts or tables."""
    source, target = batch.source, batch.target
    # The forward direction generates the target words, the reverse direction the source words.
    forward = _Posteriors(np.empty(len(slots)), np.empty(len(target.ids)))
    reverse = _Posteriors(np.empty(len(slots)), np.empty(len(source.ids)))
    posteriors = BothDirections(forward, reverse)
    if isinstance(learned.forward, WordCounts):
        _predict(source, target, slots, contributed, contributed_null, *learned, posteriors)
    else:
        _look_up(source, target, slots, False, learned.forward, forward)
        _look_up(target, source, slots, True, learned.reverse, reverse)
    return posteriors


def visit(
    sides: tuple[FlatSide, FlatSide],
    part: tuple[int, int],
    table: FlatTable,
    learned: BothDirections,
    jumps: BothDirections,
    contributed: Contributions,
    expected: LinkCounts,
) -> None:
    """Run the E-step over the sentences ``part[0]`` to ``part[1]`` − 1: add to ``expected``, renew ``contributed``.

    Args:
        sides: Source and target side of the text.
        part: First sentence, and the one after the last.
        table: The word pairs of the text, by source word.
        learned: :class:`WordTables` (in the first iteration) or :class:`WordCounts` of both directions.
        jumps: Jump weights of both directions.
        contributed: The contributions of each entry and token to the counts of ``learned``.
        expected: The sums to add to; parts in other threads add to the same links.
    """
    for batch in pair_batches(*sides, *part):
        slots = _found_slots(batch, table)
        # Views of the batch's own contributions: what is written to them is written to `contributed`.
        first_entry = contributed.entries[batch.sentences.start]
        end_entry = contributed.entries[batch.sentences.stop]
        contributed_links = contributed.links[first_entry:end_entry]
        contributed_null = BothDirections(
            contributed.null.forward[batch.target_tokens], contributed.null.reverse[batch.source_tokens]
        )
        posteriors = _probabilities(batch, slots, learned, contributed_links, contributed_null)
        for k, (condition, generated, _) in enumerate(batch.directions):
            # Of each pair in this direction; 0 where a side is empty.
            log_likelihood = np.zeros(len(condition.offsets) - 1)
            forward_backward(
                condition, generated, *posteriors[k], jumps[k], expected.jumps[k], log_likelihood
            )
            require_possible(log_likelihood)
            _keep_null(condition, generated, posteriors[k].null, contributed_null[k])
        # Compiled loops run in threads side by side, so only one at a time adds to the shared links.
        with expected.adding:
            _combine(
                batch.source,
                batch.target,
                slots,
                posteriors.forward.links,
                posteriors.reverse.links,
                contributed_links,
                expected.links,
            )


def decode(
    source: BitextSide,
    target: BitextSide,
    table: FlatTable,
    learned: BothDirections,
    jumps: BothDirections,
    threshold: float | None,
) -> Decoded:
    """Find each direction's best words of a text, and with a ``threshold`` the links on which both directions agree.

    ``table`` and ``learned`` are those of :func:`visit`; nothing is left out of the counts.
    """
    best = BothDirections(BestWords.empty(target), BestWords.empty(source))

    def posteriors_of(batch: PairBatch) -> tuple[Doubles, Doubles]:
        """Fill ``best`` for a batch; returns the posteriors of the reverse and of the forward direction."""
        slots = _found_slots(batch, table)
        # No contributions, because nothing is left out.
        no_links = np.zeros(len(slots), np.uint16)
        no_null = BothDirections(
            np.zeros(len(batch.target.ids), np.float32), np.zeros(len(batch.source.ids), np.float32)
        )
        posteriors = _probabilities(batch, slots, learned, no_links, no_null)
        for k, (condition, generated, tokens) in enumerate(batch.directions):
            # forward_backward also counts jumps, which nobody reads here.
            expected = JumpCounts.zeros(jumps[k])
            # A view: what is written to it is written to `best`.
            log_likelihood = best[k].log_likelihood[batch.sentences]
            forward_backward(condition, generated, *posteriors[k], jumps[k], expected, log_likelihood)
            require_possible(log_likelihood)
            best_words(
                condition, generated, *posteriors[k], best[k].word[tokens], best[k].probability[tokens]
            )
        return posteriors.reverse.links, posteriors.forward.links

    def fill_best(batch: PairBatch) -> None:
        """Fill ``best`` for a batch, and drop the posteriors: those of a whole text would not fit into memory."""
        posteriors_of(batch)

    if threshold is None:
        of_batches(source, target, fill_best)
        return best.forward, best.reverse, None
    agreed = agreeing(source, target, threshold, posteriors_of)
    return best.forward, best.reverse, agreed
