"""A translation with the tags of its source, and the white space around them.

:func:`translation_parts` makes of a translation its parts in order: stretches that are copied, tags, and white space of
the source. They are written as a line of markup (:func:`as_markup`) or as text and tags (:func:`as_text_and_tags`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import NamedTuple
from unicodedata import category, east_asian_width

from isoglot.formats.inline_tags import Tag, Tags
from isoglot.formats.markup_lines import without_subflows
from isoglot.formats.words import has_unspaced
from isoglot.projection.elements import Placements
from isoglot.projection.linked_line import LinkedLine, Spaces, tag_spaces
from isoglot.projection.tag_order import ordered_tags

_LINE_ENDS = str.maketrans({"\n": "&#10;", "\r": "&#13;"})


class Stretch(NamedTuple):
    """Characters of the translation that are copied."""

    start: int
    end: int


Space = Stretch | str
"""White space beside a tag: the translation's, or some of the source."""
Part = Space | Tag


class TagGroup(NamedTuple):
    """Tags that stand at one boundary of the translation, one behind the other."""

    tags: list[Tag]
    spaces: list[Spaces]  # beside the tags in the source
    elements: list[int | None]  # of each tag that had no words in the source; None for others
    boundary: int
    text: str  # the whole translation, whose characters from `start` to `end` are between two words
    start: int
    end: int

    @property
    def between(self) -> str:
        """What stands between the two words: white space, or nothing."""
        return self.text[self.start : self.end]

    @property
    def left(self) -> str:
        """The character before the tags; empty at the beginning of the translation."""
        return self.text[self.start - 1 : self.start] if self.start else ""

    @property
    def right(self) -> str:
        """The character behind the tags; empty at the end of the translation."""
        return self.text[self.end : self.end + 1]

    @property
    def stands_alone(self) -> list[bool]:
        """Whether each tag stands alone."""
        return [element is not None for element in self.elements]


def translation_parts(placed: Placements) -> Iterator[Part]:
    """The parts of a translation with its tags, in their order."""
    line = placed.line
    text, words = line.target.text, line.target.spans
    spaces, alone = tag_spaces(line.marked), _elements_of_tags_alone(placed)
    done = 0
    for (word, characters), placed_tags in groupby(ordered_tags(placed), key=itemgetter(0)):
        numbers = [number for _, number in placed_tags]
        tags = [line.marked.tags[number] for number in numbers]
        around: Sequence[Space]
        if characters:
            start = end = words[word][0] + characters
            around = [""] * (len(tags) + 1)
        else:
            start = words[word - 1][1] if word else 0
            end = words[word][0] if word < len(words) else len(text)
            source_spaces = [spaces[number] for number in numbers]
            elements = [alone.get(number) for number in numbers]
            around = spaces_around(line, TagGroup(tags, source_spaces, elements, word, text, start, end))
        yield Stretch(done, start)
        for space, tag in zip(around, tags, strict=False):
            yield space
            yield without_subflows(tag)
        yield around[-1]
        done = end
    yield Stretch(done, len(text))


def _elements_of_tags_alone(placed: Placements) -> dict[int, int]:
    """The element of each tag that had no words between it and its end in the source."""
    marked = placed.line.marked
    crossing = {tag for pair in marked.crossing for tag in pair}
    alone: dict[int, int] = {}
    for number in placed.boundaries.keys() - placed.fates.keys():
        element = marked.elements[number]
        tags = range(element.opening, element.closing + 1)
        alone.update(dict.fromkeys((tag for tag in tags if tag not in crossing), number))
    return alone


def as_markup(parts: Iterable[Part], written: Sequence[str]) -> str:
    """The parts as a line of markup; ``written`` is how each character of the translation is written in it."""
    line: list[str] = []
    for part in parts:
        match part:
            case Tag():
                line.append(part.xml)
            case Stretch(start, end):
                line += written[start:end]
            case str():
                line.append(part.translate(_LINE_ENDS))
    return "".join(line)


def as_text_and_tags(parts: Iterable[Part], text: str) -> tuple[str, Tags]:
    """The parts as a text and the tags in it; ``text`` is the translation.

    Example:
        >>> as_text_and_tags([Stretch(0, 4), Tag(9, "<br/>", "br"), " ", Stretch(5, 6)], "Save x")
        ('Save x', (Tag(offset=4, xml='<br/>', name='br', role='alone', pair='', number=''),))
    """
    characters: list[str] = []
    tags: list[Tag] = []
    length = 0
    for part in parts:
        if isinstance(part, Tag):
            tags.append(part._replace(offset=length))
            continue
        added = part if isinstance(part, str) else text[part.start : part.end]
        characters.append(added)
        length += len(added)
    return "".join(characters), tuple(tags)


def spaces_around(line: LinkedLine, group: TagGroup) -> list[Space]:
    """The white space before each tag of a group, and behind the last.

    1. *As in the source.* Where the source has the same white space beside these tags as the translation has there,
       each tag keeps its own: ``a<br/> c`` becomes ``A<br/> C``.
    2. *Once.* Else the white space of the translation is written once, where the source has some
       (:func:`_slot_of_translation`).
    3. *Glued.* It goes where the source has none on either side, and the tags touch a word as there: ``Save.<br/>Then``
       becomes ``Sichern.<br/>Dann`` (:func:`_is_glued`).
    4. *More.* Beside tags that stand alone, white space of the source is added where the translation has none:
       ``File <ph/> could`` becomes ``Datei <ph/> konnte`` (:func:`_added_spaces`).
    """
    slots = source_slots(group)
    if "".join(slot or "" for slot in slots) == group.between:  # 1
        bounds = [*accumulate((len(slot or "") for slot in slots), initial=group.start)]
        return [Stretch(start, end) for start, end in pairwise(bounds)]
    slots = _slots_at_edges(line, group, slots)
    spaces: list[Space] = [""] * len(slots)
    chosen = None
    if group.between and not _is_glued(line, group, slots):  # 3
        chosen = _slot_of_translation(group, slots)  # 2
        spaces[chosen] = Stretch(group.start, group.end)
    for number, space in _added_spaces(group, slots, chosen):  # 4
        spaces[number] = space
    return spaces


