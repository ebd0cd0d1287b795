"""Marks at the ends of words."""

from __future__ import annotations

import pytest

from isoglot.projection.punctuation import CutText


@pytest.mark.parametrize("mark", [".", "!", "。", "।", "॥", "｡"])
def test_a_word_with_a_final_mark_ends_a_sentence(mark: str) -> None:
    word = f"घर{mark}"
    text = CutText(f"{word} वह", [word, "वह"], [(0, len(word)), (len(word) + 1, len(word) + 3)])
    assert text.ends_sentence(1) and not text.ends_sentence(2) and not text.ends_sentence(0)


@pytest.mark.parametrize(
    ("words", "text", "boundary", "behind"),
    [
        (["dit", "»", "."], "dit » .", 1, 2),
        (["ja", "»", "."], "ja».", 1, 3),
        (["dogs", "’", "tails"], "dogs’ tails", 1, 2),
        (["sagt", "»", "Hallo", "«", "."], "sagt »Hallo«.", 1, 1),
        (["sagt", "»", "Hallo", "«", "."], "sagt »Hallo«.", 3, 5),
    ],
)
def test_a_quotation_mark_closes_unless_it_stands_right_before_a_word(
    words: list[str], text: str, boundary: int, behind: int
) -> None:
    spans, end = [], 0
    for word in words:
        start = text.index(word, end)
        end = start + len(word)
        spans.append((start, end))
    assert CutText(text, words, spans).behind_closing_marks(boundary, limit=len(words)) == behind
