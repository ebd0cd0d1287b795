"""A stretch of labelled text beside its translation, and how the counts of a projection are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from isoglot.aligners.alignment import PairLinks
from isoglot.corpus.labelled.tags import UNLABELLED
from isoglot.errors import InputError
from isoglot.projection.options import ProjectRequest
from isoglot.projection.rule import ProjectedSpan, Words
from isoglot.projection.words import WordCutter

One = TypeVar("One")
Other = TypeVar("Other")


@dataclass(slots=True)
class Unit:
    """What is aligned at a time: a sentence, a line or a context, and its translation."""

    source: Sequence[str]  # words
    target: Sequence[str]
    labels: Any  # what its kind needs to write it
    windows: Sequence[tuple[Words, Words]] | None = None  # words of parts that are aligned by themselves

    def parts(self) -> list[tuple[Words, Words]]:
        """The parts that have words on both sides."""
        whole = [((0, len(self.source)), (0, len(self.target)))]
        return [
            (a, b)
            for a, b in (whole if self.windows is None else self.windows)
            if a[0] < a[1] and b[0] < b[1]
        ]


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

    def add(self, found: Iterable[ProjectedSpan]) -> None:
        """Count spans."""
        self.fates.update(span.fate for span in found)

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

    def __post_init__(self) -> None:
        self.cut = WordCutter(self.request)  # running text to words

    @abstractmethod
    def units(self) -> Iterator[Unit]:
        """The units in their order."""

    @abstractmethod
    def text(self, unit: Unit, found: PairLinks) -> str:
        """A unit with its labels as lines of the output; empty if it is left out."""


def paired(
    labelled: Iterable[One], translated: Iterable[Other], paths: tuple[str | Path, str | Path]
) -> Iterator[tuple[int, One, Other]]:
    """Number, sentence and translation; both files have equally many."""
    one, other = iter(labelled), iter(translated)
    for number in count(1):
        sides = next(one, None), next(other, None)
        if sides[0] is None and sides[1] is None:
            return
        if sides[0] is None or sides[1] is None:
            short, long = paths if sides[0] is None else paths[::-1]
            raise InputError(
                f"ends after {number - 1:,} sentences, but {long} continues; sentence i must translate sentence i",
                path=short,
            )
        yield number, sides[0], sides[1]


def span_words(spans: Sequence[Words], first: int, stop: int) -> Words | None:
    """The words that share a character with ``[first, stop)``; none if there is no such word.

    ``spans`` are the characters of each word, from left to right.
    """
    inside = [n for n, (a, b) in enumerate(spans) if a < stop and first < b]
    return (inside[0], inside[-1] + 1) if inside else None
