"""Compiled loops of fast_align's model, with the C++ program's double operations in the program's order.

Two source words at equal distances from the diagonal, or one word that stands there twice, tie but for the last bits
of their probabilities. So that the links are those of the program, every product, sum and logarithm here is taken as
it takes it: see ``da.h``, ``ttables.h`` and ``fast_align.cc``. ``i`` is a given word, ``j`` a generated one, of ``n``
and ``m`` in the sentence.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.bitext import BitextSide, FlatSide, Ints
from isoglot.aligners.statistical.decoding import sides_of
from isoglot.aligners.statistical.pair_table import EMPTY, FlatTable, find

_BUFFER = 10_000  # sentences whose sums the program adds up before it adds them to the total
_UNSIGNED = 4294967296.0
_LARGEST = 64
"""Words a side up to which all sentences of one size share their positions' probabilities."""
Doubles = npt.NDArray[np.float64]


@helper
def _feature(j, i, m, n):
    return -abs(i / n - j / m)


@helper
def _normaliser(j, m, n, tension):
    """Z of position ``j`` of ``m``, by geometric series. ``floor > n`` wraps around, as unsigned numbers do."""
    floor = np.floor(float(j) * n / m)
    ratio = math.exp(-tension / n)
    above = n - floor
    if above < 0:
        above += _UNSIGNED
    top = bottom = 0.0
    if above != 0:
        top = (
            math.exp(_feature(j, floor + 1.0, m, n) * tension)
            * (1.0 - math.pow(ratio, above))
            / (1.0 - ratio)
        )
    if floor != 0:
        bottom = math.exp(_feature(j, floor, m, n) * tension) * (1.0 - math.pow(ratio, floor)) / (1.0 - ratio)
    return bottom + top


@helper
def _series(first, weight, ratio, step, terms):
    """Sum of an arithmetico-geometric series."""
    beyond = weight * math.pow(ratio, terms)
    last = step * (terms - 1.0) + first
    start = first * weight
    second = weight * ratio
    less = ratio - 1.0
    return (last * beyond - start) / less - step * (beyond - second) / (less * less)


@helper
def _gradient(j, m, n, tension):
    """The derivative of log Z by the tension as the program computes it, over a Z with m and n exchanged."""
    z = _normaliser(j, n, m, tension)
    floor = np.floor(float(j) * n / m)
    ratio = math.exp(-tension / n)
    step = -1.0 / n
    above = n - floor
    top = bottom = 0.0
    if above != 0:
        feature = _feature(j, floor + 1.0, m, n)
        top = _series(feature, math.exp(feature * tension), ratio, step, above)
    if floor != 0:
        feature = _feature(j, floor, m, n)
        bottom = _series(feature, math.exp(feature * tension), ratio, step, floor)
    return (top + bottom) / z


@compiled
def model_feature(m, n, frequency, tension):
    """The feature's expectation under the model, summed over all generated positions."""
    total = 0.0
    for k in range(len(m)):
        for j in range(1, m[k] + 1):
            total += frequency[k] * _gradient(j, m[k], n[k], tension)
    return total


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


def normalise(
    counts: Doubles,
    table: FlatTable,
    order: npt.NDArray[np.int32],
    prior: tuple[bool, float],
    probability: npt.NDArray[np.floating],
) -> None:
    """Counts to probabilities, row by row: exp(ψ(c + α) − ψ(Σ(c + α))), or plain shares.

    ``order`` has the slots in which each row is summed, counted from its first; without any they are as they stand.
    """
    slots = np.empty(0 if len(order) else int(table.size.max(initial=0)), np.int32)
    _normalise(counts, table, order, slots, prior, probability)


@compiled
def _normalise(counts, table, order, slots, prior, probability):
    """:func:`normalise`; ``slots`` is room for those of one row where ``order`` is empty."""
    bayes, alpha = prior
    done = 0
    for row in range(len(table.size)):
        first, size = table.start[row], table.size[row]
        if len(order):
            row_slots = order[done : done + size]
            done += size
        else:
            filled = 0
            for place in range(table.start[row + 1] - first):
                if table.key[first + place] != EMPTY:
                    slots[filled] = place
                    filled += 1
            row_slots = slots[:size]
        total = 0.0
        for place in row_slots:
            total += counts[first + place] + (alpha if bayes else 0.0)
        if total == 0:
            total = 1.0
        whole = _digamma(total) if bayes else 0.0
        for place in row_slots:
            count = counts[first + place]
            probability[first + place] = math.exp(_digamma(count + alpha) - whole) if bayes else count / total


class Room(NamedTuple):
    """Where the loops over a text keep what they work with, so that they allocate nothing.

    The probabilities of positions of all sentences of one size are kept at its place, those of sizes over
    :data:`_LARGEST`, whose number is 0, one after the other at one place.
    """

    starts: Ints  # the place of each size n · (largest + 1) + m
    known: npt.NDArray[np.bool_]  # whether it is filled
    priors: Doubles  # p(a_j = i | m, n)
    features: Doubles  # the feature as its expectation takes it
    slots: npt.NDArray[np.int32]  # of one sentence's links
    joint: Doubles  # p(a_j = i, f_j) of one sentence
    silent: Doubles  # p(a_j = null, f_j) of its words
    total: Doubles  # the sum of both

    @classmethod
    def of(cls, given: BitextSide | FlatSide, generated: BitextSide | FlatSide) -> Room:
        """Room for one visit to a text."""
        n, m = given.lengths, generated.lengths
        entries, small = n * m, (n <= _LARGEST) & (m <= _LARGEST)
        size, first = np.unique(np.where(small, n * (_LARGEST + 1) + m, 0)[entries > 0], return_index=True)
        room = entries[entries > 0][first]
        most, largest = (int(group.max(initial=0)) for group in (entries, entries[~small]))
        starts = np.zeros((_LARGEST + 1) ** 2, np.int64)
        starts[size] = largest + np.cumsum(np.where(size, room, 0)) - room
        starts[0] = 0
        kept = largest + int(room[size > 0].sum())
        longest = int(m.max(initial=0))
        return cls(
            starts, np.zeros(len(starts), np.bool_), np.empty(kept), np.empty(kept),
            np.empty(most, np.int32), np.empty(most), np.empty(longest), np.empty(longest),
        )  # fmt: skip


