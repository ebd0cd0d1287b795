"""Results and cells of tables as JSON lines: the border between what measures and what reports."""

import json
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from isoglot.core.errors import InputError, IsoglotError
from isoglot.core.frames import Tabular
from isoglot.core.options import Label
from isoglot.runs.disk import full_disk_named
from isoglot.runs.files import is_stream, write_text
from isoglot.runs.json_lines import files_named, read_objects
from isoglot.runs.lock import locked

FILE_NAME = "results.jsonl"
"""The name of the results in a run folder."""
CELLS = "cells.jsonl"
"""The name of the cells in the folder of a study."""
RUNS = "runs.json"
"""The file in a study's folder that describes the runs behind its results."""
Number = Annotated[float, Field(strict=True)]
"""A JSON number: no text, no true or false."""

SHARES = frozenset(
    ["accuracy", "f1", "macro_f1", "em", "exact_match", "aer", "precision", "recall", "mrr", "map", "p@1", "p@5",
     "p@10", "precision_at_1", "precision_at_5", "csls_precision_at_1", "csls_precision_at_5", "chunk_f1",
     "token_accuracy"]
)  # fmt: skip
"""Metrics that some tools give as a share of 1 and all papers print in percent; names in lower case.

A prefix is not taken off: ``csls_precision_at_1`` has its own entry, and ``reverse_accuracy`` has none. isoglot writes
``precision_at_1``; other tools write ``p@1``.
"""


