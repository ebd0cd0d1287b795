"""Rows of results survive the round trip, half-written lines and side-by-side writers."""

from __future__ import annotations

import errno
import json
import math
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from isoglot.core.errors import DiskError, InputError, IsoglotError
from isoglot.results.rows import Cell, Result, append, read, read_cells, rows_in, write_cells


def row(**values: object) -> Result:
    base = {"run": "r", "task": "pos", "language": "de", "metric": "f1", "value": 0.5, "examples": 3}
    return Result.model_validate({**base, **values})


def cell(**given: object) -> Cell:
    return Cell.model_validate(
        {"table": "align_mlm:Table3", "row": ["mlm", "trans"], "column": ["xnli", "zs"], **given}
    )


@given(
    value=st.floats(allow_nan=False, allow_infinity=False),
    run=st.text(min_size=1),
    seed=st.none() | st.integers(-(2**40), 2**40),
)
def test_json_round_trip_is_exact(value: float, run: str, seed: int | None) -> None:
    original = row(value=value, run=run, seed=seed, metric="cosine")
    assert Result.model_validate_json(original.model_dump_json()) == original


def test_append_then_read_keeps_order_across_files(tmp_path: Path) -> None:
    first, second = tmp_path / "deep" / "results.jsonl", tmp_path / "other.jsonl"
    append(first, [row(value=1), row(value=2)])
    append(first, [row(value=3)])
    append(second, [row(value=4, language="zürich")])
    assert [r.value for r in read([first, second])] == [1, 2, 3, 4]
    assert [r.value for r in read(tmp_path)] == [1, 2, 3], "a folder stands for the results.jsonl below it"
    assert read(second)[0].language == "zürich"


def test_appending_nothing_makes_no_file(tmp_path: Path) -> None:
    assert not append(tmp_path / "results.jsonl", []).exists()


@pytest.mark.parametrize("before", [None, "", '{"run": "cut'], ids=["no_file", "empty", "half_a_line"])
def test_a_failed_append_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    path = tmp_path / "results.jsonl"
    if before is not None:
        path.write_text(before)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "x")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskError, match="the disk is full"):
        append(path, [row()])
    assert (path.read_text() if path.exists() else None) == before


def test_an_empty_file_holds_no_result(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("\n")
    with pytest.raises(InputError, match=r"results\.jsonl: .*type `isoglot evaluate"):
        read(path)
    assert rows_in(path) == [] == rows_in(tmp_path / "none.jsonl"), "but it can be added to"
    assert rows_in(append(path, [row()])) == [row()]


def test_half_a_line_is_named_and_does_not_swallow_the_next_row(tmp_path: Path) -> None:
    path = append(tmp_path / "results.jsonl", [row()])
    with path.open("ab") as file:
        file.write(b'{"run": "cut')
    append(path, [row(value=7)])
    with pytest.raises(InputError, match=r"results\.jsonl:2: "):
        read(path)
    lines = path.read_text().splitlines()
    assert json.loads(lines[2])["value"] == 7


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"run": "r"}', "task"),
        (
            '{"run": "r", "task": "t", "language": "de", "metric": "f1", "value": "high", "examples": 1}',
            "value",
        ),
        ('{"run":"r","task":"t","language":"de","metric":"f1","value":1,"examples":1,"lang":"de"}', "lang"),
        ("[1, 2]", "object"),
        ("\xff", "JSON"),
    ],
)
def test_a_bad_line_is_an_error_with_file_and_line(tmp_path: Path, line: str, reason: str) -> None:
    path = append(tmp_path / "x.jsonl", [row()])
    with path.open("a", encoding="latin-1") as file:
        file.write(f"\n{line}\n")
    with pytest.raises(InputError, match=rf"x\.jsonl:3: .*{reason}"):
        read(path)


