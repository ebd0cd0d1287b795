"""Lines with inline tags, and where they stand in a translation."""

from __future__ import annotations

import random
from itertools import count

from isoglot.formats.markup_lines import parse_markup, unescaped
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import word_spans
from isoglot.projection.elements import Placements, place_elements
from isoglot.projection.labels import LabelledPair
from isoglot.projection.markup import cut_marked
from isoglot.projection.rule import Range
from isoglot.projection.white_space import as_markup, translation_parts


def cut(text: str) -> tuple[list[str], list[Range]]:
    """The words of a text, and the characters of each."""
    spans = word_spans(text)
    return [text[start:end] for start, end in spans], spans


def tagged_pair(marked: str, text: str = "", links: list[tuple[int, int]] | None = None) -> LabelledPair:
    """A line with tags and its translation, in words."""
    source, (target, written) = parse_markup(marked), unescaped(text)
    pair = SentencePair((source.text, target), links=sorted(links or []))
    return cut_marked(pair, source, written, cut)


def projection(marked: str, text: str, links: list[tuple[int, int]]) -> Placements:
    """The elements of a line in its translation."""
    pair = tagged_pair(marked, text, links)
    return place_elements(pair.labels[0], pair, gap=3)


def carried(marked: str, text: str, links: list[tuple[int, int]]) -> str:
    """A translation with the tags of a line."""
    return as_markup(translation_parts(projection(marked, text, links)), unescaped(text)[1])


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


def tree(rng: random.Random, numbers: count[int], depth: int = 4) -> str:
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


def lines(number: int) -> list[str]:
    return [tree(random.Random(seed), count(1)) for seed in range(number)]


def bare(marked: str) -> str:
    """A line without its tags, escaped as it is."""
    for tag in sorted({tag.xml for tag in parse_markup(marked).tags}, key=len, reverse=True):
        marked = marked.replace(tag, "")
    return marked
