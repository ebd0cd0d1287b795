"""A translation with the tags of its source, and the white space around them.

:func:`translation_parts` puts the parts of a translation in order: stretches that are copied, tags, and white space of
the source. They are written as a line of markup (:func:`as_markup`) or as text and tags (:func:`as_text_and_tags`).
:func:`spaces_around` has the rules for white space. A group of n tags has n + 1 slots for it::

    word · <b> · <i> · word
         0     1     2          slots
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
"""A line end inside a segment is written as a reference, because a file has one segment per line."""


class Stretch(NamedTuple):
    """Characters of the translation that are copied."""

    start: int
    end: int


Space = Stretch | str
"""White space in a slot: a stretch of the translation, or text of the source; ``""`` for none."""
Part = Space | Tag


class TagGroup(NamedTuple):
    """Tags that stand at one position of the translation, one behind the other."""

    tags: list[Tag]
    spaces: list[Spaces]  # beside the tags in the source
    # For each tag, the number of its element if that has no words in the source (`<br/>`, `<b></b>`); else None.
    wordless_elements: list[int | None]
    boundary: int
    is_inside_word: bool
    text: str  # the whole translation
    start: int  # its characters from start to end are between two words
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
    def is_wordless(self) -> list[bool]:
        """For each tag, whether its element is wordless; False for codes that cross elements."""
        return [element is not None for element in self.wordless_elements]


def translation_parts(placed: Placements) -> Iterator[Part]:
    """Yield the parts of a translation with its tags, in their order."""
    text = placed.line.target.text
    copied = 0  # characters of the translation that are written already
    for group in _tag_groups(placed):
        yield Stretch(copied, group.start)
        *before_tags, behind_last = spaces_around(placed.line, group)
        for space, tag in zip(before_tags, group.tags, strict=True):
            yield space
            yield without_subflows(tag)
        yield behind_last
        copied = group.end
    yield Stretch(copied, len(text))


def _tag_groups(placed: Placements) -> Iterator[TagGroup]:
    """Yield the tags of a line in the order of the translation, those at one position together."""
    line = placed.line
    text, words = line.target.text, line.target.spans
    spaces, wordless = tag_spaces(line.marked), _wordless_elements(placed)
    for (word, characters), placed_tags in groupby(ordered_tags(placed), key=itemgetter(0)):
        if characters:
            start = end = words[word][0] + characters
        else:
            start = words[word - 1][1] if word > 0 else 0
            end = words[word][0] if word < len(words) else len(text)
        numbers = [number for _, number in placed_tags]
        yield TagGroup(
            tags=[line.marked.tags[number] for number in numbers],
            spaces=[spaces[number] for number in numbers],
            wordless_elements=[wordless.get(number) for number in numbers],
            boundary=word,
            is_inside_word=characters > 0,
            text=text,
            start=start,
            end=end,
        )


def _wordless_elements(placed: Placements) -> dict[int, int]:
    """Find the element of each tag that has no words between it and its end in the source.

    ``a <b>c</b> <i><br/></i>`` has the elements ``<b>`` (0), ``<i>`` (1) and ``<br/>`` (2). The three tags from ``<i>``
    to ``</i>`` have the element 1. The tags of ``<b>`` are left out, and so are codes of pairs that cross elements:
    they are placed one by one but have words between them.
    """
    marked = placed.line.marked
    crossing: set[int] = set()
    for codes in marked.crossing:
        crossing.update(codes)
    wordless: dict[int, int] = {}
    for number in placed.boundaries:
        if number in placed.fates:
            continue  # an element that has words in the source, and none in the translation
        element = marked.elements[number]
        # All tags inside an element without words stand with it.
        for tag in range(element.opening, element.closing + 1):
            if tag not in crossing:
                wordless[tag] = number
    return wordless


def as_markup(parts: Iterable[Part], escaped: Sequence[str]) -> str:
    """Write the parts as a line of markup; ``escaped`` has each character of the translation as markup has it.

    Example:
        >>> as_markup([Tag(0, "<b>", "b"), Stretch(0, 1), " ", Stretch(1, 2)], ["x", "&amp;"])
        '<b>x &amp;'
    """
    line: list[str] = []
    for part in parts:
        match part:
            case Tag():
                line.append(part.xml)
            case Stretch(start, end):
                line += escaped[start:end]
            case str():
                line.append(part.translate(_LINE_ENDS))
    return "".join(line)


def as_text_and_tags(parts: Iterable[Part], text: str) -> tuple[str, Tags]:
    """Write the parts as a text and the tags in it; ``text`` is the translation.

    Example:
        >>> as_text_and_tags([Stretch(0, 4), Tag(9, "<br/>", "br"), " ", Stretch(5, 6)], "Save x")
        ('Save x', (Tag(offset=4, xml='<br/>', name='br', role='alone', pair_number='', number=''),))
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
    """Choose the white space before each tag of a group, and behind the last. Inside a word there is none.

    1. *As in the source.* Where the source has the same white space beside these tags as the translation has there,
       each tag keeps its own: ``a<br/> c`` becomes ``A<br/> C``.
    2. *Once.* Else the white space of the translation is written once, where the source has some
       (:func:`_slot_of_translation`).
    3. *Glued.* It is left out where the source has none on either side, and the tags touch a word as there:
       ``Save.<br/>Then`` becomes ``Sichern.<br/>Dann`` (:func:`_is_glued`).
    4. *More.* Beside wordless tags, white space of the source is added where the translation has none:
       ``File <ph/> could`` becomes ``Datei <ph/> konnte`` (:func:`_added_spaces`).
    """
    if group.is_inside_word:
        return [""] * (len(group.tags) + 1)
    slots = source_slots(group)
    if "".join(slot or "" for slot in slots) == group.between:  # 1
        ends = accumulate((len(slot or "") for slot in slots), initial=group.start)
        return [Stretch(start, end) for start, end in pairwise(ends)]
    slots = _slots_at_edges(line, group, slots)
    spaces: list[Space] = [""] * len(slots)
    chosen = None  # the slot that has the white space of the translation
    if group.between and not _is_glued(line, group, slots):  # 3
        chosen = _slot_of_translation(group, slots)  # 2
        spaces[chosen] = Stretch(group.start, group.end)
    for number, space in _added_spaces(group, slots, chosen):  # 4
        spaces[number] = space
    return spaces


