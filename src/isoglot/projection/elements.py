"""Place the elements of a line in its translation.

:func:`place_elements` runs three passes over plain data, each a function of its own:

1. :func:`project_elements`: an element has the words that are linked to it (:mod:`isoglot.projection.rule`).
2. :func:`fill_parents`: children that leave no word of their parent in the source leave none in the translation.
3. :func:`~isoglot.projection.empty_elements.place_empty_elements`: an element without words goes to a boundary.
"""

from itertools import pairwise
from typing import NamedTuple

from isoglot.formats.inline_tags import MarkedText
from isoglot.formats.sentence_pair import SentencePair
from isoglot.projection.empty_elements import place_empty_elements
from isoglot.projection.linked_line import LinkedLine, Ranges, linked_line
from isoglot.projection.rule import Fate, Range, project_spans


class Placements(NamedTuple):
    """The places of a line's elements in the translation, by the numbers of the elements.

    An element is in ``ranges`` or in ``boundaries``. Only one whose parent is in ``boundaries`` is in neither: it is
    written together with its parent. Any other element that is in neither would not be written at all, nor would the
    elements inside it.
    """

    line: LinkedLine
    ranges: Ranges  # elements that have words in the translation
    boundaries: dict[int, int]  # elements without words: the boundary at which each stands
    fates: dict[int, Fate]  # elements that have words in the source
    moved: set[int]  # elements in `boundaries` with words on another side than in the source


def place_elements(marked: MarkedText, pair: SentencePair, gap: int) -> Placements:
    """Place the elements of a line in its translation.

    Args:
        marked: The line.
        pair: Its text and the translation, with their words and links.
        gap: Words that are filled in between two words of an element.

    Example:
        >>> from isoglot.formats.markup_lines import parse_markup
        >>> marked = parse_markup("a <b>c</b> <x/>")
        >>> pair = SentencePair.of(["a", "c"], ["C", "A"], links=[(0, 1), (1, 0)])
        >>> placed = place_elements(marked, pair, gap=3)
        >>> placed.ranges, placed.boundaries
        ({0: (0, 1)}, {1: 2})
    """
    line = linked_line(marked, pair)
    projected, fates = project_elements(line, pair, gap)
    ranges = fill_parents(line, projected)
    for element, fate in fates.items():
        # None of its words is linked, but filling its parent gave it words.
        if fate == "lost" and element in ranges:
            fates[element] = "shortened"
    boundaries, moved = place_empty_elements(line, ranges)
    return Placements(line, ranges, boundaries, fates, moved)


def project_elements(line: LinkedLine, pair: SentencePair, gap: int) -> tuple[Ranges, dict[int, Fate]]:
    """Project each element that has words, inside its parent; and say what became of it.

    ``<b>a c</b> d`` with links to the first two words of ``A C D`` has ``<b>`` over ``A C``.
    """
    target_words = range(len(line.target.words))
    projected = project_spans(
        [extent.source_range for extent in line.extents],
        pair,
        len(target_words),
        gap=gap,
        parents=[element.parent for element in line.marked.elements],
        marks={word for word in target_words if line.target.is_mark(word)},
    )
    ranges: Ranges = {}
    fates: dict[int, Fate] = {}
    for element, (extent, span) in enumerate(zip(line.extents, projected, strict=True)):
        if extent.is_wordless:
            continue
        fates[element] = span.fate
        if span.target_range is not None:
            ranges[element] = span.target_range
    return ranges, fates


def fill_parents(line: LinkedLine, projected: Ranges) -> Ranges:
    """Let children that fill their parent in the source also fill it in the translation, from the outside in.

    The line is the parent of the outermost elements: ``<b>The house</b>`` becomes ``<b>Das Haus hier</b>``.
    """
    ranges = dict(projected)
    for parent in [None, *range(len(line.extents))]:  # parents have smaller numbers than their children
        ranges.update(fill_parent(line, parent, ranges))
    return ranges


