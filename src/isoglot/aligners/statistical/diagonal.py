"""Compiled loops of fast_align's model; see ``da.h``, ``ttables.h`` and ``fast_align.cc`` of the C++ program.

``i`` is the place of a conditioning word among the ``n`` of a sentence pair, ``j`` that of a generated word among the
``m``. Word numbers below 0 are words that the model does not know.

An update (``ibm2.estimate``) goes through the text twice: ``expectations`` computes the probability of each generated
word, which the expected links are divided by, and ``update`` adds up the expected links of one conditioning word after
the other.

Where one word stands at two equal distances from the diagonal, the last bits of the probabilities decide, which depend
on the order of the sums: there the links may differ from the program's.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.bitext import FlatSide, Ints
from isoglot.aligners.statistical.decoding import BestWords, sides_of
from isoglot.aligners.statistical.options import PositionOptions
from isoglot.aligners.statistical.pair_table import EMPTY, FlatTable, find
from isoglot.aligners.statistical.positions import PositionTable, position

Doubles = npt.NDArray[np.float64]


class Probabilities(NamedTuple):
    """The parameters of one direction; see :class:`isoglot.aligners.statistical.ibm2.DiagonalDirection`."""

    translation: npt.NDArray[np.floating]
    null: Doubles
    tension: float


class DirectionText(NamedTuple):
    """A text as one direction sees it: the conditioning side, the generated side, and the table of word pairs."""

    condition: FlatSide
    generated: FlatSide
    table: FlatTable

    def position_table(self, options: PositionOptions, tension: float) -> PositionTable:
        """Compute the position probabilities of all sentences."""
        return PositionTable.of(self.condition.lengths, self.generated.lengths, options, tension)


@helper
def _digamma(x):
    """ψ(x), as the C++ program computes it: by a series in 1 / x², after ψ(x) = ψ(x + 1) − 1 / x has made x large."""
    result = 0.0
    while x < 7:
        result -= 1 / x
        x += 1
    x -= 1.0 / 2.0
    xx = 1.0 / x
    xx2 = xx * xx
    xx4 = xx2 * xx2
    return result + (
        math.log(x) + (1.0 / 24.0) * xx2 - (7.0 / 960.0) * xx4 + (31.0 / 8064.0) * xx4 * xx2
        - (127.0 / 30720.0) * xx4 * xx4
    )  # fmt: skip


@compiled
def normalise(counts, table, prior, probability):
    """Turn counts into probabilities, row by row.

    With a Dirichlet prior (variational Bayes) they are exp(ψ(c + α) − ψ(Σ(c + α))), which is less than the share of a
    count, above all of a small one; without a prior they are the shares. ``prior``: Whether there is one, and its α.
    """
    for row in range(len(table.size)):
        slots = slice(table.start[row], table.start[row + 1])
        _normalise_row(table.key[slots], counts[slots], prior, probability[slots])


@helper
def _normalise_row(key, counts, prior, probability):
    """Turn the counts of one row into probabilities; empty slots are passed over."""
    bayes, alpha = prior
    total = 0.0
    for slot in range(len(key)):
        if key[slot] != EMPTY:
            total += counts[slot] + (alpha if bayes else 0.0)
    if total == 0:
        total = 1.0
    digamma_total = _digamma(total) if bayes else 0.0
    for slot in range(len(key)):
        if key[slot] != EMPTY:
            count = counts[slot]
            probability[slot] = math.exp(_digamma(count + alpha) - digamma_total) if bayes else count / total


@helper
def _joint_null(word, n, null, options):
    """p(a_j = null, f_j): the probability that a generated word is ``word`` and has no counterpart."""
    if not options.use_null:
        return 0.0
    translation = null[word] if word >= 0 else 1e-9
    return translation * (options.null_probability if options.favour_diagonal else 1.0 / (n + 1.0))


class Room(NamedTuple):
    """Arrays that the loops over a text write into, so that they allocate nothing."""

    joint: Doubles  # p(a_j = i, f_j) of one sentence
    joint_null: Doubles  # p(a_j = null, f_j) of its words
    total: Doubles  # the sum of both

    @classmethod
    def of(cls, text: DirectionText) -> Room:
        """Room for any sentence of a text."""
        n, m = text.condition.lengths, text.generated.lengths
        most, longest = int((n * m).max(initial=0)), int(m.max(initial=0))
        return cls(np.empty(most), np.empty(longest), np.empty(longest))


@helper
def _joint(words, generated, at, table, model, positions, room):
    """Write p(a_j = i, f_j) of a sentence pair into ``room``. **Shape** there: (n, m).

    ``at``: Where the position probabilities of the sentence begin.
    """
    n, m = len(words), len(generated)
    joint, joint_null, total = room.joint, room.joint_null, room.total
    for j in range(m):
        total[j] = joint_null[j] = _joint_null(generated[j], n, model.null, positions.options)
    for i in range(n):
        for j in range(m):
            # A pair that the model does not know has the probability with which the program starts.
            slot = -1
            if words[i] >= 0 and generated[j] >= 0:
                slot = find(table.start, table.key, words[i], generated[j])
            translation = model.translation[slot] if slot >= 0 else 1e-9
            joint[i * m + j] = translation * position(i, j, n, m, at, positions)
            total[j] += joint[i * m + j]


def expectations(
    text: DirectionText,
    model: Probabilities,
    positions: PositionTable,
    likelihood: Doubles,
    part: tuple[int, int],
) -> float:
    """First half of the E-step, over the sentences ``part[0]`` to ``part[1]`` − 1.

    Fills ``likelihood`` with the probability of each generated word, which is the sum over its possible links. Words of
    a pair whose conditioning side is empty have no links, and their numbers are not set. Returns the expected sum of
    the feature (how far links are from the diagonal), by which the tension is optimised.
    """
    room = Room.of(text)
    return float(_expectations(text, part, model, positions, likelihood, room))


@compiled
def _expectations(text, part, model, positions, likelihood, room):
    """Run the loop of :func:`expectations`."""
    condition, generated, table = text
    total = 0.0
    for s in range(part[0], part[1]):
        words, generated_words = sides_of(condition, generated, s)
        n, m = len(words), len(generated_words)
        if n == 0 or m == 0:
            continue
        _joint(words, generated_words, positions.start[s], table, model, positions, room)
        for j in range(m):
            likelihood[generated.offsets[s] + j] = room.total[j]
            for i in range(n):
                # The program counts j from 0 here, but from 1 in the model.
                total += -abs((i + 1) / n - j / m) * (room.joint[i * m + j] / room.total[j])
    return total


@compiled
def null_expectations(text, model, options, likelihood, links):
    """Add up the expected ``links`` of null and each generated word."""
    condition, generated = text.condition, text.generated
    for s in range(len(condition.offsets) - 1):
        n = condition.offsets[s + 1] - condition.offsets[s]
        for k in range(generated.offsets[s], generated.offsets[s + 1]):
            if n:
                word = generated.ids[k]
                links[word] += _joint_null(word, n, model.null, options) / likelihood[k]


class Rows(NamedTuple):
    """Everything that :func:`update` needs to add up the rows of a table."""

    # The sentences of each conditioning word, as `pair_table.occurrences` returns them.
    occurrences: tuple[Ints, npt.NDArray[np.int32]]
    prior: tuple[bool, float]  # whether there is a Dirichlet prior, and its α
    counts: Doubles  # the expected links of each slot; empty where they are not kept


def update(
    text: DirectionText,
    model: Probabilities,
    positions: PositionTable,
    likelihood: Doubles,
    rows: Rows,
    word_range: tuple[int, int],
) -> None:
    """Second half of the E-step, and the M-step, of the conditioning words ``word_range[0]`` to ``word_range[1]`` − 1.

    The expected links of one conditioning word come from the sentences that hold it. So they are added up word by word,
    only one row of them is in memory at a time, and the new probabilities can replace the old ones at once.
    """
    # Arrays that the loop writes into, large enough for the longest row and the longest sentence.
    most_slots = int(np.diff(text.table.start[word_range[0] : word_range[1] + 1]).max(initial=0))
    counts = np.empty(most_slots)
    places = np.empty(int(text.condition.lengths.max(initial=0)), np.int32)
    spread_row = np.empty(2 * len(model.null))
    _update(text, word_range, model, positions, likelihood, rows, (counts, places, spread_row))


@compiled
def _update(text, word_range, model, positions, likelihood, rows, arrays):
    """Run the loop of :func:`update`.

    ``arrays``: Arrays to write into. ``counts`` has the links of each slot of a row, ``places`` the places of a word in
    a sentence. ``spread_row`` is the row of the conditioning word spread out by generated word: at ``2 · word`` stands
    p(generated | condition) of a generated word, and beside it, at ``2 · word + 1``, its links so far. So the inner
    loop searches no slot. Frequent words have low numbers, so the numbers that are read most stand together in the
    cache.
    """
    condition, generated, table = text
    first_of_word, sentences = rows.occurrences
    counts, places, spread_row = arrays
    for word in range(word_range[0], word_range[1]):
        start, stop = table.start[word], table.start[word + 1]
        probability, key = model.translation[start:stop], table.key[start:stop]
        for slot in range(len(key)):
            if key[slot] != EMPTY:
                spread_row[2 * key[slot]] = probability[slot]
                spread_row[2 * key[slot] + 1] = 0.0
        before = -1
        for t in range(first_of_word[word], first_of_word[word + 1]):
            s = sentences[t]
            # A sentence is listed as often as it holds the word, and visited once.
            if s == before:
                continue
            before = s
            first_condition, first_generated = condition.offsets[s], generated.offsets[s]
            n, m = condition.offsets[s + 1] - first_condition, generated.offsets[s + 1] - first_generated
            # The places of the word in the sentence: usually one.
            place_count = 0
            for i in range(n):
                if condition.ids[first_condition + i] == word:
                    places[place_count] = i
                    place_count += 1
            # Expected links: p(a_j = i, f_j), divided by the probability of f_j.
            for j in range(m):
                translation_index = 2 * generated.ids[first_generated + j]
                links_index = translation_index + 1
                for k in range(place_count):
                    position_probability = position(places[k], j, n, m, positions.start[s], positions)
                    joint = spread_row[translation_index] * position_probability
                    spread_row[links_index] += joint / likelihood[first_generated + j]
        # M-step of the row.
        for slot in range(len(key)):
            if key[slot] != EMPTY:
                counts[slot] = spread_row[2 * key[slot] + 1]
                if len(rows.counts):
                    rows.counts[start + slot] = counts[slot]
        _normalise_row(key, counts, rows.prior, probability)


def decode(
    text: DirectionText,
    model: Probabilities,
    positions: PositionTable,
    best: BestWords,
    part: tuple[int, int],
) -> None:
    """Find the best conditioning word of each generated word of the sentences ``part[0]`` to ``part[1]`` − 1.

    Fills ``best``, with −1 for null. Of equally probable links null wins, then the first conditioning word.
    """
    _decode(text, part, model, positions, best, Room.of(text))


@compiled
def _decode(text, part, model, positions, best, room):
    """Run the loop of :func:`decode`."""
    condition, generated, table = text
    for s in range(part[0], part[1]):
        words, generated_words = sides_of(condition, generated, s)
        n, m = len(words), len(generated_words)
        if n == 0 or m == 0:
            continue
        _joint(words, generated_words, positions.start[s], table, model, positions, room)
        for j in range(m):
            # Start from null; only a greater probability takes its place, so null and the first word win ties.
            top, at = (room.joint_null[j], -1) if positions.options.use_null else (-1.0, -1)
            for i in range(n):
                if room.joint[i * m + j] > top:
                    top, at = room.joint[i * m + j], i
            best.word[generated.offsets[s] + j] = at
            best.probability[generated.offsets[s] + j] = top / room.total[j]
            best.log_likelihood[s] += math.log(room.total[j])


def posteriors(text: DirectionText, model: Probabilities, options: PositionOptions) -> Doubles:
    """Compute p(a_j = i | sentence pair) of all pairs of a text, one after the other.

    **Shape** of each pair: (condition, generated).
    """
    result = np.empty(int(text.condition.lengths @ text.generated.lengths))
    positions = text.position_table(options, model.tension)
    _posteriors(text, model, positions, Room.of(text), result)
    return result


@compiled
def _posteriors(text, model, positions, room, result):
    """Run the loop of :func:`posteriors`."""
    condition, generated, table = text
    before = 0
    for s in range(len(condition.offsets) - 1):
        words, generated_words = sides_of(condition, generated, s)
        entries, m = len(words) * len(generated_words), len(generated_words)
        if entries:
            _joint(words, generated_words, positions.start[s], table, model, positions, room)
        for k in range(entries):
            result[before + k] = room.joint[k] / room.total[k % m]
        before += entries