class Result(Tabular, BaseModel):
    """One number that was measured.

    Rows that agree in ``run``, ``task``, ``language``, ``split``, ``metric``, ``seed``, ``options`` and ``changes``
    measure the same thing: of several such rows, a report shows the last one. ``isoglot evaluate`` also compares
    ``checkpoint_hash`` before it reuses a row (``evaluation/journal.py``), so that other weights are measured.

    Args:
        run: Name or folder of the run that was measured.
        task: ``pos``, ``tatoeba``, ``word_alignment``.
        language: Language of the evaluated data, ISO 639; a pair is ``de-en``.
        split: ``dev`` or ``test``.
        metric: ``accuracy``, ``f1``, ``aer``.
        value: Finite; in % if the metric is one of :data:`SHARES`, else as the metric defines it.
        seed: Seed of the run, if it has one.
        examples: Number of examples that were measured.
        checkpoint_hash: Hash of the weights, configuration and tokenizer that were measured.
        recipe_hash: Hash of the recipe that made the checkpoint (:attr:`isoglot.pretraining.recipe.Recipe.hash`).
        options: Options of the task and of the evaluation that differ from their defaults and change the value
            (``{"layer": 3}``), sorted by name. Rows that differ in them are different measurements.
        changes: Settings of the training that were changed for this run: values that ``--set`` replaced in the recipe
            (``{"objectives.align.layer": 1}``), and settings of the fine-tuning other than the defaults. They tell
            runs of one name apart, and reports name the runs of a sweep by them: ``tlm layer=1``.

    Raises:
        IsoglotError: The value is not finite, or a share below 0 or above 100.

    Example:
        >>> Result(run="tlm", task="pos", language="de", metric="accuracy", value=91.2, examples=1000).split
        'test'
    """

    # A field that is misspelt is refused. A new field needs a default, because rows of older files lack it.
    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Label
    task: Label
    language: str
    split: str = "test"
    metric: Label
    value: Number
    seed: int | None = None
    examples: Annotated[int, Field(ge=0)]
    checkpoint_hash: str = ""
    recipe_hash: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    changes: dict[str, Any] = Field(default_factory=dict)

    @field_validator("value")
    @classmethod
    def _require_possible(cls, value: float, info: ValidationInfo) -> float:
        """Refuse a number that is not finite, or a share below 0 or above 100."""
        # `info.data` lacks fields that pydantic has just refused. For these the message has a general word: a row with
        # the value nan, whose metric was refused, is reported as "value of pos de is nan for tlm".
        stand_ins = {"metric": "value", "task": "task", "language": "", "run": "run"}
        about = stand_ins | info.data
        is_share = about["metric"].lower() in SHARES
        rounding = 1e-9
        is_out_of_range = is_share and not -rounding <= value <= 100 + rounding
        if not math.isfinite(value) or is_out_of_range:
            expected = "number from 0 to 100" if is_share else "finite number"
            raise IsoglotError(
                f"{about['metric']} of {about['task']} {about['language']} is {value} for {about['run']}; a result "
                f"must be a {expected}: check the checkpoint's weights and the data"
            )
        return value

    @field_validator("options", "changes")
    @classmethod
    def in_order(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Sort values by name and give them JSON's types, so that a row equals the same row read from a file."""
        return json.loads(json.dumps(options, sort_keys=True))  # type: ignore[no-any-return]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, as a line of results has them."""
        return self.model_dump()

    @property
    def settings(self) -> str:
        """The options as they are typed: ``layer=3 pooling=cls``; empty if all have their defaults."""
        return typed_options(self.options)


def typed_options(options: Mapping[str, Any]) -> str:
    """Write options as a user types them.

    Example:
        >>> typed_options({"layer": 3, "pooling": "cls"})
        'layer=3 pooling=cls'
    """
    texts = []
    for name, value in options.items():
        text = value if isinstance(value, str) else json.dumps(value)
        texts.append(f"{name}={text}")
    return " ".join(texts)


def name_without_seed(run: str, seed: int | None) -> str:
    """Return the name of a run without its seed.

    Example:
        >>> name_without_seed("tlm-seed1", 1), name_without_seed("tlm-seed1", 2)
        ('tlm', 'tlm-seed1')
    """
    if seed is None:
        return run
    return re.sub(rf"[-_./ ](?:seed|s)[-_=]?{seed}$", "", run, flags=re.IGNORECASE) or run


def flattened(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested values by dotted name; an empty mapping has no values and no name.

    Example:
        >>> flattened({"objectives": {"align": {"layer": 1}}, "steps": 5})
        {'objectives.align.layer': 1, 'steps': 5}
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}.{inner}": leaf for inner, leaf in flattened(value).items()}
        else:
            flat[name] = value
    return flat


def append(path: str | Path, results: Sequence[Result], *, only_new: bool = False) -> Path:
    """Add rows to a file of results; a missing file or folder is made.

    One process writes at a time, and all of the rows or none are written. If a killed writer left half a line, the new
    rows begin on a line of their own. The half line stays, and :func:`read` reports its number, so that the user can
    delete it.

    ``only_new``: Leave out each row that the file has already, with the same value in every field. So a command that is
    repeated adds nothing; if a newer isoglot fills in one more field, it adds its rows once more. Here too, a half line
    is an error.

    Raises:
        DiskError: The disk is full; the file is unchanged.
    """
    path = Path(path)
    if is_stream(path):
        path.write_text("".join(f"{row.model_dump_json()}\n" for row in results), encoding="utf-8")
        return path
    with locked(path), full_disk_named(path):  # `locked` makes the folder
        if only_new:
            before = rows_in(path)
            results = [row for row in results if row not in before]
        if results:
            _append(path, "".join(f"{row.model_dump_json()}\n" for row in results).encode())
    return path


def _append(path: Path, data: bytes) -> None:
    """Write all of the data to the end of a file, or leave the file as it was."""
    existed = path.exists()
    with path.open("a+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size:
            # A killed writer may have left half a line: then the new rows begin on a line of their own.
            file.seek(-1, os.SEEK_END)
            data = data if file.read(1) == b"\n" else b"\n" + data
        try:
            # Without a buffer, one call may write a part of the data only.
            written = 0
            while written < len(data):
                written += file.write(data[written:])
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            if not existed:
                path.unlink()
            raise


def read(paths: str | Path | Iterable[str | Path]) -> list[Result]:
    """Read all rows of files of results, in the order of the files and their lines.

    Of a folder every ``results.jsonl`` below it is read, sorted by path.

    Raises:
        InputError: A file is missing or empty, a folder holds no results, or a line is not a result (``file:line``).
    """
    results = []
    for file in files_named(paths, FILE_NAME, made_by="isoglot evaluate CHECKPOINT ... --out"):
        rows = read_objects(file, Result, what="row", wrong="no result row")
        if not rows:
            raise InputError(
                "holds no result; type `isoglot evaluate CHECKPOINT ... --out`, or delete it", path=file
            )
        results += rows
    return results


def rows_in(path: Path) -> list[Result]:
    """Read the rows of a file to which rows are added; none if the file is missing or empty."""
    return read_objects(path, Result, what="row", wrong="no result row") if path.is_file() else []


class Cell(BaseModel):
    """One measured number and its place in a table.

    Cells with one place and different seeds are shown as their mean and standard deviation. A cell with neither a value
    nor a reason is planned, and not measured yet.

    Args:
        table: ``align_mlm:Table3`` of a paper, or any other name for a table that no paper has.
        row: Labels that together single out one row of the paper's table: the row's label, or values of its attributes
            in ``reports/data/papers.json``.
        column: Labels that together single out one column: its id, task, metric, language, quantity or system.
        value: The number; ``None`` if there is none, or none yet.
        seed: Seed of the run, if it has one.
        unavailable: Why there is no value.
        scale: Scale of the study, such as ``tiny`` or ``paper``; each scale has a table of its own.
        run: The run that was measured, if several runs stand beside one row of the paper.
        note: Note below the table.
        added: Whether the row or the column is the study's own, so that the paper's table may lack it.
        setting: Changes of the study's sizes, ``alpha=1``; not the options of an evaluation, which are
            :attr:`Result.settings`. Cells of different settings are different rows if the row depends on a changed
            size.
        about: Data and models of the study, for the table's caption.
        sizes: Sizes of the study on which the cell depends, by name.
        paper_sizes: Those sizes that differ at scale ``paper``, with the values there.

    Example:
        >>> Cell(table="align_mlm:Table3", row=("mlm", "trans"), column=("xnli", "zs"), value=71.3, seed=1).seed
        1
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    table: Label
    row: Annotated[tuple[Label, ...], Field(min_length=1)]
    column: Annotated[tuple[Label, ...], Field(min_length=1)]
    value: Number | None = None
    seed: int | None = None
    unavailable: Label | None = None
    scale: str = ""
    run: str = ""
    note: str = ""
    added: bool = False
    setting: str = ""
    about: str = ""
    sizes: dict[str, Any] = Field(default_factory=dict)
    paper_sizes: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _value_or_reason(self) -> Self:
        if self.value is not None and self.unavailable is not None:
            raise ValueError("a cell has either a value or a reason why it is unavailable")
        return self


def write_cells(path: str | Path, cells: Iterable[Cell]) -> Path:
    """Write cells as JSON lines, in one go; an existing file is replaced."""
    return write_text(path, "".join(f"{cell.model_dump_json(exclude_defaults=True)}\n" for cell in cells))


def read_cells(paths: str | Path | Iterable[str | Path]) -> list[Cell]:
    """Read cells, in the order of the files and their lines.

    Every ``cells.jsonl`` below a folder is read, sorted by path.
    """
    files = files_named(paths, CELLS, made_by="isoglot study NAME")
    return [cell for file in files for cell in read_objects(file, Cell, what="cell", wrong="not a cell")]
