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
"""Sentence pairs that are handled at a time to save memory; no result depends on it."""
MOST_ENTRIES = 1 << 24
"""Maximum of source words × target words (with an encoder: pieces) of a pair that is aligned: 4,096 by 4,096."""
_COLUMN_ENDS = dict.fromkeys(map(ord, "\t\n\r"))
"""Characters that would end a column or a line, to None, which deletes them."""


def column(word: str) -> str:
    """Return a word as a column of a line: without tabs and line breaks, which would end the column."""
    return word.translate(_COLUMN_ENDS)


def usable_words(pair: WordPair, number: int, warn: Callable[[int, str], None]) -> WordPair:
    """Return the words of a pair, or none on both sides if they are too many to align.

    ``warn`` is called for a pair that is too long or has an empty side, with ``number``, the 1-based number of the
    pair, and a message.
    """
    source, target = pair
    if not (source and target):
        empty_side = "target" if source else "source"
        warn(number, f"the {empty_side} side is empty; it gets no links")
    elif len(source) * len(target) > MOST_ENTRIES:
        warn(
            number,
            f"{len(source):,} × {len(target):,} words are too long for one pair; it gets no links: split it",
        )
        return (), ()
    return source, target


@dataclass(frozen=True, slots=True)
class LinkTable:
    """The links of a whole corpus as flat arrays, sorted by sentence, then source word, then target word.

    The lines ``0-0 1-1`` and ``0-1`` are ``offsets = [0, 2, 3]``, ``source = [0, 1, 0]``, ``target = [0, 1, 1]``.
    """

    # The links of sentence ``s`` are ``offsets[s]`` up to ``offsets[s + 1]``. Shape: (sentences + 1)
    offsets: npt.NDArray[np.int64]
    source: npt.NDArray[np.int32]  # 0-based source words. Shape: (links)
    target: npt.NDArray[np.int32]  # 0-based target words. Shape: (links)
    # Posterior probability of each link, None if the aligner has none. Shape: (links)
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
        """Make a table of alignments, one for each sentence."""
        every = list(alignments)
        rows = []
        for number, alignment in enumerate(every):
            rows += [(number, i, j) for i, j in alignment.links]
        # Without any link the array has no columns by itself, so its shape is given.
        sentence, source, target = np.array(rows, np.int64).reshape(-1, 3).T
        return cls.build(len(every), sentence, source, target)

    @classmethod
    def from_pharaoh(cls, lines: Iterable[str], *, path: str | Path | None = None) -> Self:
        """Read Pharaoh lines; see :meth:`Alignment.from_pharaoh`."""
        return cls.from_alignments(
            Alignment.from_pharaoh(text, path=path, line=number) for number, text in enumerate(lines, 1)
        )

    def rows(self, start: int, stop: int) -> LinkTable:
        """Return the links of the sentences ``start`` to ``stop`` − 1."""
        first, last = self.offsets[start], self.offsets[stop]
        return LinkTable(
            self.offsets[start : stop + 1] - first,
            self.source[first:last],
            self.target[first:last],
            None if self.probability is None else self.probability[first:last],
        )

    def windows(self, stop: int) -> Iterator[LinkTable]:
        """Yield the links of the sentences 0 to ``stop`` − 1, :data:`WINDOW` sentences at a time."""
        return (self.rows(first, end) for first, end in windows(stop))

    def above(self, minimum: float) -> LinkTable:
        """Return the links of at least this probability; all links if they have no probabilities."""
        if self.probability is None or not minimum:
            return self
        probable = self.probability >= minimum
        # kept_before[k]: how many of the links before link k are kept. A sentence that began at link k begins at
        # kept_before[k] in the new table.
        kept_before = starts_and_end(probable)
        return LinkTable(
            kept_before[self.offsets],
            self.source[probable],
            self.target[probable],
            self.probability[probable],
        )

    @property
    def sentence(self) -> npt.NDArray[np.int64]:
        """The sentence of each link. Shape: (links)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def alignments(self) -> list[Alignment]:
        """Return one :class:`Alignment` for each sentence."""
        return [Alignment(frozenset((source, target) for source, target in links)) for links in self.lists()]

    def lists(self) -> list[list[list[int]]]:
        """Return one sorted ``[[source, target], …]`` for each sentence: the ``links`` column of an ALIGNED corpus."""
        links = np.stack([self.source, self.target], axis=1).tolist()
        bounds = self.offsets.tolist()
        return [links[start:stop] for start, stop in pairwise(bounds)]

    def to_pharaoh(self) -> list[str]:
        """Return one Pharaoh line for each sentence, such as ``0-0 1-2``."""
        words = zip(self.source.tolist(), self.target.tolist(), strict=True)
        links = [f"{source}-{target}" for source, target in words]
        bounds = self.offsets.tolist()
        return [" ".join(links[start:stop]) for start, stop in pairwise(bounds)]


def starts_and_end(lengths: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return where items of these lengths start in a flat array, and where the last one ends.

    Of ``[2, 1]`` it is ``[0, 2, 3]``. **Shape**: (n) -> (n + 1).
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def windows(count: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the end of each window of ``count`` sentence pairs, :data:`WINDOW` pairs at a time.

    20,000 pairs are (0, 8192), (8192, 16384) and (16384, 20000); no pairs are one empty window, (0, 0).
    """
    return ((first, min(first + WINDOW, count)) for first in range(0, max(count, 1), WINDOW))


