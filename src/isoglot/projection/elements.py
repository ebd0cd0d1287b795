"""Where the elements of a line stand in its translation.

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
    """Where the elements of a line stand in the translation, by the numbers of the elements."""

    line: LinkedLine
    words: Ranges  # elements that have words in the translation
    boundaries: dict[int, int]  # the others, unless their parent is one of these and is written with them
    fates: dict[int, Fate]  # elements that have words in the source
    moved: set[int]  # elements in `boundaries` with words on another side than in the source


def place_elements(marked: MarkedText, pair: SentencePair, gap: int) -> Placements:
    """Place the elements of a line in its translation.

    Args:
        marked: The line.
        pair: Its text and the translation, with their words and links.
        gap: Words that are filled in between two of an element.

    Example:
        >>> from isoglot.formats.markup_lines import parse_markup
        >>> marked = parse_markup("a <b>c</b> <x/>")
        >>> pair = SentencePair.of(["a", "c"], ["C", "A"], links=[(0, 1), (1, 0)])
        >>> placed = place_elements(marked, pair, gap=3)
        >>> placed.words, placed.boundaries
        ({0: (0, 1)}, {1: 2})
    """
    line = linked_line(marked, pair)
    projected, fates = project_elements(line, pair, gap)
    words = fill_parents(line, projected)
    for element, fate in fates.items():
        if (
            fate == "lost" and element in words
        ):  # none of its words is linked, but its parent had words for it
            fates[element] = "shortened"
    boundaries, moved = place_empty_elements(line, words)
    return Placements(line, words, boundaries, fates, moved)


def project_elements(line: LinkedLine, pair: SentencePair, gap: int) -> tuple[Ranges, dict[int, Fate]]:
    """The words of the elements in the translation, each inside its parent, and what became of them.

    ``<b>a c</b> d`` with links to the first two words of ``A C D`` has ``<b>`` over ``A C``.
    """
    target_words = range(len(line.target.words))
    projected = project_spans(
        [extent.words for extent in line.extents],
        pair,
        len(target_words),
        gap=gap,
        parents=[element.parent for element in line.marked.elements],
        marks={word for word in target_words if line.target.is_mark(word)},
    )
    words: Ranges = {}
    fates: dict[int, Fate] = {}
    for element, (extent, span) in enumerate(zip(line.extents, projected, strict=True)):
        if extent.is_empty:
            continue
        fates[element] = span.fate
        if span.words is not None:
            words[element] = span.words
    return words, fates


def fill_parents(line: LinkedLine, projected: Ranges) -> Ranges:
    """Let children that fill their parent in the source also fill it in the translation, from the outside in.

    The line is the parent of the outermost elements: ``<b>The house</b>`` becomes ``<b>Das Haus hier</b>``.
    """
    words = dict(projected)
    for parent in [None, *range(len(line.extents))]:
        words.update(fill_parent(line, parent, words))
    return words


def fill_parent(line: LinkedLine, parent: int | None, placed: Ranges) -> Ranges:
    """The words of the children of a parent that they fill in the source; nothing if they do not fill it.

    ``<p><b>Save</b> <i>the file</i></p>`` leaves no word of ``<p>`` outside ``<b>`` and ``<i>``, so its translation
    must not either. Between two neighbours, words that neither has are shared out at a cut
    (:func:`_end_of_left_neighbour`): those before it go to the neighbour on the left, the others to a child between
    both that was lost in projection, else to the neighbour on the right.
    """
    target, children = line.target_range(parent, placed), line.children.get(parent, [])
    if target is None or not _fill(line, children, line.source_range(parent)):
        return {}
    words = {child: placed[child] for child in children if child in placed}
    lost_behind = {
        before: child for before, child in pairwise([None, *children]) if child not in placed
    }  # by the child before it
    in_translation = sorted(words, key=words.__getitem__)
    for left, right in pairwise([None, *in_translation, None]):
        first = target[0] if left is None else words[left][1]
        last = target[1] if right is None else words[right][0]
        cut = first if left is None else _end_of_left_neighbour(line, left, first, last)
        lost = lost_behind.get(left)
        if left is not None:
            # Nobody else is there for the words at the end of the parent.
            end = last if lost is None and right is None else cut
            words[left] = words[left][0], end
        if cut >= last:
            continue
        if lost is not None:
            words[lost] = cut, last
        elif right is not None:
            words[right] = cut, words[right][1]
    return words


def _fill(line: LinkedLine, children: list[int], parent: Range) -> bool:
    """Whether every word of a parent is in one of its children, and none is in two."""
    edge = parent[0]
    for child in children:
        extent = line.extents[child]
        if extent.words[0] != edge or not extent.cuts_no_word:
            return False
        edge = extent.words[1]
    return edge == parent[1]


def _end_of_left_neighbour(line: LinkedLine, left: int, first: int, last: int) -> int:
    """The boundary, from the first to the last, at which a child ends.

    Marks that close belong to what is before them: ``<b>Note:</b> <i>hot</i>`` becomes ``<b>Achtung:</b> <i>heiß</i>``.
    A child that ends a sentence in the source does so in the translation.
    """
    cut = line.target.behind_closing_marks(first, last)
    if line.source.ends_sentence(line.extents[left].words[1]):
        ends = (boundary for boundary in range(first, last + 1) if line.target.ends_sentence(boundary))
        end = next(ends, None)
        if end is not None:
            cut = line.target.behind_closing_marks(end, last)
    return cut
