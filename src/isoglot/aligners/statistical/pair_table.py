"""The word pairs that occur together in a bitext, as hash tables in flat arrays that compiled loops can search.

A translation table needs one number for each (conditioning word, generated word) that some sentence pair holds. Each
conditioning word has a row of slots in one long array, a small open-addressing hash table of its generated words. A
sentence pair visits every generated word under each of its conditioning words, so the few cache lines of a row serve a
whole sentence.

Other arrays (probabilities, expected links) are as long as the array of slots, and have the value of a pair at its
slot. If word 0 occurs with the words 4 and 7, and word 1 with 4, then ``start = [0, 3, 5]`` and ``key = [7, 4, -1, 4,
-1]``: the pair (1, 4) has the slot 3.

Memory is proportional to the number of distinct word pairs, which grows with the vocabulary, not to the sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.bitext import BitextSide, Ints
from isoglot.aligners.statistical.decoding import in_threads

EMPTY = -1
"""Key of a slot without a word."""
_RANGES = 32
"""Ranges of conditioning words that are worked on in parallel."""


class FlatTable(NamedTuple):
    """The arrays of a :class:`PairTable`, as the compiled loops take them."""

    start: Ints
    key: npt.NDArray[np.int32]
    size: Ints


@dataclass(frozen=True, slots=True)
class PairTable:
    """Slots of all (conditioning word, generated word) pairs."""

    start: Ints  # conditioning word ``e`` owns the slots ``start[e]:start[e + 1]``. Shape: (conditioning words + 1)
    # generated word of each slot, :data:`EMPTY` where there is none. Shape: (slots)
    key: npt.NDArray[np.int32]
    size: Ints  # number of pairs of each conditioning word. Shape: (conditioning words)

    def __len__(self) -> int:
        return int(self.size.sum())

    @classmethod
    def of(cls, condition: BitextSide, generated: BitextSide) -> PairTable:
        """Make the table of the pairs that occur in a bitext: count the pairs of each row, then fill the rows."""
        size = np.zeros(len(condition.words), np.int64)
        first_of_word, sentences = occurrences(condition)

        def count_or_insert(start: Ints, key: npt.NDArray[np.int32], word_range: tuple[int, int]) -> None:
            """Go through the pairs of some conditioning words: count them in ``size``, and insert them into slots."""
            seen_by = np.full(len(generated.words), -1, np.int32)
            _count_or_insert(first_of_word, sentences, generated.flat, seen_by, size, start, key, word_range)

        # Twice over the text: without slots the pairs are only counted, which gives the size of each row.
        ranges, words = word_ranges(first_of_word), len(condition.ids)
        count = partial(count_or_insert, np.zeros(0, np.int64), np.zeros(0, np.int32))
        in_threads(count, ranges, words=words)
        start = _starts(size)
        key = np.full(start[-1], EMPTY, np.int32)
        in_threads(partial(count_or_insert, start, key), ranges, words=words)
        return cls(start, key, size)

    @classmethod
    def of_pairs(
        cls, condition_words: npt.NDArray[np.int32], generated_words: npt.NDArray[np.int32], words: int
    ) -> PairTable:
        """Make the table of distinct pairs; ``words`` is the number of conditioning words in the vocabulary."""
        size = np.bincount(condition_words, minlength=words).astype(np.int64)
        start = _starts(size)
        key = np.full(start[-1], EMPTY, np.int32)
        _insert_all(start, key, condition_words, generated_words)
        return cls(start, key, size)

    @property
    def flat(self) -> FlatTable:
        """``start``, ``key`` and ``size``, as the compiled loops take a table."""
        return FlatTable(self.start, self.key, self.size)

    @property
    def condition(self) -> npt.NDArray[np.int32]:
        """Conditioning word of each slot. Shape: (slots)."""
        return np.repeat(np.arange(len(self.size), dtype=np.int32), np.diff(self.start))

    def pairs(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Ints]:
        """Return conditioning word, generated word and slot of each pair, sorted by the words in this order."""
        condition = np.repeat(np.arange(len(self.size), dtype=np.int32), self.size)
        # Each pair packed into one number: to sort these and look the slots up again beats a sort by two words.
        packed = condition.astype(np.int64)
        packed <<= 32
        packed |= self.key[self.key != EMPTY]
        packed.sort()
        generated = (packed & 0xFFFFFFFF).astype(np.int32)
        del packed
        return condition, generated, self.slots(condition, generated)

    def slots(
        self, condition_words: npt.NDArray[np.integer], generated_words: npt.NDArray[np.integer]
    ) -> Ints:
        """Return the slots of pairs, −1 where a word is −1 or the pair is not in the table."""
        slots = np.full(len(condition_words), -1, np.int64)
        _find_all(
            self.start,
            self.key,
            condition_words.astype(np.int32, copy=False),
            generated_words.astype(np.int32, copy=False),
            slots,
        )
        return slots


def _starts(size: Ints) -> Ints:
    """Return where each row starts. Rows are about 85 % full; an empty slot ends a search, so every row has one."""
    return np.concatenate([[0], np.cumsum(size + size // 6 + 1)]).astype(np.int64)


@helper
def _home(first, row_slots, word):
    """Return the slot where the search for a word begins: Fibonacci hashing, scaled to the slots of the row."""
    mixed = (np.uint64(word) * np.uint64(2654435769)) & np.uint64(0xFFFFFFFF)
    return first + np.int64((mixed * np.uint64(row_slots)) >> np.uint64(32))


@helper
def find(start, key, condition, word):
    """Return the slot of a pair, −1 if it is not in the table: search on from its home, around the end of the row."""
    first, stop = start[condition], start[condition + 1]
    slot = _home(first, stop - first, word)
    while key[slot] != word:
        if key[slot] == EMPTY:
            return np.int64(-1)
        slot += 1
        if slot == stop:
            slot = first
    return slot


@helper
def _insert(start, key, condition, word):
    """Put a pair that is not in the table into the first empty slot from its home on."""
    first, stop = start[condition], start[condition + 1]
    slot = _home(first, stop - first, word)
    while key[slot] != EMPTY:
        slot += 1
        if slot == stop:
            slot = first
    key[slot] = word


@compiled
def _insert_all(start, key, condition, generated):
    """Put distinct pairs into an empty table."""
    for k in range(len(condition)):
        _insert(start, key, condition[k], generated[k])


@compiled
def _find_all(start, key, condition, generated, slots):
    """Write the slots of pairs into ``slots``, which keeps its value where a word is unknown (−1)."""
    for k in range(len(condition)):
        if condition[k] >= 0 and generated[k] >= 0:
            slots[k] = find(start, key, condition[k], generated[k])


def occurrences(side: BitextSide) -> tuple[Ints, npt.NDArray[np.int32]]:
    """List the sentences of each word, in ascending order; a sentence is listed as often as it holds the word.

    Returns:
        ``first_of_word`` and ``sentences``: word w has ``sentences[first_of_word[w]:first_of_word[w + 1]]``.
    """
    first_of_word = np.zeros(len(side.words) + 1, np.int64)
    np.cumsum(np.bincount(side.ids, minlength=len(side.words)), out=first_of_word[1:])
    sentences = np.empty(len(side.ids), np.int32)
    _occurrences(side.ids, side.offsets, first_of_word[:-1].copy(), sentences)
    return first_of_word, sentences


@compiled
def _occurrences(ids, offsets, cursor, sentences):
    """List the sentences of each word; ``cursor`` is where each word's next sentence goes."""
    for s in range(len(offsets) - 1):
        for k in range(offsets[s], offsets[s + 1]):
            sentences[cursor[ids[k]]] = s
            cursor[ids[k]] += 1


