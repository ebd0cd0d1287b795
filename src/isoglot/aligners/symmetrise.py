r"""Symmetrisation: one set of links from a forward and a reverse alignment.

The grow heuristics are those of fast_align's ``atools``, which differ from Moses' and NLTK's in the order in which
candidates are visited. With ``U`` the union and ``A`` the growing result, ``A`` starts as the intersection and

* **grow-diag** visits the links of ``U \ A`` row by row (by source word, then target word), adds one at once if its
  source or its target word has no link yet and one of its eight neighbours is in ``A``, and repeats until a pass adds
  nothing;
* **grow-diag-final** then visits the forward links and after them the reverse ones, once each in the same order, and
  adds those whose source *or* target word has no link;
* **grow-diag-final-and** likewise, with source *and* target word without a link.

A link can only join once a neighbour has, so a pass stops only at neighbours of what has joined, and time and memory
grow with the links, not with the words of a sentence.

Source: Koehn, Och & Marcu 2003 (*Statistical phrase-based translation*); Dyer, Chahuneau & Smith 2013 (fast_align).
"""

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import LinkTable, starts_and_end
from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.options import SYMMETRISERS, Symmetriser
from isoglot.core.checks import did_you_mean
from isoglot.core.errors import ConfigurationError


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
    sides = [(table.offsets, _cells(table)) for table in (forward, reverse)]
    most = sum(len(cells) for _, cells in sides)
    offsets, cells = np.zeros(len(forward) + 1, np.int64), np.empty(most, np.int64)
    ahead, back = np.full((2, most), -1)
    _unite(*sides[0], *sides[1], offsets, cells, ahead, back)
    united = slice(offsets[-1])
    cells, ahead, back = cells[united], ahead[united], back[united]
    shared = (ahead >= 0) & (back >= 0)
    if method == "union":
        shared[:] = True
    elif method != "intersect":
        seen = (np.full(int(words.max(initial=0)) + 1, -1) for words in (cells >> 32, cells & _COLUMN))
        _grow(offsets, cells, shared, np.zeros_like(shared), *seen, (ahead, back), _FINALS.get(method, -1))
    probability = None
    if forward.probability is not None and reverse.probability is not None:
        first, second = (
            np.where(at >= 0, np.append(values, np.float32(0))[at], np.float32(0))
            for at, values in ((ahead[shared], forward.probability), (back[shared], reverse.probability))
        )
        probability = np.where(
            (first > 0) & (second > 0), np.sqrt(first * second), np.maximum(first, second) / 2
        )
    source, target = (cells[shared] >> 32).astype(np.int32), (cells[shared] & _COLUMN).astype(np.int32)
    return LinkTable(starts_and_end(shared)[offsets], source, target, probability)


_COLUMN = 0xFFFFFFFF
_FINALS = {"grow-diag-final": 1, "grow-diag-final-and": 0}
"""How many words of a link may have links of their own where the last step adds it."""


def _cells(table: LinkTable) -> npt.NDArray[np.int64]:
    """Each link as one number; those of a sentence ascend."""
    return (table.source.astype(np.int64) << 32) | table.target


@compiled
def _unite(first_offsets, first, second_offsets, second, offsets, cells, ahead, back):
    """Each sentence's links of both tables into ``cells``, and their places in the tables where they are in them."""
    done = 0
    for s in range(len(offsets) - 1):
        i, j = first_offsets[s], second_offsets[s]
        while i < first_offsets[s + 1] or j < second_offsets[s + 1]:
            if j == second_offsets[s + 1] or (i < first_offsets[s + 1] and first[i] <= second[j]):
                cells[done], ahead[done] = first[i], i
                i += 1
            else:
                cells[done] = second[j]
            if j < second_offsets[s + 1] and second[j] == cells[done]:
                back[done] = j
                j += 1
            done += 1
        offsets[s + 1] = done


@compiled
def _grow(offsets, cells, chosen, waking, source_seen, target_seen, neighbours, most):
    """Grow ``chosen``, the common links, diagonally; then add each side's links of which ``most`` words are linked.

    ``waking`` marks the candidates with a neighbour that has joined since they were visited; ``source_seen`` and
    ``target_seen`` hold the sentence in which each place was last linked.
    """
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        for k in range(first, last):
            if chosen[k]:
                source_seen[cells[k] >> 32] = target_seen[cells[k] & _COLUMN] = s
                _wake(cells, first, last, k, waking)
        behind = True
        while behind:
            behind = False
            for k in range(first, last):
                if waking[k] and not chosen[k]:
                    row, column = cells[k] >> 32, cells[k] & _COLUMN
                    if source_seen[row] != s or target_seen[column] != s:
                        chosen[k] = True
                        source_seen[row] = target_seen[column] = s
                        behind |= _wake(cells, first, last, k, waking)
                waking[k] = False
        if most < 0:
            continue
        for place in neighbours:
            for k in range(first, last):
                row, column = cells[k] >> 32, cells[k] & _COLUMN
                linked = int(source_seen[row] == s) + int(target_seen[column] == s)
                if place[k] >= 0 and not chosen[k] and linked <= most:
                    chosen[k] = True
                    source_seen[row] = target_seen[column] = s


@helper
def _wake(cells, first, last, joined, waking):
    """Mark the neighbours of a link; returns whether a pass that is at the link has one of them behind it."""
    behind = False
    row, column = cells[joined] >> 32, cells[joined] & _COLUMN
    for near in range(max(row - 1, 0), row + 2):
        low, high = first, last
        while low < high:
            middle = (low + high) // 2
            if cells[middle] < (near << 32) + column - 1:
                low = middle + 1
            else:
                high = middle
        while low < last and cells[low] <= (near << 32) + column + 1:
            waking[low] = True
            behind |= low < joined
            low += 1
    return behind
