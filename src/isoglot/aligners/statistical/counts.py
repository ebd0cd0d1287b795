"""What statistical models learn as expected counts, which add up over the parts of a text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.statistical.bitext import Vocabularies

Doubles = npt.NDArray[np.float64]
Pairs = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
"""Two words of each pair, as numbers."""


class Counts(NamedTuple):
    """One direction's expected counts."""

    pairs: Doubles  # links of each pair of words. Shape: (pairs)
    words: Doubles  # rows of what is counted of each generated word. Shape: (rows, generated vocabulary)
    other: Doubles  # what else adds up. Shape: (any)

    @classmethod
    def nothing(cls) -> Counts:
        """Of no text."""
        return cls(np.zeros(0), np.zeros((1, 0)), np.zeros(1))


def sums(index: npt.NDArray[np.integer], weights: npt.NDArray[Any], size: int) -> Doubles:
    """How much weight each index has."""
    return np.asarray(np.bincount(index, weights, size), np.float64)


def at_index(values: npt.NDArray[np.floating], index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """``values`` at ``index``, 0 where it is −1."""
    found = values[index] if len(values) else np.zeros(len(index), values.dtype)
    found[index < 0] = 0.0
    return found


class CountSum:
    """Sums of the counts of several models, over the words and pairs of all of them."""

    def __init__(self) -> None:
        self._numbers: tuple[dict[str, int], dict[str, int]] = {}, {}
        self._keys = np.zeros(0, np.int64)  # each pair as one number, sorted
        self.ahead = self.back = Counts.nothing()

    @property
    def words(self) -> Vocabularies:
        """Source and target words, in the order in which the models name them."""
        return tuple(self._numbers[0]), tuple(self._numbers[1])

    @property
    def types(self) -> Pairs:
        """Source and target word of each pair, sorted by source, then target word."""
        return (self._keys >> 32).astype(np.int32), (self._keys & 0xFFFFFFFF).astype(np.int32)

    def add(self, words: Vocabularies, types: Pairs, ahead: Counts, back: Counts) -> None:
        """Add a model's: both vocabularies, the words of each pair, and the counts of both directions."""
        source, target = (
            np.array([known.setdefault(word, len(known)) for word in side], np.int64)
            for known, side in zip(self._numbers, words, strict=True)
        )
        own = (source[types[0]] << 32) | target[types[1]]
        self._keys, place = np.unique(np.concatenate([self._keys, own]), return_inverse=True)
        self.ahead = self._added(self.ahead, ahead, place, target, len(self._numbers[1]))
        self.back = self._added(self.back, back, place, source, len(self._numbers[0]))

    def _added(
        self, held: Counts, new: Counts, place: npt.NDArray[np.int64], words: npt.NDArray[np.int64], size: int
    ) -> Counts:
        """``place`` of the held and the new pairs among all, ``words``: numbers of the new generated words."""
        pairs = sums(place, np.concatenate([held.pairs, new.pairs]), len(self._keys))
        rows = np.zeros((len(new.words), size))
        rows[:, : held.words.shape[1]] = held.words
        rows[:, words] += new.words
        return Counts(pairs, rows, held.other + new.other)
