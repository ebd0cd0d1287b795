"""Word classes by prefix: ``helper`` and ``helping`` share their first letters and, mostly, their translations.

A translation table learned from a few thousand sentences knows little about rare inflected forms. The table of the
*prefixes* is dense enough, and serves as the base measure to which rare words fall back:

    p_base(f | e) = p(prefix(f) | prefix(e)) · p(f | prefix(f))
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


def prefix(word: str, length: int) -> str:
    """The first letters of a word, in lower case and without accents.

    Example:
        >>> prefix("Économique", 4)
        'econ'
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", word.lower()) if unicodedata.category(c) != "Mn")
    return (plain or word)[:length]


@dataclass(frozen=True, slots=True)
class PrefixClasses:
    """Classes of a vocabulary."""

    names: tuple[str, ...]
    of_word: npt.NDArray[np.int64]

    @classmethod
    def of(cls, words: Sequence[str], length: int) -> PrefixClasses:
        """Number the prefixes of a vocabulary in order of appearance."""
        numbers: dict[str, int] = {}
        of_word = [numbers.setdefault(prefix(word, length), len(numbers)) for word in words]
        return cls(tuple(numbers), np.array(of_word, np.int64))

    def locate(self, words: Sequence[str], length: int) -> npt.NDArray[np.int64]:
        """Class of each of some other words, −1 where no word here begins like it. Shape: (words)."""
        numbers = {name: number for number, name in enumerate(self.names)}
        return np.array([numbers.get(prefix(word, length), -1) for word in words], np.int64)
