"""What all kinds of labels share: how they are read beside their translation, cut into words, counted and written."""

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from isoglot.aligners.options import Encoder
from isoglot.aligners.pieces import Cut, load_cut
from isoglot.core.errors import InputError
from isoglot.formats.labelled.tags import UNLABELLED
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.sources import UNNAMED
from isoglot.formats.words import has_unspaced, joined_spans, word_spans
from isoglot.projection.options import ProjectOptions
from isoglot.projection.rule import ProjectedSpan, Range, project_spans
from isoglot.runs.files import text_output

_SPACE = re.compile(r"[\s\u200b]+")
Labelled = TypeVar("Labelled")
Translated = TypeVar("Translated")


def characters(spans: Sequence[Range], words: Range) -> Range:
    """Where some words begin and end, if ``spans`` are the characters ``[start, end)`` of each word."""
    return spans[words[0]][0], spans[words[1] - 1][1]


def covered(spans: Sequence[Range], start: int, end: int) -> Range:
    """The words that share a character with ``[start, end)``; an empty span if there is no such word."""
    first = bisect_right(spans, start, key=lambda span: span[1])
    stop = bisect_left(spans, end, key=lambda span: span[0])
    return (first, stop) if first < stop else (0, 0)


@dataclass(slots=True)
class LabelledPair(SentencePair):
    """A text with its labels, and its translation; each kind of labels has a form of its own."""

    labels: Any = None

    @classmethod
    def of_pair(cls, pair: SentencePair, labels: Any) -> Self:
        """A pair with labels."""
        return cls(**{known.name: getattr(pair, known.name) for known in fields(SentencePair)}, labels=labels)


@dataclass
class ProjectionCounts:
    """What became of the labels."""

    examples: int = 0  # sentences, lines or questions
    written: int = 0
    words: int = 0  # of the translations that were written
    labelled: int = 0  # of these, those that have a tag
    fates: Counter[str] = field(default_factory=Counter)  # of spans: whole, shortened, split, lost

    @property
    def spans(self) -> int:
        """Spans in all."""
        return sum(self.fates.values())

    def add_tags(self, tags: Sequence[str]) -> None:
        """Count a sentence that is written with these tags."""
        self.written += 1
        self.words += len(tags)
        self.labelled += sum(tag != UNLABELLED for tag in tags)

    def summary(self) -> str:
        """One line."""
        parts = [f"{self.examples:,} example{'s' * (self.examples != 1)}, {self.written:,} written"]
        if self.words:
            parts.append(f"{self.labelled:,} of {self.words:,} words labelled")
        if self.spans:
            fates = (f"{self.fates[fate]:,} {fate}" for fate in ("lost", "split", "shortened"))
            parts.append(f"{self.spans:,} spans: {', '.join(fates)}")
        return "; ".join(parts)


@dataclass
class LabelKind(ABC):
    """How one kind of labels is read and written."""

    labels: str | Path
    translation: str | Path
    out: str | Path
    options: ProjectOptions
    counts: ProjectionCounts = field(default_factory=ProjectionCounts)
    problems: list[tuple[int | None, str, str]] = field(default_factory=list)
    """Line of a tag, whether it is lost, split or moved, and the tag."""

    @abstractmethod
    def pairs(self) -> Iterator[LabelledPair]:
        """Labelled sentences, lines or contexts with their translations, in their order, in words."""

    def windows(self, pair: SentencePair) -> Iterable[tuple[Range, Range]]:
        """Words of both sides that are aligned by themselves: all of a pair."""
        source, target = pair.words
        return [((0, len(source)), (0, len(target)))]

    def parts(self, pair: SentencePair) -> Iterator[tuple[int, int, SentencePair]]:
        """The :meth:`windows` of a pair as pairs, with the numbers of their first words on both sides."""
        for (first, stop), (target_first, target_stop) in self.windows(pair):
            words = pair.words[0][first:stop], pair.words[1][target_first:target_stop]
            if all(words):
                source, target = ([_SPACE.sub("", word) or "_" for word in side] for side in words)
                yield first, target_first, SentencePair.of(source, target, languages=self.languages)

    @abstractmethod
    def carried(self, pair: LabelledPair) -> Any:
        """What is written of a pair with links: lines with the labels, or nothing if it is left out."""

    @contextmanager
    def writer(self) -> Iterator[Callable[[Any], object]]:
        """A function that writes what is :meth:`carried`."""
        with text_output(self.out) as file:
            yield file.write

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the labelled text and of its translation."""
        return self.options.source_language or UNNAMED[0], self.options.target_language or UNNAMED[1]

    def paired(
        self, pairs: Iterable[tuple[Labelled | None, Translated | None]]
    ) -> Iterator[tuple[Labelled, Translated]]:
        """Sentence and translation; both files have equally many."""
        for number, (labelled, translated) in enumerate(pairs):
            if labelled is None or translated is None:
                paths = self.labels, self.translation
                short, long = paths if labelled is None else paths[::-1]
                raise InputError(
                    f"ends after {number:,} sentences, but {long} continues; sentence i must translate sentence i",
                    path=short,
                )
            yield labelled, translated

    def project(
        self, spans: Sequence[Range], pair: SentencePair, *, exclusive: bool = True
    ) -> list[ProjectedSpan]:
        """As :func:`project_spans`, and counted."""
        length = len(pair.target_words)
        projected = project_spans(spans, pair, length, exclusive=exclusive, gap=self.options.gap)
        self.counts.fates.update(span.fate for span in projected)
        return projected

    def cut(self, text: str) -> tuple[list[str], list[Range]]:
        """The words of running text as ``--words`` says, and the characters of each.

        Single characters of Chinese, Japanese, Thai and the like are joined where the encoder's tokenizer has a longer
        piece: pieces are closer to words, and an encoder links them better.
        """
        spans = word_spans(text, mode=self.options.words)
        if self.options.words == "unicode" and has_unspaced(text) and self._pieces is not None:
            spans = joined_spans(text, spans, self._pieces(text)[1])
        return [text[start:end] for start, end in spans], spans

    @cached_property
    def _pieces(self) -> Cut | None:  # loads transformers, which other text does without
        links = self.options.links
        return load_cut(links.model) if isinstance(links, Encoder) else None
