"""Inline tags: read, carried, and each of them written once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import isoglot as iso
from isoglot.aligners.alignment import PairLinks
from isoglot.corpus.encode.words import word_spans
from isoglot.errors import InputError
from isoglot.projection.markup import parse_tags, place_tags
from isoglot.projection.rule import project_spans
from isoglot.projection.units import CutText

TREES = st.recursive(
    st.sampled_from(["w", "x ", '<br id="3"/>', "<ph>{1}</ph>"]),
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: f" <b>{' '.join(parts)}</b> "),
    max_leaves=8,
)


def carried(marked: str, text: str, links: list[tuple[int, int]]) -> str:
    words, elements = parse_tags(marked)
    spans = word_spans(text)
    found = PairLinks(sorted(links), [], 1.0)
    assert all(i < len(words) and j < len(spans) for i, j in links)
    places = project_spans(
        [e.words for e in elements], found, len(spans), parents=[e.parent for e in elements]
    )
    return place_tags(CutText(text, spans), elements, [place.words for place in places], found)


@pytest.mark.parametrize(
    ("marked", "text", "links", "wanted"),
    [
        ("a <b>c</b> d", "D C A", [(0, 2), (1, 1), (2, 0)], "D <b>C</b> A"),
        ("<b>a <i>c</i></b>", "A C", [(0, 0), (1, 1)], "<b>A <i>C</i></b>"),
        ('<a href="x?a>b" id=\'>\'>c</a> d', "D C", [(0, 1), (1, 0)], 'D <a href="x?a>b" id=\'>\'>C</a>'),
        ("<x id=it's/>c 'd' > 3", "C D", [(0, 0)], "<x id=it's/>C D"),
        ("<B>a</b> c", "C A", [(0, 1), (1, 0)], "C <B>A</b>"),
        ("a<br> <b>c</b>", "A C", [(0, 0), (1, 1)], "A <br><b>C</b>"),
        ("<b>a<br></b> c", "A C", [(0, 0), (1, 1)], "<b>A<br></b> C"),
        ("a <b>c</b> d", "A D", [(0, 0), (2, 1)], "A <b></b>D"),
        ('<bpt i="1">{</bpt>a<ept i="1">}</ept> c', "C A", [(0, 1), (1, 0)], 'C <bpt i="1">{</bpt>A<ept i="1">}</ept>'),
        ('<b>a <bx id="1"/>c</b> d<ex id="1"/>', "A C D", [(0, 0), (1, 1), (2, 2)],
         '<b>A <bx id="1"/>C</b> D<ex id="1"/>'),
        ("a <!-- <b> --> c", "A C", [(0, 0), (1, 1)], "A <!-- <b> -->C"),
        ("<x/>", "", [], "<x/>"),
        ("3 < 4 <b>c</b>", "3 < 4 C", [(3, 3)], "3 < 4 <b>C</b>"),
    ],
)  # fmt: skip
def test_tags_follow_their_words(marked: str, text: str, links: list[tuple[int, int]], wanted: str) -> None:
    assert carried(marked, text, links) == wanted


@given(
    st.lists(TREES, max_size=4).map("".join),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=9),
)
def test_every_tag_is_written_once_and_well_formed(marked: str, links: list[tuple[int, int]]) -> None:
    words, elements = parse_tags(marked)
    text = "A B C D E F"
    found = carried(marked, text, sorted({(i, j) for i, j in links if i < len(words)}))
    others, again = parse_tags(found)  # an element that is closed where it may not be is refused
    assert " ".join(others) == text
    assert sorted(e.opening for e in again) == sorted(e.opening for e in elements)


@pytest.mark.parametrize(
    "marked", ["<b>a", "a</b>", "<b><i>a</b></i>", '<bpt i="1">x</bpt>a<ept i="2">x</ept>']
)
def test_tags_that_do_not_match_are_named(marked: str) -> None:
    with pytest.raises(InputError, match="correct the line"):
        parse_tags(marked)


def test_lines_of_a_file(tmp_path: Path) -> None:
    files = {"en.html": "a <b>c</b>\n\nd\n", "de.txt": "C A\n\nD\n", "links": "0-1 1-0\n\n0-0\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    out = tmp_path / "de.html"
    how = {"kind": "markup", "links_file": tmp_path / "links"}
    iso.project(tmp_path / "en.html", tmp_path / "de.txt", out, **how)
    assert out.read_text() == "<b>C</b> A\n\nD\n"
    (tmp_path / "de.txt").write_text("C A\n\n<i>D</i>\n")
    with pytest.raises(InputError, match=r"de\.txt:3: <i> is in the translation"):
        iso.project(tmp_path / "en.html", tmp_path / "de.txt", out, **how)
