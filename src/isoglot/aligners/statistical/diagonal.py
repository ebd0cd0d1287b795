"""Compiled loops of fast_align's model; see ``da.h``, ``ttables.h`` and ``fast_align.cc`` of the C++ program.

``i`` is a given word, ``j`` a generated one, of ``n`` and ``m`` in the sentence. Where one word stands at two equal
distances from the diagonal, the last bits of the probabilities decide, which depend on the order of the sums: there
the links may differ from the program's.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.bitext import FlatSide, Ints
from isoglot.aligners.statistical.decoding import BestWords, sides_of
from isoglot.aligners.statistical.options import Positions
from isoglot.aligners.statistical.pair_table import EMPTY, FlatTable, find
from isoglot.aligners.statistical.positions import PositionTable, position

Doubles = npt.NDArray[np.float64]


class Probabilities(NamedTuple):
    """What one direction has learned; see :class:`isoglot.aligners.statistical.ibm2.DiagonalDirection`."""

    translation: npt.NDArray[np.floating]
    null: Doubles
    tension: float


class DirectionText(NamedTuple):
    """One direction's sides of a text, and its pairs of words."""

    given: FlatSide
    generated: FlatSide
    table: FlatTable

    def positions(self, options: Positions, tension: float) -> PositionTable:
        """What the model says of its positions."""
        return PositionTable.of(self.given.lengths, self.generated.lengths, options, tension)


@helper
def _digamma(x):
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
    """Counts to probabilities, row by row: exp(ψ(c + α) − ψ(Σ(c + α))), or plain shares.

    ``prior``: Whether there is a Dirichlet prior, and its α.
    """
    for row in range(len(table.size)):
        slots = slice(table.start[row], table.start[row + 1])
        _normalise_row(table.key[slots], counts[slots], prior, probability[slots])


@helper
def _normalise_row(key, counts, prior, probability):
    bayes, alpha = prior
    total = 0.0
    for slot in range(len(key)):
        if key[slot] != EMPTY:
            total += counts[slot] + (alpha if bayes else 0.0)
    if total == 0:
        total = 1.0
    whole = _digamma(total) if bayes else 0.0
    for slot in range(len(key)):
        if key[slot] != EMPTY:
            count = counts[slot]
            probability[slot] = math.exp(_digamma(count + alpha) - whole) if bayes else count / total


@helper
def _silent(word, n, null, options):
    """p(a_j = null, f_j)."""
    if not options.use_null:
        return 0.0
    known = null[word] if word >= 0 else 1e-9
    return known * (options.null_probability if options.favour_diagonal else 1.0 / (n + 1.0))


class Room(NamedTuple):
    """Where the loops over a text keep what they work with, so that they allocate nothing."""

    joint: Doubles  # p(a_j = i, f_j) of one sentence
    silent: Doubles  # p(a_j = null, f_j) of its words
    total: Doubles  # the sum of both

    @classmethod
    def of(cls, text: DirectionText) -> Room:
        """Room for any sentence of a text."""
        n, m = text.given.lengths, text.generated.lengths
        most, longest = int((n * m).max(initial=0)), int(m.max(initial=0))
        return cls(np.empty(most), np.empty(longest), np.empty(longest))


@helper
def _joint(words, others, at, table, model, positions, room):
    """p(a_j = i, f_j) of a sentence pair into ``room``. **Shape** there: (n, m)."""
    n, m = len(words), len(others)
    joint, silent, total = room.joint, room.silent, room.total
    for j in range(m):
        total[j] = silent[j] = _silent(others[j], n, model.null, positions.options)
    for i in range(n):
        for j in range(m):
            slot = -1
            if words[i] >= 0 and others[j] >= 0:
                slot = find(table.start, table.key, words[i], others[j])
            known = model.translation[slot] if slot >= 0 else 1e-9
            joint[i * m + j] = known * position(i, j, n, m, at, positions)
            total[j] += joint[i * m + j]


def expectations(
    text: DirectionText, model: Probabilities, positions: PositionTable, whole: Doubles, part: tuple[int, int]
) -> float:
    """First half of the E-step over the sentences ``part[0]`` to ``part[1]`` − 1; returns the feature's sum.

    ``whole`` becomes the probability of each generated word.
    """
    room = Room.of(text)
    return float(_expectations(text, part, model, positions, whole, room))


@compiled
def _expectations(text, part, model, positions, whole, room):
    given, generated, table = text
    total = 0.0
    for s in range(part[0], part[1]):
        words, others = sides_of(given, generated, s)
        n, m = len(words), len(others)
        if n == 0 or m == 0:
            continue
        _joint(words, others, positions.place[s], table, model, positions, room)
        for j in range(m):
            whole[generated.offsets[s] + j] = room.total[j]
            for i in range(n):
                total += -abs((i + 1) / n - j / m) * (room.joint[i * m + j] / room.total[j])
    return total