@helper
def _positions(n, m, tension, options, room):
    """Where the probabilities and features of a size are in ``room``. **Shape** of both there: (n, m)."""
    favour, use_null, p0 = options
    small = n <= _LARGEST and m <= _LARGEST
    size = n * (_LARGEST + 1) + m if small else 0
    at = room.starts[size]
    if not room.known[size]:
        room.known[size] = small
        for j in range(m):
            az = _normaliser(j + 1, m, n, tension) / (1.0 - p0) if favour else 0.0
            for i in range(n):
                likely = (
                    math.exp(_feature(j + 1, i + 1, m, n) * tension) / az if favour else 1.0 / (n + use_null)
                )
                room.priors[at + i * m + j] = likely
                room.features[at + i * m + j] = _feature(j, i + 1, m, n)
    return at


@helper
def _joint(words, others, table, model, options, slots, room):
    """p(a_j = i, f_j) of a sentence pair into ``room``; returns where the positions' probabilities are there.

    ``slots`` of the links, counted from their row's first and negative where they are not known yet, are looked up and
    filled in. **Shape** of both: (n, m).
    """
    favour, use_null, p0 = options
    n, m = len(words), len(others)
    at = _positions(n, m, model.tension, options, room)
    joint, silent, total = room.joint, room.silent, room.total
    for j in range(m):
        silent[j] = 0.0
        if use_null:
            known = model.null[others[j]] if others[j] >= 0 else 1e-9
            silent[j] = known * (p0 if favour else 1.0 / (n + use_null))
        total[j] = silent[j]
    for i in range(n):
        first = table.start[words[i]] if words[i] >= 0 else 0
        for j in range(m):
            k = i * m + j
            slot = slots[k]
            if slot < 0 and words[i] >= 0 and others[j] >= 0:
                place = find(table.start, table.key, words[i], others[j])
                slot = slots[k] = place - first if place >= 0 else -1
            joint[k] = (model.translation[first + slot] if slot >= 0 else 1e-9) * room.priors[at + k]
            total[j] += joint[k]
    return at


@helper
def _unknown(room, entries):
    """For slots that are yet to be found."""
    for k in range(entries):
        room.slots[k] = -1
    return room.slots[:entries]


@compiled
def expectations(given, generated, table, model, options, counts, found, room):
    """E-step: adds up expected ``counts``, those of the slots and those of null; returns the feature's sum.

    ``found`` keeps slots from one call to the next, those of as many sentences as it has room for; −1 at first.
    """
    links, null_links = counts
    feature = part = 0.0
    buffer = used = 0
    for s in range(len(given.offsets) - 1):
        words, others = sides_of(given, generated, s)
        n, m = len(words), len(others)
        if n == 0 or m == 0:
            continue
        if s // _BUFFER != buffer:
            buffer = s // _BUFFER
            feature += part
            part = 0.0
        if used + n * m <= len(found):
            slots = found[used : used + n * m]
            used += n * m
        else:
            slots = _unknown(room, n * m)
        at = _joint(words, others, table, model, options, slots, room)
        for j in range(m):
            whole = room.total[j]
            if options.use_null:
                null_links[others[j]] += room.silent[j] / whole
            for i in range(n):
                p = room.joint[i * m + j] / whole
                links[table.start[words[i]] + slots[i * m + j]] += p
                part += room.features[at + i * m + j] * p
    return feature + part


@compiled
def decode(given, generated, table, model, options, best, room):
    """Each generated word's best given word, −1 for null; null wins ties, then the first given word."""
    for s in range(len(given.offsets) - 1):
        words, others = sides_of(given, generated, s)
        n, m = len(words), len(others)
        if n == 0 or m == 0:
            continue
        _joint(words, others, table, model, options, _unknown(room, n * m), room)
        for j in range(m):
            top, at = (room.silent[j], -1) if options.use_null else (-1.0, -1)
            for i in range(n):
                if room.joint[i * m + j] > top:
                    top, at = room.joint[i * m + j], i
            best.word[generated.offsets[s] + j] = at
            best.probability[generated.offsets[s] + j] = top / room.total[j]
            best.score[s] += math.log(room.total[j])


@compiled
def posteriors(given, generated, table, model, options, room, found):
    """p(a_j = i | sentence pair) of a text's pairs, one after the other. **Shape** of each: (given, generated)."""
    before = 0
    for s in range(len(given.offsets) - 1):
        words, others = sides_of(given, generated, s)
        entries, m = len(words) * len(others), len(others)
        if entries:
            _joint(words, others, table, model, options, _unknown(room, entries), room)
        for k in range(entries):
            found[before + k] = room.joint[k] / room.total[k % m]
        before += entries