def give_links(
    pairs: Iterable[SentencePair],
    table: LinkTable,
    source_lengths: Lengths,
    target_lengths: Lengths,
    *,
    min_score: float = 0.0,
) -> Iterator[SentencePair]:
    """Give each pair the links that a table has for it, and yield the pair.

    1. *Score.* The score of a pair is the mean over all its words, source and target, of the best probability among a
       word's links. A word without a link counts 0: two words on each side, of which one pair is linked with
       probability 0.8, have the score (0.8 + 0 + 0.8 + 0) / 4 = 0.4.
    2. *Minimum.* A pair whose score is below ``min_score`` gets no links, but keeps its score.
    3. *No probabilities.* Where the table has none, the score is NaN, and all links are kept.

    ``pairs``: As many as the table has sentences. ``source_lengths``, ``target_lengths``: Words of each pair.
    """
    links = list(zip(table.source.tolist(), table.target.tolist(), strict=True))
    # The links of a pair are links[first:end].
    with_bounds = zip(pairs, pairwise(table.offsets.tolist()), strict=True)
    if table.probability is None:
        for pair, (first, end) in with_bounds:
            pair.links, pair.probabilities, pair.score = links[first:end], [], math.nan
            yield pair
        return
    probabilities = table.probability.tolist()
    scores = _scores(table, table.probability, source_lengths, target_lengths)
    for (pair, (first, end)), score in zip(with_bounds, scores.tolist(), strict=True):
        kept = slice(first, end if score >= min_score else first)
        pair.links, pair.probabilities, pair.score = links[kept], probabilities[kept], score
        yield pair


def _scores(
    table: LinkTable,
    probability: npt.NDArray[np.float32],
    source_lengths: Lengths,
    target_lengths: Lengths,
) -> npt.NDArray[np.float64]:
    """Return the score of each sentence of a table, by rule 1 of :func:`give_links`."""
    totals = np.zeros(len(table))
    for words, lengths in ((table.source, source_lengths), (table.target, target_lengths)):
        # The best probability of each word of the side: the words of all sentences, one after the other.
        best = np.zeros(int(np.sum(lengths)))
        first_word = np.asarray(np.cumsum(lengths) - lengths, np.int64)  # of each sentence, in `best`
        np.maximum.at(best, first_word[table.sentence] + words, probability)
        # Add up the words of each sentence.
        sentence_of_word = np.repeat(np.arange(len(table)), lengths)
        totals += np.bincount(sentence_of_word, best, len(table))
    word_counts = np.maximum(np.add(source_lengths, target_lengths), 1)
    return np.asarray(totals / word_counts)
