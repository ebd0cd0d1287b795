"""Cells of tables: the border between a study, which fills a paper's table, and the report, which shows it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from isoglot.runs.files import write_text
from isoglot.runs.records import files_named, read_records

FILE_NAME = "cells.jsonl"
"""The name of the cells in the folder of a study."""

Label = Annotated[str, Field(min_length=1)]


class Cell(BaseModel):
    """One measured figure and its place in a table.

    Several cells with one place and different seeds are shown as their mean and standard deviation. A cell with
    neither a value nor a reason is planned, and not measured yet.

    Args:
        table: ``align_mlm:Table3``, as ``isoglot report papers`` lists them; any other name is a table without a
            paper's figures.
        row: labels that together single out one row of the paper's table: its label, or values of its attributes in
            ``report/data/papers.json`` (``("align_mlm", "trans+inv")``, ``("translate-train", "250k", "- MoCo")``).
        column: labels that single out one column: its id, or its task, metric, language, quantity and
            system (``("xnli", "zs")``).
        value: the figure, in the unit that the paper prints; never NaN or infinite.
        seed: Seed of the runs behind the figure; ``None`` where it rests on none.
        unavailable: why there cannot be a value (``WikiANN has no trees``).
        scale: which scale it was measured at (``tiny``).
        run: who was measured, where several stand beside one row of the paper.
        note: what a reader has to know about the figure.

    Example:
        >>> Cell(table="align_mlm:Table3", row=("mlm", "trans"), column=("xnli", "zs"), value=71.3, seed=1).seed
        1
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    table: Label
    row: Annotated[tuple[Label, ...], Field(min_length=1)]
    column: Annotated[tuple[Label, ...], Field(min_length=1)]
    value: float | None = None
    seed: int | None = None
    unavailable: Label | None = None
    scale: str = ""
    run: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _value_or_reason(self) -> Self:
        if self.value is not None and self.unavailable is not None:
            raise ValueError("a cell has a value or a reason why it is unavailable, not both")
        return self


def write_cells(path: str | Path, cells: Iterable[Cell]) -> Path:
    """Write cells as JSON lines, in one go; an existing file is replaced."""
    return write_text(path, "".join(f"{cell.model_dump_json(exclude_defaults=True)}\n" for cell in cells))


def read_cells(paths: str | Path | Iterable[str | Path]) -> list[Cell]:
    """Read cells, in the order of the files and their lines.

    Every ``cells.jsonl`` below a folder is read, sorted by path.
    """
    files = files_named(paths, FILE_NAME, made_by="isoglot study NAME")
    return [cell for file in files for cell in read_records(file, Cell, what="cell", wrong="not a cell")]
