from __future__ import annotations

import os
from pathlib import Path

import pytest

from isoglot.errors import ConfigurationError, InputError
from isoglot.tasks.submission import mean_scores, score_files, write

DATA = os.environ.get("ISOGLOT_DATA")
MOCK = None if DATA is None else Path(DATA).parent / "reference" / "xtreme_mock"


@pytest.mark.skipif(MOCK is None or not MOCK.is_dir(), reason="no XTREME mock data beside ISOGLOT_DATA")
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("pawsx", {"accuracy": 51.4286}),
        ("xnli", {"accuracy": 30.6667}),
        ("panx", {"f1": 57.5079}),
        ("udpos", {"f1": 70.2175}),
        ("xquad", {"exact_match": 77.2727, "f1": 79.9587}),
        ("mlqa", {"exact_match": 57.1429, "f1": 81.7687}),
        ("tydiqa", {"exact_match": 88.8889, "f1": 97.2222}),
    ],
)
def test_mock_submission_scores_as_xtreme_says(task: str, expected: dict[str, float]) -> None:
    assert MOCK is not None
    scores = {}
    for file in sorted((MOCK / "predictions" / task).iterdir()):
        language = file.stem.partition("-")[2]
        scores[language] = score_files(file, MOCK / "labels" / task / file.name, task, language=language)
    assert len(scores) > 5
    means = mean_scores(scores)
    for metric, value in expected.items():
        assert means[metric] == pytest.approx(value, abs=5e-5)


def test_written_predictions_are_read_back(tmp_path: Path) -> None:
    tags = [["DET", "NOUN"], ["X"]]
    file = write(tmp_path, "pos", "de", "test", tags)
    assert file == tmp_path / "udpos" / "test-de.tsv"
    assert file.read_text() == "DET\nNOUN\n\nX\n"
    assert score_files(file, file, "pos", language="de")["accuracy"] == 100.0
    labels = write(tmp_path, "xnli", "de", "dev", ["neutral", "entailment"])
    assert labels.read_text() == "neutral\nentailment\n"
    assert score_files(labels, labels, "xnli", language="de") == {"accuracy": 100.0}


def test_answers_are_scored_by_both_normalisations(tmp_path: Path) -> None:
    gold = tmp_path / "gold.json"
    gold.write_text(
        '{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "q", '
        '"answers": [{"text": "der Hund", "answer_start": 0}]}]}]}]}'
    )
    given = write(tmp_path, "xquad", "de", "test", {"1": "Hund"})
    scores = score_files(given, gold, "xquad", language="de")
    assert scores["exact_match"] == 0.0
    assert scores["mlqa_exact_match"] == 100.0
    assert "mlqa_f1" not in score_files(given, gold, "xquad", language="el")
    assert score_files(given, gold, "mlqa", language="de")["exact_match"] == 100.0


def test_mistakes_name_the_file(tmp_path: Path) -> None:
    one, two = tmp_path / "one.tsv", tmp_path / "two.tsv"
    one.write_text("a\n")
    two.write_text("a\nb\n")
    with pytest.raises(InputError, match=r"one\.tsv: 1 labels, .*two\.tsv has 2"):
        score_files(one, two, "xnli", language="de")
    with pytest.raises(InputError, match="sentence 1 has 1 tags"):
        score_files(one, two, "ner", language="de")
    with pytest.raises(ConfigurationError, match="no submission format"):
        score_files(one, two, "bucc", language="de")
    with pytest.raises(InputError, match=r"two\.tsv:1: is not JSON"):
        score_files(two, two, "mlqa", language="de")


def test_mean_over_the_metrics_all_languages_have() -> None:
    assert mean_scores({"de": {"f1": 1.0, "x": 2.0}, "fr": {"f1": 3.0}}) == {"f1": 2.0}
    assert mean_scores({}) == {}
