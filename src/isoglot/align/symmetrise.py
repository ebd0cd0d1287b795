r"""Symmetrisation: one set of links from a forward and a reverse alignment.

The grow heuristics are those of fast_align's ``atools``, which differ from Moses' and NLTK's in the order in which
candidates are visited. With ``U`` the union and ``A`` the growing result, ``A`` starts as the intersection and

* **grow-diag** visits the links of ``U \ A`` row by row (by source word, then target word), adds one at once if its
  source or its target word has no link yet and one of its eight neighbours is in ``A``, and repeats until a pass adds
  nothing;
* **grow-diag-final** then visits the forward links and after them the reverse ones, once each in the same order, and
  adds those whose source *or* target word has no link;
* **grow-diag-final-and** likewise, with source *and* target word without a link.

All sentences of a chunk advance together: step ``k`` looks at the ``k``-th candidate of each of them.

Source: Koehn, Och & Marcu 2003 (*Statistical phrase-based translation*); Dyer, Chahuneau & Smith 2013 (fast_align).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from isoglot.align.alignment import Alignment, LinkTable
from isoglot.errors import ConfigurationError

__all__ = ["SYMMETRISERS", "Symmetriser", "symmetrise", "symmetrise_table"]

Symmetriser = Literal[
    "forward", "reverse", "intersect", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"
]
SYMMETRISERS: tuple[str, ...] = get_args(Symmetriser)

_Cells = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]


def symmetrise(
    forward: Alignment, reverse: Alignment, method: Symmetriser = "grow-diag-final-and"
) -> Alignment:
    """Symmetrise one sentence pair; see :func:`symmetrise_table`.

    Example:
        >>> forward, reverse = Alignment.from_pharaoh("0-0 1-1 1-2"), Alignment.from_pharaoh("0-0 1-1 2-2")
        >>> symmetrise(forward, reverse, "grow-diag").to_pharaoh()
        '0-0 1-1 1-2 2-2'
    """
    tables = LinkTable.from_alignments([forward]), LinkTable.from_alignments([reverse])
    return symmetrise_table(*tables, method).alignments()[0]


def symmetrise_table(
    forward: LinkTable,
    reverse: LinkTable,
    method: Symmetriser = "grow-diag-final-and",
    *,
    chunk_cells: int = 1 << 23,
) -> LinkTable:
    """Symmetrise a corpus.

    Args:
        forward: links with one source word at most for each target word (any links are accepted).
        reverse: links of the other direction, also as (source, target).
        method: one of :data:`SYMMETRISERS`; ``forward`` and ``reverse`` return that side as it is.
        chunk_cells: bound on the source × target cells that are held at a time; bounds the memory, not the result.

    Returns:
        The links. A link's probability is the geometric mean of the two directions' where both have it, half of the one
        where one has it, so that agreement ranks above any single direction; absent if either side has none.

    Raises:
        ConfigurationError: an unknown method, or sides with different numbers of sentences.
    """
    if method not in SYMMETRISERS:
        raise ConfigurationError(
            f"symmetrisation {method!r} given; one of {', '.join(SYMMETRISERS)} is needed; "
            "pass for example 'grow-diag-final-and'"
        )
    if len(forward) != len(reverse):
        raise ConfigurationError(
            f"{len(forward)} forward and {len(reverse)} reverse alignments given, but they must be of the same "
            "sentences; align the same file in both directions"
        )
    if method in ("forward", "reverse"):
        return forward if method == "forward" else reverse
    parts = [
        _symmetrise_chunk(_slice(forward, start, stop), _slice(reverse, start, stop), method)
        for start, stop in _chunks(forward, reverse, chunk_cells)
    ]
    return LinkTable.concatenate(parts)


@dataclass
class _Grid:
    """Links of many sentences as cells of one flat grid; each sentence has an empty border around its matrix."""

    width: npt.NDArray[np.int64]  # per sentence: target words + 2
    base: npt.NDArray[np.int64]  # per sentence: first cell; length sentences + 1
    rows: npt.NDArray[np.int64]  # per sentence: first source word in `source_aligned`
    columns: npt.NDArray[np.int64]  # per sentence: first target word in `target_aligned`
    linked: _Flags
    source_aligned: _Flags
    target_aligned: _Flags

    def add(self, sentence: _Cells, cells: _Cells) -> None:
        """Put links into the result."""
        self.linked[cells] = True
        row, column = self.locate(sentence, cells)
        self.source_aligned[row] = True
        self.target_aligned[column] = True

    def locate(self, sentence: _Cells, cells: _Cells) -> tuple[_Cells, _Cells]:
        """Index of each cell's source and target word."""
        row, column = np.divmod(cells - self.base[sentence], self.width[sentence])
        return self.rows[sentence] + row, self.columns[sentence] + column


def _symmetrise_chunk(forward: LinkTable, reverse: LinkTable, method: str) -> LinkTable:
    grid = _grid(forward, reverse)
    forward_cells, reverse_cells = _cells(grid, forward), _cells(grid, reverse)
    union = np.union1d(forward_cells, reverse_cells)
    both = np.intersect1d(forward_cells, reverse_cells, assume_unique=True)
    if method == "intersect":
        return _table(grid, both, forward, reverse)
    if method == "union":
        return _table(grid, union, forward, reverse)
    grid.add(_sentence(grid, both), both)
    _grow(grid, np.setdiff1d(union, both, assume_unique=True))
    if method != "grow-diag":
        either = method == "grow-diag-final"
        for cells in (forward_cells, reverse_cells):
            _finish(grid, cells[~grid.linked[cells]], either=either)
    return _table(grid, union[grid.linked[union]], forward, reverse)


