"""Read links off the posteriors of both directions: each direction's best words, and the links on which both agree.

*ahead* is the direction that generates target words, *back* the one that generates source words. Each conditions on the
words of the other side, so "conditioning" and "generated" exchange their sides with the direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import LinkTable, windows
from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.bitext import BitextSide, FlatSide
from isoglot.aligners.statistical.options import Symmetrisation
from isoglot.aligners.symmetrise import symmetrise_table
from isoglot.core.errors import ConfigurationError

Doubles = npt.NDArray[np.float64]
_PARTS = 2
"""Parts of a text that are worked on at the same time."""
_COLUMNS = np.int64, np.int32, np.int32, np.float32
"""Types of the sentence, source word, target word and probability of a link."""
PIECE = 1 << 15
"""Pairs of words whose posteriors are computed at a time; they stay in a core's cache."""
WORKERS = 2
"""Number of threads."""
_FEW = 1 << 10
"""Words of a side below which starting threads takes longer than the work."""
Result = TypeVar("Result")


class BestWords(NamedTuple):
    """The best conditioning word of each generated word, by one direction."""

    word: npt.NDArray[np.int32]  # its place in the sentence, −1 for null. Shape: (generated tokens)
    probability: npt.NDArray[np.float32]  # of that link. Shape: (generated tokens)
    score: npt.NDArray[np.float64]  # log probability of each sentence's generated side. Shape: (sentences)

    @classmethod
    def empty(cls, generated: BitextSide) -> BestWords:
        """Return best words without any link, to be filled."""
        tokens = len(generated.ids)
        return cls(np.full(tokens, -1, np.int32), np.zeros(tokens, np.float32), np.zeros(len(generated)))

    def rows(self, generated: BitextSide, start: int, stop: int) -> BestWords:
        """Return the best words of the sentences ``start`` to ``stop`` − 1."""
        tokens = slice(generated.offsets[start], generated.offsets[stop])
        return BestWords(self.word[tokens], self.probability[tokens], self.score[start:stop])

    def links(self, condition: BitextSide, generated: BitextSide, *, reverse: bool) -> LinkTable:
        """Return the best words as links (source, target); with ``reverse`` the generated side is the source side."""
        linked = np.flatnonzero(self.word >= 0)
        offsets = np.searchsorted(linked, generated.offsets)
        sentence = np.repeat(np.arange(len(generated)), np.diff(offsets))
        if not reverse:
            # Links must be sorted by source word, but come sorted by generated, that is target word. Sort by the place
            # of the source word in the text, then of the target word: both as one number, source · tokens + target.
            token = condition.offsets[sentence] + self.word[linked]
            linked = np.sort(token * len(self.word) + linked) % len(self.word)
        words, generated_words = self.word[linked], (linked - generated.offsets[sentence]).astype(np.int32)
        ends = (generated_words, words) if reverse else (words, generated_words)
        return LinkTable(offsets, *ends, self.probability[linked])


@dataclass(frozen=True, slots=True)
class SentenceAlignments:
    """The links of some sentence pairs, stored as best words; tables of links take more memory, and are made later.

    ``links`` are those that a user wants; ``forward`` and ``reverse`` those of either direction.
    """

    source: BitextSide
    target: BitextSide
    ahead: BestWords  # of the model that generates target words: each target word has one link at most
    back: BestWords  # of the model that generates source words
    symmetrisation: Symmetrisation
    agreed: LinkTable | None  # the links of ``agreement``

    @property
    def forward(self) -> LinkTable:
        """Links of the model that generates target words."""
        return self.ahead.links(self.source, self.target, reverse=False)

    @property
    def reverse(self) -> LinkTable:
        """Links of the model that generates source words, as (source, target) too."""
        return self.back.links(self.target, self.source, reverse=True)

    @property
    def links(self) -> LinkTable:
        """The links of both directions, symmetrised."""
        if self.agreed is not None:
            return self.agreed
        return symmetrise_table(self.forward, self.reverse, self.symmetrisation)  # type: ignore[arg-type]

    @property
    def score(self) -> npt.NDArray[np.float64]:
        """Mean log probability (natural logarithm) of the words of both sides, each side given the other one.

        The higher, the more likely the sides are translations; 0 for a pair with an empty side. Shape: (sentences).
        """
        count = np.maximum(self.source.lengths + self.target.lengths, 1)
        return np.asarray((self.ahead.score + self.back.score) / count)

    def windows(self, stop: int) -> Iterator[LinkTable]:
        """Yield the symmetrised links of the sentences before ``stop``, a window of sentences at a time."""
        if self.agreed is not None:
            yield from self.agreed.windows(stop)
            return
        for window in windows(stop):
            source, target = self.source.rows(*window), self.target.rows(*window)
            forward = self.ahead.rows(self.target, *window).links(source, target, reverse=False)
            reverse = self.back.rows(self.source, *window).links(target, source, reverse=True)
            yield symmetrise_table(forward, reverse, self.symmetrisation)  # type: ignore[arg-type]


Decoded = tuple[BestWords, BestWords, LinkTable | None]
"""Both directions' best words, and the links whose posteriors agree where they were asked for."""


def require_possible(scores: npt.NDArray[np.float64] | float) -> None:
    """Refuse sentence pairs whose links all have the probability 0, of which the logarithm is not finite.

    Raises:
        ConfigurationError: They are not finite.
    """
    if not np.isfinite(scores).all():
        raise ConfigurationError(
            "all links of a sentence pair have the probability 0: alpha is too small for this text; raise it "
            "([[alpha=0.01]])"
        )


