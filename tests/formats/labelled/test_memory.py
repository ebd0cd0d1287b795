from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from datasets import ClassLabel, Dataset, DatasetDict
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.formats.labelled.memory import data_source, memory_source, with_schema
from isoglot.formats.schema import LABELLED, SPAN, TAGGED
from isoglot.tasks.tagging import PartsOfSpeech


def _rows(*texts: str, **more: Any) -> Dataset:
    return Dataset.from_dict({"text": texts, "label": ["a"] * len(texts), **more})


def test_rows_of_one_language_or_split_come_before_rows_of_any() -> None:
    data = {"de": {"test": _rows("own")}, "train": _rows("all train"), "fr": _rows("any split")}
    given = memory_source(data, LABELLED)

    def found(language: str, split: str) -> list[str]:
        (place,) = given.find(language, split)
        assert place.rows is not None
        return list(place.rows["text"])

    assert (found("deu", "test"), found("fr", "test"), found("fr", "train")) == (
        ["own"],
        ["any split"],
        ["any split"],
    )
    assert found("de", "train") == ["all train"]
    with refused(ConfigurationError, "test data for 'it', got de test (1 rows) "):
        given.find("it", "test")
    assert not given.has_dev("fr"), "the same rows are not development data"
    splits = DatasetDict(train=_rows("a"), validation=_rows("b"))
    assert memory_source(splits, LABELLED).has_dev("de")


def test_columns_take_the_schemas_names_and_types() -> None:
    rows = (
        _rows("x", "y", stars=[5, 1], note=[None, None]).rename_column("text", "body").remove_columns("label")
    )
    found = with_schema(rows, LABELLED, {"text": "body", "label": "stars"})
    assert found.to_list() == [{"text": "x", "label": "5"}, {"text": "y", "label": "1"}]
    named = Dataset.from_dict({"tokens": [["a", "b"]], "pos_tags": [[1, 0]]})
    with refused(ConfigurationError, "column 'words' is str", "list"):
        with_schema(Dataset.from_dict({"words": ["a b"], "tags": ["DET NOUN"]}), TAGGED)
    feature = type(named.features["pos_tags"])(ClassLabel(names=["DET", "NOUN"]))
    assert with_schema(named.cast_column("pos_tags", feature), TAGGED)["tags"][:] == [["NOUN", "DET"]]
    asked = Dataset.from_list(
        [{"question": "q", "context": "c", "answers": {"text": ["c"], "answer_start": [0]}}] * 2
    )
    assert with_schema(asked, SPAN)["id"][:] == ["0", "1"]
    with refused(ConfigurationError, "'text' ", "question, context, answers; ", "columns={'text'"):
        with_schema(asked, LABELLED)
    with refused(ConfigurationError, "columns: ", "txt; ", "text, label, language"):
        with_schema(_rows("x"), LABELLED, {"txt": "text"})


def test_splits_may_be_paths() -> None:
    found = data_source({"train": "a.tsv", "validation": Path("b.tsv")}, PartsOfSpeech)
    assert found.describe() == "train=a.tsv dev=b.tsv"
    with refused(ConfigurationError, "columns=text ", "train=a.tsv"):
        data_source({"train": "a.tsv"}, PartsOfSpeech, {"text": "t"})


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, dict, Dataset.from_dict]
)
def test_a_dictionary_holds_columns_languages_or_splits(kind: Callable[[Any], Any]) -> None:
    table = kind({"text": ["x", "y"], "label": [1, 2], "id": ["1", "2"]})
    for data, names in (
        (table, {("", "")}),
        ({"de": table, "id": table}, {("de", ""), ("id", "")}),
        ({"train": table, "de": {"dev": table}}, {("", "train"), ("de", "dev")}),
    ):
        found = memory_source(data, LABELLED)
        assert set(found.tables) == names and found.label_values == {"1": 1, "2": 2}
        assert all(rows.to_dict()["label"] == ["1", "2"] for rows in found.tables.values())
    rows = [{"text": "x", "label": "a"}]
    assert set(memory_source({"de": rows, "fr": iter(rows)}, LABELLED).tables) == {("de", ""), ("fr", "")}
    nested = {"t": [{"de": "x", "y": "z"}]}
    assert memory_source(nested, LABELLED, {"text": "t.de", "label": "t.y"}).tables["", ""]["text"][:] == [
        "x"
    ]


def test_data_without_rows_are_refused() -> None:
    empty = _rows()
    for data in (
        empty,
        empty.to_pandas(),
        pd.DataFrame(),
        {"de": empty},
        {"train": _rows("a"), "dev": empty},
    ):
        with refused(ConfigurationError, "data: ", "rows"):
            memory_source(data, LABELLED)
