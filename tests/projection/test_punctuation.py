"""Marks at the ends of words."""

from __future__ import annotations

import pytest

from isoglot.projection.punctuation import CutText


@pytest.mark.parametrize("mark", [".", "!", "。", "।", "॥", "｡"])
def test_a_word_with_a_final_mark_ends_a_sentence(mark: str) -> None:
    word = f"घर{mark}"
    text = CutText(f"{word} वह", [word, "वह"], [(0, len(word)), (len(word) + 1, len(word) + 3)])
    assert text.ends_sentence(1) and not text.ends_sentence(2) and not text.ends_sentence(0)
