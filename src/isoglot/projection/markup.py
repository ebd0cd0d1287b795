"""Inline tags of HTML, XLIFF and TMX: text with tags and its translation without, in; translations with tags out.

A line is one segment. What stands between an opening tag and its end (``<b> </b>``, ``<g id="1"> </g>``; ``<bpt i="1">
</bpt>`` and ``<ept i="1"></ept>``; ``<bx/>`` and ``<ex/>``, ``<sc/>`` and ``<ec/>`` of one number) is an element.
Every tag of the source is in the translation, once, inside the elements that held it
(:mod:`isoglot.projection.elements`), with the white space that it had around it. Codes of pairs that cross elements
stand alone, the end never before the beginning.

The text is read and written with ``&lt;`` and ``&amp;``; references to characters in the translation stay as they are.
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
from isoglot.projection.labels import LabelKind, LabelledPair
from isoglot.projection.rule import Range
from isoglot.projection.white_space import as_markup, as_text_and_tags, translation_parts

_DOCUMENT = re.compile(r"\s*(<\?xml|<!DOCTYPE|<tmx|<xliff|<html|<body)\b", re.IGNORECASE)
_COLUMN_ENDS = str.maketrans("\t\n\r", "   ")


class InlineTags(LabelKind):
    """Lines with inline tags, and their translations."""

    def pairs(self) -> Iterator[LabelledPair]:
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

    def _segmented(self, pairs: Iterable[LabelledPair]) -> Iterator[LabelledPair]:
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

    def carried(self, pair: LabelledPair) -> Any:
        """The translation with the tags."""
        marked, written = pair.labels
        placed = self.placed(pair, marked)
        return as_markup(translation_parts(placed), written) + "\n"

    def placed(self, pair: SentencePair, marked: MarkedText) -> Placements:
        """Where the elements of a line stand in its translation, counted, and reported where one should look."""
        self.counts.examples += 1
        self.counts.written += 1
        placed = place_elements(marked, pair, self.options.gap)
        self.counts.fates.update(placed.fates.values())
        changes = {**dict.fromkeys(placed.moved, "moved"), **placed.fates}
        for number, change in sorted(changes.items()):
            if change in ("lost", "split", "moved"):
                self._report(pair, change, marked.tags[marked.elements[number].opening].xml)
        for tag in marked.tags:
            if without_subflows(tag) != tag:
                self._report(pair, "untranslated", tag.xml)
        return placed

    def _report(self, pair: SentencePair, problem: str, tag: str) -> None:
        self.problems.append((pair.line, problem, tag.translate(_COLUMN_ENDS)))


class TranslationMemory(InlineTags):
    """Units of TMX: tags of the source segment go to the target segment, unless that has tags of its own."""

    def pairs(self) -> Iterator[LabelledPair]:
        """One pair per unit."""

        def read(pair: SentencePair) -> LabelledPair:
            (marked,) = parsed(_marked_source, [(pair.line, pair)], self.labels)
            return cut_marked(pair, marked, "", self.cut)

        return self._segmented(map(read, self._corpus.pairs()))

    def carried(self, pair: LabelledPair) -> LabelledPair:
        """The unit with the tags in both segments."""
        if not pair.tags[1]:
            marked, _ = pair.labels
            placed = self.placed(pair, marked)
            text, tags = as_text_and_tags(translation_parts(placed), placed.line.target.text)
            pair.texts, pair.tags = (pair.source, text), (pair.tags[0], tags)
        else:
            self.counts.examples += 1
            self.counts.written += 1
            for problem, tag in different_tags(*pair.tags):
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


def _marked_source(pair: SentencePair) -> MarkedText:
    """The source of a unit with its elements."""
    text, tags = pair.source, pair.tags[0]
    if any(tag.name == "sub" for tag in tags):
        # TMX has it inside codes only. Outside of one it is HTML's, whose text (`H<sub>2</sub>O`) is translated.
        return parse_markup(segment(text, tags))
    return marked_text(text, tags)


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
    cut: Callable[[str], tuple[list[str], list[Range]]],
) -> LabelledPair:
    """The pair of a line with tags and its translation, in words: ``cut`` has those of plain text.

    Its labels are the marked line, and how each character of the translation is written in markup.
    """
    segments = ((start, cut(marked.text[start:end])[1]) for start, end in marked.segments())
    source = [(start + first, start + stop) for start, spans in segments for first, stop in spans]
    words, target = cut(pair.target)
    labelled = LabelledPair.of_pair(pair, labels=(marked, written))
    labelled.words = [marked.text[start:end] for start, end in source], words
    labelled.spans = source, target
    return labelled
