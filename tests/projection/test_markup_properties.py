"""Inline tags of many random lines: each is written once, inside what held it, as XML and as the text need it."""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest
from tagged_lines import PAIRS, bare, carried, lines, projection, tagged_pair

from isoglot.formats.inline_tags import MarkedText
from isoglot.formats.markup_lines import parse_markup
from isoglot.projection.linked_line import Extent, extents_of
from isoglot.projection.white_space import as_markup, translation_parts


def chains(marked: str) -> Counter[tuple[str, ...]]:
    """Each element with those that hold it."""
    source = parse_markup(marked)
    names: list[tuple[str, ...]] = []
    for element in source.elements:
        above = () if element.parent is None else names[element.parent]
        names.append((source.tags[element.opening].xml, *above))
    return Counter(names)


def elements(marked: str) -> tuple[MarkedText, list[Extent]]:
    """A line, and the words of its elements."""
    pair = tagged_pair(marked)
    return pair.labels[0], extents_of(pair.labels[0], pair.texts_and_spans[1][0])


def same_words(marked: str, text: str) -> int | None:
    """The number of words, if those between the tags are those of the text."""
    words, target = tagged_pair(marked, text).words
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
    for seed, line in enumerate(lines(300)):
        rng = random.Random(seed)
        text = " ".join(rng.choice(["A", "B.", ",", "c"]) for _ in range(rng.randint(0, 8)))
        pairs = itertools.product(*(range(len(words)) for words in tagged_pair(line, text).words))
        result = carried(line, text, [pair for pair in pairs if rng.random() < 0.2])
        assert chains(result) == chains(line), (line, text)
        assert Counter(tag.xml for tag in parse_markup(result).tags) == Counter(
            tag.xml for tag in parse_markup(line).tags
        )
        assert "".join(parse_markup(result).text.split()) == text.replace(" ", "")


XML_PAIRS = ('<g id="{}">', "</g>"), ("<b>", "</b>"), ('<bpt i="{}">{{</bpt>', '<ept i="{}">}}</ept>')
XML_ALONE = '<ph id="{}"/>', "<br/>", "<!-- & -->"
TEXTS = (
    "x < 5",
    "a&b",
    "Tom & Jerry",
    "R&D;",
    "1 > 0",
    '"so"',
    "東京で",
    "l'eau",
    "« ah »",
    "（注）",
    ".",
    "ok",
)


@pytest.mark.parametrize("escaped", [False, True])
def test_a_line_of_xml_stays_one_and_without_its_tags_is_the_translation(escaped: bool) -> None:
    for seed in range(250):
        rng = random.Random(seed)
        line, numbers = "", itertools.count(1)
        for text in rng.choices(TEXTS, k=rng.randint(1, 6)):
            number = next(numbers)
            opening, closing = rng.choice(XML_PAIRS) if rng.random() < 0.5 else ("", "")
            alone = rng.choice(XML_ALONE) if rng.random() < 0.4 else ""
            inside = rng.choice(
                [f"{alone}{escape(text)}", f"{escape(text)}{alone}", f"{alone} {escape(text)}"]
            )
            line += f"{opening}{inside}{closing}{rng.choice(['', ' '])}".format(*[number] * 9)
        translation = rng.choice(["", " "]).join(rng.choices(TEXTS, k=rng.randint(0, 6)))
        written = escape(translation) if escaped else translation.replace("&", "& ")
        count = [range(len(words)) for words in tagged_pair(line, written).words]
        result = carried(line, written, [pair for pair in itertools.product(*count) if rng.random() < 0.2])
        bare = ElementTree.fromstring(f"<seg>{re.sub('<[be]pt.*?</[be]pt>', '', result)}</seg>")
        wanted = "".join(translation.split())
        assert "".join("".join(bare.itertext()).split()) == wanted, (line, translation, result)
        assert Counter(re.findall("<[^>]*>", result)) == Counter(re.findall("<[^>]*>", line))


def test_tags_stay_between_sentences() -> None:
    """Whatever words are linked to others of their sentence, in whatever order these are."""
    for seed in range(200):
        rng = random.Random(seed)
        tag = rng.choice(["<br/>", " <br/>", "<br/><br/>", '<ph id="1"/> '])
        lengths = [(rng.randint(1, 5), rng.randint(1, 5)) for _ in range(3)]
        source = [" ".join([*(f"s{n}" for n in range(words)), "e."]) for words, _ in lengths]
        target = [" ".join([*(f"t{n}" for n in range(words)), "e."]) for _, words in lengths]
        links, first, other = [], 0, 0
        for words, translated in lengths:
            links += [
                (first + i, other + j)
                for i, j in itertools.product(range(words), range(translated))
                if rng.random() < 0.3
            ]
            links += [(first + words + n, other + translated + n) for n in (0, 1)]  # e and the full stop
            first, other = first + words + 2, other + translated + 2
        result = carried(tag.join(source), " ".join(target), links)
        pieces = [piece for piece in re.split("<[^>]*>", result) if piece.strip()]
        assert [piece.strip() for piece in pieces] == target, (tag.join(source), links, result)


def held(marked: str) -> dict[str, set[bool]]:
    """Whether the elements with this tag have no words."""
    source, spans = elements(marked)
    empty: dict[str, set[bool]] = {}
    for element, span in zip(source.elements, spans, strict=True):
        empty.setdefault(source.tags[element.opening].xml, set()).add(span.is_wordless)
    return empty


def test_a_lost_element_empties_no_other() -> None:
    checked = 0
    for line in lines(120):
        source, spans = elements(line)
        count = same_words(line, bare(line))
        if count is None:
            continue
        for lost in spans:
            gone = set(range(*lost.source_range))
            after = held(carried(line, bare(line), [(n, n) for n in range(count) if n not in gone]))
            for element, span in zip(source.elements, spans, strict=True):
                if not span.is_wordless and not gone >= set(range(*span.source_range)):
                    checked += 1
                    assert False in after[source.tags[element.opening].xml], line
    assert checked > 200


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
        assert Counter(tag.xml for tag in result.tags) == Counter(tag.xml for tag in parse_markup(line).tags)
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
    source, spans = elements(marked)
    words = tagged_pair(marked).source_words
    held: dict[str, set[str]] = {word: set() for word in words}
    for element, span in zip(source.elements, spans, strict=True):
        for number in range(*span.source_range):
            held[words[number]].add(source.tags[element.opening].xml)
    return held


@pytest.mark.fast_variants(1)
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
        source = result.line.marked
        after = ancestors(as_markup(translation_parts(result), text))
        for number, span in enumerate(result.line.extents):
            around, holder = [number], source.elements[number].parent
            while holder is not None:
                around, holder = [*around, holder], source.elements[holder].parent
            if {result.fates[n] for n in around} & {"split", "lost"}:
                continue
            tag = source.tags[source.elements[number].opening].xml
            for word in range(len(text.split())):
                sources = [i for i, j in links if j == word]
                if sources and all(span.source_range[0] <= i < span.source_range[1] for i in sources):
                    checked += 1
                    assert tag in after[f"t{word}"], (line, links)
    assert checked > 500
