"""A stretch of labelled text beside its translation, and how the counts of a projection are kept."""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from isoglot.aligners.alignment import PairLinks
from isoglot.aligners.options import Encoder
from isoglot.aligners.pieces import Cut, load_cut
from isoglot.corpus.encode.words import has_unspaced, joined_spans, word_spans
from isoglot.corpus.labelled.tags import UNLABELLED
from isoglot.errors import InputError
from isoglot.projection.options import ProjectRequest
from isoglot.projection.rule import ProjectedSpan, Words, project_spans

One = TypeVar("One")
Other = TypeVar("Other")


class CutText(NamedTuple):
    """A text and the characters ``[start, end)`` of each of its words, from left to right."""

    text: str
    spans: list[Words]

    @property
    def words(self) -> list[str]:
        """The words themselves."""
        return [self.text[start:end] for start, end in self.spans]

    def word(self, number: int) -> str:
        """One of them."""
        start, end = self.spans[number]
        return self.text[start:end]

    def characters(self, words: Words) -> Words:
        """Where some words begin and end."""
        return self.spans[words[0]][0], self.spans[words[1] - 1][1]

    def covered(self, start: int, end: int) -> Words:
        """The words that share a character with ``[start, end)``; an empty span if there is no such word."""
        first = bisect_right(self.spans, start, key=lambda span: span[1])
        stop = bisect_left(self.spans, end, key=lambda span: span[0])
        return (first, stop) if first < stop else (0, 0)


@dataclass(slots=True)
class Unit:
    """What is aligned at a time: a sentence, a line or a context, and its translation."""

    source: Sequence[str]  # words
    target: Sequence[str]
    labels: Any  # what its kind needs to write it
    windows: Sequence[tuple[Words, Words]] | None = None  # words of parts that are aligned by themselves
    id: str | None = None  # what the labelled file calls it
    line: int | None = None  # where it stands there

    @property
    def whole(self) -> tuple[Words, Words]:
        """All words of both sides."""
        return (0, len(self.source)), (0, len(self.target))

    def parts(self) -> list[tuple[Words, Words]]:
        """The parts that have words on both sides."""
        windows = [self.whole] if self.windows is None else self.windows
        return [(a, b) for a, b in windows if a[0] < a[1] and b[0] < b[1]]


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
        parts = [f"{self.examples:,} examples, {self.written:,} written"]
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
    request: ProjectRequest
    counts: ProjectionCounts = field(default_factory=ProjectionCounts)
    problems: list[tuple[int | None, str, str]] = field(default_factory=list)
    """Line of a tag, whether it is lost, split or moved, and the tag."""

    @abstractmethod
    def units(self) -> Iterator[Unit]:
        """The units in their order."""

    @abstractmethod
    def text(self, unit: Unit, found: PairLinks) -> str:
        """A unit with its labels as lines of the output; empty if it is left out."""

    def paired(self, pairs: Iterable[tuple[One | None, Other | None]]) -> Iterator[tuple[One, Other]]:
        """Sentence and translation; both files have equally many."""
        for number, (one, other) in enumerate(pairs):
            if one is None or other is None:
                paths = self.labels, self.translation
                short, long = paths if one is None else paths[::-1]
                raise InputError(
                    f"ends after {number:,} sentences, but {long} continues; sentence i must translate sentence i",
                    path=short,
                )
            yield one, other

    def projected(
        self, spans: Sequence[Words], found: PairLinks, length: int, *, exclusive: bool = True
    ) -> list[ProjectedSpan]:
        """As :func:`project_spans`, and counted."""
        result = project_spans(spans, found, length, exclusive=exclusive, gap=self.request.gap)
        self.counts.fates.update(span.fate for span in result)
        return result

    def cut(self, text: str) -> CutText:
        """Running text, cut as ``--words`` says.

        Single characters of Chinese, Japanese, Thai and the like are joined where the encoder's tokenizer has a longer
        piece: pieces are closer to words, and an encoder links them better.
        """
        spans = word_spans(text, mode=self.request.words)
        if self.request.words == "unicode" and has_unspaced(text) and self._pieces is not None:
            spans = joined_spans(text, spans, self._pieces(text)[1])
        return CutText(text, spans)

    @cached_property
    def _pieces(self) -> Cut | None:  # loads transformers, which other text does without
        links = self.request.links
        return load_cut(links.model) if isinstance(links, Encoder) else None
