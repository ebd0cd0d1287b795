from __future__ import annotations

import pytest
from datasets import Dataset
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.formats.schema import PAIR, SPAN
from isoglot.tasks.code_switching import ORIGINAL, code_switch, with_ids


def test_code_switched_pairs() -> None:
    def side(language: str, labels: list[str]) -> Dataset:
        rows = {"first": [f"p{i}{language}" for i in range(2)], "second": [f"h{i}{language}" for i in range(2)],
                "label": labels, "language": [language] * 2}  # fmt: skip
        return Dataset.from_dict(rows, features=PAIR)

    found = code_switch(*with_ids(side("de", ["x", "y"]), side("en", ["x", "y"])))
    assert [(r["first"], r["second"], r["label"], r[ORIGINAL]) for r in found] == [
        ("p0de", "h0en", "x", 0), ("p0en", "h0de", "x", 0), ("p1de", "h1en", "y", 1), ("p1en", "h1de", "y", 1),
    ]  # fmt: skip
    both = code_switch(*with_ids(side("de", ["x", "y"]), side("en", ["x", "y"])), keep=True)
    assert [(r["first"], r["second"], r[ORIGINAL]) for r in both][2::3] == [
        ("p0de", "h0de", 0),
        ("p1de", "h1de", 1),
    ]
    with refused(ConfigurationError, "'p1de'", " y ", "'p1en'", " z"):
        code_switch(*with_ids(side("de", ["x", "y"]), side("en", ["x", "z"])))


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
