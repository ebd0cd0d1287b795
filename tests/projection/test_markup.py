"""Inline tags: carried to where they belong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from labelled_files import text_file
from tagged_lines import carried

import isoglot as iso
from isoglot.core.errors import ConfigurationError, InputError

SAVE = "Speichern Sie die Datei. Sie können sie dann schließen."
RAIN = "Es regnet. Am Ende gehen wir jedoch."
RAINS = [(0, 0), (1, 1), (2, 2), (3, 7), (4, 6), (5, 5), (6, 8)]
SAVED = [(0, 0), (1, 2), (2, 3), (3, 4), (4, 8), (6, 6), (7, 9), (8, 7), (9, 10)]


@pytest.mark.parametrize(
    ("marked", "text", "links", "wanted"),
    [
        ("a <b>c</b> d", "D C A", [(0, 2), (1, 1), (2, 0)], "D <b>C</b> A"),
        # a tag that touches a word has no space towards a tag that it did not stand beside
        ('<x id="2"/>Traffic is <b>now</b> bad', "Jetzt ist viel", [(1, 1), (2, 0)],
         '<x id="2"/><b>Jetzt</b> ist viel'),
        ("<b>a <x/> c</b>", "C A", [(0, 1), (1, 0)], "<b>C A <x/></b>"),
        # no space behind a full stop of Japanese, and none before a comma of the translation
        ('It was not. <ph id="1"/>', "なかった。", [(3, 4)], 'なかった。<ph id="1"/>'),
        ('I know <ph id="1"/> that', "Ich weiß, dass", [(0, 0), (1, 1), (2, 2), (2, 3)], 'Ich weiß, <ph id="1"/> dass'),
        ('I know<ph id="1"/> that', "Ich weiß, dass", [(0, 0), (1, 1), (2, 2), (2, 3)], 'Ich weiß<ph id="1"/>, dass'),
        ("<b>a <i>c</i></b>", "A C", [(0, 0), (1, 1)], "<b>A <i>C</i></b>"),
        ('<a href="x?a>b" id=\'>\'>c</a> d', "D C", [(0, 1), (1, 0)], 'D <a href="x?a>b" id=\'>\'>C</a>'),
        ("<B>a</b> c", "C A", [(0, 1), (1, 0)], "C <B>A</b>"),
        ("<b>a<br></b> c", "A C", [(0, 0), (1, 1)], "<b>A<br></b> C"),
        ("a <b>c</b> d", "A D", [(0, 0), (2, 1)], "A <b></b>D"),
        ('<bpt i="1">{</bpt>a<ept i="1">}</ept> c', "C A", [(0, 1), (1, 0)], 'C <bpt i="1">{</bpt>A<ept i="1">}</ept>'),
        ("<x/>", "", [], "<x/>"),
        # what an element holds stays in it
        ('<a href="x"><img src="y"/></a> Hello', "Hallo", [(0, 0)], '<a href="x"><img src="y"/></a> Hallo'),
        ("a <b><i>c</i><br/></b> d", "A D", [(0, 0), (2, 1)], "A <b><i></i><br/></b>D"),
        # an element of all words has all words, linked or not
        ("<b>The house</b>", "Das Haus hier", [(1, 1)], "<b>Das Haus hier</b>"),
        ("<b>The house</b>", "Das Haus", [], "<b>Das Haus</b>"),
        ("<p>Save the file.</p><p>Then you can close it.</p>", SAVE, SAVED,
         "<p>Speichern Sie die Datei.</p> <p>Sie können sie dann schließen.</p>"),
        ("<b>Note:</b> <i>hot</i> <u>x</u>", "Achtung: heiß so", [(0, 0), (3, 3)],
         "<b>Achtung:</b> <i>heiß</i> <u>so</u>"),
        ("Click <b>Save</b>", "Klicken Sie bitte", [(0, 0)], "Klicken Sie bitte<b></b>"),
        # words without a link do not split an element
        ("<b>a c d</b> e", "A 1 2 3 4 5 D E", [(0, 0), (2, 6), (3, 7)], "<b>A 1 2 3 4 5 D</b> E"),
        # a tag inside a word
        ("H<sub>2</sub>O is", "Wasser H2O", [(0, 1)], "Wasser H<sub>2</sub>O"),
        ("a word<sup>1</sup> b", "Wort1 B", [(1, 0), (2, 1)], "Wort<sup>1</sup> B"),
        ("<b>W</b>ord x", "Ding x", [(0, 0), (1, 1)], "<b>Ding</b> x"),
        # a tag that stands alone goes where both of its neighbours say, and is spaced as in the source
        ("Save the file.<br/>Then you can close it.", SAVE, SAVED,
         "Speichern Sie die Datei.<br/>Sie können sie dann schließen."),
        ('File <ph id="1"/> could', "Datei konnte", [(0, 0), (1, 1)], 'Datei <ph id="1"/> konnte'),
        ('Open <ph id="1"/> now.', "Jetzt öffnen.", [(0, 1), (1, 0), (2, 2)], 'Jetzt öffnen <ph id="1"/>.'),
        ("<ph/> not found", "Nicht da", [(0, 0), (1, 1)], "<ph/> Nicht da"),
        ("Click <b>Save</b> <x/>now.", "Klicken Sie jetzt auf Speichern.", [(0, 0), (1, 4), (2, 2), (3, 5)],
         "Klicken Sie <x/>jetzt auf <b>Speichern</b>."),
        ("a<x/> c", "A C", [(0, 0), (1, 1)], "A<x/> C"),
        ("a<x/>c", "A C", [(0, 0), (1, 1)], "A <x/>C"),
        ("a (<x/>) c", "A () C", [(0, 0), (1, 1), (2, 2), (3, 3)], "A (<x/>) C"),
        ('a <x/><x id="2"/> c', "A C", [(0, 0), (1, 1)], 'A <x/><x id="2"/> C'),
        ("a <!-- <b> --> c", "A C", [(0, 0), (1, 1)], "A <!-- <b> --> C"),
        ("a&#10;<x/>&nbsp;c", "A C", [(0, 0), (1, 1)], "A <x/>\u00a0C"),
        ("a <x/>&#10;c", "A C", [(0, 0), (1, 1)], "A <x/>&#10;C"),
        ("a&#10;<x/>&nbsp;c", "A&#10;&nbsp;C", [(0, 0), (1, 1)], "A&#10;<x/>&nbsp;C"),
        # the end of a sentence is one in the translation, and tags that stand together stay together
        ("It rains. <br/>However we go.", RAIN, RAINS, "Es regnet. <br/>Am Ende gehen wir jedoch."),
        ("It rains.<br/><br/>However we go.", RAIN, RAINS, "Es regnet.<br/><br/>Am Ende gehen wir jedoch."),
        ("<b>It rains.</b><br/>However we go.", RAIN, RAINS, "<b>Es regnet.</b> <br/>Am Ende gehen wir jedoch."),
        ("It rains?<br/>We go.", "雨か。行く。", [(0, 0), (2, 1), (3, 3), (5, 2)], "雨か。<br/>行く。"),
        ("We go?<br/>It rains.", "Gehen wir? Es regnet.", [(0, 3), (1, 0), (3, 1), (4, 4), (5, 5)],
         "Gehen wir? <br/>Es regnet."),
        ("<p>We can do it.</p><p>It rains.</p>", "Wir können das sehr gut tun. Es regnet.",
         [(0, 0), (1, 1), (3, 2), (5, 7), (6, 8), (7, 9)],
         "<p>Wir können das sehr gut tun.</p> <p>Es regnet.</p>"),
        # what is translated together with other words is not lost
        ("a <b>c</b> d e", "E X", [(0, 1), (1, 1), (2, 1), (3, 0)], "E <b>X</b>"),
        # marks that open go to what follows, and marks alone do not choose a piece
        ('<p>It rains.</p><p>"We go".</p>', 'Es regnet. "Wir gehen".', [(0, 0), (1, 1), (2, 2), (4, 4), (5, 5)],
         '<p>Es regnet.</p> <p>"Wir gehen".</p>'),
        ("a b c d <a>there.!</a>", "dort A B C D.!", [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (5, 5), (6, 6)],
         "<a>dort</a> A B C D.!"),
        # space is outside of elements, once between two tags that stand alone, and not in text without spaces
        ("a <b>c <i>d</i></b>, e", "A C D E", [(0, 0), (1, 1), (2, 2), (4, 3)], "A <b>C <i>D</i></b> E"),
        ("a <b>c <ph/> d</b>, e", "A C, E", [(0, 0), (1, 1), (3, 2), (4, 3)], "A <b>C <ph/></b>, E"),
        ("a <b>c <ph/><i>d</i></b>", "A D", [(0, 0), (2, 1)], "A <b><ph/><i>D</i></b>"),
        ("a <ph/> c", "東京", [(0, 0), (1, 1)], "東<ph/>京"),
        # codes that cross an element
        ('<b>a <bx id="1"/>c</b> d<ex id="1"/>', "A C D", [(0, 0), (1, 1), (2, 2)],
         '<b>A <bx id="1"/>C</b> D<ex id="1"/>'),
        # text is escaped, once
        ("x &lt; 5 <b>y</b>", "x < 5 y", [(3, 3)], "x &lt; 5 <b>y</b>"),
        ("Tom &amp; <b>Jerry</b>", "Tom & Jerry", [(2, 2)], "Tom &amp; <b>Jerry</b>"),
        ("Tom &amp; <b>Jerry</b>", "Tom &amp; Jerry&#33; R&D &foo;", [(2, 2)],
         "Tom &amp; <b>Jerry</b>&#33; R&amp;D &amp;foo;"),
    ],
)  # fmt: skip
def test_markup_tags_follow_their_words(
    marked: str, text: str, links: list[tuple[int, int]], wanted: str
) -> None:
    assert carried(marked, text, links) == wanted


def test_markup_files_are_projected_line_by_line(tmp_path: Path) -> None:
    files = {"en.html": "a <b>c</b>\n\nd\n", "de.txt": "C A\n\nD\n", "links": "0-1 1-0\n\n0-0\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    out = tmp_path / "de.html"
    how: dict[str, Any] = {"kind": "markup", "links_file": tmp_path / "links"}
    iso.project(tmp_path / "en.html", tmp_path / "de.txt", out, **how)
    assert out.read_text() == "<b>C</b> A\n\nD\n"
    (tmp_path / "de.txt").write_text("C A\n\n<i>D</i>\n")
    with pytest.raises(InputError, match=r"de\.txt:3: '<i>'.*&lt;"):
        iso.project(tmp_path / "en.html", tmp_path / "de.txt", out, **how)
    (tmp_path / "en.html").write_text("a <b>c</b>\n\n<i>d\n")
    with pytest.raises(InputError, match=r"en\.html:3: <i>"):
        iso.project(tmp_path / "en.html", tmp_path / "de.txt", out, **how)


@pytest.mark.parametrize(
    "document",
    [
        '<?xml version="1.0"?>\n<tmx version="1.4"><header/><body>\n<tu/></body></tmx>\n',
        '\n<tmx version="1.4">\n</tmx>\n',
        "<!doctype html>\n<html>\n",
        "  <xliff>\n",
    ],
)
def test_markup_refuses_whole_documents(tmp_path: Path, document: str) -> None:
    for name in ("en.tmx", "de.txt"):
        inputs = {"en.tmx": "a\nb\n", "de.txt": "A\nB\n", "links": "\n\n", name: document}
        for file, text in inputs.items():
            (tmp_path / file).write_text(text)
        files = [tmp_path / file for file in inputs][:2]
        with pytest.raises(InputError, match=rf"{name}:[12]: .*document \(<"):
            iso.project(*files, tmp_path / "out", kind="markup", links_file=tmp_path / "links")
        assert not (tmp_path / "out").exists()


def test_markup_problems_list_lost_split_and_moved_tags(tmp_path: Path) -> None:
    files = {
        "en.html": 'a\na <b title="\t">c</b>\n<i>a c</i> d e f g\na <x/> c\n',
        "de.txt": "A\nA\nA D E F G C\nC A\n",
        "links": "0-0\n0-0\n0-0 1-5 2-1 3-2 4-3 5-4\n0-1 1-0\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    inputs, out, problems = (
        (tmp_path / "en.html", tmp_path / "de.txt"),
        tmp_path / "out",
        tmp_path / "tags.tsv",
    )
    how: dict[str, Any] = {"links_file": tmp_path / "links", "problems": problems}
    iso.project(*inputs, out, kind="markup", **how)
    rows = [line.split("\t") for line in problems.read_text().splitlines()]
    assert rows == [
        ["line", "problem", "tag"],
        ["2", "lost", '<b title=" ">'],
        ["3", "split", "<i>"],
        ["4", "moved", "<x/>"],
    ]
    with pytest.raises(ConfigurationError, match=r'`problems`: .*kind="markup"'):
        iso.project(*inputs, out, kind="pos", **how)
    with pytest.raises(ConfigurationError, match=r"tags\.tsv and .*tags\.tsv: "):
        iso.project(*inputs, problems, kind="markup", **how)


def test_markup_segmented_ends_tags_at_words_of_a_segmenter(tmp_path: Path) -> None:
    lines = {"en.html": "at <b>Peking University</b>\n&lt;<i>a</i>\n", "zh.txt": "在北京大学\n< 甲乙\n"}
    files = {**lines, "zh.words": "在 北京大学\n< 甲乙\n", "links": "0-0 2-1\n1-1\n"}
    source, translation, words, links = (text_file(tmp_path, *file) for file in files.items())
    out = tmp_path / "zh.html"
    how: dict[str, Any] = {"kind": "markup", "links_file": links}
    iso.project(source, translation, out, segmented=words, **how)
    assert out.read_text(encoding="utf-8") == "在<b>北京大学</b>\n&lt; <i>甲乙</i>\n"
    iso.project(source, translation, out, **how)
    assert out.read_text(encoding="utf-8") == "在<b>北</b>京大学\n&lt; <i>甲</i>乙\n"
    for text, wanted in (
        ("在 北京大学\n", r"zh\.words: ends before"),
        ("在 北京大学\n< 甲乙\n甲\n", r"zh\.words: .*more lines"),
        ("在 北京\n< 甲乙\n", r"zh\.words:1: \['在', '北京'\]"),
    ):
        words.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=wanted):
            iso.project(source, translation, out, segmented=words, **how)
    with pytest.raises(ConfigurationError, match=r'`segmented`: .*kind="markup"'):
        iso.project(source, translation, out, kind="pos", segmented=words)
