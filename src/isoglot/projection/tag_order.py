"""The tags of a line in the order in which its translation has them, each with its position.

:func:`ordered_tags` runs two passes: :func:`nested_tags` writes each element inside its parent;
:func:`ends_behind_starts` keeps the order of two codes that are a pair and cross elements.
"""

from collections import defaultdict
from collections.abc import Sequence

from isoglot.projection.elements import Placements
from isoglot.projection.linked_line import LinkedLine, Position

PlacedTag = tuple[Position, int]
"""Where a tag stands in the translation, and its number."""


def ordered_tags(placed: Placements) -> list[PlacedTag]:
    """Put the tags of a line in the order in which the translation has them, each with its position."""
    return ends_behind_starts(nested_tags(placed), placed.line.marked.crossing)


def nested_tags(placed: Placements) -> list[PlacedTag]:
    """Put the tags in order, each inside the tags of the element that holds it."""
    elements, children = placed.line.marked.elements, _children_in_translation(placed)
    tags: list[PlacedTag] = []
    # A stack: its last item is written first.
    to_write = [(child, True) for child in reversed(children[None])]
    while to_write:
        number, is_begin = to_write.pop()
        element = elements[number]
        if number in placed.boundaries:
            # Elements inside one without words are written with it.
            position = placed.boundaries[number], 0
            tags += [(position, tag) for tag in range(element.opening, element.closing + 1)]
        elif is_begin:
            tags.append((begin_of(placed, number), element.opening))
            to_write.append((number, False))
            to_write += [(child, True) for child in reversed(children[number])]
        else:
            tags.append((end_of(placed, number), element.closing))
    return tags


def _children_in_translation(placed: Placements) -> dict[int | None, list[int]]:
    """Sort the elements inside each element by their place; at one boundary elements without words come first."""
    sort_keys = defaultdict[int | None, list[tuple[int, bool, int]]](list)
    for number, element in enumerate(placed.line.marked.elements):
        if number in placed.ranges:
            sort_keys[element.parent].append((placed.ranges[number][0], True, number))
        elif number in placed.boundaries:
            sort_keys[element.parent].append((placed.boundaries[number], False, number))
    children = defaultdict[int | None, list[int]](list)
    for parent, keys in sort_keys.items():
        children[parent] = [number for _, _, number in sorted(keys)]
    return children


def ends_behind_starts(tags: Sequence[PlacedTag], crossing: Sequence[tuple[int, int]]) -> list[PlacedTag]:
    """Write the end of each pair that crosses elements behind its beginning.

    In ``<b>a <bx id="1"/>c</b> d<ex id="1"/>`` the codes ``<bx/>`` and ``<ex/>`` are placed each by itself, so word
    order can turn them around. Then the end waits for its beginning and stands directly behind it. No tag gets a
    position before that of the tag in front of it.

    ``tags`` must have the beginning of every pair in ``crossing``: an end whose beginning never comes is not written.

    Example:
        >>> ends_behind_starts([((0, 0), 1), ((2, 0), 0)], crossing=[(0, 1)])
        [((2, 0), 0), ((2, 0), 1)]
    """
    opening_of = {closing: opening for opening, closing in crossing}
    latest: Position = (0, 0)
    written: set[int] = set()
    waiting: dict[int, int] = {}  # ends, by the beginnings that they wait for
    ordered: list[PlacedTag] = []
    for position, tag in tags:
        if tag in opening_of and opening_of[tag] not in written:
            waiting[opening_of[tag]] = tag
            continue
        latest = max(latest, position)
        written.add(tag)
        ordered.append((latest, tag))
        if tag in waiting:
            ordered.append((latest, waiting.pop(tag)))
    return ordered


def begin_of(placed: Placements, element: int) -> Position:
    """Where an element that has words begins in the translation."""
    first = placed.ranges[element][0]
    return first, _characters_inside(placed.line, placed.line.extents[element].opening, first)


def end_of(placed: Placements, element: int) -> Position:
    """Where an element that has words ends in the translation."""
    last = placed.ranges[element][1] - 1
    inside = _characters_inside(placed.line, placed.line.extents[element].closing, last)
    return (last, inside) if inside else (last + 1, 0)


def _characters_inside(line: LinkedLine, in_source: Position, target_word: int) -> int:
    """Count the characters of a target word before a tag that stands inside a source word, at ``in_source``.

    Only if both words are linked and alike on one side of the tag, as in ``word<sup>1</sup>`` and ``Wort<sup>1</sup>``;
    else 0: the tag does not stand inside the target word.
    """
    source_word, characters = in_source
    if not characters or not line.are_linked(source_word, target_word):
        return 0
    word, translation = line.source.words[source_word], line.target.words[target_word]
    before_tag, behind_tag = word[:characters], word[characters:]
    if len(translation) > len(before_tag) and translation.startswith(before_tag):
        return len(before_tag)
    if len(translation) > len(behind_tag) and translation.endswith(behind_tag):
        return len(translation) - len(behind_tag)
    return 0
