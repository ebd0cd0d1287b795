"""A line with tags beside its translation, and the links between: the plain data that the passes of markup read."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from isoglot.formats.inline_tags import MarkedText
from isoglot.formats.sentence_pair import SentencePair
from isoglot.projection.punctuation import CutText
from isoglot.projection.rule import Range

Position = tuple[int, int]
"""A word, and how many of its characters come before; 0 characters are the boundary before the word."""
Ranges = dict[int, Range]
"""The target words of elements, by the numbers of the elements."""


class Spaces(NamedTuple):
    """White space on both sides of a tag; None where another tag stands, or the line begins or ends."""

    before: str | None
    after: str | None


class Extent(NamedTuple):
    """The words of an element in the source."""

    source_range: Range  # words that share a character with it; empty for a tag that stands alone
    opening: Position
    closing: Position

    @property
    def is_wordless(self) -> bool:
        """Whether the element has no word in the source."""
        return self.source_range[0] == self.source_range[1]

    @property
    def cuts_no_word(self) -> bool:
        """Whether the element begins and ends between words; ``<b>W</b>ord`` does not."""
        return not self.opening[1] and not self.closing[1]


class LinkedLine(NamedTuple):
    """A line with tags, its translation, and the links between their words.

    An element is named by its number in ``marked.elements``, a word by its number in ``source`` or ``target``. Where an
    element is asked for, None stands for the line itself.

    Example:
        >>> from isoglot.formats.markup_lines import parse_markup
        >>> pair = SentencePair.of(["a", "c"], ["C", "A"], links=[(0, 1), (1, 0)])
        >>> line = linked_line(parse_markup("a <b>c</b>"), pair)
        >>> line.source_range(0), line.targets_of[1], line.are_linked(1, 0)
        ((1, 2), [0], True)
    """

    marked: MarkedText  # the source text with its tags and elements
    source: CutText
    target: CutText
    extents: list[Extent]  # one for each element
    children: Mapping[int | None, list[int]]  # for each parent, the elements in it that have source words
    targets_of: Mapping[int, list[int]]  # for each linked source word, the target words

    def are_linked(self, source: int, target: int) -> bool:
        """Whether a source word and a target word are linked."""
        return target in self.targets_of.get(source, ())

    def source_range(self, element: int | None) -> Range:
        """The source words of an element, or of the line."""
        return (0, len(self.source.words)) if element is None else self.extents[element].source_range

    def target_range(self, element: int | None, ranges: Ranges) -> Range | None:
        """The target words of an element, or of the line; None for an element that is not in ``ranges``."""
        return (0, len(self.target.words)) if element is None else ranges.get(element)


def linked_line(marked: MarkedText, pair: SentencePair) -> LinkedLine:
    """Put a line with tags beside its translation; ``pair`` has the text of both, with their words and links."""
    texts, spans = pair.texts_and_spans
    source, target = map(CutText, texts, pair.words, spans)
    extents = extents_of(marked, source.spans)
    children = children_of(marked, (n for n, extent in enumerate(extents) if not extent.is_wordless))
    targets_of = defaultdict[int, list[int]](list)
    for source_word, target_word in pair.links:
        targets_of[source_word].append(target_word)
    return LinkedLine(marked, source, target, extents, children, dict(targets_of))


def extents_of(marked: MarkedText, spans: Sequence[Range]) -> list[Extent]:
    """Find the words of each element.

    ``spans``: The range of characters of each word of the text.

    Example:
        >>> from isoglot.formats.markup_lines import parse_markup
        >>> extents_of(parse_markup("H<sub>2</sub>O <br/>is"), [(0, 3), (4, 6)])[0]
        Extent(source_range=(0, 1), opening=(0, 1), closing=(0, 2))
    """
    starts = [start for start, _ in spans]
    ends = [end for _, end in spans]
    positions: list[Position] = []
    for tag in marked.tags:
        # The first word that ends behind the tag; a word that ends right at the tag is passed over.
        word = bisect_right(ends, tag.offset)
        start = starts[word] if word < len(starts) else tag.offset
        positions.append((word, max(tag.offset - start, 0)))
    extents = []
    for element in marked.elements:
        opening, closing = positions[element.opening], positions[element.closing]
        if element.opening == element.closing:
            # A tag that stands alone inside a word counts as behind the word.
            opening = closing = (_boundary_behind(opening), 0)
        extents.append(Extent((opening[0], _boundary_behind(closing)), opening, closing))
    return extents


def _boundary_behind(position: Position) -> int:
    """The boundary at a position, or behind the word that the position is inside."""
    word, characters = position
    return word + 1 if characters else word


def children_of(marked: MarkedText, elements: Iterable[int]) -> dict[int | None, list[int]]:
    """Group some of the elements by their parents; each group keeps the order."""
    children = defaultdict[int | None, list[int]](list)
    for element in elements:
        children[marked.elements[element].parent].append(element)
    return children


def tag_spaces(marked: MarkedText) -> list[Spaces]:
    """Read the white space directly beside each tag in the source.

    Example:
        >>> from isoglot.formats.markup_lines import parse_markup
        >>> tag_spaces(parse_markup("a <br/><x/>b"))
        [Spaces(before=' ', after=None), Spaces(before=None, after='')]
    """
    edges = [0, *(tag.offset for tag in marked.tags), len(marked.text)]
    texts = [marked.text[start:end] for start, end in pairwise(edges)]  # before, between and behind the tags
    spaces = []
    for before, after in pairwise(texts):
        # Without any text there is another tag, or an end of the line: None. Text without white space has "".
        space_before = before[len(before.rstrip()) :] if before else None
        space_after = after[: len(after) - len(after.lstrip())] if after else None
        spaces.append(Spaces(space_before, space_after))
    return spaces


def group_spaces(marked: MarkedText) -> list[Spaces]:
    """Read the white space beside each tag, or beside the group of tags in which it stands.

    Both tags of ``a <br/><x/>b`` have a space before them and none behind.
    """
    spaces = tag_spaces(marked)
    before, after = [beside.before for beside in spaces], [beside.after for beside in spaces]
    for number in range(1, len(spaces)):
        if before[number] is None:  # taken over from the tag on the left, so from left to right
            before[number] = before[number - 1]
    for number in range(len(spaces) - 2, -1, -1):
        if after[number] is None:  # and from the tag on the right, so from right to left
            after[number] = after[number + 1]
    return [*map(Spaces, before, after)]
