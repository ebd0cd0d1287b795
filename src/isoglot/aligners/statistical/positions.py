"""Position probabilities of fast_align's model: p(a_j = i | m, n), higher near the diagonal.

Arguments stand in one order: ``i`` (a conditioning word), ``j`` (a generated word), ``n`` (how many conditioning words
the sentence pair has), ``m`` (how many generated words). ``feature`` and the sums over it count ``i`` and ``j`` from 1,
as the formula does; ``position`` and the tables count from 0, as arrays do.

All operations are those of the C++ program (``da.h``), in its order, so that the last bits are the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.bitext import Ints
from isoglot.aligners.statistical.options import PositionOptions

_UNSIGNED = 4294967296.0
"""2³², which the C++ program's unsigned numbers add to a difference below 0."""
_LARGEST = 64
"""Up to this many words a side the probabilities of a sentence size are kept in a table."""
Doubles = npt.NDArray[np.float64]


@helper
def feature(i, j, n, m):
    """Return the feature of a link: 0 on the diagonal, and the further away the more negative. Counts from 1."""
    return -abs(i / n - j / m)


@helper
def _normaliser(j, n, m, tension):
    """Return Z of position ``j`` of ``m``: the sum of exp(λ · feature) over all ``n`` conditioning words.

    Away from the diagonal exp(λ · feature) falls by the same ratio from word to word, so the words above the diagonal
    and those up to it (``floor`` of them) are two geometric series.

    ``floor`` exceeds ``n`` only for the Z of :func:`_gradient`, which has m and n exchanged: ``_gradient(4, 2, 5, λ)``
    calls ``_normaliser(4, 5, 2, λ)``, where ``floor`` is 4 · 5 / 2 = 10. ``n - floor`` then wraps around in the
    program, whose numbers are unsigned: 5 − 10 becomes 5 − 10 + 2³².
    """
    floor = np.floor(float(j) * n / m)
    ratio = math.exp(-tension / n)
    above = n - floor
    if above < 0:
        # ratio^above is then 0.
        above += _UNSIGNED
    top = bottom = 0.0
    if above != 0:
        top = (
            math.exp(feature(floor + 1.0, j, n, m) * tension) * (1.0 - math.pow(ratio, above)) / (1.0 - ratio)
        )
    if floor != 0:
        bottom = math.exp(feature(floor, j, n, m) * tension) * (1.0 - math.pow(ratio, floor)) / (1.0 - ratio)
    return bottom + top


@helper
def _series(first, weight, ratio, step, terms):
    """Return the sum over k = 0…terms − 1 of (first + k · step) · weight · ratio^k, an arithmetico-geometric series.

    With g = weight, r = ratio and t = terms, the sum in closed form is

        (last · g·r^t − first · g) / (r − 1) − step · (g·r^t − g·r) / (r − 1)²,   last = first + (t − 1) · step
    """
    weight_after_last = weight * math.pow(ratio, terms)
    last = step * (terms - 1.0) + first
    first_term = first * weight
    second_weight = weight * ratio
    less = ratio - 1.0
    steps = step * (weight_after_last - second_weight) / (less * less)
    return (last * weight_after_last - first_term) / less - steps


@helper
def _gradient(j, n, m, tension):
    """Return the derivative of log Z by the tension, as the program computes it: over a Z with m and n exchanged."""
    # Only this Z has m and n exchanged, as in the program; the sums below have not.
    z = _normaliser(j, m, n, tension)
    floor = np.floor(float(j) * n / m)
    ratio = math.exp(-tension / n)
    step = -1.0 / n
    above = n - floor
    top = bottom = 0.0
    if above != 0:
        first = feature(floor + 1.0, j, n, m)
        top = _series(first, math.exp(first * tension), ratio, step, above)
    if floor != 0:
        first = feature(floor, j, n, m)
        bottom = _series(first, math.exp(first * tension), ratio, step, floor)
    return (top + bottom) / z


@compiled
def model_feature(n, m, frequency, tension):
    """Sum the feature's expectation under the model over all generated positions of a text.

    ``n``, ``m``, ``frequency``: Conditioning length, generated length and number of the sentences of each size.
    """
    total = 0.0
    for k in range(len(m)):
        for j in range(1, m[k] + 1):
            total += frequency[k] * _gradient(j, n[k], m[k], tension)
    return total


class PositionTable(NamedTuple):
    """The probabilities p(a_j = i | m, n) of all sentences of a text, stored once for each sentence size.

    Of sizes over :data:`_LARGEST`, which few sentences share, only the divisors Z / (1 − p0) are stored.
    """

    start: Ints  # where in ``values`` those of each sentence's size begin. Shape: (sentences)
    values: Doubles  # one size after the other: its n · m probabilities, of a large size its m divisors
    options: PositionOptions
    tension: float

    @classmethod
    def of(
        cls, condition_lengths: Ints, generated_lengths: Ints, options: PositionOptions, tension: float
    ) -> PositionTable:
        """Compute the table of sentences with these lengths of both sides."""
        sizes, size = np.unique(condition_lengths << 32 | generated_lengths, return_inverse=True)
        n, m = sizes >> 32, sizes & 0xFFFFFFFF
        is_tabled = (n <= _LARGEST) & (m <= _LARGEST)
        values_of_size = np.where(is_tabled, n * m, m)
        starts = np.concatenate([[0], np.cumsum(values_of_size)])
        values = np.empty(starts[-1])
        _fill_positions(n, m, starts, options, tension, values)
        return cls(starts[size], values, options, tension)


@compiled
def _fill_positions(condition_sizes, generated_sizes, starts, options, tension, values):
    """Fill the values of each sentence size: probabilities, or of large sizes their divisors."""
    for k in range(len(condition_sizes)):
        n, m = condition_sizes[k], generated_sizes[k]
        for j in range(m if n else 0):
            az = _normaliser(j + 1, n, m, tension) / (1.0 - options.null_probability)
            if n > _LARGEST or m > _LARGEST:
                values[starts[k] + j] = az
                continue
            for i in range(n):
                values[starts[k] + i * m + j] = _likely(i, j, n, m, az, options, tension)


@helper
def _likely(i, j, n, m, az, options, tension):
    """Return p(a_j = i). Counts from 0. ``az``: Z / (1 − p0), the name that the program has for it."""
    if options.favour_diagonal:
        return math.exp(feature(i + 1, j + 1, n, m) * tension) / az
    return 1.0 / (n + options.use_null)


@helper
def position(i, j, n, m, at, positions):
    """Return p(a_j = i) of a sentence of ``n`` and ``m`` words, whose values begin ``at``. Counts from 0."""
    if n <= _LARGEST and m <= _LARGEST:
        return positions.values[at + i * m + j]
    return _likely(i, j, n, m, positions.values[at + j], positions.options, positions.tension)