def source_slots(group: TagGroup) -> list[str | None]:
    """The white space in each slot of a group as the source has it; None where the source says nothing.

    It says nothing about a slot where neither tag had text on that side: they stood directly together, or each beside
    another tag or an end of the line.
    """
    between = []
    for (left, left_spaces), (right, right_spaces) in pairwise(zip(group.tags, group.spaces, strict=True)):
        between.append(_space_between(left, left_spaces, right, right_spaces))
    return [group.spaces[0].before, *between, group.spaces[-1].after]


def _space_between(left: Tag, left_spaces: Spaces, right: Tag, right_spaces: Spaces) -> str | None:
    """The white space of the source for the slot between two tags of a group.

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
    """Correct the slots of a group that stands at an edge of the source or of the translation.

    a. Where the translation begins or ends, there is no white space outside the tags.
    b. Where the source begins or ends, it says nothing about the outer slot. If the slot on the other side of the group
       (after rule a) has a space, the outer slot gets the same one. So in ``<b> Save</b> it`` the slots
       beside ``<b>`` are ``[None, " "]``, and become ``[" ", " "]``. The translation ``Es  sichern`` has two spaces
       between its words; either slot may now have them, and rule 2 of :func:`spaces_around` takes the outer one:
       ``Es  <b>sichern</b>``. If the slot on the other side is empty (``""``), there is no space to copy, and the outer
       slot stays None.
    """
    first, *between, last = slots
    begins_source = first is None and group.tags[0].offset == 0
    ends_source = last is None and group.tags[-1].offset == len(line.marked.text)
    if not group.left:  # a
        first = None
    elif begins_source:  # b: `or None`, because an empty slot ("") has no space to copy
        first = last or None
    if not group.right:  # a
        last = None
    elif ends_source:  # b
        last = first or None
    return [first, *between, last]


def _is_glued(line: LinkedLine, group: TagGroup, slots: Sequence[str | None]) -> bool:
    """Rule 3: whether tags touch the same word as in the source, so that the translation loses its white space here.

    Not between two letters, where words would grow together.
    """
    first, last = group.wordless_elements[0], group.wordless_elements[-1]
    if first is None or last is None or not all(group.is_wordless):
        return False
    touches_both_sides = slots[0] == "" and slots[-1] == ""
    if not touches_both_sides or any(slots):
        return False
    word_before = line.extents[first].source_range[0] - 1
    word_behind = line.extents[last].source_range[1]
    keeps_neighbour = line.are_linked(word_before, group.boundary - 1) or line.are_linked(
        word_behind, group.boundary
    )
    is_between_letters = (group.left + group.right).isalnum()
    return keeps_neighbour and group.between.isspace() and not is_between_letters


def _slot_of_translation(group: TagGroup, slots: Sequence[str | None]) -> int:
    """Rule 2: the slot of the translation's white space.

    That is the slot behind the ends of elements and before the beginnings, if the source has space there; else the
    first slot where the source has space. If the source has no space in any slot, the slots about which it says nothing
    (None) take their place in a group with a wordless tag.
    """
    outside_elements = len(group.tags)
    for number, tag in enumerate(group.tags):
        if tag.role != "close":
            outside_elements = number
            break
    possible = [number for number, slot in enumerate(slots) if slot]
    if not possible and any(group.is_wordless):
        possible = [number for number, slot in enumerate(slots) if slot is None]
    if not possible or outside_elements in possible:
        return outside_elements
    return possible[0]


def _added_spaces(
    group: TagGroup, slots: Sequence[str | None], chosen: int | None
) -> Iterator[tuple[int, str]]:
    """Rule 4: yield slots and the white space of the source for them, one on each side of a wordless tag.

    None is added behind an opening bracket or before a closing mark, where the translation begins or ends, in text
    without spaces, or on the side of the slot ``chosen``, which has the translation's white space.
    """
    if not any(group.is_wordless) or _is_unspaced(group):
        return
    # Slot n is before tag n, so slot n + 1 is behind it.
    behind_wordless = [number + 1 for number, is_wordless in enumerate(group.is_wordless) if is_wordless]
    # Of four slots around three tags of which the last is wordless, the sides are the slots 0 to 2, and slot 3 alone.
    for first, stop in pairwise([0, *behind_wordless, len(slots)]):
        side = range(first, stop)  # the slots between two wordless tags
        spaced = next((number for number in side if slots[number]), None)
        if spaced is None or chosen in side:
            continue
        # A side that begins or ends at a wordless tag of the group has no character of the text there that forbids it.
        begins_at_tag, ends_at_tag = first > 0, stop < len(slots)
        # Wider than `CutText.behind_closing_marks`, which decides where tags stand, not whether they get a space.
        # Unicode categories: Ps, Pi open a bracket or quotation; Pe, Pf close one; Po are . , : and others.
        allowed_before = begins_at_tag or (group.left and category(group.left) not in ("Ps", "Pi"))
        allowed_behind = ends_at_tag or (group.right and category(group.right) not in ("Pe", "Pf", "Po"))
        if allowed_before and allowed_behind:
            yield spaced, slots[spaced] or ""


def _is_unspaced(group: TagGroup) -> bool:
    """Whether the text beside tags has no spaces between words, as in Japanese, also behind a full stop."""
    for neighbour in group.left + group.right:
        is_wide = east_asian_width(neighbour) in "WF"  # wide or full: 。 and 、
        if is_wide and category(neighbour).startswith("P"):
            return True
    before, behind = group.text[: group.start], group.text[group.end :]
    nearest_left = next(filter(str.isalnum, reversed(before)), "")
    nearest_right = next(filter(str.isalnum, behind), "")
    return has_unspaced(nearest_left + nearest_right)