def word_ranges(first_of_word: Ints) -> list[tuple[int, int]]:
    """Cut the conditioning words into ranges that have about equally many tokens each.

    A very frequent word is a range of its own. ``first_of_word``: Of :func:`occurrences`.
    """
    cuts = np.searchsorted(first_of_word, np.linspace(0, first_of_word[-1], _RANGES + 1))
    return list(pairwise(np.unique([0, *cuts.tolist(), len(first_of_word) - 1]).tolist()))


@compiled
def _count_or_insert(first_of_word, sentences, side, seen_by, size, start, key, word_range):
    """Count the distinct words of ``side`` that occur together with each conditioning word; with slots insert them too.

    ``first_of_word``, ``sentences``: :func:`occurrences` of the conditioning side.

    ``seen_by`` has for each word of ``side`` the last conditioning word that it was counted for, −1 at first. The
    conditioning words of a range come one after the other, so this shows whether a word has been counted for the
    present one.
    """
    for condition in range(word_range[0], word_range[1]):
        count, before = 0, np.int32(-1)
        for k in range(first_of_word[condition], first_of_word[condition + 1]):
            sentence = sentences[k]
            if sentence == before:  # the word stands there twice
                continue
            before = sentence
            for t in range(side.offsets[sentence], side.offsets[sentence + 1]):
                word = side.ids[t]
                if seen_by[word] != condition:
                    seen_by[word] = condition
                    count += 1
                    if len(start):
                        _insert(start, key, condition, word)
        size[condition] = count
