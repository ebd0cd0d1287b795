r"""The cheapest way through two documents: which lines belong together, in time linear in their length.

A group of a source and b target lines costs, with x and y the vectors of its sides, and m and n their lengths,

.. math:: c(x, y) = a b \left(\frac{2 (1 - \cos(x, y))}{E_s[1 - \cos(x, y_s)] + E_s[1 - \cos(x_s, y)]}
    + \lambda \left[1 - \log_2\left(1 + \frac{\min(m, n)}{\max(m, n)}\right)\right]\right)

where the means are over lines at equal distances, without the one that is the most similar, which may be the
translation. A pair of chance and of the same length costs about 1; a skipped line has its own price. The lengths tell
a pair from one with a short line more or less, which has nearly the same vectors. Of ways that cost the same, the one
with the smaller groups is taken: of identical documents every line is alone.

The documents are halved by adding the vectors of neighbouring lines until they are short enough to compare all with
all; each finer level then searches a band around the way through the coarser one.

Sources: Thompson and Koehn 2019, *Vecalign: Improved sentence alignment in linear time and space* (the cost of vectors,
Eq. 3, and the recursion); Liu and Zhu 2023, *Bertalign: Improved word embedding-based sentence alignment for
Chinese–English parallel corpora of literary texts* (the term of lengths, by which it multiplies its score).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from isoglot.aligners.alignment import starts_and_end
from isoglot.aligners.compiled import compiled

Vectors = NDArray[np.float32]
Lengths = NDArray[np.float32]
Numbers = NDArray[np.int64]
Step = tuple[int, int, int, int, float]
"""First source line, first target line, how many of each, and the price."""
Band = tuple[Numbers, Numbers]
"""The first and the last number of target lines that are looked at after each number of source lines."""

_SKIP, _SHARE = 0.2, 0.75
"""Of a line without a translation: what it costs, and the share of a usual pair that is added."""
_FEW = 16
"""Fewer pairs of lines do not show how much longer one language is."""
_SMALL = 256
"""Lines of a level at which all cells are searched."""
_WIDTH = 12
"""Cells on either side of the coarser way."""
_SAMPLES = 128
"""Lines that show what chance is."""
_ROUNDING = 1e-3
"""Vectors of the same text differ by less, even in bfloat16; a price below counts as none, so that ties are ties."""
_ROWS = 64
"""Rows whose prices are computed as one product."""


class Runs(NamedTuple):
    """The runs of a side that have as many lines, each at the line where it ends."""

    vectors: Vectors  # unit vectors. Shape: (lines, hidden)
    chance: Lengths  # mean of 1 − cosine with lines of the other side. Shape: (lines)
    lengths: Lengths  # in units that both sides share. Shape: (lines)
    present: NDArray[np.bool_]  # whether there is a vector: a null one pairs with nothing. Shape: (lines)

    def part(self, start: int, stop: int) -> "Runs":
        """Those that end at the lines from ``start`` to ``stop`` − 1."""
        run = slice(start, stop)
        return Runs(self.vectors[run], self.chance[run], self.lengths[run], self.present[run])


def _side(vectors: Sequence[Vectors], samples: Vectors, lengths: Lengths) -> list[Runs]:
    """The runs of 1, 2, … lines; from their vectors, some lines of the other side, and the length of each line."""
    sums = np.concatenate([[0.0], np.cumsum(lengths, dtype=np.float64)])
    ends = np.arange(1, len(sums))
    runs = []
    for size, run in enumerate(vectors, 1):
        long = sums[ends] - sums[np.maximum(ends - size, 0)]
        runs.append(Runs(run, _chance(run, samples), long.astype(np.float32), _present(run)))
    return runs


def _chance(vectors: Vectors, samples: Vectors) -> Lengths:
    """The mean of 1 − cosine of each vector with some of the other side, without the nearest one."""
    if len(samples) < 2:
        return np.ones(len(vectors), np.float32)
    distances: Vectors = 1 - vectors @ samples.T
    return np.asarray((distances.sum(1) - distances.min(1)) / np.float32(len(samples) - 1))


def cheapest_groups(
    source: Sequence[Vectors],
    target: Sequence[Vectors],
    *,
    max_size: int,
    skip: float,
    samples: tuple[Vectors, Vectors] | None = None,
    lengths: tuple[Lengths, Lengths] | None = None,
    length_weight: float = 0.0,
) -> list[Step]:
    """The groups of lines, in their order, that together cost least; those of one side alone are single lines.

    Args:
        source: For each length from 1 to ``max_size - 1``, unit vectors of the runs of that many lines, by last line.
        target: The same of the target.
        max_size: Most lines of a group, of both sides together.
        skip: Cost of a line without a translation; a random pair costs about 1.
        samples: Lines of the source and of the target that show what chance is; by default of the documents.
        lengths: Of each line of the source and of the target, in units that both share; by default all are the same.
        length_weight: The λ of the formula.
    """
    counts = len(source[0]), len(target[0])
    if 0 in counts:
        return [(i, 0, 1, 0, skip) for i in range(counts[0])] + [(0, j, 0, 1, skip) for j in range(counts[1])]
    coarser: list[Step] = []
    if max(counts) > _SMALL and min(counts) > 1:
        coarser = cheapest_groups([_halved(source[0])], [_halved(target[0])], max_size=2, skip=skip)
    low, high = _around(coarser, *counts)
    offsets = starts_and_end(high - low + 1)
    first, second = samples or (spaced(source[0]), spaced(target[0]))
    long = lengths or [np.ones(count, np.float32) for count in counts]
    sides = _side(source, second, long[0]), _side(target, first, long[1])
    sizes = ((a, b) for a in range(1, max_size) for b in range(1, max_size - a + 1))
    groups = sorted(sizes, key=sum)  # of equal costs the first is taken
    prices = _prices(*sides, groups, (low, high), offsets, weight=length_weight)
    rows, columns = (np.array(sizes, np.int64) for sizes in zip(*groups, strict=True))
    steps, costs = _search(prices, rows, columns, (low, high, offsets), skip)
    return [(*step, float(cost)) for step, cost in zip(steps.tolist(), costs, strict=True)]


def mutual_lines(source: Vectors, target: Vectors) -> tuple[Numbers, Numbers]:
    """Numbers of some source lines and of the target lines of which each is the other's nearest."""
    if not (len(source) and len(target)):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    some = _spaced_places(len(source))
    nearest = (source[some] @ target.T).argmax(1)
    back = (source @ target[nearest].T).argmax(0)
    mutual = (source[back] == source[some]).all(1)  # of equal lines any will do
    mutual &= _present(source[some]) & _present(target[nearest])
    return some[mutual], nearest[mutual]


