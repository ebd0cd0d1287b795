from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from isoglot.aligners.embedding.piece_states import length_batches
from isoglot.errors import ConfigurationError
from isoglot.modules.neighbours import gold_ranks, similarity_blocks, unit
from isoglot.schema import PAIR, SPAN, TAGGED
from isoglot.tasks import build_task
from isoglot.tasks.code_switching import ORIGINAL, code_switch, numbered
from isoglot.tasks.features import RowCollator
from isoglot.tasks.spans import Window, best_answer, maximal_context
from isoglot.tasks.tagging import TaggingTask, _windows
from isoglot.testing import tiny_model, tiny_tokenizer


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=30),
    st.integers(2, 10),
    st.integers(0, 4),
)
def test_every_word_counts_once_and_rows_fit(lengths: list[int], room: int, overlap: int) -> None:
    windows = _windows(lengths, room, overlap)
    counted = [word for _, kept, last in windows for word in range(kept, last)]
    assert counted == list(range(len(lengths)))
    for first, kept, last in windows:
        assert first <= kept < last
        assert kept - first <= overlap
        assert sum(min(n, room) for n in lengths[first:last]) <= room or last - first == 1


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_no_word_is_lost(family: str) -> None:
    tokenizer = tiny_tokenizer(family)
    words = ["the", "\u200b", "mountain", "library", "questions", "x" * 40] * 5
    tags = ["DET", "X", "NOUN", "NOUN", "VERB", "SYM"] * 5
    data = Dataset.from_dict({"words": [words, ["a"]], "tags": [tags, ["DET"]], "language": ["en", "en"]},
                             features=TAGGED)  # fmt: skip
    task = build_task("pos", [], max_length=12)
    assert isinstance(task, TaggingTask)
    labels = task.labels(data)
    model = tiny_model(family, tokenizer=tokenizer)
    model.config.id2label = dict(enumerate(labels))
    rows = task.encode(data, tokenizer, model, training=True)
    assert rows.lengths.max() <= 12
    gold = [np.where(row["labels"] >= 0, row["labels"], 0) for row in rows.inputs]
    assert task.decode(data, rows, gold) == [tags, ["DET"]]
    assert sum((row["labels"] >= 0).sum() for row in rows.inputs) == len(tags) + 1


def test_long_contexts_are_read_whole_and_answers_found_again() -> None:
    tokenizer = tiny_tokenizer("bert")
    context = " ".join(f"the river mountain {i}" for i in range(30)) + " captain"
    start = context.index("captain")
    row = {"id": ["1"], "question": [" who? "], "context": [context],
           "answers": [{"text": ["captain"], "start": [start]}], "language": ["en"]}  # fmt: skip
    data = Dataset.from_dict(row, features=SPAN)
    task = build_task("xquad", [], max_length=40, stride=8, max_question_length=8)
    model = tiny_model("bert", tokenizer=tokenizer)
    rows = task.encode(data, tokenizer, model, training=True)
    assert len(rows) > 3
    covered = {c for window in rows.details for a, b in window.offsets.tolist() for c in range(a, b)}
    assert covered == {i for i, c in enumerate(context) if c != " "}
    outputs = []
    for item in rows.inputs:
        scores = np.full((2, len(item["input_ids"])), -5.0)
        scores[0, item["start_positions"]] = scores[1, item["end_positions"]] = 5.0
        outputs.append(scores)
    assert task.decode(data, rows, outputs) == {"1": "captain"}
    assert sum(item["start_positions"] > 0 for item in rows.inputs) >= 1


def test_windows_share_or_advance_by_the_stride() -> None:
    tokenizer = tiny_tokenizer("bert")
    texts = [" ".join(f"the river mountain {i}" for i in range(n)) for n in (30, 9, 21)]
    rows = {"id": ["1", "2", "3"], "question": ["who?", "the river and the captain?", "who?"], "context": texts,
            "answers": [{"text": ["river"], "start": [4]}] * 3, "language": ["en"] * 3}  # fmt: skip
    data = Dataset.from_dict(rows, features=SPAN)
    model = tiny_model("bert", tokenizer=tokenizer)
    for windows in ("share", "advance"):
        task = build_task("xquad", [], max_length=40, stride=8, max_question_length=8, windows=windows)
        found = task.encode(data, tokenizer, model, training=False)
        assert found.examples == sorted(found.examples)
        for number, (question, text) in enumerate(zip(rows["question"], texts, strict=True)):
            pieces = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
            room = 40 - 3 - min(8, len(tokenizer(question, add_special_tokens=False)["input_ids"]))
            expected, start = [], 0
            while (
                not expected or expected[-1][-1] != pieces[-1]
            ):  # BERT's loop: the next starts stride pieces on
                expected.append(pieces[start : start + room])
                start += 8 if windows == "advance" else room - 8
            own = [w for w, example in zip(found.details, found.examples, strict=True) if example == number]
            assert [list(map(tuple, w.offsets.tolist())) for w in own] == expected
    with pytest.raises(ConfigurationError, match="known: advance, share"):
        build_task("xquad", [], windows="step")


