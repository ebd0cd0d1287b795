"""Data in memory: what is read from each container, and what goes back into it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.formats.plain_values import plain
from isoglot.formats.rows import Items, RowTable, result_names, rows_of, table_of

COLUMNS = {"text": ["a river", None, "a horse"], "words": [["a", "river"], [], ["a"]], "n": [1, 2, 3]}
HELD = {
    "pandas": pd.DataFrame(COLUMNS, index=[7, 7, 1]),
    "polars": pl.DataFrame(COLUMNS),
    "lazy polars": pl.LazyFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "dataset": Dataset.from_dict(COLUMNS),
    "columns": COLUMNS,
    "records": [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
}


@pytest.mark.parametrize("held", HELD)
def test_every_container_has_the_same_columns_and_takes_more_of_them(held: str) -> None:
    rows = table_of(HELD[held], "data")
    assert (rows.names, len(rows)) == (list(COLUMNS), 3)
    assert {name: list(rows.column(name)) for name in rows.names} == COLUMNS
    assert [plain(dict(record)) for record in rows.records()] == HELD["records"]
    back = rows.with_columns({"new": [[(0, 1)], [], [(2, 3)]]}, {"new": [(0, 0)]})
    assert type(back) is (type(HELD[held]) if held in ("polars", "lazy polars", "arrow") else pd.DataFrame)
    assert table_of(back, "data").names == [*COLUMNS, "new"]
    assert list(table_of(back, "data").column("new")) == [[[0, 1]], [], [[2, 3]]]


def test_a_pandas_frame_keeps_index_and_types_and_is_not_changed() -> None:
    frame = pd.DataFrame({"kind": pd.Categorical(["x", "y"]), "n": np.array([1, 2], np.int8)}, index=[5, 5])
    back = rows_of(frame).with_columns({"new": [1.5, 2.5]}, {"new": 0.0})
    pd.testing.assert_frame_equal(back[["kind", "n"]], frame)
    assert list(frame.columns) == ["kind", "n"] and back["new"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize("held", ["pandas", "polars", "arrow"])
def test_columns_without_rows_have_their_types(held: str) -> None:
    empty = {"pandas": HELD["pandas"].iloc[:0], "polars": HELD["polars"].head(0), "arrow": HELD["arrow"][:0]}
    rows = table_of(empty[held], "data")
    back = rows.with_columns({"p": [], "t": [], "w": []}, {"p": 0.5, "t": "", "w": [""]})
    one = rows_of({"x": [1]}).with_columns({"p": [0.5], "t": [""], "w": [[""]]}, {})
    if held == "pandas":
        assert (back.dtypes[["p", "t", "w"]] == one.dtypes[["p", "t", "w"]]).all()
    elif held == "polars":
        assert back.schema["p"] == pl.Float64 and back.schema["w"] == pl.List(pl.String)
    else:
        assert back.schema.field("p").type == pa.float64()
    assert len(table_of(back, "data")) == 0


def test_classes_of_a_data_set_are_read_by_name() -> None:
    kinds = ClassLabel(names=["x", "y"])
    features = Features({"kind": kinds, "tags": List(kinds), "n": Value("int64")})
    rows = rows_of(Dataset.from_dict({"kind": [1, -1], "tags": [[0, 1], []], "n": [1, 2]}, features=features))
    assert isinstance(rows, RowTable)
    assert list(rows.column("kind")) == ["y", "-"] and list(rows.column("tags")) == [["x", "y"], []]


def test_values_are_plain_python() -> None:
    assert plain(np.int8(3)) == 3 and type(plain(np.float32(0.5))) is float and plain(np.bool_(True)) is True
    assert plain(np.array([["a"]])) == [["a"]] and plain((b"ta", pd.NA)) == ["ta", None]
    assert [plain(value) for value in (None, float("nan"), np.float32("nan"), pd.NA, pd.NaT)] == [None] * 5
    assert plain({"a": b"x"}) == {"a": "x"}


def test_nested_columns_and_columns_of_any_name() -> None:
    nested = rows_of({"t": [{"en": "a"}, None], "t.de": ["x", "y"]})
    assert isinstance(nested, RowTable)
    assert list(nested.column("t.en")) == ["a", None] and list(nested.column("t.de")) == ["x", "y"]
    with refused(ConfigurationError, "row 1: ", "'fr'", "known: en"):
        list(nested.column("t.fr"))
    many = pd.DataFrame([["a", "b"]], columns=pd.MultiIndex.from_tuples([("x", "s"), ("x", "t")]))
    assert list(table_of(many, "data").column(("x", "t"))) == ["b"]
    assert list(table_of(pd.DataFrame([["a", "b"]]), "data").column(1)) == ["b"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"text": "a river"},
            r"data: column 'text' is 'a river', not a list.*one row is written \[\{...\}\]",
        ),
        ({"a": [1], "b": [1, 2]}, "columns need the same number of rows, but 'a' has 1, 'b' has 2"),
        ("a.txt", r"data: got 'a.txt'; pass a datasets\.Dataset, a pandas or polars frame"),
        (5, "data: got 5; pass"),
        (DatasetDict(train=Dataset.from_dict({})), r"got the splits train; .* such as data\['train'\]"),
        ([{"a": 1}, "b"], "row 2: got 'b', but other rows are dictionaries"),
        (["a", "b"], r"data: got \['a', 'b'\]; pass a datasets"),
    ],
)
def test_data_without_rows_is_refused(data: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        table_of(data, "data")


def test_a_column_that_cannot_be_read_is_named() -> None:
    with refused(ConfigurationError, "data: 2 columns ", "'a'"):
        list(table_of(pd.DataFrame([[1, 2]], columns=["a", "a"]), "data").column("a"))
    with refused(ConfigurationError, "row 2: column 'a' ", "b'\\xff'", "cp1252"):
        list(table_of({"a": [b"ok", b"\xff"]}, "data").column("a"))


def test_streams_are_read_as_they_are_taken() -> None:
    rows = rows_of(iter([1, 2]))
    assert isinstance(rows, Items) and rows.length is None and list(rows) == [1, 2]
    column = rows_of(pa.chunked_array([["a"], ["b"]]))
    assert isinstance(column, Items) and list(column) == ["a", "b"] and column.length == 2


def test_results_leave_names_to_the_data_and_say_so() -> None:
    with pytest.warns(UserWarning, match="columns called 'score', which are kept; .* called 'score_3'"):
        assert result_names(["links", "score"], ["score", "score_2"], "results") == ["links", "score_3"]


def test_no_library_is_imported_to_look_at_an_object() -> None:
    code = (
        "import sys\nfrom isoglot.formats.rows import rows_of\nlist(rows_of({'a': [1]}).records())\n"
        "list(rows_of([1]))\nprint({'polars', 'pandas', 'datasets', 'torch'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
