"""Tags of HTML, XLIFF and TMX, as their formats have them, and how elements are paired."""

from __future__ import annotations

import pytest

from isoglot.core.errors import InputError
from isoglot.formats.markup_lines import first_tag, parse_markup


@pytest.mark.parametrize(
    ("line", "text", "tags"),
    [
        ('<img alt="a<b>c</b>"/>', "", ['<img alt="a<b>c</b>"/>']),
        ("<a title='>' b=x/y disabled>c</a>", "c", ["<a title='>' b=x/y disabled>", "</a>"]),
        ("<x id=it's/>c 'd' > 3 < 4", "c 'd' > 3 < 4", ["<x id=it's/>"]),
        ("Tom &amp; <B>J</b >", "Tom & J", ["<B>", "</b >"]),
        ("a<!-- <b> --><?php b ?><!DOCTYPE c>", "a", ["<!-- <b> -->", "<?php b ?>", "<!DOCTYPE c>"]),
        ("<![CDATA[1 < 2]]> <b>c</b>", "1 < 2 c", ["<b>", "</b>"]),
        ("<textarea>a <b>c</b></textarea>", "a c", ["<textarea>", "<b>", "</b>", "</textarea>"]),
        ('<bpt i="1">&lt;b <sub>t</sub></bpt>a<ept i="1"/>', "a",
         ['<bpt i="1">&lt;b <sub>t</sub></bpt>', '<ept i="1"/>']),
        ("<ph><sub>t<ph>u</ph></sub></ph>", "", ["<ph><sub>t<ph>u</ph></sub></ph>"]),
        ("", "", []),
    ],
)  # fmt: skip
def test_tags_are_read_as_the_formats_have_them(line: str, text: str, tags: list[str]) -> None:
    marked = parse_markup(line)
    assert (marked.text, [tag.xml for tag in marked.tags]) == (text, tags)


@pytest.mark.parametrize(
    ("line", "pairs", "crossing"),
    [
        ('<bx id="1" rid="5"/>a<ex id="2" rid="5"/>', [(0, 1)], []),
        ('<bx rid="5" id="2"/><bx id="5" rid="2"/>a<ex id="1" rid="2"/><ex id="2" rid="5"/>', [(0, 3), (1, 2)], []),
        ('<bx id="1"/>a<ex id="1"/>', [(0, 1)], []),
        ('<bpt type="i=3" i="1">{</bpt>a<ept i="1">}</ept>', [(0, 1)], []),
        ('<bpt id="3" rid="1">{</bpt>a<ept id="4" rid="1">}</ept>', [(0, 1)], []),
        ('<sc id="1"/>a<ec startRef="1"/>', [(0, 1)], []),
        ('<sc id="1" isolated="yes"/>a<it pos="begin">x</it>', [(0, 0), (1, 1)], []),
        ('<bx id="1"></bx>a<x id="2"></x><ex id="1"></ex>', [(0, 2), (1, 1)], []),
        ('<b>a<bx id="1"/>c</b>d<ex id="1"/>', [(0, 2), (1, 1), (3, 3)], [(1, 3)]),
        ('<bx id="1"/><b>a<ex id="1"/></b>', [(0, 0), (1, 3), (2, 2)], [(0, 2)]),
        ('<bpt i="1"/><bpt i="2"/>a<ept i="1"/><ept i="2"/>', [(0, 0), (1, 3), (2, 2)], [(0, 2)]),
        ("<b><br><i></i></b>", [(0, 4), (1, 1), (2, 3)], []),
    ],
)  # fmt: skip
def test_codes_are_paired_by_their_numbers(
    line: str, pairs: list[tuple[int, int]], crossing: list[tuple[int, int]]
) -> None:
    marked = parse_markup(line)
    assert [(element.opening, element.closing) for element in marked.elements] == pairs
    assert marked.crossing == crossing


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("<b>a", "<b> is not closed in its line"),
        ("a</b>", "'</b>' does not close what was opened last"),
        ("<b><i>a</b></i>", "'</b>' does not close"),
        ('<bpt i="1">x</bpt>a<ept i="2">x</ept>', "does not close"),
        ("a</ph>", "'</ph>' does not close"),
        ("<ph>a", "'<ph>a' is not closed"),
        ("<ph>a</it></ph>", "'</it>' does not close"),
        ("if a <b", "'if a <b' has a tag that is not complete; complete it, or write &lt;"),
        ('c<b title="a', "not complete"),
        ('<b><i title="a', "not complete"),
        ("a</b", "not complete"),
        ("<!-- a", "not complete"),
        ("<![foo[a", "correct the line|not complete"),
    ],
)
def test_tags_that_do_not_match_are_named(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_markup(line)


@pytest.mark.parametrize(
    ("line", "tag"),
    [("a <i>b</i>", "<i>"), ("a </i>", "</i>"), ("x <5, a <b, R&D &amp; <", None), ("a<br/>", "<br/>")],
)
def test_a_translation_may_have_signs_that_are_no_tags(line: str, tag: str | None) -> None:
    assert first_tag(line) == tag
