"""Read links off the posteriors of both directions: each direction's best words, and the links on which both agree.

The forward direction generates target words, the reverse direction source words. Each conditions on the words of the
other side, so "conditioning" and "generated" exchange their sides with the direction.

A text is cut twice: into *parts*, one for each thread, and each part into *batches* of sentence pairs whose posteriors
fit into the cache of a core.
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
"""Parts of a text, which threads work on at the same time."""
_COLUMNS = np.int64, np.int32, np.int32, np.float32
"""Types of the sentence, source word, target word and probability of a link."""
BATCH_ENTRIES = 1 << 15
"""Entries (pairs of words of one sentence pair) of a batch: their posteriors stay in a core's cache."""
WORKERS = 2
"""Number of threads."""
_FEW = 1 << 10
"""Words of a side below which starting threads takes longer than the work."""
Result = TypeVar("Result")


class BestWords(NamedTuple):
    """The best conditioning word of each generated word, by one direction."""

    word: npt.NDArray[np.int32]  # its place in the sentence, −1 for null. Shape: (generated tokens)
    probability: npt.NDArray[np.float32]  # of that link. Shape: (generated tokens)
    # Logarithm of p(generated side | conditioning side) of each sentence pair. Shape: (sentences)
    log_likelihood: npt.NDArray[np.float64]

    @classmethod
    def empty(cls, generated: BitextSide) -> BestWords:
        """Return best words without any link, to be filled."""
        tokens = len(generated.ids)
        return cls(np.full(tokens, -1, np.int32), np.zeros(tokens, np.float32), np.zeros(len(generated)))

    def rows(self, generated: BitextSide, start: int, stop: int) -> BestWords:
        """Return the best words of the sentences ``start`` to ``stop`` − 1."""
        tokens = slice(generated.offsets[start], generated.offsets[stop])
        return BestWords(self.word[tokens], self.probability[tokens], self.log_likelihood[start:stop])

    def links(self, condition: BitextSide, generated: BitextSide, *, reverse: bool) -> LinkTable:
        """Return the best words as links (source, target); with ``reverse`` the generated side is the source side."""
        # The generated tokens that have a link, and the sentence of each.
        linked = np.flatnonzero(self.word >= 0)
        offsets = np.searchsorted(linked, generated.offsets)
        sentence = np.repeat(np.arange(len(generated)), np.diff(offsets))
        if not reverse:
            # Links must be sorted by source token, but come sorted by target token, which is the generated one here.
            # So both are packed into one number, which is sorted, and the target token is unpacked again.
            # The tokens of a sentence stand together in the text. So the links of a sentence change places only among
            # themselves, and `sentence` stays right.
            source_token = condition.offsets[sentence] + self.word[linked]
            tokens = len(self.word)  # more than any target token, as packing needs
            by_source = np.sort(source_token * tokens + linked)
            linked = by_source % tokens
        condition_words = self.word[linked]
        generated_words = (linked - generated.offsets[sentence]).astype(np.int32)
        source, target = condition_words, generated_words
        if reverse:
            source, target = generated_words, condition_words
        return LinkTable(offsets, source, target, self.probability[linked])


@dataclass(frozen=True, slots=True)
class SentenceAlignments:
    """The links of some sentence pairs, stored as the best words of both directions.

    Tables of links take more memory, so they are made when they are asked for: ``links`` has the symmetrised links,
    ``forward`` and ``reverse`` have those of one direction.
    """

    source: BitextSide
    target: BitextSide
    best_forward: BestWords  # of the model that generates target words: each target word has one link at most
    best_reverse: BestWords  # of the model that generates source words
    symmetrisation: Symmetrisation
    agreed: LinkTable | None  # the links of ``agreement``

    @property
    def forward(self) -> LinkTable:
        """Links of the model that generates target words."""
        return self.best_forward.links(self.source, self.target, reverse=False)

    @property
    def reverse(self) -> LinkTable:
        """Links of the model that generates source words, as (source, target) too."""
        return self.best_reverse.links(self.target, self.source, reverse=True)

    @property
    def links(self) -> LinkTable:
        """The links of both directions, symmetrised."""
        if self.agreed is not None:
            return self.agreed
        return symmetrise_table(self.forward, self.reverse, self.symmetrisation)  # type: ignore[arg-type]

    @property
    def score(self) -> npt.NDArray[np.float64]:
        """The log-likelihood per word of each sentence pair.

        This is not the score of a ``SentencePair``, which lies between 0 and 1, but the mean, over the words of both
        sides, of the natural logarithm of a word's probability given the other side. The higher, the more likely the
        sides are translations; 0 for a pair with an empty side. A corpus has the values as the column
        ``alignment_score``. Shape: (sentences).
        """
        log_likelihood = self.best_forward.log_likelihood + self.best_reverse.log_likelihood
        return np.asarray(log_likelihood / np.maximum(self.source.lengths + self.target.lengths, 1))

    def windows(self, stop: int) -> Iterator[LinkTable]:
        """Yield the symmetrised links of the sentences before ``stop``, a window of sentences at a time."""
        if self.agreed is not None:
            yield from self.agreed.windows(stop)
            return
        for first, end in windows(stop):
            source, target = self.source.rows(first, end), self.target.rows(first, end)
            forward_words = self.best_forward.rows(self.target, first, end)
            reverse_words = self.best_reverse.rows(self.source, first, end)
            forward = forward_words.links(source, target, reverse=False)
            reverse = reverse_words.links(target, source, reverse=True)
            yield symmetrise_table(forward, reverse, self.symmetrisation)  # type: ignore[arg-type]


