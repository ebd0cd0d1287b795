"""The interface of a kind of labels, :class:`LabelKind`, and what all kinds share.

A kind reads labels beside their translation (:meth:`LabelKind.pairs`), and writes a pair once it has links
(:meth:`LabelKind.carried`). Here text is cut into words, labels are projected, and the results are counted.
"""

import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

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
"""White space, and the zero-width space, which some treebanks have inside or as words."""
Labelled = TypeVar("Labelled")
Translated = TypeVar("Translated")


def characters(spans: Sequence[Range], words: Range) -> Range:
    """The range of characters of some words; ``spans`` has the range of each word."""
    return spans[words[0]][0], spans[words[1] - 1][1]


def covered(spans: Sequence[Range], start: int, end: int) -> Range:
    """The range of words that share a character with ``[start, end)``; (0, 0) if there is no such word.

    Example:
        >>> covered([(0, 3), (4, 9)], 2, 5)
        (0, 2)
    """
    first = bisect_right(spans, start, key=lambda span: span[1])
    stop = bisect_left(spans, end, key=lambda span: span[0])
    return (first, stop) if first < stop else (0, 0)


@dataclass(slots=True)
class LabelledPair(SentencePair):
    """A text with its labels, and its translation.

    ``labels`` has a form of its own in each kind of labels:

    | kind | ``labels`` |
    |---|---|
    | ``pos``, ``ner`` | the tag of each source word: ``("B-PER", "I-PER", "O")`` |
    | ``offsets`` | the name and the range of source words of each span: ``[("PER", (0, 2))]`` |
    | ``questions`` | of each question the row to write, without answers yet, and the source words of its answers |
    | ``markup`` | the line with its tags and elements, and the escaped characters of the translation |
    """

    labels: Any = None

    @classmethod
    def of_pair(cls, pair: SentencePair, labels: Any) -> Self:
        """Add labels to a pair."""
        values = {known.name: getattr(pair, known.name) for known in fields(SentencePair)}
        return cls(**values, labels=labels)

    def add_links(self, aligned: SentencePair, window_start: tuple[int, int]) -> None:
        """Add the links of a window pair; ``window_start`` has the numbers of its first source and target word.

        Links of an aligner, for files and for one segment, come onto a pair only here.

        Example:
            >>> pair = LabelledPair()
            >>> pair.add_links(SentencePair(links=[(0, 1)]), (10, 20))
            >>> pair.links
            [(10, 21)]
        """
        first_source, first_target = window_start
        self.links += [(first_source + i, first_target + j) for i, j in aligned.links]
        self.probabilities += aligned.probabilities


@dataclass
class ProjectionCounts:
    """Counts of the labels that were carried, and of those that were not.

    ``fates`` counts spans (of markup: elements that have words in the source), ``words`` and ``labelled`` count words.
    A count of anything else, such as single tags, needs a field of its own and a phrase in :meth:`summary`.
    """

    examples: int = 0  # sentences, lines or questions
    written: int = 0
    words: int = 0  # of the translations that were written
    labelled: int = 0  # of these, those that have a tag
    fates: Counter[str] = field(default_factory=Counter)  # of spans: whole, shortened, split, lost

    @property
    def spans(self) -> int:
        """Number of all spans."""
        return sum(self.fates.values())

    def add_tags(self, tags: Sequence[str]) -> None:
        """Count a sentence that is written with these tags."""
        self.written += 1
        self.words += len(tags)
        self.labelled += sum(tag != UNLABELLED for tag in tags)

    def summary(self) -> str:
        """Say it in one line: ``2 examples, 2 written; 3 of 4 words labelled``."""
        phrases = [f"{self.examples:,} example{'s' * (self.examples != 1)}, {self.written:,} written"]
        if self.words:
            phrases.append(f"{self.labelled:,} of {self.words:,} words labelled")
        if self.spans:
            changed = [f"{self.fates[fate]:,} {fate}" for fate in ("lost", "split", "shortened")]
            phrases.append(f"{self.spans:,} spans: {', '.join(changed)}")
        return "; ".join(phrases)


class ReportedTag(NamedTuple):
    """A tag that a person should look at: a row of the table of problems, whose columns are these fields."""

    line: int | None
    problem: str  # lost, split, moved, untranslated; of tags that a translation has already, how they differ
    tag: str