def fill_parent(line: LinkedLine, parent: int | None, ranges: Ranges) -> Ranges:
    """Share the words of a parent among its children, if they fill it in the source; else return nothing.

    ``<p><b>Save</b> <i>the file</i></p>`` leaves no word of ``<p>`` outside ``<b>`` and ``<i>``, so its translation
    must not either. *Unclaimed* words of the translation are in the parent, but in none of its children. They go to the
    children beside them, or to a child that was *lost* in projection:

    1. Words at the beginning of the parent go to its first child if that is lost, else to the right neighbour.
    2. Words at the end of the parent go to the left neighbour, unless a lost child directly follows it in the source.
    3. Of all other words the left neighbour gets the first ones: its closing marks, or the words up to the end of its
       sentence (:func:`_end_of_left_neighbour`). The rest goes to the lost child that directly follows the left
       neighbour in the source, else to the right neighbour.

    Of several lost children in a row, only the first gets words; the others stay lost.

    For example ``<p><b>Save</b> <i>the</i> <u>file</u></p>`` with the translation *Sichern Sie die Datei* and the links
    *Save*-*Sichern* and *file*-*Datei*: ``<i>`` is lost. The unclaimed words *Sie die*, between ``<b>`` and ``<u>``, go
    to ``<i>`` and not to ``<u>``: ``<p><b>Sichern</b> <i>Sie die</i> <u>Datei</u></p>``.

    ``ranges``: The target words of all elements that have some. The result has those of the children alone.
    """
    parent_range = line.target_range(parent, ranges)
    children = line.children.get(parent, [])
    if parent_range is None or not _children_fill(line, children, line.source_range(parent)):
        return {}
    filled = {child: ranges[child] for child in children if child in ranges}
    # Lost children, each by the child directly before it in the source (None for the first child): {<b>: <i>} in the
    # example of the docstring. `left` and `right` below are neighbours in the translation, so they have words: a lost
    # child behind another lost one is not found.
    lost_after = {before: child for before, child in pairwise([None, *children]) if child not in ranges}
    in_translation = sorted(filled, key=filled.__getitem__)
    for left, right in pairwise([None, *in_translation, None]):
        # The unclaimed words go from `first` to `stop - 1`.
        first = parent_range[0] if left is None else filled[left][1]
        stop = parent_range[1] if right is None else filled[right][0]
        lost = lost_after.get(left)
        # The left neighbour gets the words before `rest`.
        if left is None:  # 1
            rest = first
        elif right is None and lost is None:  # 2
            rest = stop
        else:  # 3
            rest = _end_of_left_neighbour(line, left, first, stop)
        if left is not None:
            filled[left] = filled[left][0], rest
        if rest >= stop:
            continue
        if lost is not None:
            filled[lost] = rest, stop
        elif right is not None:
            filled[right] = rest, filled[right][1]
    return filled


def _children_fill(line: LinkedLine, children: list[int], parent_range: Range) -> bool:
    """Whether every source word of a parent is in one of its children, and none is in two."""
    filled_to = parent_range[0]
    for child in children:
        extent = line.extents[child]
        if extent.source_range[0] != filled_to or not extent.cuts_no_word:
            return False
        filled_to = extent.source_range[1]
    return filled_to == parent_range[1]


def _end_of_left_neighbour(line: LinkedLine, left: int, first: int, stop: int) -> int:
    """The boundary, from ``first`` to ``stop``, at which a child ends that has the words before ``first``.

    Marks that close belong to what is before them: ``<b>Note:</b> <i>hot</i>`` becomes ``<b>Achtung:</b> <i>heiß</i>``.
    A child that ends a sentence in the source does so in the translation: ``<p>It rains.</p><p>Go.</p>`` becomes
    ``<p>Es regnet viel.</p> <p>Geh.</p>``, also if *viel* has no link.
    """
    if line.source.ends_sentence(line.extents[left].source_range[1]):
        for boundary in range(first, stop + 1):
            if line.target.ends_sentence(boundary):
                return line.target.behind_closing_marks(boundary, stop)
    return line.target.behind_closing_marks(first, stop)
