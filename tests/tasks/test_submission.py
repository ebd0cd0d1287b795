from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import fmean

import pytest
from datasets import Dataset
from references import reference

from isoglot.tasks import build_task
from isoglot.tasks.submission import stem_of, write, written

DATA = os.environ.get("ISOGLOT_DATA")
MOCK = None if DATA is None else Path(DATA).parent / "reference" / "xtreme_mock"


def _scored(task: str, predictions: Path, labels: Path) -> dict[str, float]:
    """A file of answers against one of questions, scored by the task."""
    language = predictions.stem.partition("-")[2]
    asked = [
        (question["id"], {"text": [answer["text"] for answer in question["answers"]]})
        for article in json.loads(labels.read_text())["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    names, answers = zip(*asked, strict=True)
    gold = Dataset.from_dict({"id": names, "answers": answers})
    return dict(build_task(task, []).score(gold, json.loads(predictions.read_text()), language=language))


@pytest.mark.parametrize(
    ("task", "metric", "expected"),
    [
        ("pawsx", "accuracy", 51.4286),
        ("xnli", "accuracy", 30.6667),
        ("panx", "f1", 57.5079),
        ("udpos", "f1", 70.2175),
    ],
)
def test_mock_labels_score_as_xtreme_says(task: str, metric: str, expected: float) -> None:
    built = build_task({"udpos": "pos", "panx": "ner"}.get(task, task), [])
    scores = []
    for language, (gold, predicted) in reference("xtreme_mock")[task].items():
        if metric == "accuracy":
            scores.append(built.score(Dataset.from_dict({"label": gold}), predicted, language=language))
        else:
            labels, tags = ([row.split() for row in side] for side in (gold, predicted))
            scores.append(built.score(Dataset.from_dict({"tags": labels}), tags, language=language))
    assert len(scores) > 5
    assert fmean(row[metric] for row in scores) == pytest.approx(expected, abs=5e-5)


@pytest.mark.skipif(MOCK is None or not MOCK.is_dir(), reason="no XTREME mock data beside ISOGLOT_DATA")
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("xquad", {"exact_match": 77.2727, "f1": 79.9587}),
        ("mlqa", {"exact_match": 57.1429, "f1": 81.7687}),
        ("tydiqa", {"exact_match": 88.8889, "f1": 97.2222}),
    ],
)
def test_mock_answers_score_as_xtreme_says(task: str, expected: dict[str, float]) -> None:
    assert MOCK is not None
    files = sorted((MOCK / "predictions" / task).iterdir())
    scores = [_scored(task, file, MOCK / "labels" / task / file.name) for file in files]
    assert len(scores) > 5
    for metric, value in expected.items():
        assert fmean(row[metric] for row in scores) == pytest.approx(value, abs=5e-5)


def test_predictions_are_written_as_xtreme_names_and_lays_them_out(tmp_path: Path) -> None:
    pos = build_task("pos", [])
    file = write(stem_of(tmp_path, pos, "de", "test"), [["DET", "NOUN"], ["X"]])
    assert file == tmp_path / "udpos" / "test-de.tsv"
    assert file.read_text() == "DET\nNOUN\n\nX\n"
    assert written(stem_of(tmp_path, pos, "de", "test")) and not written(stem_of(tmp_path, pos, "de", "dev"))
    mine = stem_of(tmp_path, build_task("xnli", [], name="mine"), "de", "dev")
    labels = write(mine, ["neutral", "entailment"])
    assert (labels.parent.name, labels.read_text()) == ("mine", "neutral\nentailment\n")
    answers = write(stem_of(tmp_path, build_task("xquad", []), "de", "test"), {"1": "Hund"})
    assert (answers.name, json.loads(answers.read_text())) == ("test-de.json", {"1": "Hund"})


def test_answers_are_scored_by_both_normalisations() -> None:
    gold = Dataset.from_dict({"id": ["1"], "answers": [{"text": ["der Hund"]}]})
    scores = {
        (task, language): build_task(task, []).score(gold, {"1": "Hund"}, language=language)
        for task, language in (("xquad", "de"), ("xquad", "el"), ("mlqa", "de"), ("mlqa", "de-es"))
    }
    assert scores["xquad", "de"]["exact_match"] == 0.0
    assert scores["xquad", "de"]["mlqa_exact_match"] == 100.0
    assert "mlqa_f1" not in scores["xquad", "el"]
    assert scores["mlqa", "de"]["exact_match"] == scores["mlqa", "de-es"]["exact_match"] == 100.0
