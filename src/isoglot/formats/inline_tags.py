"""Inline tags as data: the place of a tag in a text, its name and role, and its XML.

:mod:`isoglot.formats.tmx_reader` reads tags from TMX, :mod:`isoglot.formats.markup_lines` from lines of HTML, XLIFF or
TMX and from JSON lines. A pair has its tags beside its texts (``SentencePair.tags``), and :func:`segment` writes both.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, pairwise
from typing import Any, Literal, NamedTuple
from xml.sax.saxutils import escape

from isoglot.core.checks import shortened
from isoglot.core.errors import InputError
from isoglot.formats.words import has_unspaced

Role = Literal["open", "close", "alone"]
_END_OF = {"bpt": "ept", "bx": "ex", "sc": "ec"}
"""Codes that open a pair of codes, and the codes that close it: ``bpt`` and ``ept`` of TMX and XLIFF 1.2, ``bx`` and
``ex`` of XLIFF 1.2, ``sc`` and ``ec`` of XLIFF 2."""
_START_OF = {end: start for start, end in _END_OF.items()}
NATIVE_CODES = frozenset({*_END_OF, *_START_OF, "x", "ph", "it", "ut"})
"""Elements of XLIFF and TMX that hold code of another format and no text."""
_PAIR_NUMBERS = ("startref", "rid", "i", "id")
"""Attributes that both codes of a pair share; the first one that a code has counts: ``startRef`` of XLIFF 2, ``rid`` of
XLIFF 1.2, ``i`` of TMX, and ``id``, which both codes of a pair have in many XLIFF files."""


class Tag(NamedTuple):
    """A start tag, an end tag, an empty element, a comment, or native code with all that it holds.

    Args:
        offset: Character of the text before which the tag stands.
        xml: The tag as it is written.
        name: Name of the element in lower case; empty for a comment.
        role: Whether the tag opens an element, closes it, or stands alone.
        pair_number: Number that both codes of a pair have; the tags of an element have none, because they are nested.
        number: Number by which the same tag is found in both languages, among tags of its name: ``x`` of TMX, else
            ``id``.
    """

    offset: int
    xml: str
    name: str = ""
    role: Role = "alone"
    pair_number: str = ""
    number: str = ""

    @property
    def is_code_of_pair(self) -> bool:
        """Whether the tag is one of two codes, ``<bpt i="1">`` or ``<ept i="1">``."""
        return self.role != "alone" and (self.name in _END_OF or self.name in _START_OF)

    @property
    def pair_name(self) -> str:
        """The name of the element, or of the code that opens the pair: ``bpt`` of ``ept``."""
        return _START_OF.get(self.name, self.name)


Tags = tuple[Tag, ...]


def start_tag(
    offset: int, xml: str, name: str, attributes: Mapping[str, str | None], *, empty: bool = False
) -> Tag:
    """Make the tag that starts an element or native code; ``empty``: It is also the end of the element.

    1. The tag of an element (``<b>``, ``<hi>``) opens it, or stands alone if the element is empty.
    2. A code (``<ph>``, ``<x/>``) stands alone. So does a code of a pair if the other code is in another segment, which
       XLIFF 2 marks with ``isolated="yes"``.
    3. Any other code of a pair opens it (``<bpt>``) or closes it (``<ept>``), and has the number that both codes have.

    Example:
        >>> start_tag(6, '<bpt i="1">', "bpt", {"i": "1"})
        Tag(offset=6, xml='<bpt i="1">', name='bpt', role='open', pair_number='1', number='')
    """
    name = name.lower()
    number = attributes.get("x") or attributes.get("id") or ""
    if name not in NATIVE_CODES:
        return Tag(offset, xml, name, "alone" if empty else "open", number=number)  # 1
    is_of_pair = name in _END_OF or name in _START_OF
    if not is_of_pair or attributes.get("isolated") == "yes":
        return Tag(offset, xml, name, number=number)  # 2
    lower_case = {key.lower(): value for key, value in attributes.items()}
    pair_numbers = [lower_case.get(key) for key in _PAIR_NUMBERS]
    pair_number = next((value for value in pair_numbers if value), "")
    return Tag(offset, xml, name, "open" if name in _END_OF else "close", pair_number, number)  # 3


def end_tag(offset: int, xml: str, name: str) -> Tag:
    """Make the tag that ends an element."""
    return Tag(offset, xml, name.lower(), "close")


class Element(NamedTuple):
    """A tag that stands alone, or a pair of tags and what is between them."""

    opening: int  # index of its first tag in `MarkedText.tags`
    closing: int  # index of its last tag, which may be the same
    parent: int | None  # index of the element that it is inside; None if it is inside none


class MarkedText(NamedTuple):
    """A text, its tags, and the elements that the tags make."""

    text: str
    tags: Tags
    elements: list[Element]  # in the order of their first tags
    # Indices of the tags of pairs of codes that cross an element or another pair.
    crossing: list[tuple[int, int]]

    def segments(self) -> list[tuple[int, int]]:
        """Cut the text at its tags; words are found in each of these ranges of characters by itself.

        1. A word ends where tags stand: ``one<br/>two`` is two words.
        2. But a single tag that opens or closes ends no word: ``<b>W</b>ord`` is one word.
        3. Beside a character of a script without spaces, even such a tag ends a word: ``<b>漢</b>字`` is two words.
        """
        cuts = [0]
        for offset, tags in groupby(self.tags, key=lambda tag: tag.offset):
            roles = [tag.role for tag in tags]
            beside = self.text[max(offset - 1, 0) : offset + 1]  # the character on either side
            if roles in (["open"], ["close"]) and not has_unspaced(beside):
                continue  # 2
            cuts.append(offset)  # 1, 3
        return [*pairwise([*cuts, len(self.text)])]


def marked_text(text: str, tags: Iterable[Tag]) -> MarkedText:
    """Find the elements that the tags of a text make.

    Raises:
        InputError: An element or a pair of codes is not closed, or an element is closed that was not opened last.

    Example:
        >>> tags = [start_tag(0, "<b>", "b", {}), end_tag(2, "</b>", "b"), start_tag(3, "<br/>", "br", {}, empty=True)]
        >>> marked_text("OK.", tags).elements
        [Element(opening=0, closing=1, parent=None), Element(opening=2, closing=2, parent=None)]
    """
    tags = tuple(tags)
    closings, crossing = _pairs(tags)
    elements: list[Element] = []
    open_elements: list[int] = []  # the innermost one last
    for index, tag in enumerate(tags):
        if open_elements and elements[open_elements[-1]].closing == index:
            open_elements.pop()
            continue
        # A tag without a closing one makes an element by itself: one that stands alone, or a code that crosses.
        closing = closings.get(index, index)
        elements.append(Element(index, closing, open_elements[-1] if open_elements else None))
        if tag.role == "open" and closing > index:
            open_elements.append(len(elements) - 1)
    return MarkedText(text, tags, elements, crossing)


def _pairs(tags: Sequence[Tag]) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """Find the closing tag of each opening tag that makes an element, and the pairs of codes that cross.

    1. An element (``<b>``) is closed by the next end tag of its name, and must be the innermost one that is open.
    2. A code (``<bpt i="1"/>``) is closed by the code of the same ``pair_number``. It may cross elements and other
       codes: of ``<bpt i="1"/><b><ept i="1"/></b>``, the tags 0 and 2 are a crossing pair, and the result is
       ``({1: 3}, [(0, 2)])``.
    3. Codes that cross make no element together: :func:`marked_text` takes them for two single tags.
    4. Of two pairs of codes that cross each other, the one that is closed first counts as crossing, the other as an
       element: of ``<bpt i="1"/><bpt i="2"/><ept i="1"/><ept i="2"/>``, the tags 0 and 2 cross, 1 and 3 are an element.

       | tag | ``nested`` after it | |
       |---|---|---|
       | 0 ``<bpt i="1"/>`` | 0 | |
       | 1 ``<bpt i="2"/>`` | 0, 1 | |
       | 2 ``<ept i="1"/>`` | 1 | closes 0, which is not the innermost: a crossing pair |
       | 3 ``<ept i="2"/>`` | | closes 1, which is the innermost: an element |

    Raises:
        InputError: A tag closes nothing, or is not closed.
    """
    closings: dict[int, int] = {}
    crossing: list[tuple[int, int]] = []
    # Tags that are open and may still become elements, the innermost last.
    nested: list[int] = []
    # Codes that are open, by name and `pair_number`, the one that was opened last at the end. Codes that cross an
    # element are here even when they are no longer in `nested`.
    open_codes = defaultdict[tuple[str, str], list[int]](list)
    for index, tag in enumerate(tags):
        code = (tag.pair_name, tag.pair_number) if tag.is_code_of_pair else None
        if tag.role == "open":
            nested.append(index)
            if code is not None:
                open_codes[code].append(index)
        elif tag.role == "close" and code is not None:
            if not open_codes[code]:
                raise unopened_tag(tag.xml)
            opening = open_codes[code].pop()
            if nested and nested[-1] == opening:
                closings[nested.pop()] = index
            else:
                crossing.append((opening, index))
                # The end tag of an element may have removed it already (below).
                if opening in nested:
                    nested.remove(opening)
        elif tag.role == "close":
            # Codes that are open inside this element cross it. They stay in `open_codes` until they are closed.
            while nested and tags[nested[-1]].is_code_of_pair:
                nested.pop()
            if not nested or tags[nested[-1]].name != tag.name:
                raise unopened_tag(tag.xml)
            closings[nested.pop()] = index
    still_open = [*nested, *chain.from_iterable(open_codes.values())]
    if still_open:
        raise InputError(
            f"{tags[still_open[-1]].xml} is not closed in its line, which is a segment; correct it"
        )
    return closings, crossing


def unopened_tag(tag: str) -> InputError:
    """Make the error about a tag that closes nothing."""
    return InputError(f"{shortened(tag)} does not close what was opened last; correct the line")


def xml_text(text: str) -> str:
    """Write characters as XML, so that every parser reads these characters."""
    # A parser turns a carriage return into a line feed, unless it is written as a reference.
    return escape(text, {"\r": "&#13;"})


def segment(text: str, tags: Iterable[Tag] = ()) -> str:
    """Write a text with its tags as XML.

    Example:
        >>> segment("R&D.", [start_tag(0, "<hi>", "hi", {}), end_tag(3, "</hi>", "hi")])
        '<hi>R&amp;D</hi>.'
    """
    parts, end = [], 0
    for tag in tags:
        parts += [xml_text(text[end : tag.offset]), tag.xml]
        end = tag.offset
    return "".join([*parts, xml_text(text[end:])])


def offsets_and_xml(tags: Iterable[Tag]) -> tuple[tuple[int, str], ...]:
    """Turn tags into values of a row of JSON lines: the character before which each stands, and its XML."""
    return tuple((tag.offset, tag.xml) for tag in tags)


def are_inline_tags(value: Any) -> bool:
    """Whether a value of a row holds inline tags: a list ``[[0, "<b>"], [5, "</b>"]]``, or a tuple, as TMX is read."""
    return isinstance(value, tuple) or (isinstance(value, list) and all(map(_is_offset_and_xml, value)))


def _is_offset_and_xml(item: Any) -> bool:
    # Not isinstance: True is an int too, but no offset.
    return isinstance(item, list) and list(map(type, item)) == [int, str]


def different_tags(source: Sequence[Tag], target: Sequence[Tag]) -> list[tuple[str, str]]:
    """Find the tags that only one side of a pair has, each as ``lost`` (source) or ``added`` (target).

    1. Tags match by name and number; codes may hold other text.
    2. Tags that have no match then match by name, if one of them has no number: ``<ph/>`` and ``<ph x="1"/>``.
    3. If both tags of a pair of tags are missing, only the opening one is named.

    Example:
        >>> hi, end, ph = start_tag(0, "<hi>", "hi", {}), end_tag(1, "</hi>", "hi"), start_tag(2, "<ph/>", "ph", {})
        >>> different_tags([hi, end, ph, hi, end], [hi, end])
        [('lost', '<ph/>'), ('lost', '<hi>')]
    """
    problems = []
    for problem, here, there in (("lost", source, target), ("added", target, source)):
        unmatched = _unmatched(here, there)
        openings = Counter(_pair_key(tag) for tag in unmatched if not _closes(tag))
        for tag in unmatched:
            if _closes(tag) and openings[_pair_key(tag)] > 0:
                openings[_pair_key(tag)] -= 1  # 3. its opening tag is named
                continue
            problems.append((problem, tag.xml))
    return problems


def _unmatched(tags: Sequence[Tag], others: Sequence[Tag]) -> list[Tag]:
    """Find the tags without a match among others, by rules 1 and 2 of :func:`different_tags`."""
    free = [_identity(tag) for tag in others]
    # Rule 1 for all tags before rule 2 for any: else `<ph/>` could take the match of a later `<ph x="1"/>`.
    without_same = []
    for tag in tags:
        if _identity(tag) in free:
            free.remove(_identity(tag))  # 1
        else:
            without_same.append(tag)
    unmatched = []
    for tag in without_same:
        name, number = _identity(tag)
        for other_name, other_number in free:
            if other_name == name and not (number and other_number):
                free.remove((other_name, other_number))  # 2
                break
        else:
            unmatched.append(tag)
    return unmatched


def _identity(tag: Tag) -> tuple[str, str]:
    """The name and number by which tags of both languages match: ``("/b", "")`` of ``</b>``; a comment is its XML."""
    name = tag.name or tag.xml
    if tag.role == "close" and not tag.is_code_of_pair:
        name = f"/{tag.name}"
    return name, tag.number


def _closes(tag: Tag) -> bool:
    """Whether a tag is the second one of a pair, even if the first one is in another segment."""
    return tag.role == "close" or tag.name in _START_OF


def _pair_key(tag: Tag) -> str:
    """The name that both tags of a pair have: ``b`` of ``<b>`` and ``</b>``."""
    return tag.pair_name or tag.xml