def _grow(grid: _Grid, candidates: _Cells) -> None:
    """grow-diag: passes over the candidates until one adds nothing."""
    while len(candidates):
        grew = np.zeros(len(grid.width), np.bool_)

        def visit(sentence: _Cells, cells: _Cells, grew: _Flags = grew) -> None:
            row, column = grid.locate(sentence, cells)
            width = grid.width[sentence]
            open_side = ~(grid.source_aligned[row] & grid.target_aligned[column])
            near = np.zeros(len(cells), np.bool_)
            for middle in (cells - width, cells, cells + width):
                near |= grid.linked[middle - 1] | grid.linked[middle] | grid.linked[middle + 1]
            chosen = open_side & near
            grid.add(sentence[chosen], cells[chosen])
            grew[sentence[chosen]] = True

        _in_step(grid, candidates, visit)
        candidates = candidates[grew[_sentence(grid, candidates)] & ~grid.linked[candidates]]


def _finish(grid: _Grid, candidates: _Cells, *, either: bool) -> None:
    """The ``final`` pass over one direction's links."""

    def visit(sentence: _Cells, cells: _Cells) -> None:
        row, column = grid.locate(sentence, cells)
        source, target = grid.source_aligned[row], grid.target_aligned[column]
        chosen = ~(source & target) if either else ~(source | target)
        grid.add(sentence[chosen], cells[chosen])

    _in_step(grid, candidates, visit)


def _in_step(grid: _Grid, candidates: _Cells, visit: Callable[[_Cells, _Cells], None]) -> None:
    """Visit sorted candidates in order within a sentence, the sentences side by side."""
    sentence = _sentence(grid, candidates)
    counts = np.bincount(sentence, minlength=len(grid.width))
    starts = np.cumsum(counts) - counts
    busiest = np.argsort(-counts, kind="stable")
    active = np.searchsorted(-counts[busiest], -np.arange(counts.max(initial=0)), side="left")
    for step, many in enumerate(active.tolist()):
        chosen = busiest[:many]
        visit(chosen, candidates[starts[chosen] + step])


def _grid(forward: LinkTable, reverse: LinkTable) -> _Grid:
    height, width = (_extent(forward, reverse, side) + 2 for side in ("source", "target"))
    base = np.concatenate([[0], np.cumsum(height * width)])
    return _Grid(
        width=width,
        base=base,
        rows=np.cumsum(height) - height,
        columns=np.cumsum(width) - width,
        linked=np.zeros(base[-1], np.bool_),
        source_aligned=np.zeros(int(height.sum()), np.bool_),
        target_aligned=np.zeros(int(width.sum()), np.bool_),
    )


def _extent(
    forward: LinkTable, reverse: LinkTable, side: Literal["source", "target"]
) -> npt.NDArray[np.int64]:
    """Per sentence, one more than the greatest word number that is linked."""
    extent = np.zeros(len(forward), np.int64)
    for table in (forward, reverse):
        words = table.source if side == "source" else table.target
        np.maximum.at(extent, table.sentence, words.astype(np.int64) + 1)
    return extent


def _cells(grid: _Grid, table: LinkTable) -> _Cells:
    sentence = table.sentence
    return np.asarray(
        grid.base[sentence] + (table.source + 1) * grid.width[sentence] + table.target + 1, np.int64
    )


def _sentence(grid: _Grid, cells: _Cells) -> _Cells:
    """The sentence of each cell; faster than a search because cells are sorted."""
    counts = np.diff(np.searchsorted(cells, grid.base))
    return np.repeat(np.arange(len(grid.width)), counts)


def _table(grid: _Grid, cells: _Cells, forward: LinkTable, reverse: LinkTable) -> LinkTable:
    sentence = _sentence(grid, cells)
    row, column = np.divmod(cells - grid.base[sentence], grid.width[sentence])
    offsets = np.searchsorted(cells, grid.base).astype(np.int64)
    probability = None
    if forward.probability is not None and reverse.probability is not None:
        one = _lookup(cells, _cells(grid, forward), forward.probability)
        other = _lookup(cells, _cells(grid, reverse), reverse.probability)
        probability = np.where((one > 0) & (other > 0), np.sqrt(one * other), np.maximum(one, other) / 2)
    return LinkTable(offsets, (row - 1).astype(np.int32), (column - 1).astype(np.int32), probability)


def _lookup(cells: _Cells, known: _Cells, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """``values`` at those of ``cells`` that are ``known`` (sorted), 0 elsewhere."""
    result = np.zeros(len(cells), np.float32)
    if len(known):
        place = np.minimum(np.searchsorted(known, cells), len(known) - 1)
        found = known[place] == cells
        result[found] = values[place[found]]
    return result


def _chunks(forward: LinkTable, reverse: LinkTable, chunk_cells: int) -> Iterator[tuple[int, int]]:
    area = (_extent(forward, reverse, "source") + 2) * (_extent(forward, reverse, "target") + 2)
    ends = np.cumsum(area)
    start = 0
    while start < len(area):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + chunk_cells, side="right")))
        yield start, stop
        start = stop


def _slice(table: LinkTable, start: int, stop: int) -> LinkTable:
    first, last = table.offsets[start], table.offsets[stop]
    probability = None if table.probability is None else table.probability[first:last]
    return LinkTable(
        table.offsets[start : stop + 1] - first,
        table.source[first:last],
        table.target[first:last],
        probability,
    )
