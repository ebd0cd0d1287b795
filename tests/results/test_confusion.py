from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import classification_report, confusion_matrix, f1_score

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.results.confusion import Confusion, ConfusionMatrix

PAIRS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=20)


@pytest.mark.slow
@given(PAIRS)
def test_counts_and_scores_are_those_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    gold, predicted = ([*side] for side in zip(*pairs, strict=True))
    matrix = ConfusionMatrix.of(gold, predicted, ["d", "never"])
    assert np.array_equal(matrix.counts, confusion_matrix(gold, predicted, labels=matrix.labels))
    scores = matrix.scores()
    assert scores["macro_f1"] == pytest.approx(
        100 * f1_score(gold, predicted, average="macro", zero_division=0)
    )
    report = classification_report(gold, predicted, labels=matrix.labels, output_dict=True, zero_division=0)
    for label in matrix.labels:
        for ours, theirs in (("precision", "precision"), ("recall", "recall"), ("f1", "f1-score")):
            assert scores[f"{ours}_{label}"] == pytest.approx(100 * report[label][theirs])
    occurring = sorted({*gold, *predicted})
    averages = classification_report(gold, predicted, labels=occurring, output_dict=True, zero_division=0)[
        "macro avg"
    ]
    assert scores["macro_precision"] == pytest.approx(100 * averages["precision"])
    assert scores["macro_recall"] == pytest.approx(100 * averages["recall"])


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    one = Confusion(
        {"de": ConfusionMatrix.of(["ä", "b"], ["ä", "ä"]), "fr": ConfusionMatrix.of(["b"], ["b"])},
        {"run": "x"},
    )
    file = one.write(tmp_path / "a.confusion.json")
    again = Confusion.read(file)
    assert again.to_dict() == one.to_dict() and again.about == {"run": "x"}
    assert again.to_frame().equals(one.to_frame()) and len(one.to_frame()) == 5
    assert [score.recall for score in again.classes()] == [0.0, 100.0, 100.0]
    assert "<td>1</td>" in one._repr_html_()
    for text in ("{", '{"about": {}, "languages": {"de": {"labels": ["a"], "counts": [[1, 2]]}}}', "[]"):
        file.write_text(text)
        with pytest.raises(InputError, match=r"a\.confusion\.json: holds no confusion"):
            Confusion.read(file)


def test_a_language_without_examples_is_read_again(tmp_path: Path) -> None:
    file = Confusion({"de": ConfusionMatrix.of([], [])}).write(tmp_path / "a.confusion.json")
    assert Confusion.read(file).to_dict() == {"de": {}}


@pytest.mark.parametrize(
    ("counts", "told"),
    [("[[1, -1], [0, 1]]", "a count is negative"), (f"[[1, {10**30}], [0, 1]]", "too (large|big)")],
)
def test_counts_that_cannot_be_are_named(tmp_path: Path, counts: str, told: str) -> None:
    file = tmp_path / "a.confusion.json"
    file.write_text(f'{{"about": {{}}, "languages": {{"de": {{"labels": ["a", "b"], "counts": {counts}}}}}}}')
    with pytest.raises(InputError, match=rf"a\.confusion\.json: holds no confusion \(.*{told}"):
        Confusion.read(file)


def test_predictions_of_other_examples_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="1 predictions for 2 labels"):
        ConfusionMatrix.of(["a", "b"], ["a"])
