"""A line with tags beside its translation: the plain data that the passes of projection read."""

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
"""A word, and how many of its characters come before; with 0 the boundary before the word."""
Ranges = dict[int, Range]
"""Words of the translation that elements have, by the numbers of the elements."""


class Spaces(NamedTuple):
    """White space on both sides of a tag; None where another tag is, or the line begins or ends."""

    before: str | None
    after: str | None


class Extent(NamedTuple):
    """The words of an element in the source."""

    words: Range  # words that share a character with it; an empty range of a tag that stands alone
    opening: Position
    closing: Position

    @property
    def is_empty(self) -> bool:
        """Whether the element has no word."""
        return self.words[0] == self.words[1]

    @property
    def cuts_no_word(self) -> bool:
        """Whether the element begins and ends between words; ``<b>W</b>ord`` does not."""
        return not self.opening[1] and not self.closing[1]


class LinkedLine(NamedTuple):
    """A line with tags, its translation, and the links between their words."""

    marked: MarkedText
    source: CutText
    target: CutText
    extents: list[Extent]  # of the elements
    children: Mapping[int | None, list[int]]  # elements with source words, by the element that holds them
    translations: Mapping[int, list[int]]  # the target words that each linked source word is linked to

    def linked(self, source: int, target: int) -> bool:
        """Whether two words are linked."""
        return target in self.translations.get(source, ())

    def source_range(self, element: int | None) -> Range:
        """The source words of an element; without an element those of the line."""
        return (0, len(self.source.words)) if element is None else self.extents[element].words

    def target_range(self, element: int | None, placed: Mapping[int, Range]) -> Range | None:
        """The words of a placed element in the translation, or of the line; None where the element has none."""
        return (0, len(self.target.words)) if element is None else placed.get(element)


def linked_line(marked: MarkedText, pair: SentencePair) -> LinkedLine:
    """A line with tags beside its translation; ``pair`` has the text of both, with their words and links."""
    texts, spans = pair.texts_and_spans
    source, target = map(CutText, texts, pair.words, spans)
    extents = extents_of(marked, source.spans)
    children = children_of(marked, (n for n, extent in enumerate(extents) if not extent.is_empty))
    translations = defaultdict[int, list[int]](list)
    for word, translation in pair.links:
        translations[word].append(translation)
    return LinkedLine(marked, source, target, extents, children, translations)


def extents_of(marked: MarkedText, words: Sequence[Range]) -> list[Extent]:
    """The extent of each element of a text whose words have these characters.

    Example:
        >>> from isoglot.formats.markup_lines import parse_markup
        >>> extents_of(parse_markup("H<sub>2</sub>O <br/>is"), [(0, 3), (4, 6)])[0]
        Extent(words=(0, 1), opening=(0, 1), closing=(0, 2))
    """
    starts, ends = [start for start, _ in words], [end for _, end in words]
    positions: list[Position] = []
    for tag in marked.tags:
        word = bisect_right(ends, tag.offset)
        start = starts[word] if word < len(starts) else tag.offset
        positions.append((word, max(tag.offset - start, 0)))
    extents = []
    for element in marked.elements:
        opening, closing = positions[element.opening], positions[element.closing]
        if element.opening == element.closing:
            # A tag that stands alone inside a word counts as behind the word.
            opening = closing = opening[0] + (opening[1] > 0), 0
        extents.append(Extent((opening[0], closing[0] + (closing[1] > 0)), opening, closing))
    return extents


def children_of(marked: MarkedText, elements: Iterable[int]) -> dict[int | None, list[int]]:
    """Some of the elements, in their order, by the element that holds them."""
    children = defaultdict[int | None, list[int]](list)
    for element in elements:
        children[marked.elements[element].parent].append(element)
    return children


def tag_spaces(marked: MarkedText) -> list[Spaces]:
    """The white space directly beside each tag in the source.

    Example:
        >>> from isoglot.formats.markup_lines import parse_markup
        >>> tag_spaces(parse_markup("a <br/><x/>b"))
        [Spaces(before=' ', after=None), Spaces(before=None, after='')]
    """
    edges = [0, *(tag.offset for tag in marked.tags), len(marked.text)]
    texts = [marked.text[start:end] for start, end in pairwise(edges)]  # before, between and behind the tags
    spaces = []
    for before, after in pairwise(texts):
        space_before = before[len(before.rstrip()) :] if before else None
        space_after = after[: len(after) - len(after.lstrip())] if after else None
        spaces.append(Spaces(space_before, space_after))
    return spaces


def group_spaces(marked: MarkedText) -> list[Spaces]:
    """The white space beside each tag, or beside the group of tags in which it stands.

    Both tags of ``a <br/><x/>b`` have a space before them and none behind.
    """
    spaces = tag_spaces(marked)
    before, after = [beside.before for beside in spaces], [beside.after for beside in spaces]
    for number in range(1, len(spaces)):
        if before[number] is None:
            before[number] = before[number - 1]
        if after[-1 - number] is None:
            after[-1 - number] = after[-number]
    return [*map(Spaces, before, after)]
