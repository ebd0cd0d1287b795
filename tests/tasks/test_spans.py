from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.tasks.spans import Window, best_answer, maximal_context


def test_null_and_longest_answer() -> None:
    offsets = np.array([[0, 1], [2, 3], [4, 5], [6, 7]], np.int32)
    window = Window(first=1, offsets=offsets, null=0)
    scores = np.array([[3.0, 5, 0, 0, 0], [3.0, 0, 0, 0, 5]])
    assert best_answer("a b c d", [window], [scores])[0] == "a b c d"
    assert best_answer("a b c d", [window], [scores], max_answer_length=2)[0] == "a"
    assert best_answer("a b c d", [window], [scores], max_answer_length=2, null_threshold=0.5)[0] == ""
    assert best_answer("", [Window(1, offsets[:0], 0)], [scores]) == ("", 6.0)


def test_spans_are_made_of_the_best_starts_and_ends_alone() -> None:
    window = Window(first=1, offsets=np.array([[0, 1], [2, 3], [4, 5]], np.int32), null=0)
    scores = np.array([[0.0, 4, 1, 5], [0.0, 5, 1, 3]])
    assert best_answer("a b c", [window], [scores], n_best=1) == (
        "",
        0.0,
    )  # it ends before it begins
    assert best_answer("a b c", [window], [scores], n_best=2) == ("a", 9.0)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 6))
def test_a_token_belongs_to_the_window_that_shows_most_around_it(lengths: list[int], step: int) -> None:
    spans = [(number * step, length) for number, length in enumerate(lengths)]
    windows = [Window(0, np.array([[i, i + 1] for i in range(a, a + n)], np.int32), 0) for a, n in spans]
    for number, (found, (start, length)) in enumerate(zip(maximal_context(windows), spans, strict=True)):
        for place in range(start, start + length):
            scores = [
                min(place - a, a + n - 1 - place) + 0.01 * n if a <= place < a + n else -1.0 for a, n in spans
            ]
            assert found[place - start] == (scores.index(max(scores)) == number)


@given(st.integers(0, 999))
def test_the_answer_is_the_best_of_all_windows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    text = "".join(chr(97 + i) for i in range(12))
    spans = [(0, 6), (4, 6), (8, 4)]
    windows = [Window(2, np.array([[i, i + 1] for i in range(a, a + n)], np.int32), 0) for a, n in spans]
    outputs = [rng.normal(size=(2, 9)) for _ in spans]
    allowed = maximal_context(windows)
    every = [
        (outputs[w][0, 2 + b - a] + outputs[w][1, 2 + e - a], text[b : e + 1])
        for w, (a, n) in enumerate(spans)
        for b in range(a, a + n)
        for e in range(b, min(a + n, b + 3))
        if allowed[w][b - a]
    ]
    answer, score = best_answer(text, windows, outputs, max_answer_length=3)
    assert (answer, score) == (max(every)[1], pytest.approx(max(every)[0]))
    null = min(o[0, 0] + o[1, 0] for o in outputs)
    options = {"max_answer_length": 3, "null_threshold": null - score - 0.01}
    assert best_answer(text, windows, outputs, **options) == ("", null)
    options = {"max_answer_length": 3, "null_threshold": null - score + 0.01}
    assert best_answer(text, windows, outputs, **options)[0] == answer
