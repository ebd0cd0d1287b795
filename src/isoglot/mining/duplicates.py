"""Pairs whose text is that of an earlier pair, found by hashes: 16 bytes a pair, whatever its length."""

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
    """Remembers where each text first stood.

    Different texts share a hash, so that one is lost as a false duplicate, with probability of at most n² / 2⁶⁵ for n
    texts.
    """

    def __init__(self, compared: str) -> None:
        self._sides = _SIDES[compared]
        self._runs: list[NDArray[np.uint64]] = []  # (hash, place) in columns, sorted by hash
        self._paths: list[str | None] = []

    def earlier(self, pairs: Sequence[SentencePair], places: Sequence[Place]) -> list[Place | None]:
        """Where the text of each pair stood before; None for a new one, which is remembered.

        Two texts are the same if they differ in white space or in Unicode normal form only, and have the same tags.
        """
        hashes = hash_texts(map(self._key, pairs))
        packed = np.array([self._pack(place) for place in places], np.uint64)
        unique, first, back = np.unique(hashes, return_index=True, return_inverse=True)
        known = packed[first]
        new = np.ones(len(unique), bool)
        for run in self._runs:
            found, number = find_hashes(unique, run[0])
            known = np.where(found, run[1][number], known)
            new &= ~found
        self._remember(np.stack([unique[new], known[new]]))
        result: list[Place | None] = []
        for row, key in enumerate(back.tolist()):
            is_first = bool(new[key]) and first[key] == row
            result.append(None if is_first else self._unpack(int(known[key])))
        return result

    def _key(self, pair: SentencePair) -> str:
        texts = (unicodedata.normalize("NFC", pair.texts[side]) for side in self._sides)
        tags = [pair.tags[side] for side in self._sides if pair.tags[side]]
        return "\x00".join([*texts, *map(str, tags), *pair.languages])

    def _remember(self, run: NDArray[np.uint64]) -> None:
        """Add a sorted run; small runs are merged, so that there are few."""
        if not run.shape[1]:
            return
        self._runs.append(run)
        while len(self._runs) > 1 and self._runs[-2].shape[1] <= 2 * self._runs[-1].shape[1]:
            merged = np.concatenate([self._runs.pop(), self._runs.pop()], axis=1)
            self._runs.append(merged[:, np.argsort(merged[0], kind="stable")])

    def _pack(self, place: Place) -> int:
        """A place as a number: the file in the upper 24 bits, the line in the others."""
        path, line = place
        if not self._paths or self._paths[-1] != path:
            self._paths.append(path)
        return (len(self._paths) - 1) << 40 | line

    def _unpack(self, number: int) -> Place:
        return self._paths[number >> 40], number & ((1 << 40) - 1)
