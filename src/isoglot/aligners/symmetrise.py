r"""Symmetrisation: one set of links from a forward and a reverse alignment.

The grow heuristics are those of fast_align's ``atools``, which differ from Moses' and NLTK's in the order in which
candidates are visited. With ``U`` the union and ``A`` the growing result, ``A`` starts as the intersection and

* **grow-diag** visits the links of ``U \ A`` row by row (by source word, then target word), adds one at once if its
  source or its target word has no link yet and one of its eight neighbours is in ``A``, and repeats until a pass adds
  nothing;
* **grow-diag-final** then visits the forward links and after them the reverse ones, once each in the same order, and
  adds those whose source *or* target word has no link;
* **grow-diag-final-and** likewise, with source *and* target word without a link.

A link can only join once a neighbour has, so a queue of the neighbours of what has joined stands for the passes, and
the time grows with the links, not with the words of a sentence.

Source: Koehn, Och & Marcu 2003 (*Statistical phrase-based translation*); Dyer, Chahuneau & Smith 2013 (fast_align).
"""

import heapq

import numpy as np

from isoglot.aligners.alignment import LinkTable
from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.options import SYMMETRISERS, Symmetriser
from isoglot.checks import did_you_mean
from isoglot.errors import ConfigurationError


def check_symmetriser(method: str) -> None:
    """Refuse an unknown symmetriser."""
    if method not in SYMMETRISERS:
        raise ConfigurationError(f"unknown symmetrisation {method!r}; {did_you_mean(method, SYMMETRISERS)}")


def symmetrise_table(
    forward: LinkTable, reverse: LinkTable, method: Symmetriser = "grow-diag-final-and"
) -> LinkTable:
    """Symmetrise a corpus; both tables have their links as (source, target).

    A link's probability is the geometric mean of the two directions' where both have it, half of the one where one has
    it, so that agreement ranks above any single direction; absent if either side has none.

    Example:
        >>> forward, reverse = LinkTable.from_pharaoh(["0-0 1-1 1-2"]), LinkTable.from_pharaoh(["0-0 1-1 2-2"])
        >>> symmetrise_table(forward, reverse, "grow-diag").to_pharaoh()
        ['0-0 1-1 1-2 2-2']
    """
    check_symmetriser(method)
    if len(forward) != len(reverse):
        raise ConfigurationError(
            f"got {len(forward)} forward but {len(reverse)} reverse alignments; align one file in both directions"
        )
    if method in ("forward", "reverse"):
        return forward if method == "forward" else reverse
    sides = [(table.offsets, table.source, table.target) for table in (forward, reverse)]
    offsets, source, target, place = _symmetrise(*sides, SYMMETRISERS.index(method))
    probability = None
    if forward.probability is not None and reverse.probability is not None:
        one, other = (
            np.where(at >= 0, np.append(values, np.float32(0))[at], np.float32(0))
            for at, values in zip(place, (forward.probability, reverse.probability), strict=True)
        )
        probability = np.where((one > 0) & (other > 0), np.sqrt(one * other), np.maximum(one, other) / 2)
    return LinkTable(offsets, source, target, probability)


_INTERSECT, _UNION, _GROW_DIAG, _FINAL = (
    SYMMETRISERS.index(name) for name in ("intersect", "union", "grow-diag", "grow-diag-final")
)


