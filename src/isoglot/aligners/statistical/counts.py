"""Expected counts: what statistical models learn, which adds up over the parts of a text, and sums of links."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled
from isoglot.aligners.statistical.bitext import Vocabularies, Vocabulary
from isoglot.aligners.statistical.pair_table import EMPTY, PairTable, find

Doubles = npt.NDArray[np.float64]
Words = npt.NDArray[np.int32]
Pairs = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
"""Two words of each pair, as numbers."""


_TINY = 1e-12


class Counts(NamedTuple):
    """One direction's expected counts."""

    pairs: Doubles  # links of each pair of words. Shape: (pairs)
    words: Doubles  # rows of what is counted of each generated word. Shape: (rows, generated vocabulary)
    rest: Doubles  # what else adds up. Shape: (any)

    @classmethod
    def nothing(cls) -> Counts:
        """Of no text."""
        return cls(np.zeros(0), np.zeros((1, 0)), np.zeros(1))


def sums(index: npt.NDArray[np.integer], weights: npt.NDArray[Any], size: int) -> Doubles:
    """How much weight each index has."""
    return np.asarray(np.bincount(index, weights, size), np.float64)


def at_index(values: npt.NDArray[np.floating], index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """``values`` at ``index``, 0 where it is −1."""
    result = values[index] if len(values) else np.zeros(len(index), values.dtype)
    result[index < 0] = 0.0
    return result


class CountSum:
    """Sums of the counts of several models, over the words and pairs of all of them."""

    def __init__(self) -> None:
        self._numbers: tuple[dict[str, int], dict[str, int]] = {}, {}
        self._keys = np.zeros(0, np.int64)  # each pair as one number, sorted
        self.ahead = self.back = Counts.nothing()

    @property
    def words(self) -> Vocabularies:
        """Source and target words, in the order in which the models name them."""
        return Vocabulary(self._numbers[0]), Vocabulary(self._numbers[1])

    @property
    def types(self) -> Pairs:
        """Source and target word of each pair, sorted by source, then target word."""
        return (self._keys >> 32).astype(np.int32), (self._keys & 0xFFFFFFFF).astype(np.int32)

    def unknown(self, words: Vocabularies, types: Pairs, ahead: Counts, back: Counts) -> tuple[float, float]:
        """How little a model has in common with this sum, for each side, from 0 to 1; arguments as in :meth:`add`.

        It is the share of linked words that the other one lacks, of the model's or of the sum's, whichever is less: a
        large model knows most words of a small one.
        """
        shares = []
        for side, new, before in ((0, back, self.back), (1, ahead, self.ahead)):
            known = self._numbers[side]
            number = np.array([known.get(word, -1) for word in words[side]], np.int64)
            links = sums(types[side], new.pairs, len(number))
            links_before = sums(self.types[side], before.pairs, len(known))
            lacking = links[number < 0].sum(), links_before.sum() - links_before[number[number >= 0]].sum()
            whole = max(float(links.sum()), _TINY), max(float(links_before.sum()), _TINY)
            shares.append(min(float(lacking[0]) / whole[0], float(lacking[1]) / whole[1]))
        return shares[0], shares[1]

    def add(self, words: Vocabularies, types: Pairs, ahead: Counts, back: Counts) -> None:
        """Add a model's: both vocabularies, the words of each pair, and the counts of both directions."""
        source, target = (
            np.array([known.setdefault(word, len(known)) for word in side], np.int64)
            for known, side in zip(self._numbers, words, strict=True)
        )
        keys = (source[types[0]] << 32) | target[types[1]]
        self._keys, slots = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        self.ahead = self._added(self.ahead, ahead, slots, target, len(self._numbers[1]))
        self.back = self._added(self.back, back, slots, source, len(self._numbers[0]))

    def _added(
        self,
        before: Counts,
        new: Counts,
        slots: npt.NDArray[np.int64],
        words: npt.NDArray[np.int64],
        size: int,
    ) -> Counts:
        """``slots``: Those of the pairs before, then of the new ones; ``words``: Numbers of the new generated words."""
        pairs = sums(slots, np.concatenate([before.pairs, new.pairs]), len(self._keys))
        rows = np.zeros((len(new.words), size))
        rows[:, : before.words.shape[1]] = before.words
        rows[:, words] += new.words
        return Counts(pairs, rows, before.rest + new.rest)


class SlotClasses(NamedTuple):
    """The pair of classes that the words of each slot belong to."""

    of_slot: Words  # its number. Shape: (slots)
    size: int  # how many numbers there are

    @classmethod
    def none(cls) -> SlotClasses:
        """Of words without classes."""
        return cls(np.zeros(0, np.int32), 0)

    @classmethod
    def of(cls, table: PairTable, classes: PairTable, condition: Words, generated: Words) -> SlotClasses:
        """Pairs of classes as slots of ``classes``; ``condition`` and ``generated`` are the class of each word."""
        of_slot = np.zeros(len(table.key), np.int32)
        _locate(table.flat, classes.flat, condition, generated, of_slot)
        return cls(of_slot, len(classes.key))


class LinkSums(NamedTuple):
    """Expected links of words, and of the pair of classes that each slot's words belong to."""

    condition: Doubles  # of each conditioning word
    generated: Doubles  # of each generated word
    classes: Doubles  # of the classes of each slot; empty without classes

    @classmethod
    def of(cls, links: Doubles, table: PairTable, words: int, classes: SlotClasses) -> LinkSums:
        """The sums of what each slot has; ``words`` is the number of generated words."""
        condition, generated, whole = (np.zeros(size) for size in (len(table.size), words, classes.size))
        _add_up(links, table.flat, classes.of_slot, (condition, generated, whole))
        return cls(condition, generated, _spread(whole, classes.of_slot))


@compiled
def _locate(table, classes, condition, generated, of_slot):
    for row in range(len(table.size)):
        for slot in range(table.start[row], table.start[row + 1]):
            if table.key[slot] != EMPTY:
                pair = find(classes.start, classes.key, condition[row], generated[table.key[slot]])
                of_slot[slot] = np.int32(pair)


@compiled
def _add_up(links, table, classes, sums):
    condition, generated, whole = sums
    for row in range(len(table.size)):
        for slot in range(table.start[row], table.start[row + 1]):
            count = links[slot]
            if count > 0.0:  # most are 0, among them those of empty slots
                condition[row] += count
                generated[table.key[slot]] += count
                if len(classes):
                    whole[classes[slot]] += count


@compiled
def _spread(whole, classes):
    """The sum of each slot's classes."""
    spread = np.empty(len(classes))
    for slot in range(len(classes)):
        spread[slot] = whole[classes[slot]]
    return spread
