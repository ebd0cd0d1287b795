r"""The cheapest path through two documents: which lines translate each other, in time linear in their length.

A path goes from the first lines of both documents to the last ones. Each step takes a group of a source and b target
lines, or skips one line. A group costs, with x and y the vectors of its two sides, and m and n their lengths,

.. math:: c(x, y) = a b \left(\frac{2 (1 - \cos(x, y))}{E_s[1 - \cos(x, y_s)] + E_s[1 - \cos(x_s, y)]}
    + \lambda \left[1 - \log_2\left(1 + \frac{\min(m, n)}{\max(m, n)}\right)\right]\right)

1. The means E are over sample lines at equal distances. The most similar sample is left out: it may be the translation.
2. So a random pair of equal length costs about 1, whatever the encoder. A skipped line has a cost of its own.
3. The lengths tell a pair from the same pair with one short line more, which has nearly the same vectors.
4. Of paths that cost the same, the one with the smaller groups is taken: in two identical documents every line is
   alone.

To be linear in time, the documents are halved, by adding the vectors of neighbouring lines, until they are short
enough to compare all lines with all. Each finer level then searches a band around the path through the coarser level.

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
Floats = NDArray[np.float32]
"""A value for each line or span: a length or a distance."""
Numbers = NDArray[np.int64]
Step = tuple[int, int, int, int, float]
"""A step of a path: first source line, first target line, how many lines of each, and the cost."""

_SKIP, _SKIP_SHARE = 0.2, 0.75
"""A skipped line costs 0.2 + 0.75 × the median cost of lines that are each other's nearest."""
_FEWEST_FOR_RATIO = 16
"""Fewest pairs of lines that show how much longer the texts of one language are."""
_SEARCHED_WHOLE = 256
"""Lines of the longer side up to which all cells are searched, without a coarser level."""
_BAND_MARGIN = 12
"""Cells that a band has on either side of the path through the coarser level."""
_SAMPLES = 128
"""Sample lines that show how similar random pairs are."""
_ROUNDING = 1e-3
"""Vectors of the same text differ by less, even in bfloat16. A lower cost counts as 0, so that ties are ties."""
_ROWS_AT_ONCE = 64
"""Source lines whose costs are computed as one matrix product."""


class Band(NamedTuple):
    """The cells that are searched; a path is in cell (i, j) when it has passed i source and j target lines.

    The cells of a band are numbered row by row: (0, low[0]) … (0, high[0]), (1, low[1]) … With ``low`` 0 0 1 and
    ``high`` 1 2 2, the rows have 2, 3 and 2 cells, and ``first_cells`` is 0 2 5 7.
    """

    low: Numbers  # the smallest j of each row i. Shape: (source lines + 1)
    high: Numbers  # the largest j of each row. Shape: (source lines + 1)
    # Number of each row's first cell; then the number of all cells. Shape: (source lines + 2)
    first_cells: Numbers


class Spans(NamedTuple):
    """The spans of k neighbouring lines of one side, for one k. Span number i ends with line i."""

    vectors: Vectors  # unit vectors. Shape: (lines, hidden)
    random_distance: Floats  # mean of 1 − cosine with samples of the other side. Shape: (lines)
    lengths: Floats  # in units that both sides share. Shape: (lines)
    present: NDArray[np.bool_]  # False: the vector is null, and the span pairs with nothing. Shape: (lines)

    def ending_in(self, start: int, stop: int) -> "Spans":
        """The spans that end with the lines from ``start`` to ``stop`` − 1."""
        rows = slice(start, stop)
        return Spans(self.vectors[rows], self.random_distance[rows], self.lengths[rows], self.present[rows])


def _spans_of_side(vectors: Sequence[Vectors], samples: Vectors, lengths: Floats) -> list[Spans]:
    """Compute the random distances and lengths of the spans of 1, 2, … lines of a side.

    ``vectors``: For 1, 2, … lines, the vectors of the spans. ``samples``: Lines of the other side. ``lengths``: Length
    of each line of this side.
    """
    # The length of all lines before each line, and of all lines.
    length_before = np.concatenate([[0.0], np.cumsum(lengths, dtype=np.float64)])
    ends = np.arange(1, len(length_before))
    spans = []
    for size, span_vectors in enumerate(vectors, 1):
        starts = np.maximum(ends - size, 0)
        span_lengths = (length_before[ends] - length_before[starts]).astype(np.float32)
        spans.append(
            Spans(span_vectors, _random_distance(span_vectors, samples), span_lengths, _present(span_vectors))
        )
    return spans


