"""The HMM aligner's passes over a text: probabilities of its words, expected links, best words, in compiled loops.

A text is visited a piece at a time (some thousand pairs of words), through these steps:

    slots ──> probabilities of words ──> posteriors of links ──> visit:  expected links, null counts, jumps
              _predict, _look_up         forward_backward        decode: best words, agreeing links

An *entry* is a pair of words of one sentence pair, its *slot* the place of these two words in the table of the text
(``pair_table.py``). Arrays of entries hold one sentence pair after the other, each as (source, target).
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
    Piece,
    agreeing,
    best_words,
    pieces,
    require_possible,
    sides_of,
)
from isoglot.aligners.statistical.markov import Both, JumpCounts, forward_backward
from isoglot.aligners.statistical.pair_table import FlatTable, find

UNIT = 65535.0
"""The contribution of an entry, from 0 to 1, is kept as a 16-bit number out of this."""


class WordTables(NamedTuple):
    """One direction's probabilities of words, as a model that was learned before gives them."""

    translation: npt.NDArray[np.floating]  # p(generated | condition) of each slot
    null: Doubles  # p(generated | null) of each generated word


class WordCounts(NamedTuple):
    """One direction's expected counts, from which predictive probabilities follow; see ``hmm.py``."""

    links: Doubles  # c(e, f) of each slot
    totals: Doubles  # c(e) of each conditioning word
    classes: Doubles  # of the pair of prefix classes of each slot; empty without prefixes
    class_totals: Doubles  # of the prefix class of each conditioning word
    share: Doubles  # β · p(f | prefix(f)) of each generated word; empty without prefixes
    null: Doubles  # of null and each generated word
    alpha: float = 0.0
    smooth: float = 0.0  # added to c(e) by the prior: α·V + β
    class_smooth: float = 0.0  # added to a class total: α times the number of generated classes
    null_total: float = 0.0  # the sum of `null`, with α for each generated word


class Contributions(NamedTuple):
    """The share of a text in the counts since its last visit, which predictions about the text leave out."""

    entries: npt.NDArray[np.int64]  # number of each sentence's first entry
    links: npt.NDArray[np.uint16]  # of each entry, out of UNIT
    null: Both  # of each token, in each direction


class LinkCounts(NamedTuple):
    """The expected counts that a visit adds up."""

    links: npt.NDArray[np.int64]  # of each slot, out of UNIT
    jumps: Both  # JumpCounts
    adding: Lock  # of ``links``, which all parts of a text add to


@compiled
def _predict(source, target, slots, contributed, contributed_null, ahead, back, result):
    """Compute both directions' predictive p(generated | condition) and p(generated | null) into ``result``.

    The share of an entry itself (``contributed``) is taken out of every count, so that a rare pair cannot confirm
    itself. Both directions have the same counts of links and classes, so one pass over these serves both.

    **Shape** of ``slots`` and ``contributed``: each pair's (source, target).
    """
    (forward, forward_null), (reverse, reverse_null) = result
    before, alpha = 0, ahead.alpha
    for s in range(len(source.offsets) - 1):
        words, target_words = sides_of(source, target, s)
        n, m = len(words), len(target_words)
        for i in range(n):
            word = words[i]
            for j in range(m):
                # c(e, f) − q + α: counts never fall below 0, which rounding of q could cause.
                at, target_word = before + i * m + j, target_words[j]
                slot, q = slots[at], contributed[at] / UNIT
                links = max(ahead.links[slot] - q, 0.0) + alpha
                forward_sum = reverse_sum = links
                # The base measure over prefixes: β · p(f | prefix(f)) · p(prefix(f) | prefix(e)).
                if len(ahead.share):
                    classes = max(ahead.classes[slot] - q, 0.0) + alpha
                    forward_sum += ahead.share[target_word] * (
                        classes / (max(ahead.class_totals[word] - q, 0.0) + ahead.class_smooth)
                    )
                    reverse_sum += back.share[word] * (
                        classes / (max(back.class_totals[target_word] - q, 0.0) + back.class_smooth)
                    )
                # Forward has (target, source) order, as forward–backward reads it; reverse has (source, target).
                forward[before + j * n + i] = forward_sum / (max(ahead.totals[word] - q, 0.0) + ahead.smooth)
                reverse[at] = reverse_sum / (max(back.totals[target_word] - q, 0.0) + back.smooth)
        before += n * m
    _predict_null(target, contributed_null.ahead, ahead, forward_null)
    _predict_null(source, contributed_null.back, back, reverse_null)


@helper
def _predict_null(generated, contributed, counts, result):
    """Compute the predictive p(generated | null) of each token, without its own share."""
    for k in range(len(result)):
        result[k] = (
            max(counts.null[generated.ids[k]] - contributed[k], 0.0) + counts.alpha
        ) / counts.null_total


