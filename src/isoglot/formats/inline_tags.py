"""Inline tags as data: where a tag stands in a text, what it is, and how it is written.

Tags are read once: of TMX by :mod:`isoglot.formats.tmx_reader`, of a line of HTML, XLIFF or TMX and of JSON lines by
:mod:`isoglot.formats.markup_lines`. A pair carries them beside its texts (``SentencePair.tags``), and
:func:`segment` writes them again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby, pairwise
from typing import Literal, NamedTuple
from xml.sax.saxutils import escape

from isoglot.core.checks import shortened
from isoglot.core.errors import InputError
from isoglot.formats.words import has_unspaced

Role = Literal["open", "close", "alone"]
_END_OF = {"bpt": "ept", "bx": "ex", "sc": "ec"}
"""Codes that begin a pair, each a tag of its own, and those that end it: ``bpt`` of TMX and XLIFF 1.2, ``bx`` of
XLIFF 1.2, ``sc`` of XLIFF 2."""
_START_OF = {end: start for start, end in _END_OF.items()}
NATIVE_CODES = frozenset({*_END_OF, *_START_OF, "x", "ph", "it", "ut"})
"""Elements of XLIFF and TMX that hold code of another format and no text."""
_PAIR_NUMBERS = ("startref", "rid", "i", "id")
"""Attributes that tell which codes are a pair, the most telling one first: ``startRef`` of XLIFF 2, ``rid`` of XLIFF
1.2, ``i`` of TMX, and ``id``, which both codes of a pair have in many XLIFF files."""


class Tag(NamedTuple):
    """A start tag, an end tag, an empty element, a comment, or native code with all that it holds.

    Args:
        offset: Character of the text before which the tag stands.
        xml: The tag as it is written.
        name: Name of the element in lower case; empty for a comment.
        role: Whether the tag opens an element, closes it, or stands alone.
        pair: Number by which two codes find each other; elements do so by nesting.
        number: What tells the tag from others of its name in both languages: ``x`` of TMX, else ``id``.
    """

    offset: int
    xml: str
    name: str = ""
    role: Role = "alone"
    pair: str = ""
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
    """The tag that starts an element or native code; ``empty``: it is also the end of the element.

    1. An element (``<b>``, ``<hi>``) opens, or stands alone if it is empty.
    2. A code stands alone (``<ph>``, ``<x/>``), and so does one of a pair whose other one is in another segment, which
       XLIFF 2 marks with ``isolated="yes"``.
    3. A code of a pair opens (``<bpt>``) or closes (``<ept>``), and has the number that both codes have.

    Example:
        >>> start_tag(6, '<bpt i="1">', "bpt", {"i": "1"})
        Tag(offset=6, xml='<bpt i="1">', name='bpt', role='open', pair='1', number='')
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
    pair = next((value for value in pair_numbers if value), "")
    return Tag(offset, xml, name, "open" if name in _END_OF else "close", pair, number)  # 3


def end_tag(offset: int, xml: str, name: str) -> Tag:
    """The tag that ends an element."""
    return Tag(offset, xml, name.lower(), "close")


class Element(NamedTuple):
    """A tag that stands alone, or a pair of tags and what is between them."""

    opening: int  # number of its first tag
    closing: int  # number of its last tag, which may be the same
    parent: int | None  # number of the element that holds it; None where the line does


