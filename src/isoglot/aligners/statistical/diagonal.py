"""Compiled loops of fast_align's model, with the C++ program's double operations in the program's order.

Two source words at equal distances from the diagonal, or one word that stands there twice, tie but for the last bits
of their probabilities. So that the links are those of the program, every product, sum and logarithm here is taken as
it takes it: see ``da.h``, ``ttables.h`` and ``fast_align.cc``. ``i`` is a given word, ``j`` a generated one, of ``n``
and ``m`` in the sentence.
"""

import math

import numpy as np

from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.decoding import agree, cut, empty_links, filled, sides_of
from isoglot.aligners.statistical.pair_table import EMPTY, find

_BUFFER = 10_000  # sentences whose sums the program adds up before it adds them to the total
_UNSIGNED = 4294967296.0
_LARGEST = 64
"""Words a side up to which all sentences of one size share their positions' probabilities."""
_SUM = _LARGEST * (_LARGEST + 1) // 2  # 1 + 2 + … + the largest


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


@compiled
def normalise(counts, table, order, prior, probability):
    """Counts to probabilities, row by row: exp(ψ(c + α) − ψ(Σ(c + α))), or plain shares.

    ``order`` has the slots in which each row is summed, counted from its first; without any they are as they stand.
    """
    bayes, alpha = prior
    size = table.size
    longest = np.int64(0)
    for count in size:
        longest = max(longest, count)
    slots = np.empty(longest, np.int64)
    done = 0
    for row in range(len(size)):
        if len(order):
            for k in range(size[row]):
                slots[k] = table.start[row] + order[done + k]
        else:
            filled = 0
            for place in range(table.start[row], table.start[row + 1]):
                if table.key[place] != EMPTY:
                    slots[filled] = place
                    filled += 1
        done += size[row]
        total = 0.0
        for place in slots[: size[row]]:
            total += counts[place] + (alpha if bayes else 0.0)
        if total == 0:
            total = 1.0
        whole = _digamma(total) if bayes else 0.0
        for place in slots[: size[row]]:
            if bayes:
                probability[place] = math.exp(_digamma(counts[place] + alpha) - whole)
            else:
                probability[place] = counts[place] / total


@helper
def _room():
    """Room for :func:`_positions` of all sizes up to :data:`_LARGEST` words a side: which it has, both results."""
    known = np.zeros((_LARGEST + 1, _LARGEST + 1), np.bool_)
    return known, np.empty(_SUM * _SUM), np.empty(_SUM * _SUM)


@helper
def _positions(n, m, tension, options, room):
    """p(a_j = i | m, n), and the feature as its expectation takes it; sentences of one size share them.

    **Shape**: (n, m), (n, m).
    """
    favour, use_null, p0 = options
    known, priors, features = room
    small = n <= _LARGEST and m <= _LARGEST
    if small:
        before = n * (n - 1) // 2 * _SUM + n * (m * (m - 1) // 2)
        prior = priors[before : before + n * m].reshape((n, m))
        feature = features[before : before + n * m].reshape((n, m))
        if known[n, m]:
            return prior, feature
        known[n, m] = True
    else:
        prior, feature = np.empty((n, m)), np.empty((n, m))
    for j in range(m):
        az = _normaliser(j + 1, m, n, tension) / (1.0 - p0) if favour else 0.0
        for i in range(n):
            likely = math.exp(_feature(j + 1, i + 1, m, n) * tension) / az if favour else 1.0 / (n + use_null)
            prior[i, j] = likely
            feature[i, j] = _feature(j, i + 1, m, n)
    return prior, feature


