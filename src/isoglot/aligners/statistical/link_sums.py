"""Sums of expected links, from slots of a table to words and to classes of words and back: the HMM's M-step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled
from isoglot.aligners.statistical.pair_table import EMPTY, PairTable, find

Doubles = npt.NDArray[np.float64]
Words = npt.NDArray[np.int32]


class SlotClasses(NamedTuple):
    """The pair of classes that the words of each slot belong to."""

    of_slot: Words  # its number. Shape: (slots)
    size: int  # how many numbers there are

    @classmethod
    def none(cls) -> SlotClasses:
        """Of words without classes."""
        return cls(np.zeros(0, np.int32), 0)

    @classmethod
    def of(cls, table: PairTable, classes: PairTable, given: Words, generated: Words) -> SlotClasses:
        """Pairs of classes as slots of ``classes``; ``given`` and ``generated`` are the class of each word."""
        of_slot = np.zeros(len(table.key), np.int32)
        _locate(table.flat, classes.flat, given, generated, of_slot)
        return cls(of_slot, len(classes.key))


class LinkSums(NamedTuple):
    """Expected links of words, and of the pair of classes that each slot's words belong to."""

    given: Doubles  # of each given word
    generated: Doubles  # of each generated word
    classes: Doubles  # of the classes of each slot; empty without classes

    @classmethod
    def of(cls, links: Doubles, table: PairTable, words: int, classes: SlotClasses) -> LinkSums:
        """The sums of what each slot has; ``words`` is the number of generated words."""
        given, generated, whole = (np.zeros(size) for size in (len(table.size), words, classes.size))
        _add_up(links, table.flat, classes.of_slot, (given, generated, whole))
        return cls(given, generated, _spread(whole, classes.of_slot))


@compiled
def _locate(table, classes, given, generated, found):
    for row in range(len(table.size)):
        for slot in range(table.start[row], table.start[row + 1]):
            if table.key[slot] != EMPTY:
                place = find(classes.start, classes.key, given[row], generated[table.key[slot]])
                found[slot] = np.int32(place)


@compiled
def _add_up(links, table, classes, sums):
    given, generated, whole = sums
    for row in range(len(table.size)):
        for slot in range(table.start[row], table.start[row + 1]):
            count = links[slot]
            if count > 0.0:  # most are 0, among them those of empty slots
                given[row] += count
                generated[table.key[slot]] += count
                if len(classes):
                    whole[classes[slot]] += count


@compiled
def _spread(whole, classes):
    """The sum of each slot's classes."""
    found = np.empty(len(classes))
    for slot in range(len(classes)):
        found[slot] = whole[classes[slot]]
    return found