def usual_skip(source: Vectors, target: Vectors, pairs: tuple[Numbers, Numbers]) -> float:
    """What a line without a translation costs, from the median price of :func:`mutual_lines`.

    Encoders differ in how alike they make translations, and so do languages: 0.2 to 0.6 of a pair of chance.
    """
    first, second = source[pairs[0]], target[pairs[1]]
    if not len(first):
        return _SKIP
    usual = _chance(first, spaced(target)) + _chance(second, spaced(source))
    prices = 2 * np.maximum(1 - (first * second).sum(1), 0) / np.maximum(usual, np.float32(1e-9))
    return _SKIP + _SHARE * float(np.median(prices))


def length_ratio(source: Lengths, target: Lengths, pairs: tuple[Numbers, Numbers]) -> float:
    """How much longer source lines are, from the median of :func:`mutual_lines`; of few lines from both totals.

    Where one document lacks a chapter, the totals would tell nothing.
    """
    if len(pairs[0]) < _FEW:
        return float(source.sum() / max(1.0, target.sum()))
    return float(np.median(source[pairs[0]] / target[pairs[1]]))


def spaced(lines: Vectors) -> Vectors:
    """Some lines that have vectors, at equal distances."""
    present = np.flatnonzero(_present(lines))
    return lines[present[_spaced_places(len(present))]] if len(present) else lines[:0]


def _present(vectors: Vectors) -> NDArray[np.bool_]:
    """Which vectors are not null."""
    return np.asarray(vectors.any(axis=1))


def _spaced_places(count: int) -> Numbers:
    return np.unique(np.linspace(0, count - 1, _SAMPLES).astype(np.int64))


def _halved(vectors: Vectors) -> Vectors:
    """Two neighbouring lines as one; an odd last one stays alone."""
    sums: Vectors = np.add.reduceat(vectors, np.arange(0, len(vectors), 2))
    norms: Vectors = np.linalg.norm(sums, axis=1, keepdims=True)
    return (sums / np.maximum(norms, 1e-12)).astype(np.float32)


