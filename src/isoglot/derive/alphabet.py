"""Transliteration of plain text by a reversible change of alphabet, for any tokenizer that is trained afterwards."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Collection, Iterable, Mapping

from isoglot.derive.base import Derived, Sentence, in_place
from isoglot.derive.sharing import draw_shared
from isoglot.errors import ConfigurationError

__all__ = ["ALPHABETS", "Transliteration", "alphabet_table"]

ALPHABETS: dict[str, tuple[int, int]] = {
    "armenian": (0x0531, 0x0561),
    "georgian": (0x1C90, 0x10D0),
    "cherokee": (0x13A0, 0xAB70),
    "deseret": (0x10400, 0x10428),
}
"""Scripts with upper and lower case, by their first upper- and lower-case letters."""

_LATIN = string.ascii_lowercase + "æøœłđþð"
_SINGLE_CASE = "ß"
_DIGITS = 0xA8D0  # ten digits in a row (Saurashtra), still digits to every tokenizer
_MARKS = 0x2E00  # 32 punctuation marks in a row, as many as ASCII has
_PRECOMPOSED = (*range(0x00C0, 0x0250), *range(0x1E00, 0x1F00))


def alphabet_table(name: str, *, marks: bool = True) -> dict[int, str]:
    """A ``str.translate`` table from Latin letters to another script, case kept, letters with accents included.

    Args:
        name: one of :data:`ALPHABETS`.
        marks: also give digits and ASCII punctuation copies of their own (which stay digits and punctuation).

    Raises:
        ConfigurationError: an unknown name.
    """
    if name not in ALPHABETS:
        raise ConfigurationError(
            f"alphabet {name!r} given; there are {', '.join(ALPHABETS)}; or give a mapping of characters"
        )
    upper, lower = ALPHABETS[name]
    table: dict[int, str] = {}
    for i, letter in enumerate(_LATIN):
        table[ord(letter)], table[ord(letter.upper())] = chr(lower + i), chr(upper + i)
    table[ord(_SINGLE_CASE)] = chr(lower + len(_LATIN))
    for code in _PRECOMPOSED:
        parts = unicodedata.normalize("NFD", chr(code))
        if len(parts) > 1 and ord(parts[0]) in table:
            table[code] = table[ord(parts[0])] + parts[1:]
    if marks:
        table |= {ord(c): chr(_DIGITS + i) for i, c in enumerate(string.digits)}
        table |= {ord(c): chr(_MARKS + i) for i, c in enumerate(string.punctuation)}
    return table


class Transliteration:
    """Every word letter by letter in another alphabet: a copy of the vocabulary, word for word.

    Args:
        alphabet: a name of :data:`ALPHABETS` (for text in Latin letters), or a mapping of single characters.
        shared: words that both languages write alike.
        marks: also copy digits and punctuation (named alphabets).

    Raises:
        ConfigurationError: a mapping that cannot be reversed.

    Source: Tang et al. 2022, T_trans ("we create a copy of the vocabulary"), for users of plain text. For a copy of
    a tokenizer's pieces, exact in ids, use :class:`isoglot.derive.vocabulary.VocabularyCopy`.

    Example:
        >>> Transliteration()(Sentence.of("a cab")).words
        ('ա', 'գաբ')
    """

    def __init__(
        self,
        alphabet: str | Mapping[str, str] = "armenian",
        *,
        shared: Collection[str] = (),
        marks: bool = True,
    ) -> None:
        if isinstance(alphabet, str):
            self._table = alphabet_table(alphabet, marks=marks)
        else:
            self._table = _checked(alphabet)
        self.shared = frozenset(shared)
        self._back = {ord(v): chr(k) for k, v in self._table.items() if len(v) == 1}
        self._known: dict[str, str] = {w: w for w in self.shared}

    @classmethod
    def draw(
        cls,
        vocabulary: Iterable[str],
        *,
        overlap: float,
        seed: int = 0,
        with_replacement: bool = False,
        alphabet: str | Mapping[str, str] = "armenian",
        marks: bool = True,
    ) -> Transliteration:
        """One with a part of the word types unchanged: see :func:`isoglot.derive.sharing.draw_shared`."""
        words = sorted(set(vocabulary))
        chosen = draw_shared(len(words), overlap=overlap, seed=seed, with_replacement=with_replacement)
        return cls(alphabet, shared=[words[i] for i in chosen], marks=marks)

    def word(self, word: str) -> str:
        """One word in the derived language."""
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = unicodedata.normalize("NFC", word).translate(self._table)
        return known

    def original(self, word: str) -> str:
        """The word that was transliterated; exact for NFC text that has no letter of the other alphabet itself."""
        if word in self.shared:
            return word
        return unicodedata.normalize("NFC", word.translate(self._back))

    def __call__(self, sentence: Sentence, *, key: int = 0) -> Derived:
        """The same words in the same order, written in the other alphabet; ``key`` has no effect."""
        del key
        words = sentence.words
        try:
            known = self._known
            out = [known[w] for w in words]
        except KeyError:
            out = [self.word(w) for w in words]
        return Derived(tuple(out), in_place(len(words)))


def _checked(mapping: Mapping[str, str]) -> dict[int, str]:
    problems = [
        f"alphabet: {k!r} → {v!r}; single characters are needed"
        for k, v in mapping.items()
        if len(k) != 1 or len(v) != 1
    ]
    targets = list(mapping.values())
    if len(set(targets)) != len(targets):
        twice = sorted({v for v in targets if targets.count(v) > 1})
        problems.append(
            f"alphabet: several characters become {', '.join(map(repr, twice))}, which cannot be read back; give each "
            "its own"
        )
    if problems:
        raise ConfigurationError(problems)
    return {ord(k): v for k, v in mapping.items()}