class MarkedText(NamedTuple):
    """A text, its tags, and the elements that the tags make."""

    text: str
    tags: Tags
    elements: list[Element]  # in the order of their first tags
    crossing: list[tuple[int, int]]  # tags of two codes that are a pair, of which an element holds only one

    def segments(self) -> list[tuple[int, int]]:
        """Ranges of characters that are cut into words by themselves.

        1. A word ends where tags stand: ``one<br/>two`` is two words.
        2. A single tag that opens or closes ends no word: ``<b>W</b>ord`` is one word.
        3. Beside a character of a script without spaces it does: ``<b>漢</b>字`` is two words.
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
    """A text with the elements that its tags make.

    Raises:
        InputError: An element or a pair of codes is not closed, or closed where it was not opened last.

    Example:
        >>> tags = [start_tag(0, "<b>", "b", {}), end_tag(2, "</b>", "b"), start_tag(3, "<br/>", "br", {}, empty=True)]
        >>> marked_text("OK.", tags).elements
        [Element(opening=0, closing=1, parent=None), Element(opening=2, closing=2, parent=None)]
    """
    tags = tuple(tags)
    closings, crossing = _pairs(tags)
    elements: list[Element] = []
    open_elements: list[int] = []  # the innermost one last
    for number, tag in enumerate(tags):
        if open_elements and elements[open_elements[-1]].closing == number:
            open_elements.pop()
            continue
        closing = closings.get(number, number)
        elements.append(Element(number, closing, open_elements[-1] if open_elements else None))
        if tag.role == "open" and closing > number:
            open_elements.append(len(elements) - 1)
    return MarkedText(text, tags, elements, crossing)


def _pairs(tags: Sequence[Tag]) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """The closing tag of each tag that opens a nested element, and the pairs of codes that cross others.

    1. An element (``<b>``) is closed by the next end tag of its name, and must be the innermost one that is open.
    2. A code (``<bpt i="1"/>``) is closed by the code of its number. It may cross elements and other codes: of
       ``<bpt i="1"/><b><ept i="1"/></b>``, the codes 0 and 2 are a crossing pair.
    3. A code that crosses is no element: :func:`marked_text` makes two single tags of it.

    Raises:
        InputError: A tag closes nothing, or is not closed.
    """
    closings: dict[int, int] = {}
    crossing: list[tuple[int, int]] = []
    nested: list[int] = []  # tags that are open, the innermost last; without codes that are known to cross
    # By name and number, the one opened last at the end.
    open_codes = defaultdict[tuple[str, str], list[int]](list)
    # Opening codes that have been closed, some of which may still be in `nested`.
    closed_codes: set[int] = set()
    for number, tag in enumerate(tags):
        # Codes that were closed while something inside them was open.
        while nested and nested[-1] in closed_codes:
            nested.pop()
        code = (tag.pair_name, tag.pair) if tag.is_code_of_pair else None
        if tag.role == "open":
            nested.append(number)
            if code is not None:
                open_codes[code].append(number)
        elif tag.role == "close" and code is not None:
            if not open_codes[code]:
                raise unopened(tag.xml)
            opening = open_codes[code].pop()
            closed_codes.add(opening)
            if nested and nested[-1] == opening:
                closings[opening] = number  # popped by the next tag
            else:
                crossing.append((opening, number))
        elif tag.role == "close":
            # Codes that are still open inside this element cross it. They stay in `open_codes`, and close later.
            while nested and tags[nested[-1]].is_code_of_pair:
                nested.pop()
            if not nested or tags[nested[-1]].name != tag.name:
                raise unopened(tag.xml)
            closings[nested.pop()] = number
    still_open = [*nested, *chain.from_iterable(open_codes.values())]
    unclosed = [number for number in still_open if number not in closed_codes]
    if unclosed:
        raise InputError(
            f"{tags[unclosed[-1]].xml} is not closed in its line, which is a segment; correct it"
        )
    return closings, crossing


def unopened(tag: str) -> InputError:
    """The error of a tag that closes nothing."""
    return InputError(f"{shortened(tag)} does not close what was opened last; correct the line")


def xml_text(text: str) -> str:
    """Characters of an element as XML that every parser reads as these characters."""
    # A parser turns a carriage return into a line feed, unless it is written as a reference.
    return escape(text, {"\r": "&#13;"})


def segment(text: str, tags: Iterable[Tag] = ()) -> str:
    """A text with its tags, as XML.

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
    """Tags as a row of JSON lines has them: the character before which each stands, and its XML."""
    return tuple((tag.offset, tag.xml) for tag in tags)


def different_tags(source: Sequence[Tag], target: Sequence[Tag]) -> list[tuple[str, str]]:
    """Tags that only one side of a pair has, of two sides that both have tags: ``lost`` or ``added``, and the tag.

    1. Tags match by name and number; codes may hold other text.
    2. Tags that are left over match by name, if one of them has no number: ``<ph/>`` and ``<ph x="1"/>``.
    3. Of a pair of tags that is missing, the opening one is named.

    Example:
        >>> hi, end, ph = start_tag(0, "<hi>", "hi", {}), end_tag(1, "</hi>", "hi"), start_tag(2, "<ph/>", "ph", {})
        >>> different_tags([hi, end, ph, hi, end], [hi, end])
        [('lost', '<ph/>'), ('lost', '<hi>')]
    """
    problems = []
    for problem, here, there in (("lost", source, target), ("added", target, source)):
        unmatched = _unmatched(here, there)
        openings = Counter(_kind(tag) for tag in unmatched if not _closes(tag))
        for tag in unmatched:
            if _closes(tag) and openings[_kind(tag)] > 0:
                openings[_kind(tag)] -= 1  # 3. its opening tag is named
                continue
            problems.append((problem, tag.xml))
    return problems


def _unmatched(tags: Sequence[Tag], others: Sequence[Tag]) -> list[Tag]:
    """The tags without a counterpart among others; the rules are those of :func:`different_tags`."""
    free = [_identity(tag) for tag in others]
    # All tags by number before any by name alone: else `<ph/>` could take the counterpart of a later `<ph x="1"/>`.
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
    """Whether a tag is the second one of a pair, also of a pair of which the segment has only this one."""
    return tag.role == "close" or tag.name in _START_OF


def _kind(tag: Tag) -> str:
    """The name that both tags of a pair have."""
    return tag.pair_name or tag.xml
