from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from labelled_files import json_lines
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.formats.labelled.pairs import UNTRANSLATED
from isoglot.formats.labelled.sources import DataSource
from isoglot.formats.plain_values import NO_LABEL
from isoglot.formats.schema import PAIR
from isoglot.tasks.features import FIRST_LANGUAGE
from isoglot.tasks.pairs import PAWSX, XNLI
from isoglot.testing import tiny_model, tiny_tokenizer


def pairs(*rows: tuple[str, str, str]) -> Dataset:
    first, second, label = (list(column) for column in zip(*rows, strict=True))
    columns = {"first": first, "second": second, "label": label, "language": ["en"] * len(rows)}
    return Dataset.from_dict(columns, features=PAIR)


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_a_row_is_the_tokenizers_own_pair_and_is_cut_at_its_longer_sentence(family: str) -> None:
    tokenizer, task = tiny_tokenizer(family), XNLI(DataSource(()), max_length=14)
    model = tiny_model(family, tokenizer=tokenizer)
    model.config.id2label = dict(enumerate(["neutral", "entailment"]))
    long = " ".join(["mountain"] * 30)
    data = pairs(("the river", "a day", "entailment"), (long, "the river", "neutral"))
    rows = task.encode(data, tokenizer, model, training=True)
    assert [row.inputs["labels"] for row in rows] == [1, 0]
    for row, (first, second) in zip(
        (row.inputs for row in rows), zip(data["first"], data["second"], strict=True), strict=True
    ):
        whole = tokenizer(first, second, truncation="longest_first", max_length=14)
        assert row["input_ids"].tolist() == whole["input_ids"]
        if "token_type_ids" in row:
            assert row["token_type_ids"].tolist() == whole["token_type_ids"]
    assert len(rows[1].inputs["input_ids"]) == 14
    assert {row.second for row in rows} == {0}, "nobody asked which language is whose"


def test_the_second_sentences_place_is_known_where_the_first_has_a_language_of_its_own() -> None:
    tokenizer = tiny_tokenizer("bert")
    data = pairs(("the river", "a day", "neutral")).add_column(FIRST_LANGUAGE, ["de"])
    rows = XNLI(DataSource(())).encode(
        data, tokenizer, tiny_model("bert", tokenizer=tokenizer), training=False
    )
    place, ids = rows[0].second, rows[0].inputs["input_ids"].tolist()
    assert ids[place - 1] == tokenizer.sep_token_id
    assert rows[0].inputs["token_type_ids"].tolist().index(1) == place


def test_a_second_sentence_without_pieces_begins_behind_the_row() -> None:
    tokenizer = tiny_tokenizer("bert")
    data = pairs(("the river", "", "neutral")).add_column(FIRST_LANGUAGE, ["de"])
    model = tiny_model("bert", tokenizer=tokenizer)
    (row,) = XNLI(DataSource(())).encode(data, tokenizer, model, training=False)
    assert row.second == len(row.inputs["input_ids"])


def test_predictions_are_the_best_labels_and_accuracy_their_share() -> None:
    task = XNLI(DataSource(()))
    data = pairs(("a", "b", "entailment"), ("c", "d", "neutral"), ("e", "f", "neutral"))
    labels = task.labels(data)
    assert sorted(labels) == ["contradiction", "entailment", "neutral"]
    outputs = [np.eye(3)[labels.index(label)] for label in ("entailment", "contradiction", "neutral")]
    rows = task.encode(data, tiny_tokenizer("bert"), tiny_model("bert"), training=False)
    found = task.decode(data, rows, outputs)
    assert found == ["entailment", "contradiction", "neutral"]
    assert task.score(data, found, language="en") == {"accuracy": pytest.approx(200 / 3)}
    task.know(["x", "y", "z"])
    assert task.decode(data, rows, [np.eye(3)[1]] * 3) == ["y"] * 3, "the labels of the model"


def test_rows_without_a_label_and_untranslated_ones_are_left_out(tmp_path: Path) -> None:
    rows = [
        {"first": "a", "second": "b", "label": "1"},
        {"first": "c", "second": "d", "label": NO_LABEL},
        {"first": UNTRANSLATED, "second": "f", "label": "0"},
    ]
    data = DataSource([json_lines(tmp_path / "de.jsonl", *rows)])
    assert PAWSX(data).load("de", "test")["first"] == ["a"]
    assert PAWSX(data, untranslated="keep").load("de", "test")["first"] == ["a", UNTRANSLATED]
    wrong = DataSource([json_lines(tmp_path / "fr.jsonl", {"first": "a", "second": "b", "label": "maybe"})])
    with refused(
        ConfigurationError, "fr.jsonl", "'maybe'", "entailment, neutral, contradiction, contradictory"
    ):
        XNLI(wrong).load("fr", "test")


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        (["entailment", "neutral", "contradictory"], "contradictory"),
        (["LABEL_0", "LABEL_1", "LABEL_2"], "LABEL_1"),
    ],
)
def test_the_labels_of_a_trained_model_stay_as_they_are(
    tmp_path: Path, labels: list[str], label: str
) -> None:
    table = json_lines(tmp_path / "table.jsonl", {"first": "a", "second": "b", "label": label})
    own_format = tmp_path / "xnli.tsv"
    own_format.write_text(f"a\tb\t{label}\n")
    for path in (table, str(own_format)):
        task = XNLI(DataSource([path]))
        task.know(labels)
        assert task.load("de", "test")["label"][:] == [label]
