"""Answers to questions, carried sentence by sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled_files import written

import isoglot as iso
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.labelled_tables import read_table
from isoglot.formats.labelled.questions import read_questions
from isoglot.formats.schema import SPAN
from isoglot.tasks import build_task


def squad(context: str, **answers: str | None) -> str:
    """SQuAD's JSON of one context; an id that has no answer is a question that has none."""
    qas = [
        {
            "id": name,
            "question": f"{name}?",
            "answers": [{"text": a, "answer_start": context.index(a)}] if a else [],
        }
        for name, a in answers.items()
    ]
    return json.dumps({"data": [{"paragraphs": [{"context": context, "qas": qas}]}]})


def test_project_answers_sentence_by_sentence(tmp_path: Path) -> None:
    english, german = "Anna lives in Rome. Bob left.", "Anna lebt in Rom. Bob ging fort."
    labels, translation = written(
        tmp_path,
        en_json=squad(english, a="Rome", b="Bob left", c=None),
        de_json=squad(german, a=None, b=None, c=None),
    )
    out = tmp_path / "de.jsonl"
    counts = iso.project(labels, translation, out, method="fast_align", train_on=(_dictionary(tmp_path),))
    found = read_table(str(out), SPAN, language="de", split="train", role="questions")
    assert found["context"][0] == german
    assert found["id"][:] == ["a", "b", "c"] and found["answers"][2] == {"text": [], "start": []}
    assert found["answers"][0] == {"text": ["Rom"], "start": [13]}
    assert counts.examples == counts.written == 3


@pytest.mark.parametrize(
    ("file", "ids", "wanted"),
    [
        ("de.jsonl", ["a", "a"], r"de\.jsonl: id 'a' is used for several questions"),
        ("de.jsonl", [1, "1"], r"de\.jsonl: id '1' is used for several questions"),
        ("de.jsonl", ["None", None], r"de\.jsonl:2: a question has no id"),
        ("de.jsonl", ["a", [1]], r"de\.jsonl:2: the id is \[1\], but a whole number or a text is needed"),
        ("de.json", ["a", "a"], r"de\.json: id 'a' is used for several questions"),
        ("en.json", ["a", "a"], r"en\.json: id 'a' is used for several questions"),
        ("en.json", [1, "1"], r"en\.json: id '1' is used for several questions"),
        ("en.json", ["None", None], r"en\.json: article 0: a question has no id"),
    ],
)
def test_questions_have_ids_of_their_own(tmp_path: Path, file: str, ids: list[object], wanted: str) -> None:
    """The last of two questions of one id is not the translation of both."""

    def document(names: list[object]) -> str:
        answers = [{"text": "Rome", "answer_start": 0}]
        qas = [{"id": name, "question": "q?", "answers": answers} for name in names]
        return json.dumps({"data": [{"paragraphs": [{"context": "Rome.", "qas": qas}]}]})

    rows = ({"id": name, "question": "q?", "context": "Rome."} for name in ids)
    files = {"en.json": document(["a", "b"]), "de.json": document(["a", "b"]), "de.jsonl": ""}
    files[file] = "".join(json.dumps(row) + "\n" for row in rows) if file == "de.jsonl" else document(ids)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    translation = tmp_path / ("de.jsonl" if file == "de.jsonl" else "de.json")
    with pytest.raises(InputError, match=wanted):
        iso.project(tmp_path / "en.json", translation, tmp_path / "o.jsonl", method="hmm")


def test_equal_parts_of_questions_and_of_their_translation_are_parallel(tmp_path: Path) -> None:
    """Articles have one to four contexts, and a context loses its only question."""
    sides: dict[str, list[dict[str, object]]] = {"en": [], "de": []}
    for article in range(4):
        for language, answer in (("en", "Rome"), ("de", "Rom")):
            contexts = [f"{answer} {'abcd'[n]}{article}" for n in range(article + 1)]
            qas = [[{"id": f"{article}{n}", "question": "q?", "answers": [{"text": answer, "answer_start": 0}]}]
                   for n in range(article + 1)]  # fmt: skip
            paragraphs = [{"context": c, "qas": own} for c, own in zip(contexts, qas, strict=True)]
            sides[language].append({"paragraphs": paragraphs})
    labels, translation, links, fewer = written(
        tmp_path,
        en_json=json.dumps({"data": sides["en"]}),
        de_json=json.dumps({"data": sides["de"]}),
        links="0-0\n" * 2 + "\n" + "0-0\n" * 7,  # the third context has no link
        fewer="0-0\n" * 9,
    )
    out = tmp_path / "de.jsonl"
    assert iso.project(labels, translation, out, links_file=links).written == 9
    parts = [
        build_task("xquad", [f"{path}#0:75%"]).load(language, "train")["id"][:]
        for path, language in ((labels, "en"), (out, "de"))
    ]
    assert parts[0] == ["00", "10", "11", "20", "21", "22"] and parts[1] == ["00", "10", "20", "21", "22"]
    again = tmp_path / "again.jsonl"
    iso.project(out, translation, again, kind="questions", links_file=fewer, source_language="de")
    assert {json.loads(line)["article"] for line in again.read_text().splitlines()} == set("0123")


def _dictionary(folder: Path) -> str:
    pairs = {
        "Anna": "Anna",
        "lives": "lebt",
        "in": "in",
        "Rome": "Rom",
        ".": ".",
        "Bob": "Bob",
        "left": "ging",
    }
    (path,) = written(folder, words_tsv="".join(f"{a}\t{b}\n" for a, b in pairs.items()) * 30)
    return path


def test_project_answers_of_whole_contexts_and_lost_ones(tmp_path: Path) -> None:
    labels, translation, links = written(
        tmp_path,
        en_json=squad("Anna lives. Bob left.", a="Anna", b="Bob", z="Anna"),
        de_json=squad("Anna lebt. Bob ging.", a=None, b=None),
        links="0-0\n",
    )
    out = tmp_path / "de.jsonl"
    counts = iso.project(labels, translation, out, links_file=links)
    assert [json.loads(line)["answers"] for line in out.read_text().splitlines()] == [
        {"text": ["Anna"], "start": [0]}
    ]
    assert counts.fates["lost"] == 1 and counts.examples == 3 and counts.written == 1
    with pytest.raises(ConfigurationError, match=r"name it \.jsonl"):
        iso.project(labels, translation, tmp_path / "out.json", links_file=links)
    assert len(read_questions(labels, language="en")) == 3


def test_project_counts_questions_once_if_the_aligner_learns(tmp_path: Path) -> None:
    labels, translation = written(
        tmp_path,
        en_json=squad("Anna lives. Bob left.", a="Anna", b="Bob", z="Anna"),
        de_json=squad("Anna lebt. Bob ging.", a=None, b=None),
    )
    counts = iso.project(
        labels, translation, tmp_path / "de.jsonl", method="fast_align", target_language="de"
    )
    assert counts.examples == 3
    rows = [json.loads(line) for line in (tmp_path / "de.jsonl").read_text().splitlines()]
    assert {row["language"] for row in rows} == {"de"}
