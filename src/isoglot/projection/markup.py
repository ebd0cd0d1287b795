"""Inline tags of HTML, XLIFF and TMX: text with tags and its translation without, in; translations with tags out.

A line is one segment. What stands between an opening tag and its end (``<b> </b>``, ``<g id="1"> </g>``; ``<bpt i="1">
</bpt>`` and ``<ept i="1"></ept>``; ``<bx/>`` and ``<ex/>``, ``<sc/>`` and ``<ec/>`` of one number) is an element.
Every tag of the source is in the translation, once, inside the elements that held it
(:mod:`isoglot.projection.elements`), with the white space that it had around it. Codes of pairs that cross elements
stand alone, the end never before the beginning.

The text is read and written with ``&lt;`` and ``&amp;``; references to characters in the translation stay as they are.
"""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, groupby, pairwise, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any
from unicodedata import category, east_asian_width

from isoglot.checks import shortened
from isoglot.corpus.open_corpus import Corpus, open_corpus
from isoglot.errors import InputError
from isoglot.formats.line_files import numbered_lines, parsed
from isoglot.formats.pair_writer import pair_writer
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.tmx_writer import segment
from isoglot.formats.words import has_unspaced, locate_words, split_words
from isoglot.projection.elements import MarkupProjection
from isoglot.projection.labels import LabelKind
from isoglot.projection.rule import Words
from isoglot.projection.tags import (
    MarkedText,
    Tag,
    different_tags,
    first_tag,
    parse_markup,
    read_tags,
    without_subflows,
)

_REFERENCE = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);|.", re.DOTALL)
_DOCUMENT = re.compile(r"\s*(<\?xml|<!DOCTYPE|<tmx|<xliff|<html|<body)\b", re.IGNORECASE)
_COLUMN_ENDS = str.maketrans("\t\n\r", "   ")
_LINE_ENDS = str.maketrans({"\n": "&#10;", "\r": "&#13;"})
_ESCAPED = {"&": "&amp;", "<": "&lt;"}


