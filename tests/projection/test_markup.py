"""Inline tags: carried to where they belong, each of them written once, inside what held it."""

from __future__ import annotations

import itertools
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import isoglot as iso
from isoglot.errors import ConfigurationError, InputError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import WordMode, word_spans
from isoglot.projection.elements import MarkupProjection, spans_of
from isoglot.projection.labels import CutText
from isoglot.projection.markup import marked_translation, parse_line, unescaped
from isoglot.projection.tags import parse_markup


def cut(text: str, mode: WordMode = "unicode") -> CutText:
    return CutText(text, word_spans(text, mode=mode))


def projection(marked: str, text: str, links: list[tuple[int, int]]) -> MarkupProjection:
    source, words = parse_line(marked, cut)
    return MarkupProjection(source, words, cut(unescaped(text)[0]), SentencePair(links=sorted(links)), gap=3)


def carried(marked: str, text: str, links: list[tuple[int, int]]) -> str:
    return marked_translation(projection(marked, text, links), text)


SAVE = "Speichern Sie die Datei. Sie können sie dann schließen."
SAVED = [(0, 0), (1, 2), (2, 3), (3, 4), (4, 8), (6, 6), (7, 9), (8, 7), (9, 10)]


@pytest.mark.parametrize(
    ("marked", "text", "links", "wanted"),
    [
        ("a <b>c</b> d", "D C A", [(0, 2), (1, 1), (2, 0)], "D <b>C</b> A"),
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
def test_tags_follow_their_words(marked: str, text: str, links: list[tuple[int, int]], wanted: str) -> None:
    assert carried(marked, text, links) == wanted


PAIRS = (
    ("<b>", "</b>"),
    ('<a href="x>y">', "</a>"),
    ('<bpt i="{0}">{{</bpt>', '<ept i="{0}">}}</ept>'),
    ('<bx id="0" rid="{0}"/>', '<ex id="1" rid="{0}"/>'),
)
ALONE = (
    '<br id="{0}"/>',
    '<ph id="{0}">x</ph>',
    '<img alt="a<b>c</b>"/>',
    "<!-- <i> -->",
    "<u></u>",
    "<a><br></a>",
)


def tree(rng: random.Random, numbers: itertools.count[int], depth: int = 4) -> str:
    """A random line of words and tags, some with space around them."""
    parts = []
    for _ in range(rng.randint(0, 4)):
        kind = rng.random()
        if kind < 0.4:
            parts.append(rng.choice(["w", "xy", "z.", "&amp;", "k &lt; l"]))
        elif kind < 0.65 or not depth:
            parts.append(rng.choice(ALONE).format(next(numbers)))
        else:
            number = next(numbers)
            opening, closing = (tag.format(number) for tag in rng.choice(PAIRS))
            parts += [opening, rng.choice(["", " "]), tree(rng, numbers, depth - 1), closing]
        parts.append(rng.choice(["", " ", " ", "  "]))
    return "".join(parts)


def lines(count: int) -> list[str]:
    return [tree(random.Random(seed), itertools.count(1)) for seed in range(count)]


def bare(marked: str) -> str:
    """A line without its tags, escaped as it is."""
    for tag in sorted({tag.text for tag in parse_markup(marked).tags}, key=len, reverse=True):
        marked = marked.replace(tag, "")
    return marked


def chains(marked: str) -> Counter[tuple[str, ...]]:
    """Each element with those that hold it."""
    source = parse_markup(marked)
    names: list[tuple[str, ...]] = []
    for element in source.elements:
        above = () if element.parent is None else names[element.parent]
        names.append((source.tags[element.opening].text, *above))
    return Counter(names)


def same_words(marked: str, text: str) -> int | None:
    """The number of words, if those between the tags are those of the text."""
    words, target = parse_line(marked, cut)[1].words, cut(unescaped(text)[0]).words
    return len(target) if words == target else None


def test_a_text_is_its_own_translation() -> None:
    checked = 0
    for line in lines(600):
        count = same_words(line, bare(line))
        if count is not None:
            checked += 1
            assert carried(line, bare(line), [(n, n) for n in range(count)]) == line
    assert checked > 400


def test_every_tag_is_written_once_inside_what_held_it() -> None:
    for seed, line in enumerate(lines(600)):
        rng = random.Random(seed)
        text = " ".join(rng.choice(["A", "B.", ",", "c"]) for _ in range(rng.randint(0, 8)))
        words = parse_line(line, cut)[1].words
        pairs = itertools.product(range(len(words)), range(len(cut(text).words)))
        result = carried(line, text, [pair for pair in pairs if rng.random() < 0.2])
        assert chains(result) == chains(line), (line, text)
        assert Counter(tag.text for tag in parse_markup(result).tags) == Counter(
            tag.text for tag in parse_markup(line).tags
        )
        assert "".join(parse_markup(result).text.split()) == text.replace(" ", "")


def held(marked: str) -> dict[str, set[bool]]:
    """Whether the elements with this tag have no words."""
    source, words = parse_line(marked, cut)
    empty: dict[str, set[bool]] = {}
    for element, span in zip(source.elements, spans_of(source, words.spans), strict=True):
        empty.setdefault(source.tags[element.opening].text, set()).add(span.empty)
    return empty


def test_a_lost_element_empties_no_other() -> None:
    checked = 0
    for line in lines(300):
        source, words = parse_line(line, cut)
        count = same_words(line, bare(line))
        if count is None:
            continue
        spans = spans_of(source, words.spans)
        for lost in spans:
            gone = set(range(*lost.words))
            after = held(carried(line, bare(line), [(n, n) for n in range(count) if n not in gone]))
            for element, span in zip(source.elements, spans, strict=True):
                if not span.empty and not gone >= set(range(*span.words)):
                    checked += 1
                    assert False in after[source.tags[element.opening].text], line
    assert checked > 500


def test_spaces_around_tags_that_stand_alone_are_those_of_the_source() -> None:
    rng = random.Random(0)
    for _ in range(200):
        gaps = [" ", " <ph/> ", "<br/> ", " <ph/>", ' <ph/> <x id="1"/> ', " <u></u> ", "<!-- --> <ph/> "]
        line = "".join(f"w{n}{rng.choice(gaps)}" for n in range(6)) + "w6"
        text = " ".join(f"w{n}" for n in range(7))
        assert carried(line, text, [(n, n) for n in range(7)]) == line


def test_codes_that_cross_elements_keep_their_order() -> None:
    for seed in range(600):
        rng = random.Random(seed)
        parts = [f"w{n} " for n in range(rng.randint(1, 6))]
        for opening, closing in (
            ("<b>", "</b>"),
            *((f'<bx id="{n}"/>', f'<ex id="{n}"/>') for n in range(rng.randint(1, 3))),
        ):
            start, end = sorted((rng.randint(0, len(parts)), rng.randint(0, len(parts))))
            parts[end:end] = [closing]
            parts[start:start] = [opening]
        line, text = "".join(parts), " ".join("ABCDEF"[: rng.randint(0, 6)])
        count = sum(part.startswith("w") for part in parts)
        pairs = itertools.product(range(count), range(len(text.split())))
        result = parse_markup(carried(line, text, [pair for pair in pairs if rng.random() < 0.25]))
        assert Counter(tag.text for tag in result.tags) == Counter(
            tag.text for tag in parse_markup(line).tags
        )
        assert carried(line, bare(line), [(n, n) for n in range(count)]) == line


def operations(function: Callable[[], object]) -> int:
    """How many operations of Python a function takes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("pattern", ["<ph/> w{} ", "<b>w{}</b> ", "<b>w{} <ph/></b><i></i> "])
def test_the_work_grows_with_the_tags_and_not_with_their_square(pattern: str) -> None:
    def work(count: int) -> int:
        line = "".join(pattern.format(n) for n in range(count))
        links = [(n, n) for n in range(count)]
        return operations(lambda: carried(line, bare(line), links))

    assert work(120) < 2.3 * work(60)


def test_lines_of_a_file(tmp_path: Path) -> None:
    files = {"en.html": "a <b>c</b>\n\nd\n", "de.txt": "C A\n\nD\n", "links": "0-1 1-0\n\n0-0\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    out = tmp_path / "de.html"
    how: dict[str, Any] = {"kind": "markup", "links_file": tmp_path / "links"}
    iso.project(tmp_path / "en.html", tmp_path / "de.txt", out, **how)
    assert out.read_text() == "<b>C</b> A\n\nD\n"
    (tmp_path / "de.txt").write_text("C A\n\n<i>D</i>\n")
    with pytest.raises(InputError, match=r"de\.txt:3: '<i>' is in the translation"):
        iso.project(tmp_path / "en.html", tmp_path / "de.txt", out, **how)
    (tmp_path / "en.html").write_text("a <b>c</b>\n\n<i>d\n")
    with pytest.raises(InputError, match=r"en\.html:3: <i> is not closed in its line"):
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
def test_documents_are_no_segments(tmp_path: Path, document: str) -> None:
    for name in ("en.tmx", "de.txt"):
        inputs = {"en.tmx": "a\nb\n", "de.txt": "A\nB\n", "links": "\n\n", name: document}
        for file, text in inputs.items():
            (tmp_path / file).write_text(text)
        files = [tmp_path / file for file in inputs][:2]
        with pytest.raises(InputError, match=rf"{name}:[12]: is a document \(.*one segment per line"):
            iso.project(*files, tmp_path / "out", kind="markup", links_file=tmp_path / "links")
        assert not (tmp_path / "out").exists()


def test_lost_split_and_moved_tags_are_listed(tmp_path: Path) -> None:
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
    with pytest.raises(ConfigurationError, match="--problems: only --kind markup"):
        iso.project(*inputs, out, kind="pos", **how)
    with pytest.raises(ConfigurationError, match="two outputs are the same"):
        iso.project(*inputs, problems, kind="markup", **how)


Node = str | tuple[str, str, list["Node"]]
"""A word, or an element with what it holds."""


def nodes(
    rng: random.Random, words: itertools.count[int], tags: itertools.count[int], depth: int
) -> list[Node]:
    """A random tree of words that are all different."""
    children: list[Node] = []
    for _ in range(rng.randint(1, 4)):
        if not depth or rng.random() < 0.55:
            children.append(f"w{next(words)}")
        else:
            number = next(tags)
            opening, closing = (tag.format(number) for tag in rng.choice(PAIRS))
            children.append((opening, closing, nodes(rng, words, tags, depth - 1)))
    return children


def rendered(tree: list[Node]) -> str:
    return " ".join(n if isinstance(n, str) else f"{n[0]}{rendered(n[2])}{n[1]}" for n in tree)


def leaves(tree: list[Node], rng: random.Random | None = None) -> list[str]:
    """The words, with ``rng`` those of each element in another order."""
    tree = rng.sample(tree, len(tree)) if rng else tree
    return [word for n in tree for word in ([n] if isinstance(n, str) else leaves(n[2], rng))]


def ancestors(marked: str) -> dict[str, set[str]]:
    """The tags of the elements that hold each word."""
    source, words = parse_line(marked, cut)
    held: dict[str, set[str]] = {word: set() for word in words.words}
    for element, span in zip(source.elements, spans_of(source, words.spans), strict=True):
        for number in range(*span.words):
            held[words.word(number)].add(source.tags[element.opening].text)
    return held


@pytest.mark.parametrize("linked", [1.0, 0.7])
def test_a_linked_word_is_inside_all_that_held_it(linked: float) -> None:
    """Wherever the words of elements go, as long as those of one stay together."""
    for seed in range(400):
        rng = random.Random(seed)
        tree = nodes(rng, itertools.count(), itertools.count(1), 3)
        words, translation = leaves(tree), leaves(tree, rng)
        links = [(n, translation.index(word)) for n, word in enumerate(words) if rng.random() < linked]
        before, after = (
            ancestors(rendered(tree)),
            ancestors(carried(rendered(tree), " ".join(translation), links)),
        )
        for number, _ in links:
            assert before[words[number]] <= after[words[number]], rendered(tree)
        if linked == 1.0:
            assert before == after


def test_a_word_of_one_element_is_inside_it_and_all_around_it_unless_it_was_split_or_lost() -> None:
    checked = 0
    for seed in range(600):
        rng = random.Random(seed)
        tree = nodes(rng, itertools.count(), itertools.count(1), 3)
        line, count = rendered(tree), len(leaves(tree))
        text = " ".join(f"t{n}" for n in range(rng.randint(1, 8)))
        pairs = itertools.product(range(count), range(len(text.split())))
        links = [pair for pair in pairs if rng.random() < rng.choice([0.1, 0.3])]
        result = projection(line, text, links)
        after = ancestors(marked_translation(result, text))
        for number, span in enumerate(result.spans):
            around, holder = [number], result.marked.elements[number].parent
            while holder is not None:
                around, holder = [*around, holder], result.marked.elements[holder].parent
            if {result.fates[n] for n in around} & {"split", "lost"}:
                continue
            tag = result.marked.tags[result.marked.elements[number].opening].text
            for word in range(len(text.split())):
                sources = [i for i, j in links if j == word]
                if sources and all(span.words[0] <= i < span.words[1] for i in sources):
                    checked += 1
                    assert tag in after[f"t{word}"], (line, links)
    assert checked > 500
