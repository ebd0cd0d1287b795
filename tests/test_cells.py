"""Cells are written and read unchanged; errors name the file and the line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pydantic import ValidationError

from isoglot.cells import Cell, read_cells, write_cells
from isoglot.errors import InputError


def cell(**given: object) -> Cell:
    return Cell.model_validate(
        {"table": "align_mlm:Table3", "row": ["mlm", "trans"], "column": ["xnli", "zs"], **given}
    )


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
        ({"value": 1.0, "unavailable": "no data"}, "not both"),
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
    with pytest.raises(InputError, match=r"cells\.jsonl:3: not a cell"):
        read_cells(path)


def test_missing_files_and_folders_without_cells_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no cells\.jsonl; type `isoglot study NAME`"):
        read_cells(tmp_path)
    with pytest.raises(InputError, match=r"gone\.jsonl: file not found"):
        read_cells(tmp_path / "gone.jsonl")
