"""From both directions' posteriors of a sentence pair to links: each direction's best word, and where both agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.alignment import LinkTable
from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.bitext import BitextSide

_PARTS = 2
WORKERS = 2
"""Threads: one for each direction, or for each part of the text."""


class BestWords(NamedTuple):
    """One direction's best given word of each generated word."""

    word: npt.NDArray[np.int32]  # its place in the sentence, −1 for null. Shape: (generated tokens)
    probability: npt.NDArray[np.float32]  # of that link. Shape: (generated tokens)
    score: npt.NDArray[np.float64]  # log probability of each sentence's generated side. Shape: (sentences)

    @classmethod
    def empty(cls, generated: BitextSide) -> BestWords:
        """Without any link."""
        tokens = len(generated.ids)
        return cls(np.full(tokens, -1, np.int32), np.zeros(tokens, np.float32), np.zeros(len(generated)))

    def rows(self, generated: BitextSide, start: int, stop: int) -> BestWords:
        """Those of the sentences ``start`` to ``stop`` − 1."""
        tokens = slice(generated.offsets[start], generated.offsets[stop])
        return BestWords(self.word[tokens], self.probability[tokens], self.score[start:stop])

    def links(self, given: BitextSide, generated: BitextSide, *, reverse: bool) -> LinkTable:
        """As (source, target); with ``reverse`` the generated side is the source side."""
        return LinkTable(
            *_sorted_links(self.word, self.probability, given.offsets, generated.offsets, reverse)
        )


Decoded = tuple[BestWords, BestWords, LinkTable | None]
"""Both directions' best words, and the links whose posteriors agree where they were asked for."""


def parts(given: BitextSide, generated: BitextSide) -> list[tuple[int, int]]:
    """Ranges of sentences with about as many (given word, generated word) entries each."""
    entries = np.cumsum(given.lengths * generated.lengths)
    whole = int(entries[-1]) if len(entries) else 0
    cuts = [int(np.searchsorted(entries, whole * k // _PARTS)) for k in range(1, _PARTS)]
    bounds = [0, *cuts, len(entries)]
    return list(pairwise(bounds))


def agreeing(
    source: BitextSide, target: BitextSide, run: Callable[[int, int], tuple[npt.NDArray[Any], ...]]
) -> LinkTable:
    """Links whose geometric mean of both directions' posteriors is at least a threshold.

    Source: Liang, Taskar & Klein 2006 (*Alignment by agreement*), §4, posterior decoding.
    """
    with ThreadPoolExecutor(WORKERS) as pool:
        found = list(pool.map(lambda part: run(*part), parts(source, target)))
    sentence, one, other, probability = (np.concatenate(column) for column in zip(*found, strict=True))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(sentence, minlength=len(source)))]).astype(np.int64)
    return LinkTable(offsets, one, other, probability)


@compiled
def _sorted_links(word, probability, given_offsets, generated_offsets, reverse):
    """Offsets, source words, target words and probabilities of the links, sorted as :class:`LinkTable` has them."""
    count = len(given_offsets) - 1
    offsets = np.zeros(count + 1, np.int64)
    longest = np.int64(1)
    for s in range(count):
        longest = max(longest, given_offsets[s + 1] - given_offsets[s])
        offsets[s + 1] = offsets[s]
        for k in range(generated_offsets[s], generated_offsets[s + 1]):
            offsets[s + 1] += word[k] >= 0
    source, target = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    values = np.empty(offsets[-1], np.float32)
    place = np.empty(longest + 1, np.int64)
    for s in range(count):
        first, last = generated_offsets[s], generated_offsets[s + 1]
        at = offsets[s]
        if reverse:
            for k in range(first, last):
                if word[k] >= 0:
                    source[at], target[at], values[at] = k - first, word[k], probability[k]
                    at += 1
            continue
        width = given_offsets[s + 1] - given_offsets[s]
        place[: width + 1] = 0
        for k in range(first, last):
            if word[k] >= 0:
                place[word[k] + 1] += 1
        for i in range(width):
            place[i + 1] += place[i]
        for k in range(first, last):
            if word[k] >= 0:
                to = at + place[word[k]]
                place[word[k]] += 1
                source[to], target[to], values[to] = word[k], k - first, probability[k]
    return offsets, source, target, values


@helper
def best_words(posterior, null, best, first):
    """Each generated word's most probable given word, unless null is at least as probable, into ``best``.

    ``posterior`` has a row for each generated word, of which ``first`` is the first one's place in the text.
    """
    for j in range(len(null)):
        top, at = null[j], -1
        for i in range(posterior.shape[1]):
            if posterior[j, i] > top:
                top, at = posterior[j, i], i
        best.word[first + j] = at
        best.probability[first + j] = min(top, 1.0)


@helper
def empty_links(room):
    """Arrays for :func:`agree` to fill: sentence, source word, target word and probability."""
    return (
        np.empty(room, np.int64),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.float32),
    )


@helper
def agree(sentence, ahead, back, threshold, found, used):
    """Append a pair's agreeing links; returns the arrays, grown where they were full, and how much of them is used.

    ``ahead`` and ``back`` are both directions' posteriors. Shape of both: (source, target).
    """
    sentences, sources, targets, values = found
    for i in range(ahead.shape[0]):
        for j in range(ahead.shape[1]):
            mean = math.sqrt(ahead[i, j] * back[i, j])
            if mean < threshold:
                continue
            if used == len(sentences):
                sentences = np.concatenate((sentences, np.empty_like(sentences)))
                sources = np.concatenate((sources, np.empty_like(sources)))
                targets = np.concatenate((targets, np.empty_like(targets)))
                values = np.concatenate((values, np.empty_like(values)))
            sentences[used], sources[used], targets[used] = sentence, i, j
            values[used] = min(mean, 1.0)
            used += 1
    return (sentences, sources, targets, values), used


@helper
def cut(found, used):
    """What :func:`agree` has filled."""
    sentences, sources, targets, values = found
    return sentences[:used], sources[:used], targets[:used], values[:used]


@helper
def filled(given, generated, first, last):
    """The numbers of the sentence pairs from ``first`` to ``last`` − 1 that have both sides."""
    numbers, count = np.empty(last - first, np.int64), 0
    for s in range(first, last):
        if given.offsets[s] < given.offsets[s + 1] and generated.offsets[s] < generated.offsets[s + 1]:
            numbers[count] = s
            count += 1
    return numbers[:count]


@helper
def sides_of(given, generated, s):
    """Where both sides of a sentence pair begin in the flat arrays, and their words."""
    a, b = given.offsets[s], generated.offsets[s]
    return a, b, given.ids[a : given.offsets[s + 1]], generated.ids[b : generated.offsets[s + 1]]
