"""Find words that a tokenizer's vocabulary does not know, leave out their pieces, and warn of them once per run.

:class:`KnownPieces` finds unknown words in a text, :class:`UnknownWords` counts them and warns.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.core.checks import levels_outside
from isoglot.core.errors import UnknownWordsWarning
from isoglot.corpus.encode.pieces import fast_backend
from isoglot.formats.words import split_words

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

OnUnknown = Callable[[int, Sequence[str], bool], None]
"""Receives the number of a text or pair, its unknown words, and whether it is unknown: has no known word."""
UNLINKED = "get no links"
"""The effect of being unknown on words that are to be aligned, as the warning says it."""
_TWO_WORDS = {"Linear", "New", "Ol", "Old", "Other", "Tai"}
"""First words of the names of scripts that consist of two words, such as Old Persian."""
_SCRIPT_NAMES = {"Cjk": "Han"}
"""Names of scripts, where Unicode's names of letters begin with another word."""


class KnownText(NamedTuple):
    """The known and unknown words of a text that has unknown pieces."""

    is_counted: list[bool]  # for each piece
    unknown_words: list[str]
    is_unknown: bool  # the text has no known word


class KnownPieces:
    """Decides which pieces of a text count: those whose vectors say something about the text.

    The vector of an unknown piece says which words stand around it, and nothing about its own word. So:

    1. An unknown piece does not count.
    2. If a word has an unknown piece, its other pieces count if they have at least half of its letters and digits:
       ``river`` of *river집* does.
    3. Otherwise none of its pieces counts: a single letter, the mark of a boundary (``▁``) or the full stop behind it
       does not stand for the word. Of *집집a집.* nothing counts.
    4. All pieces of other words count.

    A text is unknown if none of its words is known.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.unknown: int | None = tokenizer.unk_token_id
        self._piece = fast_backend(tokenizer, shared=True).id_to_token

    def letters(self, piece: int) -> int:
        """Count the letters and digits of a piece; the unknown piece has none."""
        return 0 if piece == self.unknown else letters_and_digits(self._piece(piece) or "")

    def __call__(
        self, pieces: Sequence[int], words: Sequence[int | None], text_of: Callable[[int | None], str]
    ) -> list[bool] | None:
        """Decide for each piece whether it counts; ``None`` if all do.

        Args:
            pieces: Ids of the pieces of a text.
            words: The word of each piece.
            text_of: Returns the text of a word.
        """
        if self.unknown not in pieces:
            return None
        # For each word that has an unknown piece, the letters and digits of its other pieces.
        known_letters = {word: 0 for piece, word in zip(pieces, words, strict=True) if piece == self.unknown}
        for piece, word in zip(pieces, words, strict=True):
            if word in known_letters:
                known_letters[word] += self.letters(piece)
        unknown_words = set()
        for word, count in known_letters.items():
            # Rules 2 and 3.
            if count == 0 or 2 * count < letters_and_digits(text_of(word)):
                unknown_words.add(word)
        return [
            piece != self.unknown and word not in unknown_words
            for piece, word in zip(pieces, words, strict=True)
        ]

    def of_text(self, text: str, encoding: Any, start: int) -> KnownText | None:
        """Find the known and unknown words of a text; ``None`` if all its pieces are known.

        Args:
            text: The text as it was encoded.
            encoding: Its encoding.
            start: First character of the text itself, behind a prefix such as ``query: ``. Known words of the prefix
                do not make the text known.
        """
        pieces, words, offsets = encoding.ids, encoding.word_ids, encoding.offsets

        def text_of(word: int | None) -> str:
            spans = [
                span for span, word_of_piece in zip(offsets, words, strict=True) if word_of_piece == word
            ]
            first = min(first for first, _ in spans)
            end = max(end for _, end in spans)
            return text[first:end]

        is_counted = self(pieces, words, text_of)
        if is_counted is None:
            return None

        # The characters of each unknown word: of each word of which no piece counts. Pieces without letters are left
        # out, such as the full stop in `집.`. A piece that belongs to no word is taken for a word of its own, with a
        # negative number.
        known_words = {word for word, counts in zip(words, is_counted, strict=True) if counts}
        spans: dict[int, tuple[int, int]] = {}
        for index, (piece, word, (first, end)) in enumerate(zip(pieces, words, offsets, strict=True)):
            has_text = piece == self.unknown or self.letters(piece) > 0
            if word not in known_words and has_text:
                number = -1 - index if word is None else word
                word_start, _ = spans.get(number, (first, end))
                spans[number] = word_start, end
        unknown_words: list[str] = []
        for first, end in spans.values():
            unknown_words += split_words(text[first:end])

        # A known word behind the prefix, which ends at `start`.
        has_known_word = any(
            counts and end > start and self.letters(piece) > 0
            for piece, counts, (_, end) in zip(pieces, is_counted, offsets, strict=True)
        )
        return KnownText(is_counted, unknown_words, bool(unknown_words) and not has_known_word)


@dataclass(slots=True)
class UnknownWords:
    """Counts the unknown words of a run, and warns of them once.

    Args:
        effect: What happens to unknown words, such as ``get no links``.
        count: Number of unknown words so far.
        texts: Number of unknown texts so far: texts without a known word.
        scripts: Number of unknown words by script.
        first: The first unknown word with the label of its text: ``pair 3: '집'``.
    """

    effect: str
    count: int = 0
    texts: int = 0
    scripts: dict[str, int] = field(default_factory=dict)
    first: str = ""

    def add(self, label: str, words: Sequence[str], is_unknown: bool) -> None:
        """Count the unknown words of a text; ``is_unknown``: The text has no known word."""
        if words:
            self.first = self.first or f"{label}: {words[0][:60]!r}"
            self.count += len(words)
            self.texts += is_unknown
            self._add_scripts(Counter(map(script_of, words)))

    def add_pair(self, number: int, words: Sequence[str], is_unknown: bool) -> None:
        """Count the unknown words of one side of a pair, by the number of the pair."""
        self.add(f"pair {number}", words, is_unknown)

    def join(self, later: UnknownWords) -> None:
        """Add the counts of a later part of the same run."""
        self.first = self.first or later.first
        self.count, self.texts = self.count + later.count, self.texts + later.texts
        self._add_scripts(later.scripts)

    def _add_scripts(self, counts: Mapping[str, int]) -> None:
        for name, count in counts.items():
            self.scripts[name] = self.scripts.get(name, 0) + count

    def warn(self) -> None:
        """Warn of the unknown words, if there are any; the warning names the line that called isoglot."""
        if not self.count:
            return
        scripts = ", ".join(f"{name} {count:,}" for name, count in Counter(self.scripts).most_common())
        texts = f"; sentences without a known word: {self.texts:,}" if self.texts else ""
        message = (
            f"words unknown to the encoder's vocabulary, which {self.effect}: {self.count:,} ({scripts}){texts}; first "
            f"in {self.first}; choose an encoder that knows them"
        )
        warnings.warn(message, UnknownWordsWarning, stacklevel=levels_outside())


def letters_and_digits(text: str) -> int:
    """Count the letters and digits of a text."""
    return sum(map(str.isalnum, text))


def piece_spans(encoding: Any, unknown: int | None) -> list[tuple[int, int]]:
    """Return the characters (start, end) of each piece of an encoding; an unknown piece is one span per character."""
    spans: list[tuple[int, int]] = []
    for piece, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
        if piece == unknown:
            spans += [(at, at + 1) for at in range(start, end)]
        else:
            spans.append((start, end))
    return spans


@contextmanager
def counted(on_unknown: OnUnknown | None, effect: str, unit: str = "pair") -> Iterator[OnUnknown]:
    """Yield the function that receives the unknown words of a ``with`` block.

    By default the words are counted, and a warning is given at the end of the block.

    Args:
        on_unknown: The function to yield, if the caller counts the words.
        effect: What happens to unknown words, for the warning.
        unit: What the numbers in the warning count.
    """
    if on_unknown is not None:
        yield on_unknown
        return
    tally = UnknownWords(effect)
    try:
        yield lambda number, words, is_unknown: tally.add(f"{unit} {number}", words, is_unknown)
    finally:
        tally.warn()


def ignored(number: int, words: Sequence[str], is_unknown: bool) -> None:
    """Receive unknown words and do nothing, for text whose unknown words were counted before."""


def script_of(word: str) -> str:
    """Name the script of a word's first letter, or ``symbols`` if it has none.

    Example:
        >>> [script_of(word) for word in ("집", "(漢字)", "𐎠", "🙂")]
        ['Hangul', 'Han', 'Old Persian', 'symbols']
    """
    letter = next(filter(str.isalpha, word), None)
    if letter is None:
        return "symbols"
    parts = unicodedata.name(letter, "other letters").title().split()
    name = " ".join(parts[: 2 if parts[0] in _TWO_WORDS else 1])
    return _SCRIPT_NAMES.get(name, name)
