"""Marks beside words: ends of sentences, and marks that close what is before them."""

from collections.abc import Sequence
from typing import NamedTuple
from unicodedata import category

from isoglot.projection.rule import Range

_SPACED_MARKS = "!?:;»"
"""Marks that close what is before them although French has a space between: ``Attention !``."""
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
        """Whether a mark belongs to the word before it, as ``.`` and ``)`` do, not ``(``."""
        start, end = self.spans[mark]
        kind = category(self.text[start])
        # “ opens in English and closes in German, so what is behind it decides.
        opens = kind == "Ps" or (kind == "Pi" and self.text[end : end + 1].isalnum())
        touches_word_before = start > 0 and not self.text[start - 1].isspace()
        return not opens and (touches_word_before or self.text[start] in _SPACED_MARKS)