@compiled
def _symmetrise(forward, reverse, method):
    """Offsets, source and target words of the result, and each link's place in both tables, −1 where it is absent."""
    count = len(forward[0]) - 1
    most = len(forward[1]) + len(reverse[1])
    offsets = np.zeros(count + 1, np.int64)
    source, target = np.empty(most, np.int32), np.empty(most, np.int32)
    place = np.empty((2, most), np.int64)
    source_aligned, target_aligned = _marks(forward[1], reverse[1]), _marks(forward[2], reverse[2])
    done = 0
    for s in range(count):
        cells, places = _union(s, forward, reverse)
        kept = (places[0] >= 0) & (places[1] >= 0)
        if method == _UNION:
            kept[:] = True
        elif method != _INTERSECT:
            marks = (source_aligned, target_aligned, s)
            for common in np.flatnonzero(kept):
                _mark(marks, cells[common])
            _grow(cells, kept, marks)
            if method != _GROW_DIAG:
                for side in range(2):
                    for k in range(len(cells)):
                        if places[side, k] >= 0 and not kept[k]:
                            covered = _covered(marks, cells[k])
                            if covered == 0 or (covered == 1 and method == _FINAL):
                                kept[k] = True
                                _mark(marks, cells[k])
        for k in range(len(cells)):
            if kept[k]:
                source[done], target[done] = cells[k] >> 32, cells[k] & 0xFFFFFFFF
                place[0, done], place[1, done] = places[0, k], places[1, k]
                done += 1
        offsets[s + 1] = done
    return offsets, source[:done].copy(), target[:done].copy(), place[:, :done].copy()


@helper
def _marks(one, other):
    """Room for the number of the sentence in which each place was last aligned."""
    longest = 0
    for words in (one, other):
        for word in words:
            longest = max(longest, word + 1)
    return np.full(longest, -1, np.int64)


@helper
def _mark(marks, cell):
    marks[0][cell >> 32] = marks[2]
    marks[1][cell & 0xFFFFFFFF] = marks[2]


@helper
def _covered(marks, cell):
    """How many of a link's two words are aligned."""
    return int(marks[0][cell >> 32] == marks[2]) + int(marks[1][cell & 0xFFFFFFFF] == marks[2])


@helper
def _union(sentence, forward, reverse):
    """A sentence's links of both tables, each one as a sortable number, and their places in the tables."""
    one, one_end = forward[0][sentence], forward[0][sentence + 1]
    two, two_end = reverse[0][sentence], reverse[0][sentence + 1]
    most = one_end - one + two_end - two
    cells, places = np.empty(most, np.int64), np.full((2, most), -1, np.int64)
    size = 0
    end = np.int64(0x7FFFFFFFFFFFFFFF)
    while one < one_end or two < two_end:
        first = (np.int64(forward[1][one]) << 32) | np.int64(forward[2][one]) if one < one_end else end
        second = (np.int64(reverse[1][two]) << 32) | np.int64(reverse[2][two]) if two < two_end else end
        cells[size] = min(first, second)
        if first <= second:
            places[0, size] = one
            one += 1
        if second <= first:
            places[1, size] = two
            two += 1
        size += 1
    return cells[:size], places[:, :size]


@helper
def _grow(cells, kept, marks):
    """grow-diag. An event is a pass over the candidates and the candidate that it visits, as one sortable number."""
    size = len(cells)
    events = [np.int64(0) for _ in range(0)]
    for common in np.flatnonzero(kept):
        _wake(cells, kept, common, np.int64(-1), events)
    while events:
        event = heapq.heappop(events)
        k = event % size
        if kept[k] or _covered(marks, cells[k]) == 2:
            continue
        kept[k] = True
        _mark(marks, cells[k])
        _wake(cells, kept, k, event // size, events)


@helper
def _wake(cells, kept, joined, current, events):
    """Have the candidates beside a link visited: in this pass where it has yet to come to them, else in the next."""
    row, column = cells[joined] >> 32, cells[joined] & 0xFFFFFFFF
    for near in range(row - 1, row + 2):
        if near < 0:
            continue
        left = (near << 32) | max(column - 1, 0)
        k = np.searchsorted(cells, left)
        while k < len(cells) and cells[k] <= (near << 32) | (column + 1):
            if not kept[k]:
                turn = max(current, 0) if k > joined or current < 0 else current + 1
                heapq.heappush(events, np.int64(turn * len(cells) + k))
            k += 1
