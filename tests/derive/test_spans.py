from __future__ import annotations

from derived_rows import derived_row

from isoglot.derive.options import TransformOptions
from isoglot.derive.order import Inversion
from isoglot.derive.rows import Deriver
from isoglot.derive.spec import build


def test_answers_follow_their_words() -> None:
    row = {
        "id": "q", "question": "Who won?", "language": "en",
        "context": "The U.S. team, led by Ann Lee, won. It cost $3.5 million.",
        "answers": {"text": ["Ann Lee", "$3.5 million"], "start": [22, 44]},
    }  # fmt: skip
    found = derived_row("span", row, transform=TransformOptions(split=True))
    context, answers = found.row["context"], found.row["answers"]
    assert answers["text"] == ["Lee Ann", "million 3.5 $"]
    for text, start in zip(answers["text"], answers["start"], strict=True):
        assert context[start : start + len(text)] == text
    assert context.endswith("million 3.5 $ cost It .")
    assert found.row["question"] == "won Who ?"


def test_answers_that_fall_apart_are_dropped_and_counted() -> None:
    row = {"id": "q", "question": "Who ?", "context": "a b c d e f g h", "language": "en",
           "answers": {"text": ["b c d"], "start": [2]}}  # fmt: skip
    deriver = Deriver(build("perm", TransformOptions(seed=1)), "perm")
    assert not list(deriver.rows("span", [row]))
    assert deriver.counts == {"answer dropped: in several pieces": 1, "no answer left in one piece": 1}
    inside = {**row, "context": "one twothree", "answers": {"text": ["three"], "start": [7]}}
    again = Deriver(Inversion(TransformOptions()), "inv")
    assert not list(again.rows("span", [inside]))
    assert again.counts["answer dropped: not at the bounds of words"] == 1
    elsewhere = {**row, "answers": {"text": ["d  e", "b"], "start": [6, 4]}}
    third = Deriver(Inversion(TransformOptions()), "inv")
    (kept,) = third.rows("span", [{**elsewhere, "context": "a b c d  e f g h"}])
    assert kept.row["answers"] == {"text": ["e d"], "start": [6]}
    assert third.counts["answer dropped: not in the context as recorded"] == 1
    none = {**row, "answers": {"text": [], "start": []}}
    assert len(list(Deriver(Inversion(TransformOptions()), "inv").rows("span", [none]))) == 1
