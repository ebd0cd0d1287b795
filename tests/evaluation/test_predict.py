"""Predictions of examples without labels are those that an evaluation scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from datasets import Dataset
from tuned_models import ANSWERED, TAGGED, TOPICS, tuned

import isoglot as iso
from isoglot.core.errors import ConfigurationError
from isoglot.tasks import build_task
from isoglot.testing import tiny_model, tiny_tokenizer


@pytest.mark.slow
def test_labels_are_those_of_the_evaluation_whatever_the_data_are(tmp_path: Path) -> None:
    model = tuned("text_classification", TOPICS, tmp_path / "run")
    (accuracy, _) = iso.evaluate(model, "text_classification", languages="en", data=Dataset.from_dict(TOPICS))
    said = iso.predict(model, "text_classification", TOPICS["text"])
    right = [row["prediction"] == label for row, label in zip(said, TOPICS["label"], strict=True)]
    assert accuracy.value == pytest.approx(100 * sum(right) / len(right))
    assert all(0.5 <= row["probability"] <= 1 for row in said)
    frame = pytest.importorskip("pandas").DataFrame({**TOPICS, "label": "unknown", "key": range(16)})
    again = iso.predict(model, "text_classification", frame).to_frame()
    assert list(again["prediction"]) == [row["prediction"] for row in said]
    assert list(again["key"]) == list(range(16)), "columns of one's own pass through"
    for texts in (frame["text"], Dataset.from_dict(TOPICS)["text"], iter(TOPICS["text"])):
        assert iso.predict(model, "text_classification", texts) == said
    rows = iso.predict(model, "text_classification", {"said": ["a river"]}, columns={"text": "said"})
    assert rows[0]["said"] == "a river"


def test_words_get_tags_and_questions_answers(tmp_path: Path) -> None:
    model = tuned("pos", TAGGED, tmp_path / "pos")
    said = iso.predict(model, "pos", TAGGED["words"])
    assert [len(row["prediction"]) for row in said] == [3, 2] * 8
    iso.evaluate(model, "pos", languages="en", data=Dataset.from_dict(TAGGED), predictions=tmp_path / "said")
    written = (tmp_path / "said" / "udpos" / "test-en.tsv").read_text().strip().split("\n\n")
    assert [row["prediction"] for row in said] == [block.split("\n") for block in written]
    model = tuned("squad", ANSWERED, tmp_path / "squad")
    asked = {name: ANSWERED[name] for name in ("question", "context")}
    assert all(row["prediction"] in row["context"] for row in iso.predict(model, "squad", asked))
    pairs = {"premise": ["a", "b", "c"] * 4, "hypothesis": ["d", "e", "f"] * 4}
    model = tuned(
        "xnli", {**pairs, "label": ["entailment", "neutral", "contradiction"] * 4}, tmp_path / "nli"
    )
    (row,) = iso.predict(model, "xnli", [("a house", "a home")])
    assert row["prediction"] in ("entailment", "neutral", "contradiction") and row["second"] == "a home"


@pytest.mark.slow
def test_the_task_decides_whether_a_list_of_lists_is_words_or_pairs(tmp_path: Path) -> None:
    tagger = tuned("pos", TAGGED, tmp_path / "pos")
    as_tuples = [tuple(words) for words in TAGGED["words"]]
    tagged = iso.predict(tagger, "pos", as_tuples)
    assert [row["prediction"] for row in tagged] == [
        row["prediction"] for row in iso.predict(tagger, "pos", TAGGED["words"])
    ]
    labels = ["entailment", "neutral", "contradiction"] * 4
    pairs = {"first": ["a", "b", "c"] * 4, "second": ["d", "e", "f"] * 4, "label": labels}
    model = tuned("xnli", pairs, tmp_path / "nli")
    as_lists = iso.predict(model, "xnli", [["a house", "a home"]])
    assert as_lists == iso.predict(model, "xnli", [("a house", "a home")])
    with pytest.raises(ConfigurationError, match=r"pairs"):
        iso.predict(model, "xnli", [["a", "house", "here"]])


def test_predict_refuses_data_that_it_cannot_label(tmp_path: Path) -> None:
    encoder = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
    with pytest.raises(ConfigurationError, match="task tatoeba has no head, so a model predicts nothing"):
        iso.predict(task="tatoeba", data=["a"], **encoder)
    with pytest.raises(ConfigurationError, match="has no head for text_classification"):
        iso.predict(task="text_classification", data=["a"], **encoder)
    model = tuned("text_classification", TOPICS, tmp_path / "run")
    with pytest.raises(ConfigurationError, match="column 'text' is missing, found utteranc"):
        iso.predict(model, "text_classification", {"utteranc": ["a"]})
    with pytest.raises(ConfigurationError, match=r"data: got 'a\.txt'; pass a datasets\.Dataset"):
        iso.predict(model, "text_classification", "a.txt")


def test_columns_inside_columns_are_named_with_a_dot() -> None:
    encoder = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
    rows = [{"translation": {"en": f"the house {n}", "de": f"das Haus {n}"}} for n in range(4)]
    columns = {"source": "translation.de", "target": "translation.en"}
    row, *_ = iso.evaluate(
        task="tatoeba", languages="de", data=Dataset.from_list(rows), columns=columns, layer=2, **encoder
    )
    assert row.examples == 4


@pytest.mark.slow
def test_every_class_has_its_probability(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    model = tuned("text_classification", TOPICS, tmp_path / "run")
    frame = pandas.DataFrame(TOPICS)
    rows = iso.predict(model, "text_classification", frame, probabilities=True)
    for row in rows:
        shares = row["probabilities"]
        assert [*shares] == ["animals", "water"] and sum(shares.values()) == pytest.approx(1)
        assert max(shares, key=shares.get) == row["prediction"]
        assert shares[row["prediction"]] == pytest.approx(row["probability"])
    columns = pandas.json_normalize(rows.to_frame()["probabilities"])
    assert columns["water"].tolist() == [row["probabilities"]["water"] for row in rows]
    table = iso.predict(
        model, "text_classification", pytest.importorskip("pyarrow").table(TOPICS), probabilities=True
    ).to_frame()
    assert table.column("probabilities").to_pylist() == [row["probabilities"] for row in rows]
    tagger = tuned("pos", TAGGED, tmp_path / "pos")
    plain = iso.predict(tagger, "pos", TAGGED["words"])
    tagged = iso.predict(tagger, "pos", TAGGED["words"], probabilities=True)
    assert [row["prediction"] for row in tagged] == [row["prediction"] for row in plain]
    for row in tagged:
        best = [max(shares, key=shares.get) for shares in row["probabilities"]]
        assert best == row["prediction"]
        assert all(sum(shares.values()) == pytest.approx(1) for shares in row["probabilities"])
    assert iso.predict(tagger, "pos", [], probabilities=True) == []
    with pytest.raises(ConfigurationError, match="task squad has no labels, so no probability for each"):
        iso.predict(model, "squad", ["a"], probabilities=True)


@pytest.mark.parametrize("option", ["out", "predictions", "run", "again"])
def test_options_of_files_are_refused(option: str) -> None:
    with pytest.raises(ConfigurationError, match=f"`{option}`: is for the results of an evaluation"):
        iso.predict("model", "text_classification", ["a"], **{option: "x"})


def test_options_of_a_task_object_are_refused() -> None:
    task = build_task("text_classification", [])
    with pytest.raises(ConfigurationError, match="got max_length, but the task is built already"):
        iso.predict("model", task, ["a"], max_length=64)


def test_a_model_with_labels_of_its_own_predicts_them(tmp_path: Path) -> None:
    labels = ["entailment", "neutral", "contradiction"] * 4
    pairs = {"first": ["a", "b", "c"] * 4, "second": ["d", "e", "f"] * 4, "label": labels}
    model = tuned("xnli", pairs, tmp_path / "nli")
    config = json.loads((model / "config.json").read_text())
    config["id2label"] = {str(number): f"LABEL_{number}" for number in range(3)}
    config["label2id"] = {f"LABEL_{number}": number for number in range(3)}
    (model / "config.json").write_text(json.dumps(config))
    (row,) = iso.predict(model, "xnli", [("a house", "a home")])
    assert row["prediction"] in config["label2id"]
    # Nobody knows which output is entailment, so labels of the data cannot be compared with them.
    with pytest.raises(
        ConfigurationError, match="label 'contradiction' is not of the model's id2label, LABEL_0"
    ):
        iso.evaluate(model, "xnli", languages="en", data=Dataset.from_dict(pairs))
