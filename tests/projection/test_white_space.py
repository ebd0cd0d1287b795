"""White space around tags, by its rules; and the parts of a translation in both forms."""

from __future__ import annotations

import pytest
from tagged_lines import carried, projection

from isoglot.formats.markup_lines import parse_markup, unescaped
from isoglot.projection.tag_order import ends_behind_starts, nested_tags, ordered_tags
from isoglot.projection.white_space import as_markup, as_text_and_tags, translation_parts


@pytest.mark.parametrize(
    ("marked", "text", "links", "wanted"),
    [
        ("a<br/>  c", "A  C", [(0, 0), (1, 1)], "A<br/>  C"),  # 1: as in the source
        (
            "a <br/> c",
            "A C",
            [(0, 0), (1, 1)],
            "A <br/> C",
        ),  # 2: once, and 4: more beside a tag that stands alone
        (
            "a <b><i>c</i></b> d",
            "A C D",
            [(0, 0), (1, 1), (2, 2)],
            "A <b><i>C</i></b> D",
        ),  # 2: outside of elements
        ("a.<br/>c", "A. C", [(0, 0), (1, 1), (2, 2)], "A.<br/>C"),  # 3: glued
        ("a<br/>c", "A C", [(0, 0), (1, 1)], "A <br/>C"),  # 3: but words do not grow together
        ("a <br/> c", "AC", [(0, 0)], "AC <br/>"),  # 4: not where the translation ends
        ("a <br/> c", "A)C", [(0, 0), (1, 2)], "A) <br/> C"),  # 4
        ("a <br/> c", "A:C", [(0, 1), (1, 2)], "A: <br/> C"),
        ("a <br/> c", "東京", [(0, 0), (1, 1)], "東<br/>京"),  # 4: not in text without spaces
    ],
)
def test_white_space_follows_its_rules(
    marked: str, text: str, links: list[tuple[int, int]], wanted: str
) -> None:
    assert carried(marked, text, links) == wanted


def test_white_space_is_the_same_of_markup_and_of_text_and_tags() -> None:
    text, written = unescaped("R&D &amp; C.")
    found = projection("x <b>&#10;<br/>&#10;c</b>.", "R&D &amp; C.", [(0, 0), (1, 4), (2, 5)])
    parts = list(translation_parts(found))
    line = parse_markup(as_markup(parts, written))
    assert as_text_and_tags(parts, text) == (line.text, line.tags)
    assert [tag.name for tag in line.tags] == ["b", "br", "b"]


def test_ends_behind_starts_of_codes_that_cross_an_element() -> None:
    found = projection('<b>a <bx id="1"/>c</b> d<ex id="1"/> e', "D E A C", [(0, 2), (1, 3), (2, 0), (3, 1)])
    assert [tag for _, tag in nested_tags(found)] == [3, 0, 1, 2]
    assert [tag for _, tag in ordered_tags(found)] == [0, 1, 3, 2]
    assert ends_behind_starts([((1, 0), 5), ((0, 0), 6)], []) == [((1, 0), 5), ((1, 0), 6)]