def in_threads(
    function: Callable[[tuple[int, int]], Result], ranges: Sequence[tuple[int, int]], *, words: int
) -> list[Result]:
    """Call a function with each range, in threads unless the text is small; returns the results in order.

    ``words``: Words of a side of the text.
    """
    if words < _FEW:
        return list(map(function, ranges))
    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(function, ranges))


def parts(condition: BitextSide, generated: BitextSide) -> list[tuple[int, int]]:
    """Cut sentences into ranges of about as many pairs of words, that is about as much work."""
    entries = np.cumsum(condition.lengths * generated.lengths)
    whole = int(entries[-1]) if len(entries) else 0
    cuts = [int(np.searchsorted(entries, whole * k // _PARTS)) for k in range(1, _PARTS)]
    bounds = [0, *cuts, len(entries)]
    return list(pairwise(bounds))


class Piece(NamedTuple):
    """Some consecutive sentence pairs of a text, and where they stand in arrays of the whole text."""

    source: FlatSide
    target: FlatSide
    source_tokens: slice
    target_tokens: slice
    sentences: slice

    @property
    def directions(self) -> tuple[tuple[FlatSide, FlatSide, slice], tuple[FlatSide, FlatSide, slice]]:
        """Conditioning side, generated side and its tokens, of both directions."""
        ahead = self.source, self.target, self.target_tokens
        return ahead, (self.target, self.source, self.source_tokens)

    @classmethod
    def of(cls, source: FlatSide, target: FlatSide, first: int, last: int) -> Piece:
        """Cut the sentence pairs ``first`` to ``last`` − 1 out of a text."""
        source_tokens = slice(source.offsets[first], source.offsets[last])
        target_tokens = slice(target.offsets[first], target.offsets[last])
        # Offsets count from the beginning of the piece.
        source_part = FlatSide(
            source.ids[source_tokens], source.offsets[first : last + 1] - source_tokens.start
        )
        target_part = FlatSide(
            target.ids[target_tokens], target.offsets[first : last + 1] - target_tokens.start
        )
        return cls(source_part, target_part, source_tokens, target_tokens, slice(first, last))


def pieces(source: FlatSide, target: FlatSide, first: int, last: int) -> Iterator[Piece]:
    """Yield the sentence pairs ``first`` to ``last`` − 1 in pieces of at most :data:`PIECE` pairs of words.

    A sentence pair with more pairs of words is a piece of its own.
    """
    lengths = (np.diff(side.offsets[first : last + 1]) for side in (source, target))
    ends = np.cumsum(np.multiply(*lengths))
    start, before = 0, 0
    while start < last - first:
        stop = max(int(np.searchsorted(ends, before + PIECE, side="right")), start + 1)
        yield Piece.of(source, target, first + start, first + stop)
        start, before = stop, int(ends[stop - 1])


def agreeing(
    source: BitextSide,
    target: BitextSide,
    threshold: float,
    posteriors: Callable[[Piece], tuple[Doubles, Doubles]],
) -> LinkTable:
    """Find the links whose geometric mean of both directions' posteriors is at least a threshold.

    ``posteriors``: Computes the posteriors of a piece: those of one direction as (source, target), those of the other
    one as (target, source).

    Source: Liang, Taskar & Klein 2006 (*Alignment by agreement*), §4, posterior decoding.
    """

    def run(part: tuple[int, int]) -> list[tuple[npt.NDArray[Any], ...]]:
        rows = []
        for piece in pieces(source.flat, target.flat, *part):
            both = posteriors(piece)
            links = tuple(np.empty(len(both[0]), kind) for kind in _COLUMNS)
            used = _agree(piece.source, piece.target, both, threshold, links)
            sentence, *rest = (column[:used].copy() for column in links)
            rows.append((sentence + piece.sentences.start, *rest))
        return rows

    nothing = tuple(np.empty(0, kind) for kind in _COLUMNS)
    found = in_threads(run, parts(source, target), words=len(source.ids))
    rows = [nothing, *chain.from_iterable(found)]
    sentence, *columns = (np.concatenate(column) for column in zip(*rows, strict=True))
    return LinkTable(np.searchsorted(sentence, np.arange(len(source) + 1)), *columns)


@compiled
def best_words(condition, generated, posterior, null, word, probability):
    """Find each generated word's most probable conditioning word, or −1 if null is at least as probable.

    Of equally probable words the first is taken. **Shape** of each pair's posterior: (generated, condition).
    """
    before = 0
    for s in range(len(condition.offsets) - 1):
        n = condition.offsets[s + 1] - condition.offsets[s]
        if n == 0:
            continue
        for k in range(generated.offsets[s], generated.offsets[s + 1]):
            top, at = null[k], -1
            for i in range(n):
                if posterior[before + i] > top:
                    top, at = posterior[before + i], i
            word[k], probability[k] = at, min(top, 1.0)
            before += n


@compiled
def _agree(source, target, posteriors, threshold, links):
    """Write the agreeing links of some pairs one after the other; returns how many there are."""
    by_source, by_target = posteriors
    sentence, source_word, target_word, probability = links
    before = used = 0
    for s in range(len(source.offsets) - 1):
        n, m = source.offsets[s + 1] - source.offsets[s], target.offsets[s + 1] - target.offsets[s]
        for i in range(n):
            for j in range(m):
                mean = math.sqrt(by_source[before + i * m + j] * by_target[before + j * n + i])
                if mean >= threshold:
                    sentence[used], source_word[used], target_word[used], probability[used] = (
                        s,
                        i,
                        j,
                        min(mean, 1.0),
                    )
                    used += 1
        before += n * m
    return used


@helper
def sides_of(condition, generated, s):
    """Return the word numbers of both sides of sentence pair ``s``."""
    return (
        condition.ids[condition.offsets[s] : condition.offsets[s + 1]],
        generated.ids[generated.offsets[s] : generated.offsets[s + 1]],
    )
