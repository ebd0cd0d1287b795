from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled_files import text_file
from refusals import refused

from isoglot.core.errors import InputError
from isoglot.formats.labelled.questions import NOT_FOUND, read_questions
from isoglot.tasks import build_task


def squad(context: str, *answers: tuple[str, int], name: str = "1") -> dict[str, object]:
    qa = {"id": name, "question": "q?", "answers": [{"text": t, "answer_start": s} for t, s in answers]}
    return {"data": [{"paragraphs": [{"context": context, "qas": [qa]}]}]}


@pytest.mark.parametrize(("start", "found"), [(4, 4), (5, 4), (0, 0), (3, 4), (10, 8), (-1, 0)])
def test_answers_are_found_nearby(tmp_path: Path, start: int, found: int) -> None:
    path = text_file(tmp_path, "a.json", json.dumps(squad("abc abc abc", ("abc", start))))
    assert read_questions(path, language="en")[0]["answers"]["start"] == [found]


def test_answers_that_move_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    answers = [("abc", 4), ("abc", 5), ("abc", -1), ("x", 2)]
    path = text_file(tmp_path, "a.json", json.dumps(squad("abc abc abc", *answers)))
    assert read_questions(path, language="en")[0]["answers"]["start"] == [4, 4, 0, NOT_FOUND]
    assert "2 of 4 answers are not at their answer_start; the nearest place" in caplog.text
    caplog.clear()
    path = text_file(tmp_path, "b.json", json.dumps(squad("abc abc abc", ("abc", 4))))
    read_questions(path, language="en")
    assert not caplog.records


def test_a_name_that_stands_twice_in_questions_is_refused(tmp_path: Path) -> None:
    text = json.dumps(squad("abc", ("abc", 0))).replace('"context"', '"context": "xyz", "context"')
    with refused(InputError, "q.json: ", "'context'"):
        read_questions(text_file(tmp_path, "q.json", text), language="en")


def test_missing_answers_and_other_languages(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a.json", json.dumps(squad("abc", ("x", 0), name="finnish-1")))
    assert read_questions(path, language="fi")[0]["answers"]["start"] == [NOT_FOUND]
    with refused(InputError, "'ko'", "fi"):
        read_questions(path, language="ko")
    path.write_text('{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1"}]}]}]}')
    with refused(InputError, "article 0: ", "'answers'"):
        read_questions(path, language="fi")


def test_parts_of_questions_hold_whole_articles(tmp_path: Path) -> None:
    def article(*contexts: str) -> dict[str, object]:
        qas = [{"question": "q", "answers": [{"text": c, "answer_start": 0}]} for c in contexts]
        return {
            "paragraphs": [
                {"context": c, "qas": [{"id": c, **q}]} for c, q in zip(contexts, qas, strict=True)
            ]
        }

    path = text_file(tmp_path, "q.json", json.dumps({"data": [article("a", "b", "c"), article("d")]}))
    first, second = (
        build_task("xquad", [f"{path}#{part}"]).load("en", "test")["id"] for part in ("0:50%", "50:100%")
    )
    assert (list(first), list(second)) == (["a", "b", "c"], ["d"])


@pytest.mark.parametrize("start", [-2, 9, 4000])
def test_an_answer_outside_the_context_is_refused(tmp_path: Path, start: int) -> None:
    path = text_file(tmp_path, "q.json", json.dumps(squad("the river", ("river", start))))
    with refused(InputError, "q.json: article 0: ", f"answer_start is {start}, ", "9 characters"):
        read_questions(path, language="en")


def test_answers_that_are_not_in_the_context_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = text_file(tmp_path, "q.json", json.dumps(squad("the river", ("sea", -1))))
    assert read_questions(path, language="en")[0]["answers"]["start"] == [-1]
    assert "1 of 1 questions have an answer that is not in the context" in caplog.text


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"text": ["river"], "start": [5]}, "answer 'river' of question '1' is not at character 5"),
        ({"text": ["river"], "start": [4000]}, "is not at character 4000"),
        ({"text": ["river"], "start": []}, "has 1 answers and 0 starts"),
    ],
)
def test_answers_of_a_table_stand_where_they_say(
    tmp_path: Path, answers: dict[str, object], message: str
) -> None:
    row = {"id": "1", "question": "q?", "context": "the river", "answers": answers}
    path = text_file(tmp_path, "q.jsonl", json.dumps(row) + "\n")
    with pytest.raises(InputError, match=message):
        build_task("xquad", [str(path)]).load("en", "test")
