"""Transliteration of plain text by a reversible change of alphabet, for any tokenizer that is trained afterwards.

Reversible: no two characters of the table have the same copy, so the original can be read off the derived text. (é
becomes the copy of e with an accent behind it, and NFC joins both again on the way back.) A further character in
:func:`_letter_table` needs a copy of its own.
"""

import string
import unicodedata
from collections.abc import Collection

from isoglot.core.checks import did_you_mean
from isoglot.core.errors import ConfigurationError
from isoglot.derivation.base import DerivedSentence, Sentence

ALPHABETS: dict[str, tuple[int, int]] = {
    "armenian": (0x0531, 0x0561),
    "georgian": (0x1C90, 0x10D0),
    "cherokee": (0x13A0, 0xAB70),
    "deseret": (0x10400, 0x10428),
}
"""Scripts with upper and lower case, by their first upper- and lower-case letters."""

_LATIN = string.ascii_lowercase + "æøœłđþð"
_SINGLE_CASE = "ß"
_FIRST_DIGIT = 0xA8D0  # the first of ten digits in a row (Saurashtra), still digits to every tokenizer
_FIRST_PUNCTUATION = 0x2E00  # the first of 32 punctuation marks in a row, as many as ASCII has
_PRECOMPOSED = (*range(0x00C0, 0x0250), *range(0x1E00, 0x1F00))
"""Blocks of Unicode with Latin letters that have their accent inside: é is one character."""


def _letter_table(alphabet: str) -> dict[int, str]:
    """Make a ``str.translate`` table from Latin letters to another script, with their case and their accents.

    ASCII digits and ASCII punctuation get copies of their own, which are digits and punctuation too. All other
    characters, such as the digits of other scripts, stay as they are.
    """
    if alphabet not in ALPHABETS:
        raise ConfigurationError(f"unknown alphabet {alphabet!r}; {did_you_mean(alphabet, ALPHABETS)}")
    upper, lower = ALPHABETS[alphabet]
    table: dict[int, str] = {}
    for number, letter in enumerate(_LATIN):
        table[ord(letter)] = chr(lower + number)
        table[ord(letter.upper())] = chr(upper + number)
    table[ord(_SINGLE_CASE)] = chr(lower + len(_LATIN))
    # é becomes the copy of e, and its accent behind that.
    for code in _PRECOMPOSED:
        decomposed = unicodedata.normalize("NFD", chr(code))
        letter, accents = decomposed[0], decomposed[1:]
        if accents and ord(letter) in table:
            table[code] = table[ord(letter)] + accents
    for number, digit in enumerate(string.digits):
        table[ord(digit)] = chr(_FIRST_DIGIT + number)
    for number, mark in enumerate(string.punctuation):
        table[ord(mark)] = chr(_FIRST_PUNCTUATION + number)
    return table


class Transliteration:
    """Writes every word character by character in another alphabet: a copy of the vocabulary, word for word.

    Latin letters, ASCII digits and ASCII punctuation change (:func:`_letter_table`).

    Args:
        alphabet: A key of :data:`ALPHABETS`.
        shared: Words that both languages write alike.

    Source: Tang et al. 2022, T_trans ("we create a copy of the vocabulary"), for users of plain text. For a copy of
    a tokenizer's pieces, exact in ids, use :class:`isoglot.derivation.vocabulary.VocabularyCopy`.

    Example:
        >>> Transliteration()(Sentence.of("a cab")).words
        ('ա', 'գաբ')
        >>> hex(ord(Transliteration().word("7")))
        '0xa8d7'
    """

    def __init__(self, alphabet: str = "armenian", *, shared: Collection[str] = ()) -> None:
        self._table = _letter_table(alphabet)
        # The derived words so far, by the original ones: shared words are derived from the start.
        self._derived: dict[str, str] = {word: word for word in shared}

    def word(self, word: str) -> str:
        """Write one word in the derived language."""
        derived = self._derived.get(word)
        if derived is None:
            # NFC, so that é is the one character that the table has.
            derived = unicodedata.normalize("NFC", word).translate(self._table)
            self._derived[word] = derived
        return derived

    def __call__(self, sentence: Sentence, *, key: int = 0) -> DerivedSentence:
        """Write the words of a sentence in the other alphabet; ``key`` has no effect."""
        del key
        return DerivedSentence(tuple(map(self.word, sentence.words)), tuple(range(len(sentence.words))))
