"""The HMM aligner's passes over a text: probabilities of its words, expected links, best words, in compiled loops."""

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
"""An entry's contribution is kept as a 16-bit fraction of this."""


class WordTables(NamedTuple):
    """One direction's probabilities of words."""

    translation: npt.NDArray[np.floating]  # p(generated | condition) of each slot
    null: Doubles  # p(generated | null) of each generated word


class WordCounts(NamedTuple):
    """One direction's expected counts, from which predictive probabilities follow."""

    links: Doubles  # of each slot
    totals: Doubles  # of each conditioning word
    classes: Doubles  # of the prefix classes of each slot; empty without prefixes
    class_totals: Doubles  # of the prefix class of each conditioning word
    share: Doubles  # p(f | prefix(f)) · β of each generated word; empty without prefixes
    null: Doubles  # of null and each generated word
    alpha: float = 0.0
    smooth: float = 0.0  # what the prior adds to a total
    class_smooth: float = 0.0  # and to a class total
    null_total: float = 0.0


class Contributions(NamedTuple):
    """What a text contributed to the counts at the last visit."""

    entries: npt.NDArray[np.int64]  # each sentence's first entry
    links: npt.NDArray[np.uint16]  # of each entry, as a fraction
    null: Both  # of each token, in each direction


class LinkCounts(NamedTuple):
    """What a visit adds up."""

    links: npt.NDArray[np.int64]  # of each slot, as a fraction
    jumps: Both  # JumpCounts
    adding: Lock  # of ``links``, which all parts of a text add to


@compiled
def _predict(source, target, slots, contributed, contributed_null, ahead, back, result):
    """Both directions' predictive p(generated | condition) and p(generated | null), without each entry's own share.

    Both have the same links and classes, so one pass over these serves both.

    **Shape** of ``slots`` and ``own``: each pair's (source, target).
    """
    (forward, forward_null), (reverse, reverse_null) = result
    before, alpha = 0, ahead.alpha
    for s in range(len(source.offsets) - 1):
        words, target_words = sides_of(source, target, s)
        n, m = len(words), len(target_words)
        for i in range(n):
            word = words[i]
            for j in range(m):
                at, target_word = before + i * m + j, target_words[j]
                slot, q = slots[at], contributed[at] / UNIT
                links = max(ahead.links[slot] - q, 0.0) + alpha
                forward_sum = reverse_sum = links
                if len(ahead.share):
                    classes = max(ahead.classes[slot] - q, 0.0) + alpha
                    forward_sum += ahead.share[target_word] * (
                        classes / (max(ahead.class_totals[word] - q, 0.0) + ahead.class_smooth)
                    )
                    reverse_sum += back.share[word] * (
                        classes / (max(back.class_totals[target_word] - q, 0.0) + back.class_smooth)
                    )
                forward[before + j * n + i] = forward_sum / (max(ahead.totals[word] - q, 0.0) + ahead.smooth)
                reverse[at] = reverse_sum / (max(back.totals[target_word] - q, 0.0) + back.smooth)
        before += n * m
    _predict_null(target, contributed_null.ahead, ahead, forward_null)
    _predict_null(source, contributed_null.back, back, reverse_null)


@helper
def _predict_null(generated, contributed, counts, result):
    for k in range(len(result)):
        result[k] = (
            max(counts.null[generated.ids[k]] - contributed[k], 0.0) + counts.alpha
        ) / counts.null_total


@compiled
def _look_up(condition, generated, slots, turned, tables, result):
    """p(generated | condition) and p(generated | null) as tables have them; shapes as :func:`_predict` has them."""
    emission, silent = result
    before = 0
    for s in range(len(condition.offsets) - 1):
        n, m = (
            condition.offsets[s + 1] - condition.offsets[s],
            generated.offsets[s + 1] - generated.offsets[s],
        )
        across, down = (1, n) if turned else (m, 1)
        for j in range(m):
            for i in range(n):
                emission[before + j * n + i] = tables.translation[slots[before + i * across + j * down]]
        before += n * m
    for k in range(len(silent)):
        silent[k] = tables.null[generated.ids[k]]


@compiled
def _slots(source, target, table, slots):
    """The slots of each pair's words. **Shape** of each: (source, target)."""
    done = 0
    for s in range(len(source.offsets) - 1):
        words, target_words = sides_of(source, target, s)
        for word in words:
            for target_word in target_words:
                slots[done] = find(table.start, table.key, word, target_word)
                done += 1


@compiled
def _combine(source, target, slots, ahead, back, contributed, links):
    """The products of both directions' posteriors into ``own``, added to ``links`` too."""
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
    """The null posteriors of the words of pairs with two sides into ``own``."""
    for s in range(len(condition.offsets) - 1):
        if condition.offsets[s] < condition.offsets[s + 1]:
            for k in range(generated.offsets[s], generated.offsets[s + 1]):
                contributed[k] = silent[k]


class _Posteriors(NamedTuple):
    """One direction's posteriors of a piece of text."""

    links: Doubles
    null: Doubles


def _found_slots(piece: Piece, table: FlatTable) -> Ints:
    slots = np.empty(int(piece.source.lengths @ piece.target.lengths), np.int64)
    _slots(piece.source, piece.target, table, slots)
    return slots


def _probabilities(
    piece: Piece, slots: Ints, words: Both, contributed: npt.NDArray[np.uint16], contributed_null: Both
) -> Both:
    """Both directions' p(generated | condition) and p(generated | null) of a piece, as :class:`_Posteriors`."""
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
    """E-step over the sentences ``part[0]`` to ``part[1]`` − 1; adds to ``expected``.

    ``table`` has the word pairs by source word; ``words`` both directions' :class:`WordTables` or :class:`WordCounts`.
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
    """Each direction's best words of a text, and the links that agree where a ``threshold`` is given.

    ``table`` and ``words`` as :func:`visit` has them; nothing is left out of counts.
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

    agreed = agreeing(source, target, 2.0 if threshold is None else threshold, run)
    return *best, None if threshold is None else agreed