def source_slots(group: TagGroup) -> list[str | None]:
    """White space before each tag of a group, and behind the last, as the source has it; None if it says nothing."""
    between = []
    for (left, left_spaces), (right, right_spaces) in pairwise(zip(group.tags, group.spaces, strict=True)):
        between.append(_space_between(left, left_spaces, right, right_spaces))
    return [group.spaces[0].before, *between, group.spaces[-1].after]


def _space_between(left: Tag, left_spaces: Spaces, right: Tag, right_spaces: Spaces) -> str | None:
    """White space between two tags that stand at one boundary.

    A tag that is written together with the word behind it stays so, whatever the source has before the other tag:
    ``<x/>Traffic is <b>currently</b> heavy`` becomes ``<x/><b>Aktuell</b> …``. So does one with the word before it.
    """
    opens = left.role == "open" or (left.role == "alone" and right.role == "open")
    closes = right.role == "close" or (right.role == "alone" and left.role == "close")
    if (opens and left_spaces.after == "") or (closes and right_spaces.before == ""):
        return ""
    known = left_spaces.after or right_spaces.before
    if known:
        return known
    return "" if "" in (left_spaces.after, right_spaces.before) else None


def _slots_at_edges(line: LinkedLine, group: TagGroup, slots: Sequence[str | None]) -> list[str | None]:
    """The slots, where tags at an edge of the source or of the translation have the space of their other side."""
    slots = [*slots]
    begins_source = slots[0] is None and group.tags[0].offset == 0
    if not group.left or begins_source:
        slots[0] = (slots[-1] if group.left else None) or None
    ends_source = slots[-1] is None and group.tags[-1].offset == len(line.marked.text)
    if not group.right or ends_source:
        slots[-1] = (slots[0] if group.right else None) or None
    return slots


def _is_glued(line: LinkedLine, group: TagGroup, slots: Sequence[str | None]) -> bool:
    """Rule 3: whether tags touch a word as in the source, so that white space of the translation alone may go.

    Not between two letters, where words would grow together.
    """
    first, last = group.elements[0], group.elements[-1]
    if first is None or last is None or not all(group.stands_alone):
        return False
    if slots[0] != "" or slots[-1] != "" or any(slots):
        return False
    word_before, word_behind = line.extents[first].words[0] - 1, line.extents[last].words[1]
    as_in_source = line.linked(word_before, group.boundary - 1) or line.linked(word_behind, group.boundary)
    return as_in_source and group.between.isspace() and not (group.left + group.right).isalnum()


def _slot_of_translation(group: TagGroup, slots: Sequence[str | None]) -> int:
    """Rule 2: the slot of the translation's white space.

    It is behind ends and before beginnings of elements if the source allows it; else the first slot where the source
    has space, or where it says nothing if a tag stands alone.
    """
    behind_ends = next((n for n, tag in enumerate(group.tags) if tag.role != "close"), len(group.tags))
    spaced = [n for n, slot in enumerate(slots) if slot]
    if not spaced and any(group.stands_alone):
        spaced = [n for n, slot in enumerate(slots) if slot is None]
    return behind_ends if behind_ends in spaced or not spaced else spaced[0]


def _added_spaces(
    group: TagGroup, slots: Sequence[str | None], chosen: int | None
) -> Iterator[tuple[int, str]]:
    """Rule 4: slots that have white space of the source, at most one on each side of a tag that stands alone.

    None beside brackets and closing marks, where the translation begins or ends, or in text without spaces; and none on
    the side where the translation's white space is: in the slot ``chosen``.
    """
    if not any(group.stands_alone) or _is_unspaced(group):
        return
    stops = [number for number, alone in enumerate(group.stands_alone, 1) if alone]
    for first, stop in pairwise([0, *stops, len(slots)]):
        side = range(first, stop)  # the slots between two tags that stand alone
        spaced = next((number for number in side if slots[number]), None)
        if spaced is None or chosen in side:
            continue
        allowed_before = first > 0 or (group.left and category(group.left) not in ("Ps", "Pi"))
        allowed_behind = stop < len(slots) or (
            group.right and category(group.right) not in ("Pe", "Pf", "Po")
        )
        if allowed_before and allowed_behind:
            yield spaced, slots[spaced] or ""


def _is_unspaced(group: TagGroup) -> bool:
    """Whether the text beside tags has no spaces between words, as in Japanese, also behind a full stop."""
    if any(east_asian_width(mark) in "WF" and category(mark)[0] == "P" for mark in group.left + group.right):
        return True
    before, behind = group.text[: group.start], group.text[group.end :]
    nearest_left = next(filter(str.isalnum, reversed(before)), "")
    nearest_right = next(filter(str.isalnum, behind), "")
    return has_unspaced(nearest_left + nearest_right)
