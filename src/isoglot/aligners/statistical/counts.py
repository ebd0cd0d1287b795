"""Expected counts, which statistical models learn: sums over the models of parts of a text, and over the words of one.

``Counts`` and ``CountSum`` serve the merging of models; ``SlotClasses`` and ``LinkSums`` the M-step of the HMM.
"""

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
"""The first and the second word of each pair, as numbers."""


_TINY = 1e-12
"""Takes the place of a sum of 0 by which is divided."""


class Counts(NamedTuple):
    """One direction's expected counts."""

    links: Doubles  # of each pair of words. Shape: (pairs)
    # Counts of each generated word. fast_align has one row, the null links; the HMM has two, the null links and the
    # occurrences. Shape: (rows, generated vocabulary)
    of_words: Doubles
    rest: (
        Doubles  # everything else that adds up: of fast_align the tension, of the HMM the jumps. Shape: (any)
    )

    @classmethod
    def nothing(cls) -> Counts:
        """Return the counts of an empty text, to which those of either method can be added."""
        # No word has a count, so the number of rows does not matter; the single 0 is added to a `rest` of any length.
        return cls(np.zeros(0), np.zeros((1, 0)), np.zeros(1))


def sums(index: npt.NDArray[np.integer], weights: npt.NDArray[Any], size: int) -> Doubles:
    """Sum the weights of each index: ``sums([0, 2, 0], [1, 2, 3], 3)`` is ``[4, 0, 2]``."""
    return np.asarray(np.bincount(index, weights, size), np.float64)