def _random_distance(vectors: Vectors, samples: Vectors) -> Floats:
    """The mean of 1 − cosine of each vector with samples of the other side, without the nearest sample."""
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
    lengths: tuple[Floats, Floats] | None = None,
    length_weight: float = 0.0,
) -> list[Step]:
    """Find the cheapest path; returns its steps, in the order of the documents. Each skipped line is a step of its own.

    Args:
        source: For each k from 1 to ``max_size - 1`` (``SentenceAlignRequest.longest_span``), unit vectors of the spans
            of k lines, by their last line.
        target: The same of the target.
        max_size: Most lines of a group, of both sides together.
        skip: Cost of a line without a translation; a random pair costs about 1.
        samples: Lines of the source and of the target that show how similar random pairs are; by default of the
            documents.
        lengths: Length of each line of the source and of the target, in units that both share; by default all are the
            same.
        length_weight: The λ of the formula.
    """
    counts = len(source[0]), len(target[0])
    if 0 in counts:
        return [(i, 0, 1, 0, skip) for i in range(counts[0])] + [(0, j, 0, 1, skip) for j in range(counts[1])]
    coarser: list[Step] = []
    if max(counts) > _SEARCHED_WHOLE and min(counts) > 1:
        # The coarser level only says where the path runs, for which single lines are enough: no spans of several lines
        # are given, and max_size=2 allows groups of one line a side alone.
        coarser = cheapest_groups([_halved(source[0])], [_halved(target[0])], max_size=2, skip=skip)
    band = _around(coarser, *counts)

    source_samples, target_samples = samples or (sample_lines(source[0]), sample_lines(target[0]))
    source_lengths, target_lengths = lengths or [np.ones(count, np.float32) for count in counts]
    source_spans = _spans_of_side(source, target_samples, source_lengths)
    target_spans = _spans_of_side(target, source_samples, target_lengths)

    # The kinds of groups: a source and b target lines, for all a and b of at most max_size together. Each kind needs
    # the spans of a source lines and those of b target lines. Smaller groups come first: of equal costs the search
    # takes the first.
    sizes = [(a, b) for a in range(1, max_size) for b in range(1, max_size - a + 1)]
    sizes.sort(key=sum)
    costs = _costs(source_spans, target_spans, sizes, band, weight=length_weight)
    source_sizes = np.array([a for a, _ in sizes], np.int64)
    target_sizes = np.array([b for _, b in sizes], np.int64)
    # numba knows plain tuples only.
    steps, step_costs = _search(costs, source_sizes, target_sizes, tuple(band), skip)
    return [(*step, float(cost)) for step, cost in zip(steps.tolist(), step_costs, strict=True)]


def mutual_lines(source: Vectors, target: Vectors) -> tuple[Numbers, Numbers]:
    """Pair sample lines of the source with target lines, where each is the nearest line of the other.

    Returns:
        The numbers of the source lines, and the number of the target line of each.
    """
    if not (len(source) and len(target)):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    sampled = _sample_places(len(source))
    nearest = (source[sampled] @ target.T).argmax(1)
    nearest_of_nearest = (source @ target[nearest].T).argmax(0)
    # Vectors are compared, and not numbers of lines: the same text on another line is as good.
    is_mutual = (source[nearest_of_nearest] == source[sampled]).all(1)
    is_mutual &= _present(source[sampled]) & _present(target[nearest])
    return sampled[is_mutual], nearest[is_mutual]


def skip_cost(source: Vectors, target: Vectors, pairs: tuple[Numbers, Numbers]) -> float:
    """Choose the cost of a line without a translation, from the median cost of mutual lines (``pairs``).

    A fixed cost would not do: encoders and languages differ in how similar translations are, so mutual lines cost
    0.2 to 0.6 times as much as random pairs.
    """
    first, second = source[pairs[0]], target[pairs[1]]
    if not len(first):
        return _SKIP
    of_random_pairs = _random_distance(first, sample_lines(target))
    of_random_pairs += _random_distance(second, sample_lines(source))
    costs = 2 * np.maximum(1 - (first * second).sum(1), 0) / np.maximum(of_random_pairs, np.float32(1e-9))
    return _SKIP + _SKIP_SHARE * float(np.median(costs))


