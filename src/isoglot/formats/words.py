"""Find the words of raw text, the characters of given words in their text, and the word of each piece."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal, get_args
from unicodedata import category

import numpy as np
import regex
from numpy.typing import NDArray

from isoglot.core.checks import did_you_mean
from isoglot.core.errors import ConfigurationError

WordMode = Literal["unicode", "whitespace"]
"""``unicode``: words, punctuation and single characters of scripts without spaces. ``whitespace``: cut at spaces."""

# Characters of scripts without spaces: each is a word.
_SINGLE = (
    r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30fc\uff70\p{Script=Bopomofo}"
    r"\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}--[\p{Nd}\p{M}]]"
)
_ONE = regex.compile(_SINGLE, flags=regex.VERSION1)
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}\p{{Pc}}]--{_SINGLE}]"
# Unicode UAX 29, rule WB4: format characters (joiners, soft hyphen, BOM) do not end a word, the zero-width space does.
_FORMAT = r"[\p{Cf}--\u200b]"
_JOINER = r"['’ʼ＇\-‐‑·]"
_UNICODE = regex.compile(
    rf"""
    (?={_SINGLE})\X                                    # one character with its marks
    | {_LETTER}+
      (?: (?:{_FORMAT}+ | {_FORMAT}*{_JOINER}{_FORMAT}* | (?<=\p{{Nd}})[.,:](?=\p{{Nd}})) {_LETTER}+ )*
    | (\p{{P}})\1*\p{{M}}*                              # one mark repeated: '...', '!!'
    | (?=[^\s\p{{Z}}\p{{Cc}}\p{{Cf}}])\X                # a symbol: an emoji with its modifiers, a flag
    """,
    flags=regex.VERSION1 | regex.VERBOSE,
)
# Latin text below the combining marks needs none of the above and is read eight times as fast with the plain module.
_LATIN_END = "\u0300"
_LATIN = [chr(code) for code in range(ord(_LATIN_END))]
_LATIN_MARKS = re.escape("".join(c for c in _LATIN if category(c)[0] == "P" and category(c) != "Pc"))
_LATIN_SYMBOLS = re.escape("".join(c for c in _LATIN if category(c)[0] == "S"))
_UNICODE_LATIN = re.compile(
    r"\w+(?:(?:\u00ad+|\u00ad*['\-·ʼ]\u00ad*|(?<=\d)[.,:](?=\d))\w+)*"
    rf"|([{_LATIN_MARKS}])\1*|[{_LATIN_SYMBOLS}]"
)
# The space and tab end a word for fast_align, Moses and Marian. So does a line end, which a line of words cannot have.
_WHITESPACE = re.compile(r"[^ \t\n]+")
# Characters that are drawn as nothing, which Unicode calls ignorable, or as a space, as the Braille pattern U+2800.
_INVISIBLE = (
    r"\s\p{Z}\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufff9-\ufffb\u2800"
)
_VISIBLE = regex.compile(f"[^{_INVISIBLE}]")
# The fillers of Hangul: the only letters that Unicode calls ignorable.
_INVISIBLE_LETTERS = "\u115f\u1160\u3164\uffa0"
_OTHER_SPACE = re.compile(r"[^\S \t\n]|\u200b")


def require_mode(words: object) -> None:
    """Refuse an unknown mode of cutting words."""
    if words not in get_args(WordMode):
        raise ConfigurationError(f"words: got {words!r}; {did_you_mean(words, get_args(WordMode))}")


def word_spans(text: str, *, mode: WordMode = "unicode") -> list[tuple[int, int]]:
    """Character spans ``[start, end)`` of the words of a text, in order and not overlapping.

    Mode ``unicode``: a run of letters, marks and digits is a word and keeps what stands inside it (apostrophes,
    hyphens, Catalan's middle dot, zero-width joiners, the points of a number); vowel signs and other marks stay with
    their letter; every character (with its marks) of Han, Kana, Bopomofo, Thai, Lao, Khmer and Myanmar is a word; a
    run of one punctuation mark is a word, and so is a symbol or emoji with all its modifiers. Spaces, control
    characters and free-standing zero-width characters belong to no word.

    Mode ``whitespace`` cuts at the ASCII space and tab (and at line ends) alone, as fast_align, Moses and Marian do: a
    no-break space (U+00A0), thin space, ideographic space, zero-width space, form feed or carriage return is part of
    its word. Every line format whose words are numbered is cut so.

    Example:
        >>> [text[a:b] for text in ["Don't, 3.5 漢字"] for a, b in word_spans(text)]
        ["Don't", ',', '3.5', '漢', '字']
    """
    if mode == "unicode" and (text.isascii() or max(text) < _LATIN_END):
        return [match.span() for match in _UNICODE_LATIN.finditer(text)]
    require_mode(mode)
    pattern = _UNICODE if mode == "unicode" else _WHITESPACE
    return [match.span() for match in pattern.finditer(text)]


def joined_spans(
    text: str, spans: Sequence[tuple[int, int]], pieces: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Join words that are single characters of scripts without spaces, unless a piece starts between them.

    ``spans``: Words of :func:`word_spans`. ``pieces``: Start and end of the pieces of a tokenizer.

    Example:
        >>> text = "漢字と2 語"
        >>> [text[a:b] for a, b in joined_spans(text, word_spans(text), pieces=[(0, 2), (2, 3), (3, 4), (4, 6)])]
        ['漢字', 'と', '2', '語']
    """
    starts = {start for start, _ in pieces}
    joined: list[tuple[int, int]] = []
    was_single = False  # whether the word before consists of such characters
    for start, end in spans:
        is_single = _ONE.match(text, start) is not None
        if is_single and was_single and joined[-1][1] == start and start not in starts:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
        was_single = is_single
    return joined


def has_unspaced(text: str) -> bool:
    """Whether a text has characters of scripts without spaces."""
    return not text.isascii() and _ONE.search(text) is not None


def is_blank(text: str) -> bool:
    """Whether a text has nothing that a reader could see: spaces, control, format and other invisible characters alone.

    Example:
        >>> [is_blank(text) for text in ("", "\u3000\u200b", "\u00ad\u200d\ufe0f", "\u200b.")]
        [True, True, True, False]
    """
    if text[:1].isalnum() and text[0] not in _INVISIBLE_LETTERS:  # most text, and quick to tell
        return False
    return _VISIBLE.search(text) is None


def sentence_words(text: str, *, mode: WordMode) -> list[str]:
    """The words of a sentence that is to be aligned; a sentence that :func:`is_blank` has none."""
    return [] if is_blank(text) else split_words(text, mode=mode)


def split_words(text: str, *, mode: WordMode = "unicode") -> list[str]:
    """The words of :func:`word_spans` as strings."""
    if mode == "whitespace":
        return _WHITESPACE.findall(text)
    return [text[start:end] for start, end in word_spans(text, mode=mode)]


def other_space(*texts: str) -> str | None:
    """Find the first space in texts that ends no word in mode ``whitespace``, such as U+00A0; None if there is none."""
    for text in texts:
        if text.isprintable():  # most text, and quick to tell
            continue
        match = _OTHER_SPACE.search(text)
        if match is not None:
            return match[0]
    return None


def note_of_spaces(lines: int, space: str) -> str:
    """Write the note on lines with an :func:`other_space`; ``space``: One such space, as an example."""
    return f"lines that contain other spaces (such as U+{ord(space):04X}), which do not end a word: {lines:,}"


def locate_words(text: str, words: Sequence[str]) -> list[tuple[int, int]] | None:
    """Find given words in their text, from left to right; ``None`` if the words do not spell the text.

    Only characters without meaning (white space, control and zero-width characters) may stand between two words. An
    empty word gets an empty span.

    Example:
        >>> locate_words("a house.", ["a", "house", "."]), locate_words("a house.", ["a", "."])
        ([(0, 1), (2, 7), (7, 8)], None)
    """
    spans: list[tuple[int, int]] = []
    position = 0
    for word in words:
        start = text.find(word, position)
        if start < 0 or not _is_between_words(text[position:start]):
            return None
        position = start + len(word)
        spans.append((start, position))
    return spans if _is_between_words(text[position:]) else None


_WITHOUT_MEANING = regex.compile(rf"[{_INVISIBLE}\p{{Cf}}]*")


def _is_between_words(text: str) -> bool:
    """Whether all characters of a text may stand between two words."""
    # nearly always the one space, which is quick to tell
    return text in ("", " ") or _WITHOUT_MEANING.fullmatch(text) is not None


def word_of_piece(
    starts: NDArray[np.integer],
    ends: NDArray[np.integer],
    word_starts: NDArray[np.integer],
    word_ends: NDArray[np.integer],
) -> NDArray[np.int32]:
    r"""Find the first word that shares a character with each piece; −1 if there is none.

    1. A piece that covers the space before its word gets that word.
    2. A piece that covers several words gets the first of them.
    3. An empty piece has no word.

    Words must ascend and not overlap. Many sentences take one call, if the characters of each are counted on from those
    of the sentence before.

    **Shape**: pieces (n,), words (m,), result (n,).
    """
    nonempty = np.flatnonzero(word_ends > word_starts)  # empty words have no piece
    if len(nonempty) == 0:
        return np.full(len(starts), -1, dtype=np.int32)
    # The first word that ends behind the start of the piece. It is the piece's word if it starts before the piece ends.
    first = np.searchsorted(word_ends[nonempty], starts, side="right")
    inside = np.minimum(first, len(nonempty) - 1)
    overlaps = (first < len(nonempty)) & (word_starts[nonempty][inside] < ends) & (ends > starts)
    return np.where(overlaps, nonempty[inside], -1).astype(np.int32)
