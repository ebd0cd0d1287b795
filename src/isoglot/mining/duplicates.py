"""Find pairs whose text is that of an earlier pair, by hashes: 16 bytes per pair, however long it is."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isoglot.corpus.filter.filters import find_hashes, hash_texts
from isoglot.formats.sentence_pair import SentencePair

Duplicates = Literal["keep", "pair", "source", "target"]
_SIDES = {"pair": (0, 1), "source": (0,), "target": (1,)}
Place = tuple[str | None, int]
"""File and line of a pair, or None and its number from 1 where it has no line."""


class FirstPairs:
    """Remembers the place at which each text first stood.

    Texts and places are stored as numbers, in a few arrays that are each sorted by hash: to find a text, one search in
    each array is enough.

    Two different texts may share a hash, and the second is lost as a false duplicate. For n texts this happens with a
    probability of at most n² / 2⁶⁵.

    Example:
        >>> pairs = [SentencePair((text, text)) for text in ("a", "b", "a")]
        >>> FirstPairs("source").earlier(pairs, [("x.tsv", 1), ("x.tsv", 2), ("x.tsv", 3)])
        [None, None, ('x.tsv', 1)]
    """

    def __init__(self, compared: str) -> None:
        self._sides = _SIDES[compared]
        self._sorted: list[NDArray[np.uint64]] = []  # row 0: hashes, ascending; row 1: the place of each
        self._paths: list[str | None] = []  # of the inputs so far, for `_pack`

    def earlier(self, pairs: Sequence[SentencePair], places: Sequence[Place]) -> list[Place | None]:
        """Find the place at which the text of each pair stood before; None for a new text, which is remembered.

        1. Texts are the same if they are equal in Unicode normal form NFC, and their tags and languages are the same.
           White space counts, so the texts should be clean.
        2. Of pairs that are given together, the first one with a text is the earlier one of the others.
        """
        hashes = hash_texts(map(self._key, pairs))
        packed = np.array([self._pack(place) for place in places], np.uint64)
        # The different hashes, the row at which each stands first, and the number of the hash of each row.
        unique, first_row, number_of_hash = np.unique(hashes, return_index=True, return_inverse=True)
        # The first place of each hash: in these pairs, unless the hash is known already.
        first_place = packed[first_row]
        is_new = np.ones(len(unique), bool)
        for known_hashes, known_places in self._sorted:
            found, at = find_hashes(unique, known_hashes)
            first_place = np.where(found, known_places[at], first_place)
            is_new &= ~found
        self._remember(np.stack([unique[is_new], first_place[is_new]]))
        result: list[Place | None] = []
        for row, number in enumerate(number_of_hash.tolist()):
            is_first = bool(is_new[number]) and first_row[number] == row
            result.append(None if is_first else self._unpack(int(first_place[number])))
        return result

    def _key(self, pair: SentencePair) -> str:
        """The text by which a pair is compared: the sides that count, their tags, and the languages."""
        texts = (unicodedata.normalize("NFC", pair.texts[side]) for side in self._sides)
        tags = [pair.tags[side] for side in self._sides if pair.tags[side]]
        return "\x00".join([*texts, *map(str, tags), *pair.languages])

    def _remember(self, new: NDArray[np.uint64]) -> None:
        """Add a sorted array; the last two are merged until each is more than twice as long as the next."""
        if not new.shape[1]:
            return
        self._sorted.append(new)
        while len(self._sorted) > 1 and self._sorted[-2].shape[1] <= 2 * self._sorted[-1].shape[1]:
            merged = np.concatenate([self._sorted.pop(), self._sorted.pop()], axis=1)
            self._sorted.append(merged[:, np.argsort(merged[0], kind="stable")])

    def _pack(self, place: Place) -> int:
        """A place as a number: the file in the upper 24 bits, the line in the others."""
        path, line = place
        if not self._paths or self._paths[-1] != path:
            self._paths.append(path)
        return (len(self._paths) - 1) << 40 | line

    def _unpack(self, number: int) -> Place:
        return self._paths[number >> 40], number & ((1 << 40) - 1)