@dataclass
class LabelKind(ABC):
    """A kind of labels: the functions that read and write it.

    Args:
        labels_path: File of the labelled text.
        translation_path: File of its translation.
        out: File to write.
        options: The options of ``isoglot project``.
        counts: Filled while pairs are written.
        problems: Filled by markup: the tags that a person should look at.
    """

    labels_path: str | Path
    translation_path: str | Path
    out: str | Path
    options: ProjectOptions
    counts: ProjectionCounts = field(default_factory=ProjectionCounts)
    problems: list[ReportedTag] = field(default_factory=list)

    @abstractmethod
    def pairs(self) -> Iterator[LabelledPair]:
        """Yield labelled sentences, lines or contexts with their translations, cut into words, in their order.

        The labels have the form that :class:`LabelledPair` says.
        """

    def windows(self, pair: SentencePair) -> Iterable[tuple[Range, Range]]:
        """The windows of a pair: ranges of source and target words that are aligned by themselves.

        By default the whole pair is one window.
        """
        source, target = pair.words
        return [((0, len(source)), (0, len(target)))]

    def window_pairs(self, pair: SentencePair) -> Iterator[tuple[int, int, SentencePair]]:
        """Yield the :meth:`windows` of a pair as pairs of their own, with the first source and target word of each.

        The words of a window pair count from 0, so a link (1, 0) of the window that begins with the source word 5 and
        the target word 7 is the link (6, 7) of the pair. Windows without words on one side are left out.
        """
        for (first, stop), (target_first, target_stop) in self.windows(pair):
            source = _without_spaces(pair.words[0][first:stop])
            target = _without_spaces(pair.words[1][target_first:target_stop])
            if source and target:
                yield first, target_first, SentencePair.of(source, target, languages=self.languages)

    @abstractmethod
    def carried(self, pair: LabelledPair) -> Any:
        """Turn a pair with links into what is written: lines with the labels, or nothing if it is left out.

        Each kind raises ``counts.examples`` here by one for each example, and ``counts.written`` for each that is not
        left out. Without written ones the output is refused.
        """

    @contextmanager
    def writer(self) -> Iterator[Callable[[Any], object]]:
        """Open the output; the function that this gives writes what :meth:`carried` returns."""
        with text_output(self.out) as file:
            yield file.write

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the labelled text and of its translation."""
        return self.options.source_language or UNNAMED[0], self.options.target_language or UNNAMED[1]

    def paired(
        self, pairs: Iterable[tuple[Labelled | None, Translated | None]]
    ) -> Iterator[tuple[Labelled, Translated]]:
        """Yield each sentence with its translation; refuse files of which one has more than the other."""
        for number, (labelled, translated) in enumerate(pairs):
            if labelled is None or translated is None:
                paths = self.labels_path, self.translation_path
                short, long = paths if labelled is None else paths[::-1]
                raise InputError(
                    f"ends after {number:,} sentences, but {long} continues; sentence i must translate sentence i",
                    path=short,
                )
            yield labelled, translated

    def project(
        self, spans: Sequence[Range], pair: SentencePair, *, exclusive: bool = True
    ) -> list[ProjectedSpan]:
        """Project spans with :func:`project_spans`, and count what becomes of them."""
        length = len(pair.target_words)
        projected = project_spans(spans, pair, length, exclusive=exclusive, gap=self.options.gap)
        self.counts.fates.update(span.fate for span in projected)
        return projected

    def cut(self, text: str) -> tuple[list[str], list[Range]]:
        """Cut running text into words, as the option ``words`` says; return the words and the characters of each.

        Single characters of Chinese, Japanese, Thai and the like are joined where the encoder's tokenizer has a longer
        piece: pieces are closer to words, and an encoder links them better.
        """
        spans = word_spans(text, mode=self.options.words)
        if self.options.words == "unicode" and has_unspaced(text) and self._tokenizer is not None:
            _, piece_spans = self._tokenizer(text)
            spans = joined_spans(text, spans, piece_spans)
        return [text[start:end] for start, end in spans], spans

    @cached_property
    def _tokenizer(self) -> Cut | None:  # loads transformers, which other text does without
        links = self.options.links
        return load_cut(links.model) if isinstance(links, Encoder) else None


def _without_spaces(words: Sequence[str]) -> list[str]:
    """The words for an aligner, to which a space ends a word: ``10 000`` of a treebank becomes ``10000``.

    A word of spaces alone becomes ``_``, so that later words keep their numbers.
    """
    return [_SPACE.sub("", word) or "_" for word in words]
