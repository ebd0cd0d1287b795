"""The passes that place elements, one by one, each with the example of its docstring."""

from __future__ import annotations

import pytest
from tagged_lines import projection, tagged_pair

from isoglot.projection.elements import fill_parents, project_elements
from isoglot.projection.linked_line import LinkedLine, linked_line
from isoglot.projection.rule import Range

Links = list[tuple[int, int]]


def line_of(marked: str, text: str, links: Links) -> LinkedLine:
    pair = tagged_pair(marked, text, links)
    return linked_line(pair.labels[0], pair)


def ranges(marked: str, text: str, links: Links) -> tuple[dict[int, Range], dict[int, Range]]:
    """The words of elements in the translation after the first and after the second pass."""
    pair = tagged_pair(marked, text, links)
    line = linked_line(pair.labels[0], pair)
    projected, _ = project_elements(line, pair, gap=3)
    return projected, fill_parents(line, projected)


def test_extents_of_elements_are_source_words() -> None:
    line = line_of("H<sub>2</sub>O <br/>is", "", [])
    assert [extent.source_range for extent in line.extents] == [(0, 1), (1, 1)]
    assert [extent.cuts_no_word for extent in line.extents] == [False, True]
    assert line.children == {None: [0]}


def test_project_elements_gives_an_element_the_words_linked_to_it() -> None:
    projected, _ = ranges("<b>a c</b> d", "A C D", [(0, 0), (1, 1), (2, 2)])
    assert projected == {0: (0, 2)}


@pytest.mark.parametrize(
    ("marked", "text", "links", "projected", "filled"),
    [
        # the line is a parent too
        ("<b>The house</b>", "Das Haus hier", [(1, 1)], {0: (1, 2)}, {0: (0, 3)}),
        # words between two neighbours go to the right one
        ("<b>Save</b> <i>file</i>", "Jetzt sichern die Datei", [(0, 1), (1, 3)], {0: (1, 2), 1: (3, 4)},
         {0: (0, 2), 1: (2, 4)}),
        # marks that close go to the left one
        ("<b>Note:</b> <i>hot</i>", "Achtung: heiß", [(0, 0), (2, 2)], {0: (0, 1), 1: (2, 3)}, {0: (0, 2), 1: (2, 3)}),
        # and what is up to the end of a sentence, if the left one ends one
        ("<p>It rains.</p><p>Go.</p>", "Es regnet viel. Geh.", [(1, 1), (3, 4)], {0: (1, 2), 1: (4, 5)},
         {0: (0, 4), 1: (4, 6)}),
        # a child between both that was lost receives them
        ("<a>x</a> <b>y</b> <i>z</i>", "X Y Z", [(0, 0), (2, 2)], {0: (0, 1), 2: (2, 3)},
         {0: (0, 1), 1: (1, 2), 2: (2, 3)}),
        # from the outside in: the words that the parent was given reach its children
        ("<p><b>The</b> <i>house</i></p>", "Das Haus hier", [(0, 0)], {0: (0, 1), 1: (0, 1)},
         {0: (0, 3), 1: (0, 1), 2: (1, 3)}),
        # nothing is filled where a word of the parent is in no child, or an element begins inside a word
        ("x <b>house</b>", "X Haus hier", [(1, 1)], {0: (1, 2)}, {0: (1, 2)}),
        ("<b>W</b>ord", "ein Wort", [(0, 1)], {0: (1, 2)}, {0: (1, 2)}),
    ],
)  # fmt: skip
def test_fill_parents_in_the_translation_where_children_do_in_the_source(
    marked: str, text: str, links: Links, projected: dict[int, Range], filled: dict[int, Range]
) -> None:
    assert ranges(marked, text, links) == (projected, filled)


def test_fill_parents_makes_a_lost_element_a_shortened_one() -> None:
    found = projection("<b>a</b> <i>c</i>", "A C", [(0, 0)])
    assert found.fates == {0: "whole", 1: "shortened"} and found.ranges == {0: (0, 1), 1: (1, 2)}
