"""Marks beside words: ends of sentences, and marks that close what is before them."""

from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import category

from isoglot.projection.rule import Range

_SPACED_MARKS = "!?:;»"
"""Marks that close what is before them also behind a space, which French writes there: ``Attention !``."""
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？", "؟", "۔", "।", "॥", "｡")


class CutText(NamedTuple):
    """A text and its words, with the characters of each."""

    text: str
    words: Sequence[str]
    spans: Sequence[Range]

    def ends_sentence(self, boundary: int) -> bool:
        """Whether the word before a boundary ends a sentence."""
        return boundary > 0 and self.words[boundary - 1].endswith(_SENTENCE_ENDS)

    def is_mark(self, word: int) -> bool:
        """Whether a word has neither letter nor digit."""
        return not any(map(str.isalnum, self.words[word]))

    def behind_closing_marks(self, boundary: int, limit: int) -> int:
        """Move a boundary behind the closing marks that follow it, but not behind the boundary ``limit``.

        Example:
            >>> text = CutText("Save (it).", ["Save", "(", "it", ")", "."], [(0, 4), (5, 6), (6, 8), (8, 9), (9, 10)])
            >>> text.behind_closing_marks(3, limit=5), text.behind_closing_marks(1, limit=5)
            (5, 1)
        """
        while boundary < limit and self.is_mark(boundary) and self._closes(boundary):
            boundary += 1
        return boundary

    def _closes(self, mark: int) -> bool:
        """Whether a mark belongs to the word before it, as ``.`` and ``)`` do, not ``(``.

        There is no list of marks that close, because most do: ``»`` and ``’`` as well as ``.``.

        1. A mark that opens does not close: a bracket ``(``, or a quotation mark right before a word, ``“Yes``.
        2. Any other mark closes if it touches the word before it.
        3. Behind a space only :data:`_SPACED_MARKS` close. But ``»`` right before a word opens in German: ``»Ja«``.
        """
        start, end = self.spans[mark]
        kind = category(self.text[start])
        is_before_word = self.text[end : end + 1].isalnum()
        # “ opens in English and closes in German, so what is behind it decides.
        if kind == "Ps" or (kind == "Pi" and is_before_word):  # 1
            return False
        if start > 0 and not self.text[start - 1].isspace():  # 2
            return True
        opens_german = kind == "Pf" and is_before_word
        return self.text[start] in _SPACED_MARKS and not opens_german  # 3