@compiled
def _look_up(condition, generated, slots, turned, tables, result):
    """Look p(generated | condition) and p(generated | null) up in tables, into ``result``.

    ``slots`` has (source, target) order; with ``turned`` the source is the generated side. The result has (generated,
    condition) order, as that of :func:`_predict`.
    """
    emission, silent = result
    before = 0
    for s in range(len(condition.offsets) - 1):
        n, m = (
            condition.offsets[s + 1] - condition.offsets[s],
            generated.offsets[s + 1] - generated.offsets[s],
        )
        # How far apart the slots of two conditioning words are, and of two generated words.
        across, down = (1, n) if turned else (m, 1)
        for j in range(m):
            for i in range(n):
                emission[before + j * n + i] = tables.translation[slots[before + i * across + j * down]]
        before += n * m
    for k in range(len(silent)):
        silent[k] = tables.null[generated.ids[k]]


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
def _combine(source, target, slots, ahead, back, contributed, links):
    """Multiply both directions' posteriors, write the products to ``contributed``, and add them to ``links``.

    ``ahead`` has the cells of a pair target word by target word; ``back`` and ``contributed`` have them source word by
    source word.

    The product is the expected link of agreement (Liang, Taskar & Klein 2006, §3).
    """
    before = 0
    for s in range(len(source.offsets) - 1):
        n, m = source.offsets[s + 1] - source.offsets[s], target.offsets[s + 1] - target.offsets[s]
        for i in range(n):
            for j in range(m):
                k = before + i * m + j
                both = min(ahead[before + j * n + i], 1.0) * min(back[k], 1.0)
                fraction = np.uint16(both * UNIT + 0.5)
                contributed[k] = fraction
                if fraction:  # most are 0, and their slots need not be fetched
                    links[slots[k]] += fraction
        before += n * m


@compiled
def _keep_null(condition, generated, silent, contributed):
    """Copy null posteriors of generated words to ``contributed``, except in pairs whose conditioning side is empty."""
    for s in range(len(condition.offsets) - 1):
        if condition.offsets[s] < condition.offsets[s + 1]:
            for k in range(generated.offsets[s], generated.offsets[s + 1]):
                contributed[k] = silent[k]


class _Posteriors(NamedTuple):
    """One direction's probabilities of a piece of text, which forward–backward turns into posteriors in place."""

    links: Doubles
    null: Doubles


def _found_slots(piece: Piece, table: FlatTable) -> Ints:
    """Find the slot of each entry of a piece."""
    slots = np.empty(int(piece.source.lengths @ piece.target.lengths), np.int64)
    _slots(piece.source, piece.target, table, slots)
    return slots


def _probabilities(
    piece: Piece, slots: Ints, words: Both, contributed: npt.NDArray[np.uint16], contributed_null: Both
) -> Both:
    """Compute both directions' p(generated | condition) and p(generated | null) of a piece, from counts or tables."""
    sides = piece.source, piece.target
    posteriors = Both(*(_Posteriors(np.empty(len(slots)), np.empty(len(side.ids))) for side in sides[::-1]))
    if isinstance(words.ahead, WordCounts):
        _predict(*sides, slots, contributed, contributed_null, *words, posteriors)
    else:
        _look_up(*sides, slots, False, words.ahead, posteriors.ahead)
        _look_up(*sides[::-1], slots, True, words.back, posteriors.back)
    return posteriors


def visit(
    sides: tuple[FlatSide, FlatSide],
    part: tuple[int, int],
    table: FlatTable,
    words: Both,
    jumps: Both,
    contributed: Contributions,
    expected: LinkCounts,
) -> None:
    """E-step over the sentences ``part[0]`` to ``part[1]`` − 1: adds to ``expected``, and renews ``contributed``.

    Args:
        sides: Source and target side of the text.
        part: First sentence, and the one after the last.
        table: The word pairs of the text, by source word.
        words: :class:`WordTables` (in the first iteration) or :class:`WordCounts` of both directions.
        jumps: Jump weights of both directions.
        contributed: The share of each entry and token in the counts of ``words``.
        expected: The sums to add to; parts in other threads add to the same links.
    """
    for piece in pieces(*sides, *part):
        slots = _found_slots(piece, table)
        links = contributed.links[
            contributed.entries[piece.sentences.start] : contributed.entries[piece.sentences.stop]
        ]
        null = Both(contributed.null.ahead[piece.target_tokens], contributed.null.back[piece.source_tokens])
        posteriors = _probabilities(piece, slots, words, links, null)
        score = np.zeros(len(piece.source.offsets) - 1)
        for k, (condition, generated, _) in enumerate(piece.directions):
            forward_backward(condition, generated, *posteriors[k], jumps[k], expected.jumps[k], score)
            require_possible(score)
            _keep_null(condition, generated, posteriors[k].null, null[k])
        # Compiled loops run in threads side by side, so only one at a time adds to the shared links.
        with expected.adding:
            _combine(
                piece.source,
                piece.target,
                slots,
                posteriors.ahead.links,
                posteriors.back.links,
                links,
                expected.links,
            )


def decode(
    source: BitextSide,
    target: BitextSide,
    table: FlatTable,
    words: Both,
    jumps: Both,
    threshold: float | None,
) -> Decoded:
    """Find each direction's best words of a text, and with a ``threshold`` the links on which both directions agree.

    ``table`` and ``words`` are those of :func:`visit`; nothing is left out of the counts.
    """
    best = Both(BestWords.empty(target), BestWords.empty(source))

    def run(piece: Piece) -> tuple[Doubles, Doubles]:
        slots = _found_slots(piece, table)
        null = Both(*(np.zeros(len(side.ids), np.float32) for side in (piece.target, piece.source)))
        posteriors = _probabilities(piece, slots, words, np.zeros(len(slots), np.uint16), null)
        for k, (condition, generated, tokens) in enumerate(piece.directions):
            expected = JumpCounts(np.zeros(len(jumps[k].width)), np.zeros(len(jumps[k].start)))
            score = best[k].score[piece.sentences]
            forward_backward(condition, generated, *posteriors[k], jumps[k], expected, score)
            require_possible(score)
            best_words(
                condition, generated, *posteriors[k], best[k].word[tokens], best[k].probability[tokens]
            )
        return posteriors.back.links, posteriors.ahead.links

    # `agreeing` visits all pieces; without a threshold only for the best words: no posterior reaches 2.
    agreed = agreeing(source, target, 2.0 if threshold is None else threshold, run)
    return *best, None if threshold is None else agreed