def _around(path: Sequence[Step], rows: int, columns: int) -> Band:
    """The cells near the way through the level with half the lines; all of them where there is no such level."""
    if not path:
        return np.zeros(rows + 1, np.int64), np.full(rows + 1, columns, np.int64)
    steps = np.array([step[:4] for step in path], np.int64)
    first, start = 2 * steps[:, 0], 2 * steps[:, 1]
    last, end = np.minimum(first + 2 * steps[:, 2], rows), start + 2 * steps[:, 3]
    low, high = np.full(rows + 1, columns, np.int64), np.zeros(rows + 1, np.int64)
    for offset in range(3):  # a step leads over two lines of this level at most
        row = np.minimum(first + offset, last)
        np.minimum.at(low, row, start)
        np.maximum.at(high, row, end)
    size = 2 * _WIDTH + 1
    low = minimum_filter1d(low, size, mode="nearest") - _WIDTH
    high = maximum_filter1d(high, size, mode="nearest") + _WIDTH
    low, high = np.clip(low, 0, columns), np.clip(high, 0, columns)
    low[0], high[-1] = 0, columns
    return low, high


def _prices(
    source: Sequence[Runs],
    target: Sequence[Runs],
    groups: Sequence[tuple[int, int]],
    band: Band,
    offsets: Numbers,
    *,
    weight: float,
) -> NDArray[np.float32]:
    """The price of each group that ends at each cell of the band. **Shape**: (cells, groups)."""
    low, high = band
    prices = np.full((offsets[-1], len(groups)), np.inf, np.float32)
    for top in range(1, len(low), _ROWS):
        end = min(top + _ROWS, len(low))
        left, right = max(int(low[top:end].min()), 1), int(high[top:end].max())
        if right < left:
            continue
        width = high[top:end] - low[top:end] + 1
        row = np.repeat(np.arange(end - top), width)
        cell = np.arange(offsets[top], offsets[end])
        column = cell - np.repeat(offsets[top:end] - low[top:end], width)
        inside = column > 0
        row, cell, column = row[inside], cell[inside], column[inside] - left
        for number, (a, b) in enumerate(groups):
            rows, columns = source[a - 1].part(top - 1, end - 1), target[b - 1].part(left - 1, right)
            distance = 1 - rows.vectors @ columns.vectors.T
            usual = rows.chance[:, None] + columns.chance[None]
            price = 2 * distance / np.maximum(usual, np.float32(1e-9))
            price[price < _ROUNDING] = 0
            if weight:
                long, wide = rows.lengths[:, None], columns.lengths[None]
                shares = np.minimum(long, wide) / np.maximum(np.maximum(long, wide), np.float32(1e-9))
                price += np.float32(weight) * (1 - np.log2(1 + shares))
            price *= a * b
            price[~rows.present] = np.inf
            price[:, ~columns.present] = np.inf
            price[: max(0, a - top)] = np.inf  # a run does not begin before the document
            price[:, : max(0, b - left)] = np.inf
            prices[cell, number] = price[row, column]
    return prices


@compiled
def _search(prices, rows, columns, band, skip):
    """The groups of the cheapest way (first lines and sizes) and their prices."""
    low, high, offsets = band
    count = len(rows)
    total = np.full(len(prices), np.inf)
    choices = np.full(len(prices), -1, np.int16)
    for i in range(len(low)):
        for j in range(low[i], high[i] + 1):
            cell = offsets[i] + j - low[i]
            best, choice = (0.0 if i == 0 and j == 0 else np.inf), -1
            for number in range(count):
                a, b = i - rows[number], j - columns[number]
                if a >= 0 and b >= 0 and low[a] <= b <= high[a]:
                    cost = total[offsets[a] + b - low[a]] + prices[cell, number]
                    if cost < best:
                        best, choice = cost, number
            if i > 0 and low[i - 1] <= j <= high[i - 1]:
                cost = total[offsets[i - 1] + j - low[i - 1]] + skip
                if cost < best:
                    best, choice = cost, count
            if j > low[i]:
                cost = total[cell - 1] + skip
                if cost < best:
                    best, choice = cost, count + 1
            total[cell], choices[cell] = best, choice
    top, left = np.int64(len(low) - 1), high[len(low) - 1]
    steps, costs = np.empty((top + left, 4), np.int64), np.empty(top + left)
    size = 0
    while top > 0 or left > 0:
        cell = offsets[top] + left - low[top]
        choice = choices[cell]
        a = rows[choice] if choice < count else np.int64(choice == count)
        b = columns[choice] if choice < count else np.int64(choice == count + 1)
        costs[size] = prices[cell, choice] if choice < count else skip
        top, left = top - a, left - b
        steps[size, 0], steps[size, 1], steps[size, 2], steps[size, 3] = top, left, a, b
        size += 1
    return steps[:size][::-1].copy(), costs[:size][::-1].copy()