def at_index(values: npt.NDArray[np.floating], index: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return ``values[index]``, and 0 where the index is −1."""
    result = values[index] if len(values) else np.zeros(len(index), values.dtype)
    result[index < 0] = 0.0
    return result


class CountSum:
    """The sum of the counts of several models, over the words and pairs of all of them.

    Models number their words differently, so each model's numbers are translated into those of the sum.
    """

    def __init__(self) -> None:
        self._numbers: tuple[dict[str, int], dict[str, int]] = {}, {}
        self._keys = np.zeros(0, np.int64)  # each pair as one number, sorted
        self.forward = self.reverse = Counts.nothing()

    @property
    def words(self) -> Vocabularies:
        """Source and target words, in the order in which the models name them."""
        return Vocabulary(self._numbers[0]), Vocabulary(self._numbers[1])

    @property
    def word_pairs(self) -> Pairs:
        """Source and target word of each pair, sorted by source, then target word."""
        return (self._keys >> 32).astype(np.int32), (self._keys & 0xFFFFFFFF).astype(np.int32)

    def unknown_shares(
        self, words: Vocabularies, word_pairs: Pairs, forward: Counts, reverse: Counts
    ) -> tuple[float, float]:
        """Measure, for each side, how little a model has in common with this sum, from 0 to 1.

        Two shares of expected links are measured, and the lesser one is returned:

        1. The model's links to words that the sum does not know, out of all links of the model.
        2. The sum's links to words that the model does not know, out of all links of the sum.

        A small model knows few words of a large sum (2), but if the languages are the same, the sum knows most words of
        the small model (1).

        Arguments as in :meth:`add`.
        """
        shares = []
        # The reverse direction generates the source words, the forward direction the target words.
        for side, new, before in ((0, reverse, self.reverse), (1, forward, self.forward)):
            known = self._numbers[side]
            number = np.array([known.get(word, -1) for word in words[side]], np.int64)
            links = sums(word_pairs[side], new.links, len(number))
            links_before = sums(self.word_pairs[side], before.links, len(known))
            unknown_to_sum = float(links[number < 0].sum())
            unknown_to_model = float(links_before.sum() - links_before[number[number >= 0]].sum())
            of_model = unknown_to_sum / max(float(links.sum()), _TINY)  # 1
            of_sum = unknown_to_model / max(float(links_before.sum()), _TINY)  # 2
            shares.append(min(of_model, of_sum))
        return shares[0], shares[1]

    def add(self, words: Vocabularies, word_pairs: Pairs, forward: Counts, reverse: Counts) -> None:
        """Add the counts of a model.

        Args:
            words: Its source and its target vocabulary.
            word_pairs: Source and target word of each of its pairs.
            forward: Counts of the direction that generates target words.
            reverse: Counts of the direction that generates source words.
        """
        source, target = (
            np.array([known.setdefault(word, len(known)) for word in side], np.int64)
            for known, side in zip(self._numbers, words, strict=True)
        )
        keys = (source[word_pairs[0]] << 32) | target[word_pairs[1]]
        self._keys, slots = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        self.forward = self._added(self.forward, forward, slots, target, len(self._numbers[1]))
        self.reverse = self._added(self.reverse, reverse, slots, source, len(self._numbers[0]))

    def _added(
        self,
        before: Counts,
        new: Counts,
        slots: npt.NDArray[np.int64],
        words: npt.NDArray[np.int64],
        size: int,
    ) -> Counts:
        """Add the counts of one direction.

        Args:
            before: The sum so far.
            new: The counts to add.
            slots: Places in the new sum of the pairs so far, then of the pairs to add.
            words: Number in the sum of each generated word of the model.
            size: Number of generated words in the sum.
        """
        links = sums(slots, np.concatenate([before.links, new.links]), len(self._keys))
        of_words = np.zeros((len(new.of_words), size))
        of_words[:, : before.of_words.shape[1]] = before.of_words
        of_words[:, words] += new.of_words
        return Counts(links, of_words, before.rest + new.rest)


class SlotClasses(NamedTuple):
    """The pair of prefix classes that the two words of each slot belong to."""

    of_slot: Words  # number of the pair of classes. Shape: (slots)
    size: int  # numbers of pairs are below this

    @classmethod
    def none(cls) -> SlotClasses:
        """Return the value for words without classes."""
        return cls(np.zeros(0, np.int32), 0)

    @classmethod
    def of(
        cls, table: PairTable, class_table: PairTable, condition_classes: Words, generated_classes: Words
    ) -> SlotClasses:
        """Find the pair of classes of each slot of ``table``, as a slot of ``class_table``.

        ``condition_classes``, ``generated_classes``: The class of each conditioning and of each generated word.
        """
        of_slot = np.zeros(len(table.key), np.int32)
        _locate(table.flat, class_table.flat, condition_classes, generated_classes, of_slot)
        return cls(of_slot, len(class_table.key))


class LinkSums(NamedTuple):
    """Sums of expected links, which both directions share: of each word, and of the pair of classes of each slot."""

    by_source: Doubles  # of each source word
    by_target: Doubles  # of each target word
    class_links: Doubles  # of the pair of classes of each slot; empty without classes

    @classmethod
    def of(cls, links: Doubles, table: PairTable, target_words: int, slot_classes: SlotClasses) -> LinkSums:
        """Sum the expected links of the slots of a table in all three ways.

        Args:
            links: Expected links of each slot.
            table: The word pairs, with source words as conditioning words.
            target_words: Number of target words.
            slot_classes: The pair of prefix classes of each slot.
        """
        by_source, by_target = np.zeros(len(table.size)), np.zeros(target_words)
        by_class = np.zeros(slot_classes.size)  # of each pair of classes
        _add_up(links, table.flat, slot_classes.of_slot, (by_source, by_target, by_class))
        return cls(by_source, by_target, _spread(by_class, slot_classes.of_slot))


@compiled
def _locate(table, class_table, condition_classes, generated_classes, of_slot):
    """Write the slot in ``class_table`` of each slot's pair of classes; empty slots keep 0."""
    for row in range(len(table.size)):
        for slot in range(table.start[row], table.start[row + 1]):
            if table.key[slot] != EMPTY:
                generated_class = generated_classes[table.key[slot]]
                pair = find(class_table.start, class_table.key, condition_classes[row], generated_class)
                of_slot[slot] = np.int32(pair)


@compiled
def _add_up(links, table, class_of_slot, sums):
    """Add the links of each slot to the sums of its source word, its target word and its pair of classes."""
    by_source, by_target, by_class = sums
    for row in range(len(table.size)):
        for slot in range(table.start[row], table.start[row + 1]):
            count = links[slot]
            if count > 0.0:  # most are 0, among them those of empty slots
                by_source[row] += count
                by_target[table.key[slot]] += count
                if len(class_of_slot):  # words have classes
                    by_class[class_of_slot[slot]] += count


@compiled
def _spread(by_class, class_of_slot):
    """Return for each slot the sum of its pair of classes."""
    spread = np.empty(len(class_of_slot))
    for slot in range(len(class_of_slot)):
        spread[slot] = by_class[class_of_slot[slot]]
    return spread