def length_ratio(source: Floats, target: Floats, pairs: tuple[Numbers, Numbers]) -> float:
    """Estimate how many times as long source lines are as target lines: the median of mutual lines (``pairs``).

    If these are few, the total lengths decide, which are wrong where one document lacks a chapter.
    """
    if len(pairs[0]) < _FEWEST_FOR_RATIO:
        return float(source.sum() / max(1.0, target.sum()))
    return float(np.median(source[pairs[0]] / target[pairs[1]]))


def sample_lines(lines: Vectors) -> Vectors:
    """Take sample lines at equal distances, among the lines whose vector is not null."""
    present = np.flatnonzero(_present(lines))
    return lines[present[_sample_places(len(present))]] if len(present) else lines[:0]


def _present(vectors: Vectors) -> NDArray[np.bool_]:
    """Which vectors are not null."""
    return np.asarray(vectors.any(axis=1))


def _sample_places(count: int) -> Numbers:
    """At most :data:`_SAMPLES` numbers from 0 to ``count`` − 1, at equal distances."""
    return np.unique(np.linspace(0, count - 1, _SAMPLES).astype(np.int64))


def _halved(vectors: Vectors) -> Vectors:
    """Join lines 0 and 1, 2 and 3, …: the unit vectors of their sums. Of an odd number the last line stays alone."""
    sums: Vectors = np.add.reduceat(vectors, np.arange(0, len(vectors), 2))
    norms: Vectors = np.linalg.norm(sums, axis=1, keepdims=True)
    return (sums / np.maximum(norms, 1e-12)).astype(np.float32)


def _around(path: Sequence[Step], rows: int, columns: int) -> Band:
    """Make the band around the path through the level with half the lines; a band of all cells without a path.

    Args:
        path: Steps through the coarser level, of one line a side at most.
        rows: Source lines of this level.
        columns: Target lines of this level.
    """
    if not path:
        return _band(np.zeros(rows + 1, np.int64), np.full(rows + 1, columns, np.int64))
    # Line i of the coarser level is lines 2 i and 2 i + 1 of this one.
    steps = np.array([step[:4] for step in path], np.int64)
    first_row, first_column = 2 * steps[:, 0], 2 * steps[:, 1]
    last_row = np.minimum(first_row + 2 * steps[:, 2], rows)
    last_column = first_column + 2 * steps[:, 3]
    low, high = np.full(rows + 1, columns, np.int64), np.zeros(rows + 1, np.int64)
    # A step passes two lines of this level at most. Rows are the borders of lines, so two lines touch three rows: the
    # rows before the first line, between both, and after the second.
    for offset in range(3):
        row = np.minimum(first_row + offset, last_row)
        np.minimum.at(low, row, first_column)
        np.maximum.at(high, row, last_column)
    # Widen the band by _BAND_MARGIN cells in every direction.
    size = 2 * _BAND_MARGIN + 1
    low = minimum_filter1d(low, size, mode="nearest") - _BAND_MARGIN
    high = maximum_filter1d(high, size, mode="nearest") + _BAND_MARGIN
    low, high = np.clip(low, 0, columns), np.clip(high, 0, columns)
    low[0], high[-1] = 0, columns  # the path begins and ends in the corners
    return _band(low, high)


def _band(low: Numbers, high: Numbers) -> Band:
    """A band with its cells numbered."""
    return Band(low, high, starts_and_end(high - low + 1))


def _costs(
    source: Sequence[Spans],
    target: Sequence[Spans],
    sizes: Sequence[tuple[int, int]],
    band: Band,
    *,
    weight: float,
) -> NDArray[np.float32]:
    """Compute the cost of each kind of group that ends in each cell of the band; infinite where no group can end.

    ``sizes``: Source and target lines of each kind of group. ``weight``: The λ of the formula.
    **Shape**: (cells, sizes).
    """
    low, high, first_cells = band
    costs = np.full((first_cells[-1], len(sizes)), np.inf, np.float32)
    # Costs are matrix products, so they are computed for rectangles: for some rows at a time, from the smallest to the
    # largest column of the band there. The cells outside the band are thrown away.
    for top in range(1, len(low), _ROWS_AT_ONCE):
        end = min(top + _ROWS_AT_ONCE, len(low))
        left, right = max(int(low[top:end].min()), 1), int(high[top:end].max())
        if right < left:
            continue
        # Number of each cell of the band in these rows, and its row and column. In column 0 no group ends.
        widths = high[top:end] - low[top:end] + 1
        cell = np.arange(first_cells[top], first_cells[end])
        row = np.repeat(np.arange(top, end), widths)
        column = low[row] + cell - first_cells[row]
        has_group = column > 0
        row, cell, column = row[has_group], cell[has_group], column[has_group]
        for number, (a, b) in enumerate(sizes):
            # In cell (i, j) ends the group whose last lines are i − 1 and j − 1.
            source_spans = source[a - 1].ending_in(top - 1, end - 1)
            target_spans = target[b - 1].ending_in(left - 1, right)
            cost = _cost_of_groups(source_spans, target_spans, weight=weight)
            cost *= a * b
            # No group of a source lines ends before row a, and none of b target lines before column b. `cost` begins
            # with row `top`: with a = 3 and top = 1, its first two rows, which are rows 1 and 2, have no group.
            rows_without_group, columns_without_group = max(0, a - top), max(0, b - left)
            cost[:rows_without_group] = np.inf
            cost[:, :columns_without_group] = np.inf
            costs[cell, number] = cost[row - top, column - left]
    return costs