@helper
def _joint(words, others, table, model, options, prior, slots):
    """p(a_j = i, f_j) of a sentence pair: probability of each link, probability of null, their sum.

    ``slots`` of the links, counted from their row's first and negative where they are not known yet, are looked up and
    filled in.
    **Shape**: (n, m), (m), (m).
    """
    favour, use_null, p0 = options
    n, m = len(words), len(others)
    joint = np.empty((n, m))
    silent, total = np.zeros(m), np.zeros(m)
    for j in range(m):
        if use_null:
            known = model.null[others[j]] if others[j] >= 0 else 1e-9
            silent[j] = total[j] = known * (p0 if favour else 1.0 / (n + use_null))
    for i in range(n):
        first = table.start[words[i]] if words[i] >= 0 else np.int64(0)
        for j in range(m):
            slot = slots[i, j]
            if slot < 0 and words[i] >= 0 and others[j] >= 0:
                place = find(table.start, table.key, words[i], others[j])
                slot = slots[i, j] = place - first if place >= 0 else -1
            joint[i, j] = (model.translation[first + slot] if slot >= 0 else 1e-9) * prior[i, j]
            total[j] += joint[i, j]
    return joint, silent, total


@helper
def _unknown(words, others):
    """For slots that are yet to be found."""
    return np.full((len(words), len(others)), -1, np.int32)


@compiled
def expectations(given, generated, table, model, options, counts, null_counts, found):
    """E-step: adds up expected counts; returns the feature's sum.

    ``found`` keeps slots from one call to the next, those of as many sentences as it has room for; −1 at first.
    """
    feature = part = 0.0
    buffer, room, used = 0, _room(), 0
    for s in filled(given, generated, np.int64(0), len(given.offsets) - 1):
        _, _, words, others = sides_of(given, generated, s)
        if s // _BUFFER != buffer:
            buffer = s // _BUFFER
            feature += part
            part = 0.0
        n, m = len(words), len(others)
        prior, features = _positions(n, m, model.tension, options, room)
        if used + n * m <= len(found):
            slots = found[used : used + n * m].reshape((n, m))
            used += n * m
        else:
            slots = _unknown(words, others)
        joint, silent, total = _joint(words, others, table, model, options, prior, slots)
        for j in range(m):
            whole = total[j]
            if options.use_null:
                null_counts[others[j]] += silent[j] / whole
            for i in range(n):
                p = joint[i, j] / whole
                counts[table.start[words[i]] + slots[i, j]] += p
                part += features[i, j] * p
    return feature + part


@compiled
def decode(given, generated, table, model, options, best):
    """Each generated word's best given word, −1 for null; null wins ties, then the first given word."""
    room = _room()
    for s in filled(given, generated, np.int64(0), len(given.offsets) - 1):
        _, b, words, others = sides_of(given, generated, s)
        prior, _ = _positions(len(words), len(others), model.tension, options, room)
        joint, silent, total = _joint(words, others, table, model, options, prior, _unknown(words, others))
        for j in range(len(others)):
            top, at = (silent[j], -1) if options.use_null else (-1.0, -1)
            for i in range(len(words)):
                if joint[i, j] > top:
                    top, at = joint[i, j], i
            best.word[b + j] = at
            best.probability[b + j] = top / total[j]
            best.score[s] += math.log(total[j])


@compiled
def agreeing(source, target, forward, reverse, options, threshold, first, last):
    """Links of the sentences ``first`` to ``last`` − 1 whose posteriors in both directions agree."""
    found, used = empty_links(1024), np.int64(0)  # a literal would compile `agree` twice
    ahead_room, back_room = _room(), _room()
    for s in filled(source, target, first, last):
        _, _, words, others = sides_of(source, target, s)
        prior, _ = _positions(len(words), len(others), forward[1].tension, options, ahead_room)
        back_prior, _ = _positions(len(others), len(words), reverse[1].tension, options, back_room)
        unknown = _unknown(words, others), _unknown(others, words)
        ahead, _, total = _joint(words, others, *forward, options, prior, unknown[0])
        back, _, back_total = _joint(others, words, *reverse, options, back_prior, unknown[1])
        found, used = agree(s, ahead / total, (back / back_total).T, threshold, found, used)
    return cut(found, used)
