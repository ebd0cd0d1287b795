r"""Symmetrisation: make one set of links from a forward and a reverse alignment.

``intersect`` keeps the links that both have, ``union`` all links, ``forward`` and ``reverse`` those of one alignment.

The grow heuristics are those of fast_align's ``atools``, which differ from Moses' and NLTK's in the order in which
candidates are visited. With ``U`` the union and ``A`` the growing result, ``A`` starts as the intersection and

* **grow-diag** visits the links of ``U \ A`` row by row (by source word, then target word), adds one at once if its
  source or its target word has no link yet and one of its eight neighbours is in ``A``, and repeats until a pass adds
  nothing;
* **grow-diag-final** then visits the forward links and after them the reverse ones, once each in the same order, and
  adds those whose source *or* target word has no link;
* **grow-diag-final-and** likewise, with source *and* target word without a link.

A link can only join beside a link that has joined before. So a pass visits only the neighbours of joined links, and
time and memory grow with the number of links, not with the number of words.

Source: Koehn, Och & Marcu 2003 (*Statistical phrase-based translation*); Dyer, Chahuneau & Smith 2013 (fast_align).
"""

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import LinkTable, starts_and_end
from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.options import SYMMETRISERS, Symmetriser
from isoglot.core.checks import did_you_mean
from isoglot.core.errors import ConfigurationError

_TARGET_BITS = 0xFFFFFFFF
"""The bits of a cell that hold the target word; :func:`_cells` makes cells."""
_MOST_LINKED = {"grow-diag-final": 1, "grow-diag-final-and": 0}
"""How many of the two words of a link may be linked already when the final step adds the link."""


def check_symmetriser(method: str) -> None:
    """Refuse an unknown symmetriser."""
    if method not in SYMMETRISERS:
        raise ConfigurationError(f"unknown symmetrisation {method!r}; {did_you_mean(method, SYMMETRISERS)}")


def symmetrise_table(
    forward: LinkTable, reverse: LinkTable, method: Symmetriser = "grow-diag-final-and"
) -> LinkTable:
    """Symmetrise the links of a corpus; both tables have their links as (source, target).

    The probability of a link that both directions have is the geometric mean of its two probabilities. A link of one
    direction has half of its probability there, so that agreement ranks above any single direction. If one table has no
    probabilities, neither has the result.

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
    # The union of both tables, and for each of its links the number of the link in either table, -1 if it is not there.
    forward_cells, reverse_cells = _cells(forward), _cells(reverse)
    most = len(forward_cells) + len(reverse_cells)
    offsets, cells = np.zeros(len(forward) + 1, np.int64), np.empty(most, np.int64)
    in_forward, in_reverse = np.full((2, most), -1)
    _unite(
        forward.offsets, forward_cells, reverse.offsets, reverse_cells, offsets, cells, in_forward, in_reverse
    )
    united = slice(offsets[-1])
    cells, in_forward, in_reverse = cells[united], in_forward[united], in_reverse[united]
    # Which links of the union are chosen: to begin with those of both directions.
    chosen = (in_forward >= 0) & (in_reverse >= 0)
    if method == "union":
        chosen[:] = True
    elif method != "intersect":
        source_seen = np.full(int((cells >> 32).max(initial=0)) + 1, -1)
        target_seen = np.full(int((cells & _TARGET_BITS).max(initial=0)) + 1, -1)
        most_linked = _MOST_LINKED.get(method, -1)
        directions = in_forward, in_reverse
        _grow(
            offsets, cells, chosen, np.zeros_like(chosen), source_seen, target_seen, directions, most_linked
        )
    probability = None
    if forward.probability is not None and reverse.probability is not None:
        first = _probability_at(in_forward[chosen], forward.probability)
        second = _probability_at(in_reverse[chosen], reverse.probability)
        both, one = np.sqrt(first * second), np.maximum(first, second) / 2
        probability = np.where((first > 0) & (second > 0), both, one)
    source, target = (cells[chosen] >> 32).astype(np.int32), (cells[chosen] & _TARGET_BITS).astype(np.int32)
    # chosen_before[k]: how many links of the union before link k are chosen, as in `LinkTable.above`.
    chosen_before = starts_and_end(chosen)
    return LinkTable(chosen_before[offsets], source, target, probability)


def _probability_at(
    numbers: npt.NDArray[np.int64], values: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Return the probabilities of links by their numbers in a table; 0 for a link that is not there (-1)."""
    with_zero = np.append(values, np.float32(0))  # -1 takes the last one; an empty table has none but this
    return np.where(numbers >= 0, with_zero[numbers], np.float32(0))