Decoded = tuple[BestWords, BestWords, LinkTable | None]
"""Both directions' best words, and the links whose posteriors agree where they were asked for."""


def require_possible(values: npt.NDArray[np.float64] | float) -> None:
    """Refuse a text in which all links of some sentence pair have the probability 0.

    ``values``: Log-likelihoods of sentence pairs, or a sum over sentence pairs that divides by their likelihoods. A
    likelihood of 0 makes them infinite or no number.

    Raises:
        ConfigurationError: A value is not finite.
    """
    if not np.isfinite(values).all():
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
    """Cut a text into :data:`_PARTS` ranges of sentences that have about equally many entries, so equally much work."""
    # Entries from the beginning of the text to the end of each sentence pair.
    ends = np.cumsum(condition.lengths * generated.lengths)
    total = int(ends[-1]) if len(ends) else 0
    cuts = [int(np.searchsorted(ends, total * k // _PARTS)) for k in range(1, _PARTS)]
    bounds = [0, *cuts, len(ends)]
    return list(pairwise(bounds))


class PairBatch(NamedTuple):
    """Some consecutive sentence pairs of a text, and where they stand in arrays of the whole text."""

    source: FlatSide
    target: FlatSide
    source_tokens: slice  # in arrays with a value for each source token of the text
    target_tokens: slice
    sentences: slice  # in arrays with a value for each sentence pair of the text

    @property
    def directions(self) -> tuple[tuple[FlatSide, FlatSide, slice], tuple[FlatSide, FlatSide, slice]]:
        """Conditioning side, generated side and its tokens: first of the forward, then of the reverse direction."""
        forward = self.source, self.target, self.target_tokens
        reverse = self.target, self.source, self.source_tokens
        return forward, reverse

    @classmethod
    def of(cls, source: FlatSide, target: FlatSide, first: int, last: int) -> PairBatch:
        """Cut the sentence pairs ``first`` to ``last`` − 1 out of a text."""
        source_tokens = slice(source.offsets[first], source.offsets[last])
        target_tokens = slice(target.offsets[first], target.offsets[last])
        # Offsets count from the beginning of the batch.
        source_part = FlatSide(
            source.ids[source_tokens], source.offsets[first : last + 1] - source_tokens.start
        )
        target_part = FlatSide(
            target.ids[target_tokens], target.offsets[first : last + 1] - target_tokens.start
        )
        return cls(source_part, target_part, source_tokens, target_tokens, slice(first, last))


def pair_batches(source: FlatSide, target: FlatSide, first: int, last: int) -> Iterator[PairBatch]:
    """Yield the sentence pairs ``first`` to ``last`` − 1 in batches of at most :data:`BATCH_ENTRIES` entries.

    A sentence pair with more entries is a batch of its own.
    """
    source_lengths, target_lengths = (np.diff(side.offsets[first : last + 1]) for side in (source, target))
    # Entries from `first` to the end of each sentence pair.
    ends = np.cumsum(source_lengths * target_lengths)
    start, entries_before = 0, 0
    while start < last - first:
        # As many pairs as fit, but at least one.
        stop = max(int(np.searchsorted(ends, entries_before + BATCH_ENTRIES, side="right")), start + 1)
        yield PairBatch.of(source, target, first + start, first + stop)
        start, entries_before = stop, int(ends[stop - 1])


def of_batches(
    source: BitextSide, target: BitextSide, function: Callable[[PairBatch], Result]
) -> list[Result]:
    """Call a function with each batch of a text, in threads unless the text is small; return the results in order."""

    def results_of_part(part: tuple[int, int]) -> list[Result]:
        return [function(batch) for batch in pair_batches(source.flat, target.flat, *part)]

    by_part = in_threads(results_of_part, parts(source, target), words=len(source.ids))
    return list(chain.from_iterable(by_part))


def agreeing(
    source: BitextSide,
    target: BitextSide,
    threshold: float,
    posteriors: Callable[[PairBatch], tuple[Doubles, Doubles]],
) -> LinkTable:
    """Find the links for which the geometric mean of both directions' posteriors is at least a threshold.

    A link with the posteriors 0.9 and 0.4 has the mean √(0.9 · 0.4) = 0.6.

    ``posteriors``: Computes the posteriors of a batch: of one direction with each pair as (source, target), of the
    other as (target, source). The order of the directions does not matter: the two are multiplied.

    Source: Liang, Taskar & Klein 2006 (*Alignment by agreement*), §4, posterior decoding.
    """

    def links_of_batch(batch: PairBatch) -> tuple[npt.NDArray[Any], ...]:
        """Return the links of a batch as four columns: sentence, source word, target word, probability."""
        both = posteriors(batch)
        # As long as if every entry were a link; `_agree` fills the beginning.
        columns = tuple(np.empty(len(both[0]), kind) for kind in _COLUMNS)
        used = _agree(batch.source, batch.target, both, threshold, columns)
        sentence, *rest = (column[:used].copy() for column in columns)
        return sentence + batch.sentences.start, *rest

    # The empty columns stand for a text without any batch.
    nothing = tuple(np.empty(0, kind) for kind in _COLUMNS)
    by_batch = [nothing, *of_batches(source, target, links_of_batch)]
    sentence, *columns = (np.concatenate(column) for column in zip(*by_batch, strict=True))
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
    """Write the agreeing links of a batch one after the other into ``links``; returns how many there are.

    ``links`` has room for the sentence (counted in the batch), the source word, the target word and the probability of
    a link at every entry.
    """
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