class InlineTags(LabelKind):
    """Lines with inline tags, and their translations."""

    def pairs(self) -> Iterator[SentencePair]:
        """One pair per line, labelled with its tags and with how the translation is written."""
        sources = parsed(parse_markup, _segments(self.labels), self.labels)
        translations = parsed(unescaped, _segments(self.translation), self.translation)
        pairs = enumerate(self.paired(zip_longest(sources, translations)), 1)
        yield from self._segmented(
            cut_marked(self.pair_of(marked.text, text, line), marked, written, self.cut)
            for line, (marked, (text, written)) in pairs
        )

    def pair_of(self, source: str, target: str, line: int | None = None) -> SentencePair:
        """The texts of a line and of its translation."""
        return SentencePair((source, target), line=line)

    def _segmented(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """The pairs, with the words that a segmenter has found in their translations if there is a file of them."""
        path = self.options.segmented
        if path is None:
            yield from pairs
            return
        for pair, numbered in zip_longest(pairs, numbered_lines(path)):
            if pair is None or numbered is None:
                problem = "has more lines than" if pair is None else "ends before"
                raise InputError(
                    f"{problem} the translation; one line of words for each is needed", path=path
                )
            line, words = numbered[0], split_words(unescaped(numbered[1])[0], mode="whitespace")
            spans = locate_words(pair.target, words)
            if spans is None:
                problem = (
                    f"{shortened(words)} do not spell the translation; only separate its words by spaces"
                )
                raise InputError(problem, path=path, line=line)
            pair.words, pair.spans = (pair.source_words, words), (pair.texts_and_spans[1][0], spans)
            yield pair

    def carried(self, pair: SentencePair) -> Any:
        """The translation with the tags."""
        marked, written = pair.labels
        self.counts.examples += 1
        self.counts.written += 1
        projection = MarkupProjection(marked, pair, self.options.gap)
        self.counts.fates.update(projection.fates.values())
        changes = {**dict.fromkeys(projection.moved, "moved"), **projection.fates}
        for number, change in sorted(changes.items()):
            if change in ("lost", "split", "moved"):
                self._report(pair, change, marked.tags[marked.elements[number].opening].text)
        for tag in marked.tags:
            if without_subflows(tag) != tag.text:
                self._report(pair, "untranslated", tag.text)
        return marked_translation(projection, written) + "\n"

    def _report(self, pair: SentencePair, problem: str, tag: str) -> None:
        self.problems.append((pair.line, problem, tag.translate(_COLUMN_ENDS)))


class TranslationMemory(InlineTags):
    """Units of TMX: tags of the source segment go to the target segment, unless that has tags of its own."""

    def pairs(self) -> Iterator[SentencePair]:
        """One pair per unit."""

        def read(pair: SentencePair) -> SentencePair:
            lines = [(pair.line, segment(pair.source, pair.tags[0]))]
            (marked,) = parsed(parse_markup, lines, self.labels)
            return cut_marked(pair, marked, unescaped(segment(pair.target))[1], self.cut)

        return self._segmented(map(read, self._corpus.pairs()))

    def carried(self, pair: SentencePair) -> SentencePair:
        """The unit with the tags in both segments."""
        if not pair.tags[1]:
            text, tags = read_tags(super().carried(pair).removesuffix("\n"))
            pair.texts = pair.source, text
            pair.tags = pair.tags[0], tuple((tag.offset, tag.text) for tag in tags)
        else:
            self.counts.examples += 1
            self.counts.written += 1
            source, target = ([tag for _, tag in tags] for tags in pair.tags)
            for problem, tag in different_tags(source, target):
                self._report(pair, problem, tag)
        pair.words, pair.spans = ((), ()), None
        return pair

    @contextmanager
    def writer(self) -> Iterator[Callable[[Any], object]]:
        """Pairs in TMX, JSON lines or TSV."""
        with pair_writer([str(self.out)], self._corpus.inputs[0].source.languages("bitext")) as write:
            yield lambda pair: write(pair, {})

    @cached_property
    def _corpus(self) -> Corpus:
        return open_corpus([self.labels], "bitext", languages=self.languages)


def _segments(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, which is not a document of its own."""
    for number, line in numbered_lines(path):
        if document := _DOCUMENT.match(line):
            raise InputError(
                f"is a document ({document[1]}), but markup is read as one segment per line; write the content of each "
                "segment (<seg>, <source>, <p>) on a line of its own; of a TMX file, leave the translation out",
                path=path,
                line=number,
            )
        yield number, line


def cut_marked(
    pair: SentencePair,
    marked: MarkedText,
    written: Sequence[str],
    cut: Callable[[str], tuple[list[str], list[Words]]],
) -> SentencePair:
    """The pair with the words of a line with tags and of its translation, as ``cut`` has those of plain text."""
    segments = ((start, cut(marked.text[start:end])[1]) for start, end in marked.segments())
    source = [(start + first, start + stop) for start, spans in segments for first, stop in spans]
    words, target = cut(pair.target)
    pair.words, pair.spans = ([marked.text[start:end] for start, end in source], words), (source, target)
    pair.labels = marked, written
    return pair


def marked_translation(projection: MarkupProjection, written: Sequence[str]) -> str:
    """A translation with the tags of its source; ``written``: its characters as they stand in markup."""
    return "".join(_Translation(projection, written).parts())


def unescaped(text: str) -> tuple[str, Sequence[str]]:
    """A text with its references to characters resolved, and how each of its characters is written in markup.

    Raises:
        InputError: The text has a tag.

    Example:
        >>> unescaped("Tom &amp; R&D")
        ('Tom & R&D', ['T', 'o', 'm', ' ', '&amp;', ' ', 'R', '&amp;', 'D'])
    """
    if "&" not in text and "<" not in text:
        return text, text
    if (tag := first_tag(text)) is not None:
        raise InputError(
            f"{shortened(tag)} is in the translation; remove its tags, or write &lt; for a < of the text"
        )
    characters, written = "", list[str]()
    for match in _REFERENCE.finditer(text):
        resolved = html.unescape(match[0])
        characters += resolved
        if resolved == match[0]:
            written += [_ESCAPED.get(character, character) for character in resolved]
        elif resolved:
            written += [match[0], *[""] * (len(resolved) - 1)]
    return characters, written


def _space_between(left: Tag, right: Tag) -> str | None:
    """White space between two tags that stand in one gap, as the source has it; None if it says nothing.

    A tag that is written together with the word behind it stays so, whatever the source has before the other tag:
    ``<x/>Traffic is <b>currently</b> heavy`` becomes ``<x/><b>Aktuell</b> …``. So does one with the word before it.
    """
    opens = left.role == "open" or (left.role == "alone" and right.role == "open")
    closes = right.role == "close" or (right.role == "alone" and left.role == "close")
    if (opens and left.after == "") or (closes and right.before == ""):
        return ""
    return left.after or right.before or ("" if "" in (left.after, right.before) else None)


class _Translation:
    """A translation with its tags."""

    def __init__(self, projection: MarkupProjection, written: Sequence[str]) -> None:
        self._projection, self._written = projection, written
        self._marked = projection.marked
        (_, self._text), (_, self._words) = projection.pair.texts_and_spans
        crossing = {tag for pair in self._marked.crossing for tag in pair}
        self._alone = {
            tag: number
            for number in projection.gaps.keys() - projection.fates.keys()
            for tag in range(self._marked.elements[number].opening, self._marked.elements[number].closing + 1)
            if tag not in crossing
        }
        """Tags that had no words between them, and the elements that they are of."""

    def parts(self) -> Iterator[str]:
        """The parts of the line."""
        spans, done = self._words, 0
        for (word, characters), group in groupby(self._projection.tags(), key=itemgetter(0)):
            tags = [tag for _, tag in group]
            if characters:
                start = end = spans[word][0] + characters
                spaces = [""] * (len(tags) + 1)
            else:
                start = spans[word - 1][1] if word else 0
                end = spans[word][0] if word < len(spans) else len(self._text)
                spaces = self._spaces(tags, word, start, end)
            yield from self._written[done:start]
            for space, tag in zip(spaces, tags, strict=False):
                yield space
                yield without_subflows(self._marked.tags[tag])
            yield spaces[-1]
            done = end
        yield from self._written[done:]

    def _spaces(self, numbers: Sequence[int], gap: int, start: int, end: int) -> list[str]:
        """The white space before each of the tags in a gap, and after the last.

        It is that of the source where the translation has the same there. Else the translation's is where the source
        has some; beside tags that stand alone, more is added where the source has some too.
        """
        text, tags = self._text, [self._marked.tags[number] for number in numbers]
        space, left, right = text[start:end], text[start - 1 : start] if start else "", text[end : end + 1]
        slots = [tags[0].before]  # as the source has it; none where both stand beside other tags
        slots += [_space_between(a, b) for a, b in pairwise(tags)]
        slots.append(tags[-1].after)
        if "".join(slot or "" for slot in slots) == space:
            bounds = [*accumulate((len(slot or "") for slot in slots), initial=start)]
            return ["".join(self._written[a:b]) for a, b in pairwise(bounds)]
        if not left or (slots[0] is None and tags[0].offset == 0):
            slots[0] = (left and slots[-1]) or None
        if not right or (slots[-1] is None and tags[-1].offset == len(self._marked.text)):
            slots[-1] = (right and slots[0]) or None
        alone = [number in self._alone for number in numbers]
        spaces = [""] * len(slots)
        touching = all(alone) and slots[0] == "" == slots[-1] and not any(slots)
        if space and not (touching and self._glued(numbers, gap, space, left + right)):
            # where the source has space, or may have it, else behind ends and before beginnings
            ends = next((n for n, tag in enumerate(tags) if tag.role != "close"), len(tags))
            free = [n for n, slot in enumerate(slots) if slot is None and any(alone)]
            choice = [n for n, slot in enumerate(slots) if slot] or free or [ends]
            spaces[ends if ends in choice else choice[0]] = "".join(self._written[start:end])
        first, unspaced = 0, self._is_unspaced(start, end)
        for stop in [*(n for n, single in enumerate(alone, 1) if single), len(slots)]:
            side, first = range(first, stop), stop  # the slots between two tags that stand alone
            slot = next((n for n in side if slots[n]), None)
            if slot is None or not any(alone) or any(spaces[n] for n in side) or unspaced:
                continue
            before = side[0] > 0 or (left and category(left) not in ("Ps", "Pi"))
            behind = stop < len(slots) or (right and category(right) not in ("Pe", "Pf", "Po"))
            if before and behind:
                spaces[slot] = (slots[slot] or "").translate(_LINE_ENDS)
        return spaces

    def _is_unspaced(self, start: int, end: int) -> bool:
        """Whether the text beside a gap has no spaces between words, as in Japanese, also behind a full stop."""
        before, behind = self._text[:start], self._text[end:]
        if any(
            east_asian_width(mark) in "WF" and category(mark)[0] == "P" for mark in before[-1:] + behind[:1]
        ):
            return True
        nearest_left = next(filter(str.isalnum, reversed(before)), "")
        nearest_right = next(filter(str.isalnum, behind), "")
        return has_unspaced(nearest_left + nearest_right)

    def _glued(self, numbers: Sequence[int], gap: int, space: str, beside: str) -> bool:
        """Whether tags touch a word as in the source, so that space of the translation alone may go.

        Not between two letters, where words would grow together.
        """
        elements = [self._projection.spans[self._alone[number]].words for number in (numbers[0], numbers[-1])]
        linked = self._projection.linked
        as_in_source = linked(elements[0][0] - 1, gap - 1) or linked(elements[1][1], gap)
        return as_in_source and space.isspace() and not beside.isalnum()
