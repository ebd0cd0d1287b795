"""Inline tags of HTML, XLIFF and TMX: text with tags and its translation without, in; translations with tags out.

A line is one segment. An opening tag and its end make an element:

- of HTML and XLIFF: ``<b> </b>``, ``<g id="1"> </g>``;
- of TMX: ``<bpt i="1"></bpt>`` and ``<ept i="1"></ept>`` of one number;
- of XLIFF: ``<bx/>`` and ``<ex/>``, or ``<sc/>`` and ``<ec/>``, of one number.

Every tag of the source is in the translation, once, inside the elements that held it
(:mod:`isoglot.projection.elements`), with the white space that it had around it. Codes of pairs that cross elements
stand alone, the end never before the beginning.

Text is read and written with ``&lt;`` and ``&amp;``; references to characters in the translation stay unchanged.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

from isoglot.core.checks import shortened
from isoglot.core.errors import InputError
from isoglot.corpus.open_corpus import Corpus, open_corpus
from isoglot.formats.inline_tags import MarkedText, different_tags, marked_text, segment
from isoglot.formats.line_files import numbered_lines, parsed
from isoglot.formats.markup_lines import parse_markup, unescaped, without_subflows
from isoglot.formats.pair_writer import pair_writer
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import locate_words, split_words
from isoglot.projection.elements import Placements, place_elements
from isoglot.projection.labels import LabelKind, LabelledPair, ReportedTag
from isoglot.projection.rule import Range
from isoglot.projection.white_space import as_markup, as_text_and_tags, translation_parts

_DOCUMENT = re.compile(r"\s*(<\?xml|<!DOCTYPE|<tmx|<xliff|<html|<body)\b", re.IGNORECASE)
"""The beginning of a document, where lines of segments were expected."""
_COLUMN_ENDS = str.maketrans("\t\n\r", "   ")
"""Keeps a tag in one column of the table of problems."""


class InlineTags(LabelKind):
    """Lines with inline tags, and their translations."""

    def pairs(self) -> Iterator[LabelledPair]:
        """Yield one pair per line, labelled with the line and with the escaped characters of its translation."""
        yield from self._segmented(self._lines())

    def _lines(self) -> Iterator[LabelledPair]:
        sources = parsed(parse_markup, _segments(self.labels_path), self.labels_path)
        translations = parsed(unescaped, _segments(self.translation_path), self.translation_path)
        lines = self.paired(zip_longest(sources, translations))
        for number, (marked, (text, escaped)) in enumerate(lines, 1):
            yield cut_marked(SentencePair((marked.text, text), line=number), marked, escaped, self.cut)

    def _segmented(self, pairs: Iterable[LabelledPair]) -> Iterator[LabelledPair]:
        """Give translations the words of the file ``segmented``, if there is one."""
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
            line, segmented = numbered
            text, _ = unescaped(segmented)
            words = split_words(text, mode="whitespace")
            spans = locate_words(pair.target, words)
            if spans is None:
                problem = (
                    f"{shortened(words)} do not spell the translation; only separate its words by spaces"
                )
                raise InputError(problem, path=path, line=line)
            _, (source_spans, _) = pair.texts_and_spans
            pair.words, pair.spans = (pair.source_words, words), (source_spans, spans)
            yield pair

    def carried(self, pair: LabelledPair) -> Any:
        """Write the translation with the tags."""
        marked, escaped = pair.labels
        placed = self.place(pair, marked)
        return as_markup(translation_parts(placed), escaped) + "\n"

    def place(self, pair: SentencePair, marked: MarkedText) -> Placements:
        """Place the elements of a line in its translation; count them, and report tags that a person should look at."""
        self.counts.examples += 1
        self.counts.written += 1
        placed = place_elements(marked, pair, self.options.gap)
        self.counts.fates.update(placed.fates.values())
        changes: dict[int, str] = dict.fromkeys(placed.moved, "moved")
        # A moved element is wordless or lost; of a lost one it is reported that it is lost, which says more.
        changes.update(placed.fates)
        for number, change in sorted(changes.items()):
            if change in ("lost", "split", "moved"):
                opening = marked.elements[number].opening
                self._report(pair, change, marked.tags[opening].xml)
        # Text inside a code (TMX's `<sub>`, a subflow) is not carried; a person has to translate it.
        for tag in marked.tags:
            if without_subflows(tag) != tag:
                self._report(pair, "untranslated", tag.xml)
        return placed

    def _report(self, pair: SentencePair, problem: str, tag: str) -> None:
        self.problems.append(ReportedTag(pair.line, problem, tag.translate(_COLUMN_ENDS)))


class TranslationMemory(InlineTags):
    """Units of TMX: tags of the source segment go to the target segment, unless that has tags of its own."""

    def pairs(self) -> Iterator[LabelledPair]:
        """Yield one pair per unit."""
        yield from self._segmented(self._units())

    def _units(self) -> Iterator[LabelledPair]:
        for pair in self._corpus.pairs():
            (marked,) = parsed(_marked_source, [(pair.line, pair)], self.labels_path)
            # Nothing is escaped: `carried` writes text and tags, not a line of markup.
            yield cut_marked(pair, marked, escaped="", cut=self.cut)

    def carried(self, pair: LabelledPair) -> LabelledPair:
        """Write the unit with the tags in both segments."""
        source_tags, target_tags = pair.tags
        if target_tags:
            self.counts.examples += 1
            self.counts.written += 1
            for problem, tag in different_tags(source_tags, target_tags):
                self._report(pair, problem, tag)
        else:
            marked, _ = pair.labels
            placed = self.place(pair, marked)
            text, tags = as_text_and_tags(translation_parts(placed), placed.line.target.text)
            pair.texts, pair.tags = (pair.source, text), (source_tags, tags)
        pair.words, pair.spans = ((), ()), None  # they were cut here; a unit is written as running text
        return pair

    @contextmanager
    def writer(self) -> Iterator[Callable[[Any], object]]:
        """Open the output: TMX, JSON lines or TSV."""
        with pair_writer([str(self.out)], self._corpus.inputs[0].source.languages("bitext")) as write:
            yield lambda pair: write(pair, {})

    @cached_property
    def _corpus(self) -> Corpus:
        return open_corpus([self.labels_path], "bitext", languages=self.languages)


def _marked_source(pair: SentencePair) -> MarkedText:
    """Read the source segment of a unit with its elements."""
    text, tags = pair.source, pair.tags[0]
    if any(tag.name == "sub" for tag in tags):
        # TMX has <sub> inside codes only. Outside of one it is HTML's, whose text (`H<sub>2</sub>O`) is translated.
        return parse_markup(segment(text, tags))
    return marked_text(text, tags)


def _segments(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file; refuse a file that is a whole document."""
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
    escaped: Sequence[str],
    cut: Callable[[str], tuple[list[str], list[Range]]],
) -> LabelledPair:
    """Cut a line with tags and its translation into words.

    ``escaped``: Each character of the translation as markup has it, ``&amp;`` for ``&``. With the line it is the label.
    ``cut``: Cuts plain text into words, and says where they are.
    """
    source_spans: list[Range] = []
    for start, end in marked.segments():
        _, spans = cut(marked.text[start:end])
        for first, stop in spans:
            source_spans.append((start + first, start + stop))
    source_words = [marked.text[start:end] for start, end in source_spans]
    target_words, target_spans = cut(pair.target)
    labelled = LabelledPair.of_pair(pair, labels=(marked, escaped))
    labelled.words = source_words, target_words
    labelled.spans = source_spans, target_spans
    return labelled
