"""What fast_align's model says of positions in a sentence, with the C++ program's operations in the program's order."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.bitext import Ints
from isoglot.aligners.statistical.options import Positions

_UNSIGNED = 4294967296.0
_LARGEST = 64
"""Words a side up to which all sentences of one size share their positions' probabilities."""
Doubles = npt.NDArray[np.float64]


@helper
def feature(j, i, m, n):
    """How far a link is from the diagonal: 0, or less."""
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
            math.exp(feature(j, floor + 1.0, m, n) * tension) * (1.0 - math.pow(ratio, above)) / (1.0 - ratio)
        )
    if floor != 0:
        bottom = math.exp(feature(j, floor, m, n) * tension) * (1.0 - math.pow(ratio, floor)) / (1.0 - ratio)
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
        first = feature(j, floor + 1.0, m, n)
        top = _series(first, math.exp(first * tension), ratio, step, above)
    if floor != 0:
        first = feature(j, floor, m, n)
        bottom = _series(first, math.exp(first * tension), ratio, step, floor)
    return (top + bottom) / z


@compiled
def model_feature(m, n, frequency, tension):
    """The feature's expectation under the model, summed over all generated positions."""
    total = 0.0
    for k in range(len(m)):
        for j in range(1, m[k] + 1):
            total += frequency[k] * _gradient(j, m[k], n[k], tension)
    return total


class PositionTable(NamedTuple):
    """p(a_j = i | m, n) of all sentences of a text, those of one size once.

    Of sizes over :data:`_LARGEST`, which few sentences share, only what they are divided by is kept: Z / (1 − p0).
    """

    start: Ints  # where those of each sentence begin. Shape: (sentences)
    values: Doubles  # of each size, shape (n, m), or of large ones (m)
    options: Positions
    tension: float

    @classmethod
    def of(cls, condition: Ints, generated: Ints, options: Positions, tension: float) -> PositionTable:
        """Those of sentences with these lengths of both sides."""
        sizes, size = np.unique(condition << 32 | generated, return_inverse=True)
        n, m = sizes >> 32, sizes & 0xFFFFFFFF
        starts = np.concatenate([[0], np.cumsum(np.where((n <= _LARGEST) & (m <= _LARGEST), n, 1) * m)])
        values = np.empty(starts[-1])
        _fill_positions(n, m, starts, options, tension, values)
        return cls(starts[size], values, options, tension)


@compiled
def _fill_positions(sizes, generated_sizes, starts, options, tension, values):
    for k in range(len(sizes)):
        n, m = sizes[k], generated_sizes[k]
        for j in range(m if n else 0):
            az = _normaliser(j + 1, m, n, tension) / (1.0 - options.null_probability)
            if n > _LARGEST or m > _LARGEST:
                values[starts[k] + j] = az
                continue
            for i in range(n):
                values[starts[k] + i * m + j] = _likely(i, j, n, m, az, options, tension)


@helper
def _likely(i, j, n, m, az, options, tension):
    if options.favour_diagonal:
        return math.exp(feature(j + 1, i + 1, m, n) * tension) / az
    return 1.0 / (n + options.use_null)


@helper
def position(i, j, n, m, at, positions):
    """p(a_j = i) of a sentence whose positions begin ``at``."""
    if n <= _LARGEST and m <= _LARGEST:
        return positions.values[at + i * m + j]
    return _likely(i, j, n, m, positions.values[at + j], positions.options, positions.tension)
