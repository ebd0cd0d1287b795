"""Words that a tokenizer's vocabulary does not know: which pieces stand for them, and one warning that counts them."""

from __future__ import annotations

import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoglot.core.checks import levels_outside
from isoglot.core.errors import UnknownWordsWarning
from isoglot.corpus.encode.pieces import fast_backend
from isoglot.formats.words import split_words

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

OnUnknown = Callable[[int, Sequence[str], bool], None]
"""Receives the number of a text or pair, unknown words of it, and whether the text has no word that is known."""
UNLINKED = "get no links"
"""What follows for unknown words where words are aligned."""
_TWO_WORDS = {"Linear", "New", "Ol", "Old", "Other", "Tai"}
"""Names of scripts that have two words begin so."""
_NAMES = {"Cjk": "Han"}


class KnownPieces:
    """Tells which pieces of a text have a vector that says something about it.

    The state of an unknown piece says which words stand around it, and nothing about its own word. A word with an
    unknown piece is known by its other pieces if they have at least half of its letters and digits; else none of its
    pieces count: a single letter, a mark of its boundary, or the full stop behind it, does not stand for the word. A
    text is unknown if none of its words is known.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.unknown: int | None = tokenizer.unk_token_id
        self._piece = fast_backend(tokenizer, shared=True).id_to_token

    def letters(self, piece: int) -> int:
        """How many letters and digits a piece has, 0 of the unknown one."""
        return 0 if piece == self.unknown else letters(self._piece(piece) or "")

    def __call__(
        self, pieces: Sequence[int], words: Sequence[int | None], text_of: Callable[[int | None], str]
    ) -> list[bool] | None:
        """Whether each piece counts, from the word that it belongs to; ``None`` where all do.

        ``text_of``: The text of a word by its number.
        """
        if self.unknown not in pieces:
            return None
        both = list(zip(pieces, words, strict=True))
        known_letters = {word: 0 for piece, word in both if piece == self.unknown}
        for piece, word in both:
            if word in known_letters:
                known_letters[word] += self.letters(piece)
        lost = {
            word for word, count in known_letters.items() if not count or 2 * count < letters(text_of(word))
        }
        return [piece != self.unknown and word not in lost for piece, word in both]

    def of_text(self, text: str, encoding: Any, start: int) -> tuple[list[bool], list[str], bool] | None:
        """Which pieces of an encoding count, its unknown words, and whether the text has none that is known.

        ``start``: Where the text begins behind what was put before it. ``None`` where all pieces are known.
        """

        def text_of(word: int | None) -> str:
            numbered = zip(encoding.offsets, encoding.word_ids, strict=True)
            starts, ends = zip(*(span for span, number in numbered if number == word), strict=True)
            return text[min(starts) : max(ends)]

        known = self(encoding.ids, encoding.word_ids, text_of)
        if known is None:
            return None
        pieces = list(zip(encoding.ids, known, encoding.offsets, strict=True))
        counted = {word for word, counts in zip(encoding.word_ids, known, strict=True) if counts}
        spans: dict[int, tuple[int, int]] = {}
        for index, ((piece, _, (first, end)), word) in enumerate(zip(pieces, encoding.word_ids, strict=True)):
            if word not in counted and (piece == self.unknown or self.letters(piece)):
                key = -1 - index if word is None else word
                spans[key] = spans.get(key, (first, end))[0], end
        words = [word for first, end in spans.values() for word in split_words(text[first:end])]
        whole = bool(words) and not any(
            counts and end > start and self.letters(piece) for piece, counts, (_, end) in pieces
        )
        return known, words, whole


@dataclass(slots=True)
class UnknownWords:
    """Counts the unknown words of a run, and warns of them once.

    Args:
        effect: What follows for them, such as ``get no links``.
        count: Words so far.
        texts: Texts without a known word.
        scripts: Words by script.
        first: The first word and where it stands.
    """

    effect: str
    count: int = 0
    texts: int = 0
    scripts: dict[str, int] = field(default_factory=dict)
    first: str = ""

    def add(self, location: str, words: Sequence[str], whole: bool) -> None:
        """Count the unknown words of a text that stands in this place; ``whole``: it has none that is known."""
        if words:
            self.first = self.first or f"{location}: {words[0][:60]!r}"
            self.count += len(words)
            self.texts += whole
            self._add_scripts(Counter(map(script_of, words)))

    def add_pair(self, number: int, words: Sequence[str], whole: bool) -> None:
        """Count the unknown words of a side of the pair of this number."""
        self.add(f"pair {number}", words, whole)

    def join(self, later: UnknownWords) -> None:
        """Count those of a later part of the same run."""
        self.first = self.first or later.first
        self.count, self.texts = self.count + later.count, self.texts + later.texts
        self._add_scripts(later.scripts)

    def _add_scripts(self, counts: Mapping[str, int]) -> None:
        for name, count in counts.items():
            self.scripts[name] = self.scripts.get(name, 0) + count

    def warn(self) -> None:
        """Warn of the words, if there are any, at the line that called isoglot."""
        if not self.count:
            return
        scripts = ", ".join(f"{name} {count:,}" for name, count in Counter(self.scripts).most_common())
        whole = f"; sentences without a known word: {self.texts:,}" if self.texts else ""
        message = (
            f"words unknown to the encoder's vocabulary, which {self.effect}: {self.count:,} ({scripts}){whole}; first "
            f"in {self.first}; choose an encoder that knows them"
        )
        warnings.warn(message, UnknownWordsWarning, stacklevel=levels_outside())


def letters(text: str) -> int:
    """How many letters and digits a text has."""
    return sum(map(str.isalnum, text))


def piece_spans(encoding: Any, unknown: int | None) -> list[tuple[int, int]]:
    """Characters of each piece of an encoding; those of an unknown piece one by one."""
    spans: list[tuple[int, int]] = []
    for piece, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        spans += [(at, at + 1) for at in range(start, end)] if piece == unknown else [(start, end)]
    return spans


@contextmanager
def counted(unknown: OnUnknown | None, effect: str, unit: str = "pair") -> Iterator[OnUnknown]:
    """What receives the unknown words of the block; by default they are counted, and warned of at its end."""
    if unknown is not None:
        yield unknown
        return
    tally = UnknownWords(effect)
    try:
        yield lambda number, words, whole: tally.add(f"{unit} {number}", words, whole)
    finally:
        tally.warn()


def ignored(number: int, words: Sequence[str], whole: bool) -> None:
    """Receive unknown words that have been counted before."""


def script_of(word: str) -> str:
    """The name of the script of a word's first letter.

    Example:
        >>> [script_of(word) for word in ("집", "(漢字)", "𐎠", "🙂")]
        ['Hangul', 'Han', 'Old Persian', 'symbols']
    """
    letter = next(filter(str.isalpha, word), None)
    if letter is None:
        return "symbols"
    parts = unicodedata.name(letter, "other letters").title().split()
    name = " ".join(parts[: 2 if parts[0] in _TWO_WORDS else 1])
    return _NAMES.get(name, name)
