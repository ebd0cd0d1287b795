"""Counts of classes are the same from a model, from its predictions on disk, and from rows in memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from tuned_models import TAGGED, TOPICS, tuned

import isoglot as iso
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.results.confusion import Confusion, ConfusionMatrix


def test_three_ways_to_the_same_counts(tmp_path: Path) -> None:
    model = tuned("text_classification", TOPICS, tmp_path / "run")
    data = {"en": Dataset.from_dict(TOPICS), "xx": Dataset.from_dict({k: v[:5] for k, v in TOPICS.items()})}
    counted = iso.confusion(model, "text_classification", languages="en,xx", data=data)
    assert [*iso.confusion(model, "text_classification", languages="xx,en", data=data).languages] == [
        "xx",
        "en",
    ]
    folder = tmp_path / "predictions"
    iso.evaluate(model, "text_classification", languages="en,xx", data=data, predictions=folder)
    assert iso.confusion(folder).to_dict() == counted.to_dict()
    assert counted.about["task"] == "text_classification" and counted.about["split"] == "test"
    rows: list[dict[str, Any]] = []
    for language, one in data.items():
        said = iso.predict(model, "text_classification", {**one.to_dict(), "language": [language] * len(one)})
        rows += said
    assert iso.confusion(rows).to_dict() == counted.to_dict()
    named = {"truth": [r["label"] for r in rows], "guess": [r["prediction"] for r in rows]}
    (alone,) = iso.confusion(named, gold="truth", predicted="guess").to_dict().values()
    assert sum(sum(row.values()) for row in alone.values()) == 21
    frame = counted.to_frame()
    wanted = Counter((r["language"], r["label"], r["prediction"]) for r in rows)
    for row in frame.itertuples(index=False):
        assert row[3] == wanted[row[0], row[1], row[2]]


def test_tags_are_counted_in_words(tmp_path: Path) -> None:
    model = tuned("pos", TAGGED, tmp_path / "run")
    counted = iso.confusion(model, "pos", languages="en", data=Dataset.from_dict(TAGGED))
    assert counted.languages["en"].counts.sum() == 8 * 5
    by_hand = iso.confusion(iso.predict(model, "pos", TAGGED))
    shown = counted.to_frame().query("count > 0").values.tolist()
    assert sorted(row[1:] for row in shown) == sorted(
        row[1:] for row in by_hand.to_frame().query("count > 0").values.tolist()
    )


def test_confusion_of_a_task_without_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"no column 'label', found text, prediction; name it with gold="
    ):
        iso.confusion([{"text": "a", "prediction": "b"}])
    with pytest.raises(ConfigurationError, match="no languages; name them with languages="):
        iso.confusion("model", "text_classification")
    with pytest.raises(InputError, match="no counts of classes in this folder"):
        iso.confusion(tmp_path)


def test_confusion_that_cannot_be_counted_is_refused_before_the_measurement() -> None:
    # There is no such model, so anything that reads it would fail otherwise.
    with pytest.raises(ConfigurationError, match="task xquad has no labels to confuse"):
        iso.confusion("no/model", "xquad", languages="de", data="no.json")
    with pytest.raises(ConfigurationError, match=r"`predictions`: write them with isoglot.evaluate"):
        iso.confusion("no/model", "xnli", languages="de", data="no.tsv", predictions="said")


def test_words_without_a_tag_and_rows_without_a_label_do_not_count() -> None:
    tagged = [{"tags": ["NOUN", "_"], "prediction": ["NOUN", "X"]}]
    assert iso.confusion(tagged).to_dict() == {"all": {"NOUN": {"NOUN": 1}}}
    assert iso.confusion([{"tags": ["NOUN", None], "prediction": ["NOUN", "X"]}]).to_dict()["all"].keys() == {
        "NOUN"
    }
    labelled = [{"label": "a", "prediction": "b"}, {"label": None, "prediction": "c"}]
    assert iso.confusion(labelled).to_dict() == {"all": {"a": {"a": 0, "b": 1}, "b": {"a": 0, "b": 0}}}


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_sentence_without_tags_does_not_count(missing: object) -> None:
    rows = [
        {"tags": ["NOUN"], "prediction": ["NOUN"]},
        {"tags": missing, "prediction": ["NOUN", "VERB"]},
        {"tags": missing, "prediction": []},
        {"tags": ["_", "_"], "prediction": missing},
        {"tags": [], "prediction": missing},
    ]
    assert iso.confusion(rows).to_dict() == {"all": {"NOUN": {"NOUN": 1}}}


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_sentence_without_predictions_is_refused(missing: object) -> None:
    rows = [{"tags": ["NOUN"], "prediction": ["NOUN"]}, {"tags": ["_", "VERB"], "prediction": missing}]
    with pytest.raises(
        ConfigurationError, match="row 2 has the label 'VERB' and no prediction in column 'prediction'"
    ):
        iso.confusion(rows)


def test_a_sentence_with_another_number_of_predictions_is_refused() -> None:
    rows = [{"tags": ["NOUN"], "prediction": ["NOUN"]}, {"tags": ["NOUN", "VERB"], "prediction": ["NOUN"]}]
    with pytest.raises(ConfigurationError, match="row 2 has 1 predictions for 2 words; predict every word"):
        iso.confusion(rows)


def test_counts_of_several_splits_are_refused(tmp_path: Path) -> None:
    matrix = ConfusionMatrix.of(["a", "b"], ["a", "a"])
    for split in ("dev", "test"):
        about = {"task": "xnli", "split": split, "checkpoint_hash": "1"}
        Confusion({"de": matrix}, about).write(tmp_path / f"{split}-de.confusion.json")
    with pytest.raises(ConfigurationError, match="predictions of several models, tasks or splits"):
        iso.confusion(tmp_path)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_label_without_a_prediction_is_refused(missing: object) -> None:
    rows = [{"label": "a", "prediction": "a"}, {"label": "a", "prediction": missing}]
    with pytest.raises(
        ConfigurationError, match="row 2 has the label 'a' and no prediction in column 'prediction'"
    ):
        iso.confusion(rows)
    # Without a label nothing counts, so that nothing is missing.
    assert iso.confusion([rows[0], {"label": None, "prediction": missing}]).to_dict() == {
        "all": {"a": {"a": 1}}
    }
