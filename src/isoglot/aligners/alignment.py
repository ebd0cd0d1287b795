"""The links of a whole corpus as flat arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair, WordPair

IntArray = npt.NDArray[np.integer]
Lengths = Sequence[int] | IntArray
WINDOW = 8192
"""Sentence pairs at a time where a whole corpus would need more memory; no result depends on it."""
MOST_ENTRIES = 1 << 24
"""Source words × target words (pieces, with an encoder) of the largest pair that is aligned: 4,096 by 4,096."""
_ENDS = dict.fromkeys(map(ord, "\t\n\r"))


def column(word: str) -> str:
    """A word as a column of a line: what ends columns and lines is left out."""
    return word.translate(_ENDS)


def usable_words(pair: WordPair, number: int, warn: Callable[[int, str], None]) -> WordPair:
    """The words of the pair of this 1-based number; none, with a warning, where they are too many to align."""
    source, target = pair
    if not (source and target):
        warn(number, f"the {'target' if source else 'source'} side is empty; it gets no links")
    elif len(source) * len(target) > MOST_ENTRIES:
        warn(
            number,
            f"{len(source):,} × {len(target):,} words are too long for one pair; it gets no links: split it",
        )
        return (), ()
    return source, target


@dataclass(frozen=True, slots=True)
class LinkTable:
    """The links of a whole corpus as flat arrays, sorted by sentence, then source word, then target word."""

    # sentence ``s`` owns the links ``offsets[s]:offsets[s + 1]``. Shape: (sentences + 1)
    offsets: npt.NDArray[np.int64]
    source: npt.NDArray[np.int32]  # 0-based source words. Shape: (links)
    target: npt.NDArray[np.int32]  # 0-based target words. Shape: (links)
    # posterior probability of each link, if the aligner has one. Shape: (links)
    probability: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def build(
        cls,
        count: int,
        sentence: IntArray,
        source: IntArray,
        target: IntArray,
        probability: npt.NDArray[np.floating] | None = None,
    ) -> Self:
        """Sort unordered, distinct links of ``count`` sentences into a table."""
        order = np.lexsort((target, source, sentence))
        return cls(
            starts_and_end(np.bincount(sentence, minlength=count)),
            source[order].astype(np.int32),
            target[order].astype(np.int32),
            None if probability is None else probability[order].astype(np.float32),
        )

    @classmethod
    def from_alignments(cls, alignments: Iterable[Alignment]) -> Self:
        """Flatten a sequence of alignments."""
        every = list(alignments)
        flat = [(number, *link) for number, alignment in enumerate(every) for link in alignment.links]
        return cls.build(len(every), *np.array(flat, np.int64).reshape(-1, 3).T)

    @classmethod
    def from_pharaoh(cls, lines: Iterable[str], *, path: str | Path | None = None) -> Self:
        """Read Pharaoh lines; see :meth:`Alignment.from_pharaoh`."""
        return cls.from_alignments(
            Alignment.from_pharaoh(text, path=path, line=number) for number, text in enumerate(lines, 1)
        )

    def rows(self, start: int, stop: int) -> LinkTable:
        """The links of the sentences ``start`` to ``stop`` − 1."""
        first, last = self.offsets[start], self.offsets[stop]
        return LinkTable(
            self.offsets[start : stop + 1] - first,
            self.source[first:last],
            self.target[first:last],
            None if self.probability is None else self.probability[first:last],
        )

    def windows(self, stop: int) -> Iterator[LinkTable]:
        """The links of the sentences before ``stop``, some at a time."""
        return (self.rows(*window) for window in windows(stop))

    def above(self, minimum: float) -> LinkTable:
        """The links of at least this probability; all of them where they have none."""
        if self.probability is None or not minimum:
            return self
        probable = self.probability >= minimum
        return LinkTable(
            starts_and_end(probable)[self.offsets],
            self.source[probable],
            self.target[probable],
            self.probability[probable],
        )

    @property
    def sentence(self) -> npt.NDArray[np.int64]:
        """The sentence of each link. Shape: (links)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def alignments(self) -> list[Alignment]:
        """One :class:`Alignment` a sentence."""
        return [Alignment(frozenset((source, target) for source, target in pairs)) for pairs in self.lists()]

    def lists(self) -> list[list[list[int]]]:
        """One sorted ``[[source, target], …]`` a sentence, the ``links`` column of an ALIGNED corpus."""
        pairs = np.stack([self.source, self.target], axis=1).tolist()
        bounds = self.offsets.tolist()
        return [pairs[start:stop] for start, stop in pairwise(bounds)]

    def to_pharaoh(self) -> list[str]:
        """One Pharaoh line a sentence."""
        items = [f"{s}-{t}" for s, t in zip(self.source.tolist(), self.target.tolist(), strict=True)]
        bounds = self.offsets.tolist()
        return [" ".join(items[start:stop]) for start, stop in pairwise(bounds)]


def starts_and_end(lengths: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Where items of these lengths start in a flat array, and where the last one ends. **Shape**: (n) -> (n + 1)."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def windows(count: int) -> Iterator[tuple[int, int]]:
    """Where :data:`WINDOW` sentence pairs at a time begin and end; one empty window where there is no pair."""
    return ((first, min(first + WINDOW, count)) for first in range(0, max(count, 1), WINDOW))


def with_links(
    pairs: Iterable[SentencePair],
    table: LinkTable,
    source_lengths: Lengths,
    target_lengths: Lengths,
    *,
    min_score: float = 0.0,
) -> Iterator[SentencePair]:
    """The pairs with their links of a table; with none where the score is too low."""
    links = list(zip(table.source.tolist(), table.target.tolist(), strict=True))
    bounds = zip(pairs, pairwise(table.offsets.tolist()), strict=True)
    if table.probability is None:
        for pair, (a, b) in bounds:
            pair.links, pair.probabilities, pair.score = links[a:b], [], math.nan
            yield pair
        return
    probabilities = table.probability.tolist()
    # the mean over both sides' words of the best probability among their links, 0 for an unaligned word
    totals = np.zeros(len(table))
    for words, lengths in ((table.source, source_lengths), (table.target, target_lengths)):
        starts = np.asarray(np.cumsum(lengths) - lengths, np.int64)
        best = np.zeros(int(np.sum(lengths)))
        np.maximum.at(best, starts[table.sentence] + words, table.probability)
        totals += np.bincount(np.repeat(np.arange(len(table)), lengths), best, len(table))
    scores = totals / np.maximum(np.add(source_lengths, target_lengths), 1)
    for (pair, (a, b)), score in zip(bounds, scores.tolist(), strict=True):
        linked = slice(a, b if score >= min_score else a)
        pair.links, pair.probabilities, pair.score = links[linked], probabilities[linked], score
        yield pair