def _cells(table: LinkTable) -> npt.NDArray[np.int64]:
    """Return each link as one number, a *cell*: ``source << 32 | target``.

    Within a sentence cells ascend, because links are sorted by source word, then target word.
    """
    return (table.source.astype(np.int64) << 32) | table.target


@compiled
def _unite(first_offsets, first, second_offsets, second, offsets, cells, in_first, in_second):
    """Merge the sorted links of two tables, sentence by sentence, into ``cells``.

    The last four arrays are filled. ``offsets`` and ``cells`` are the union. ``in_first[k]`` is the number that link
    ``k`` of the union has in the first table, ``in_second[k]`` its number in the second; -1 stays where a table lacks
    the link.
    """
    done = 0
    for s in range(len(offsets) - 1):
        # Two sorted lists are merged: the smaller head is taken, and both heads if they are equal.
        i, j = first_offsets[s], second_offsets[s]
        while i < first_offsets[s + 1] or j < second_offsets[s + 1]:
            if j == second_offsets[s + 1] or (i < first_offsets[s + 1] and first[i] <= second[j]):
                cells[done], in_first[done] = first[i], i
                i += 1
            else:
                cells[done] = second[j]
            if j < second_offsets[s + 1] and second[j] == cells[done]:
                in_second[done] = j
                j += 1
            done += 1
        offsets[s + 1] = done


@compiled
def _grow(offsets, cells, chosen, waking, source_seen, target_seen, directions, most_linked):
    """Grow ``chosen``, which holds the common links, diagonally; then take the final step.

    ``waking`` marks the candidates to visit: links with a neighbour that has joined since they were last visited.
    ``source_seen`` and ``target_seen`` hold for each word position the last sentence in which a word there was linked;
    so a word of sentence ``s`` is linked if its entry is ``s``, and nothing has to be cleared between sentences.
    ``directions`` holds two arrays, for the forward and for the reverse alignment. An entry of an array is the number
    that a link of the union has in this alignment, or -1 if the alignment lacks the link.
    ``most_linked``: see :data:`_MOST_LINKED`; -1 leaves the final step out.
    """
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        # The intersection has joined: mark its words as linked, and wake its neighbours.
        for k in range(first, last):
            if chosen[k]:
                source_seen[cells[k] >> 32] = target_seen[cells[k] & _TARGET_BITS] = s
                _wake(cells, first, last, k, waking)
        # grow-diag: one pass in the order of the links. A link that joins wakes its neighbours; those further on are
        # visited in this pass, and for those behind another pass is needed.
        behind = True
        while behind:
            behind = False
            for k in range(first, last):
                if waking[k] and not chosen[k]:
                    row, column = cells[k] >> 32, cells[k] & _TARGET_BITS
                    # At least one of its words must still be without a link.
                    if source_seen[row] != s or target_seen[column] != s:
                        chosen[k] = True
                        source_seen[row] = target_seen[column] = s
                        behind |= _wake(cells, first, last, k, waking)
                waking[k] = False
        if most_linked < 0:
            continue
        # final: first the forward links, then the reverse ones, once each.
        for number_in_direction in directions:
            for k in range(first, last):
                row, column = cells[k] >> 32, cells[k] & _TARGET_BITS
                linked = int(source_seen[row] == s) + int(target_seen[column] == s)
                if number_in_direction[k] >= 0 and not chosen[k] and linked <= most_linked:
                    chosen[k] = True
                    source_seen[row] = target_seen[column] = s


@helper
def _wake(cells, first, last, joined, waking):
    """Mark the neighbours of a link that has joined; returns whether one of them comes before it in a pass."""
    behind = False
    row, column = cells[joined] >> 32, cells[joined] & _TARGET_BITS
    # Neighbours lie in the row of the link, the one above and the one below, one column to either side at most.
    for near in range(max(row - 1, 0), row + 2):
        # Binary search for the first link at or after (near, column - 1).
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
