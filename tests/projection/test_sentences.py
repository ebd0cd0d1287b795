"""Sentences and their alignment by length."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.formats.words import word_spans
from isoglot.projection.sentences import aligned_lengths, sentence_windows, sentences


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It rains. It pours!", 2),
        ('He said: "It rains." Then he left.', 2),
        ("Version 3.5 is out.", 1),
        ("下雨了。我们在家。", 2),
        ("他说：“下雨了。”我们在家", 2),
        ("यह घर है। वह गया।", 2),
        ("no mark at all", 1),
        ("", 0),
    ],
)
def test_sentences_of_a_text(text: str, count: int) -> None:
    spans = word_spans(text)
    found = sentences(text, spans)
    assert len(found) == count
    assert [n for a, b in found for n in range(a, b)] == list(range(len(spans)))


@given(st.lists(st.integers(1, 200), max_size=6), st.lists(st.integers(1, 200), max_size=6))
def test_aligned_lengths_puts_every_item_into_one_group(source: list[int], target: list[int]) -> None:
    groups = aligned_lengths(source, target)
    for side, items in enumerate((source, target)):
        bounds = [group[side] for group in groups]
        assert all(before[1] == after[0] for before, after in pairwise(bounds))
        assert not bounds or (bounds[0][0], bounds[-1][1]) == (0, len(items))
        assert bounds or not items


def test_aligned_lengths_finds_merged_sentences() -> None:
    assert aligned_lengths([50, 100, 40], [52, 48, 50, 42])[1] == ((1, 2), (1, 3))


def test_sentence_windows_leave_out_sentences_without_counterpart() -> None:
    sides = [(text, word_spans(text)) for text in ("A short one. " + "long " * 30 + ".", "lang " * 30 + ".")]
    assert sentence_windows(*sides) == [((0, 35), (0, 31))] or sentence_windows(*sides) == [
        ((4, 35), (0, 31))
    ]