def _cost_of_groups(source: Spans, target: Spans, *, weight: float) -> NDArray[np.float32]:
    """Compute the cost of each source span with each target span, without the factor a b.

    **Shape**: (source spans, target spans).
    """
    distance = 1 - source.vectors @ target.vectors.T
    of_random_pairs = source.random_distance[:, None] + target.random_distance[None]
    cost: NDArray[np.float32] = 2 * distance / np.maximum(of_random_pairs, np.float32(1e-9))
    cost[cost < _ROUNDING] = 0
    if weight:
        source_lengths, target_lengths = source.lengths[:, None], target.lengths[None]
        longer = np.maximum(np.maximum(source_lengths, target_lengths), np.float32(1e-9))
        cost += np.float32(weight) * (1 - np.log2(1 + np.minimum(source_lengths, target_lengths) / longer))
    cost[~source.present] = np.inf
    cost[:, ~target.present] = np.inf
    return cost


@compiled
def _search(costs, source_sizes, target_sizes, band, skip):
    """Find the cheapest path, and return its steps (first lines and numbers of lines) and their costs.

    For each cell of the band, row by row, the search keeps the cost of the cheapest path to the cell, and the last step
    of that path (``choices``): the number of a group's kind, or one of the two skips. Of last steps that cost the same,

    1. a group wins over a skip, and the first kind of group over later ones;
    2. a skipped source line wins over a skipped target line.
    """
    low, high, first_cells = band
    count = len(source_sizes)
    skip_source, skip_target = count, count + 1  # the choices after those of groups
    total = np.full(len(costs), np.inf)
    choices = np.full(len(costs), -1, np.int16)
    for i in range(len(low)):
        for j in range(low[i], high[i] + 1):
            cell = first_cells[i] + j - low[i]
            best, choice = (0.0 if i == 0 and j == 0 else np.inf), -1
            for number in range(count):
                # The cell in which the group begins.
                from_row, from_column = i - source_sizes[number], j - target_sizes[number]
                if from_row >= 0 and from_column >= 0 and low[from_row] <= from_column <= high[from_row]:
                    from_cell = first_cells[from_row] + from_column - low[from_row]
                    cost = total[from_cell] + costs[cell, number]
                    if cost < best:
                        best, choice = cost, number
            if i > 0 and low[i - 1] <= j <= high[i - 1]:
                cost = total[first_cells[i - 1] + j - low[i - 1]] + skip
                if cost < best:
                    best, choice = cost, skip_source
            if j > low[i]:
                cost = total[cell - 1] + skip
                if cost < best:
                    best, choice = cost, skip_target
            total[cell], choices[cell] = best, choice
    # Follow the last steps back from the end of both documents to their beginning.
    row, column = np.int64(len(low) - 1), high[len(low) - 1]
    steps, step_costs = np.empty((row + column, 4), np.int64), np.empty(row + column)
    size = 0
    while row > 0 or column > 0:
        cell = first_cells[row] + column - low[row]
        chosen = choices[cell]
        if chosen < count:
            a, b, cost = source_sizes[chosen], target_sizes[chosen], costs[cell, chosen]
        else:
            # One line of one side, and none of the other: (1, 0) or (0, 1).
            a, b, cost = np.int64(chosen == skip_source), np.int64(chosen == skip_target), skip
        row, column = row - a, column - b
        steps[size, 0], steps[size, 1], steps[size, 2], steps[size, 3] = row, column, a, b
        step_costs[size] = cost
        size += 1
    return steps[:size][::-1].copy(), step_costs[:size][::-1].copy()