@compiled
def null_expectations(text, model, options, whole, links):
    """Adds up the expected ``links`` of null and each generated word."""
    given, generated = text.given, text.generated
    for s in range(len(given.offsets) - 1):
        n = given.offsets[s + 1] - given.offsets[s]
        for k in range(generated.offsets[s], generated.offsets[s + 1]):
            if n:
                word = generated.ids[k]
                links[word] += _silent(word, n, model.null, options) / whole[k]


class Rows(NamedTuple):
    """What the rows of a table are added up by."""

    occurrences: tuple[Ints, npt.NDArray[np.int32]]  # of the given words
    prior: tuple[bool, float]
    counts: Doubles  # the expected links of each slot; empty where they are not kept


def update(
    text: DirectionText,
    model: Probabilities,
    positions: PositionTable,
    whole: Doubles,
    rows: Rows,
    part: tuple[int, int],
) -> None:
    """Second half of the E-step, and the M-step, of the given words ``part[0]`` to ``part[1]`` − 1.

    Going through the sentences of one given word adds up its row's expected links in the order of the text, so only
    one row of them is in memory at a time, and the new probabilities replace the old ones.
    """
    most = int(np.diff(text.table.start[part[0] : part[1] + 1]).max(initial=0))
    places = np.empty(int(text.given.lengths.max(initial=0)), np.int32)
    room = np.empty(most), places, np.empty(2 * len(model.null))
    _update(text, part, model, positions, whole, rows, room)


@compiled
def _update(text, part, model, positions, whole, rows, room):
    given, generated, table = text
    first, sentences = rows.occurrences
    # The row by its words, probability and count of each: frequent ones, whose numbers are low, stand together.
    counts, places, beside = room
    for word in range(part[0], part[1]):
        start, stop = table.start[word], table.start[word + 1]
        probability, key = model.translation[start:stop], table.key[start:stop]
        for slot in range(len(key)):
            if key[slot] != EMPTY:
                beside[2 * key[slot]] = probability[slot]
                beside[2 * key[slot] + 1] = 0.0
        before = -1
        for t in range(first[word], first[word + 1]):
            s = sentences[t]
            if s == before:
                continue
            before = s
            one, other, at = given.offsets[s], generated.offsets[s], positions.place[s]
            n, m, times = given.offsets[s + 1] - one, generated.offsets[s + 1] - other, 0
            for i in range(n):
                if given.ids[one + i] == word:
                    places[times] = i
                    times += 1
            for j in range(m):
                k = 2 * generated.ids[other + j]
                for time in range(times):
                    joint = beside[k] * position(places[time], j, n, m, at, positions)
                    beside[k + 1] += joint / whole[other + j]
        for slot in range(len(key)):
            if key[slot] != EMPTY:
                counts[slot] = beside[2 * key[slot] + 1]
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
    """Best given word of each generated word of the sentences ``part[0]`` to ``part[1]`` − 1, −1 for null.

    Null wins ties, then the first given word.
    """
    _decode(text, part, model, positions, best, Room.of(text))


@compiled
def _decode(text, part, model, positions, best, room):
    given, generated, table = text
    for s in range(part[0], part[1]):
        words, others = sides_of(given, generated, s)
        n, m = len(words), len(others)
        if n == 0 or m == 0:
            continue
        _joint(words, others, positions.place[s], table, model, positions, room)
        for j in range(m):
            top, at = (room.silent[j], -1) if positions.options.use_null else (-1.0, -1)
            for i in range(n):
                if room.joint[i * m + j] > top:
                    top, at = room.joint[i * m + j], i
            best.word[generated.offsets[s] + j] = at
            best.probability[generated.offsets[s] + j] = top / room.total[j]
            best.score[s] += math.log(room.total[j])


def posteriors(text: DirectionText, model: Probabilities, options: Positions) -> Doubles:
    """p(a_j = i | sentence pair) of a text's pairs, one after the other. **Shape** of each: (given, generated)."""
    found = np.empty(int(text.given.lengths @ text.generated.lengths))
    positions = text.positions(options, model.tension)
    _posteriors(text, model, positions, Room.of(text), found)
    return found


@compiled
def _posteriors(text, model, positions, room, found):
    given, generated, table = text
    before = 0
    for s in range(len(given.offsets) - 1):
        words, others = sides_of(given, generated, s)
        entries, m = len(words) * len(others), len(others)
        if entries:
            _joint(words, others, positions.place[s], table, model, positions, room)
        for k in range(entries):
            found[before + k] = room.joint[k] / room.total[k % m]
        before += entries