def test_null_and_longest_answer() -> None:
    offsets = np.array([[0, 1], [2, 3], [4, 5], [6, 7]], np.int32)
    window = Window(first=1, offsets=offsets, null=0)
    scores = np.array([[3.0, 5, 0, 0, 0], [3.0, 0, 0, 0, 5]])
    assert best_answer("a b c d", [window], [scores])[0] == "a b c d"
    assert best_answer("a b c d", [window], [scores], max_answer_length=2)[0] == "a"
    assert best_answer("a b c d", [window], [scores], max_answer_length=2, null_threshold=0.5)[0] == ""
    assert best_answer("", [Window(1, offsets[:0], 0)], [scores]) == ("", 6.0)


def test_only_the_best_starts_and_ends_are_considered() -> None:
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


def test_code_switched_pairs() -> None:
    def side(language: str, labels: list[str]) -> Dataset:
        rows = {"first": [f"p{i}{language}" for i in range(2)], "second": [f"h{i}{language}" for i in range(2)],
                "label": labels, "language": [language] * 2}  # fmt: skip
        return Dataset.from_dict(rows, features=PAIR)

    found = code_switch(*numbered(side("de", ["x", "y"]), side("en", ["x", "y"])))
    assert [(r["first"], r["second"], r["label"], r[ORIGINAL]) for r in found] == [
        ("p0de", "h0en", "x", 0), ("p0en", "h0de", "x", 0), ("p1de", "h1en", "y", 1), ("p1en", "h1de", "y", 1),
    ]  # fmt: skip
    with pytest.raises(ConfigurationError, match="labelled"):
        code_switch(*numbered(side("de", ["x", "y"]), side("en", ["x", "z"])))


def test_code_switched_questions_keep_the_answer_of_their_context(caplog: pytest.LogCaptureFixture) -> None:
    def side(language: str, starts: list[int]) -> Dataset:
        rows = {"id": ["1", "2"], "question": [f"q1{language}", f"q2{language}"], "context": [f"c{language}"] * 2,
                "answers": [{"text": [f"c{language}"], "start": [s]} for s in starts],
                "language": [language] * 2}  # fmt: skip
        return Dataset.from_dict(rows, features=SPAN)

    found = code_switch(side("de", [0, -1]), side("en", [0, 0]))
    assert [(r["question"], r["context"], r["answers"]["text"], r["language"]) for r in found] == [
        ("q1de", "cen", ["cen"], "en"), ("q1en", "cde", ["cde"], "de"),
    ]  # fmt: skip

    with caplog.at_level("WARNING", logger="isoglot"):
        found = code_switch(side("de", [0, 0]), side("en", [0, 0]).select([1]))
    assert [r["question"] for r in found] == ["q2de", "q2en"]
    assert "1 of 2 translations have no original of their id" in caplog.text


def test_collator_keeps_groups_together_and_pads() -> None:
    tokenizer = tiny_tokenizer("bert")
    row = {"input_ids": np.array([5, 6]), "labels": np.array([1, -100])}
    other = {"input_ids": np.array([5]), "labels": np.array([2])}
    batch = RowCollator(tokenizer, multiple=4)([[row, other], [other]])
    assert batch["input_ids"].shape == (3, 4)
    assert batch["attention_mask"].tolist() == [[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert batch["labels"][0].tolist() == [1, -100, -100, -100]


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 100))
def test_length_batches_hold_every_row_once(lengths: list[int], most: int) -> None:
    batches = list(length_batches(lengths, most))
    assert sorted(i for b in batches for i in b) == list(range(len(lengths)))
    assert all(len(b) == 1 or len(b) * max(lengths[i] for i in b) <= most for b in batches)


@pytest.mark.parametrize("asked", [6, 9])
@pytest.mark.parametrize("similarity", ["cosine", "csls", "margin"])
def test_similarities_equal_the_loops(similarity: str, asked: int) -> None:
    generator = torch.Generator().manual_seed(1)
    others, y = (unit(torch.rand(n, 5, generator=generator)) for n in (asked, 6))
    x = others[:6]
    cos = [[float(a @ b) for b in y] for a in others]
    k = 2
    rx = [sum(sorted(row)[-k:]) / k for row in cos]
    ry = [sum(sorted(row[j] for row in cos)[-k:]) / k for j in range(6)]
    expected: Callable[[int, int], float] = {
        "cosine": lambda i, j: cos[i][j],
        "csls": lambda i, j: 2 * cos[i][j] - rx[i] - ry[j],
        "margin": lambda i, j: cos[i][j] / ((rx[i] + ry[j]) / 2),
    }[similarity]
    more = None if asked == 6 else others
    block = next(iter(similarity_blocks(x, y, similarity=similarity, neighbours=k, others=more)))[1]
    table = torch.tensor([[expected(i, j) for j in range(6)] for i in range(6)])
    torch.testing.assert_close(block, table, atol=1e-5, rtol=1e-5)
    block = next(iter(similarity_blocks(x, y, similarity=similarity)))[1]
    ranks, best = gold_ranks(x, y, similarity=similarity)
    assert best.tolist() == block.argmax(1).tolist()
    assert ranks.tolist() == [1 + int((block[i] > block[i, i]).sum()) for i in range(6)]


def test_options_that_do_not_exist() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'pos'"):
        build_task("poss", [])
    with pytest.raises(ConfigurationError, match="did you mean 'max_length'"):
        build_task("pos", [], max_lenght=3)