def test_missing_files_say_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="isoglot evaluate"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match=rf"{tmp_path.name}.*results\.jsonl"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("metric", "value", "named"),
    [
        ("cosine", float("nan"), "nan"),
        ("f1", float("nan"), "nan .*0 to 100"),
        ("f1", float("inf"), "inf .*0 to 100"),
        ("f1", 150.0, "150.* 0 to 100"),
        ("f1", -3.0, "-3.* 0 to 100"),
    ],
)
def test_a_result_refuses_a_value_that_its_metric_cannot_have(metric: str, value: float, named: str) -> None:
    with pytest.raises(IsoglotError, match=f"{metric} of pos de .*{named}"):
        row(metric=metric, value=value)


@pytest.mark.parametrize("wrong", ["0.5", True])
@pytest.mark.parametrize("place", [row, cell], ids=["result", "cell"])
def test_a_value_is_a_number(place: Callable[..., object], wrong: object) -> None:
    with pytest.raises(ValidationError, match=r"\nvalue\n"):
        place(value=wrong)


def test_a_line_with_a_value_that_is_no_number_is_named(tmp_path: Path) -> None:
    path = append(tmp_path / "x.jsonl", [row()])
    path.write_text(path.read_text() + path.read_text().replace("0.5", "NaN"))
    with pytest.raises(InputError, match=r"x\.jsonl:2: .*is nan"):
        read(path)


def test_options_are_part_of_a_row_in_one_order_and_old_rows_have_none(tmp_path: Path) -> None:
    own = row(options={"pooling": "cls", "layer": 3, "words": (0, 5)})
    assert own != row() and own == row(options={"words": [0, 5], "layer": 3, "pooling": "cls"})
    assert own.settings == "layer=3 pooling=cls words=[0, 5]" and not row().settings
    old = {name: value for name, value in row().model_dump().items() if name != "options"}
    path = append(tmp_path / "x.jsonl", [own])
    path.write_text(path.read_text() + json.dumps(old))
    assert read(path) == [own, row()]


def _write(arguments: tuple[str, int]) -> None:
    path, writer = arguments
    for i in range(50):
        append(
            path,
            [row(run=f"{writer}", value=i, task="x" * 200), row(run=f"{writer}", value=-i, metric="delta")],
        )


def test_side_by_side_writers_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "results.jsonl")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(_write, [(path, 0), (path, 1)])
    rows = read(path)
    assert len(rows) == 200
    assert [r.value for r in rows if r.run == "0" and r.value > 0] == list(range(1, 50))


def test_cells_come_back_as_they_were_written(tmp_path: Path) -> None:
    cells = [
        cell(value=71.25, seed=1, scale="tiny", note="means over two languages"),
        cell(unavailable="WikiANN has no trees"),
        cell(),
    ]
    path = write_cells(tmp_path / "study" / "cells.jsonl", cells)
    assert read_cells(path) == read_cells(tmp_path) == read_cells([path]) == cells
    write_cells(path, cells[:1])
    assert read_cells(path) == cells[:1]
    assert [p.name for p in path.parent.iterdir()] == ["cells.jsonl"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_is_finite(value: float) -> None:
    with pytest.raises(ValidationError, match="finite"):
        cell(value=value)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"value": 1.0, "unavailable": "no data"}, "either a value or a reason"),
        ({"row": []}, "row"),
        ({"column": [""]}, "column"),
        ({"metric": "f1"}, "metric"),
    ],
)
def test_a_cell_that_says_no_place_or_two_things_is_an_error(given: dict[str, object], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        cell(**given)


@pytest.mark.parametrize(
    "line", ['{"table": "t"}', "not json", '{"table": "t", "row": "r", "column": ["c"]}', b"\xff"]
)
def test_a_line_that_is_not_a_cell_is_named(tmp_path: Path, line: str | bytes) -> None:
    path = write_cells(tmp_path / "cells.jsonl", [cell(value=1.0)])
    path.write_bytes(path.read_bytes() + b"\n" + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    with pytest.raises(InputError, match=r"cells\.jsonl:3: "):
        read_cells(path)


def test_missing_files_and_folders_without_cells_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cells\.jsonl; type `isoglot study NAME`"):
        read_cells(tmp_path)
    with pytest.raises(InputError, match=r"gone\.jsonl: "):
        read_cells(tmp_path / "gone.jsonl")
