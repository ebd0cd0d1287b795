"""A study at one scale: its cells, what they read and miss, and what is written of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.errors import ConfigurationError
from isoglot.reports.papers import PAPERS, paper_table
from isoglot.results import CELLS, FILE_NAME, RUNS, Cell, Result, write_cells
from isoglot.runs.files import read_json, write_json, write_text
from isoglot.runs.folder import CHECKPOINT, RUN
from isoglot.runs.reporter import Reporter
from isoglot.studies.catalogue import Study
from isoglot.studies.inputs import Input
from isoglot.studies.lab import CellPlan, Figure, Lab, Log
from isoglot.studies.step import NumberSource, UnavailableError, Work, plain
from isoglot.studies.training_steps import Evaluate

if TYPE_CHECKING:
    from isoglot.reports.table import Table

_QUANTITIES = {
    "sup": "_supervised",
    "zs": "_zero_shot",
    **dict.fromkeys(("delta", "DICT", "ALIGN"), "_delta"),
}
"""The last part of a column's label to the end of a metric's name in ``results.jsonl``."""
_SETTINGS = {"translate_train": "translate-train, no-cs", "code_switch": "translate-train, code-switched"}


@dataclass(frozen=True)
class Program:
    """What a study measures at one scale."""

    study: Study
    lab: Lab
    cells: Sequence[CellPlan]
    figures: Mapping[str, Figure]
    # cells that were not selected, and are written where they are known already
    unselected: Sequence[CellPlan] = ()

    def caption(self) -> str:
        """Which scale and variant it is, and what that runs on."""
        return f"{self.lab.setting.caption} {self.study.about.get(self.lab.scale, '')}".strip()

    def named(self, run: str) -> str:
        """A run's name in results: what was changed of the study's sizes stands after it."""
        changed = self.lab.setting.name
        return f"{run} ({changed})" if changed else run

    @property
    def folder(self) -> Path:
        """Its folder, one for each scale and what was changed of it: none replaces another's tables."""
        name = self.study.name.replace("/", "_")
        return self.lab.root / "_".join(filter(None, (name, self.lab.setting.ending)))

    @property
    def parts(self) -> list[tuple[str, Any]]:
        """Names of its cells and figures, for messages, and the functions that make them."""
        cells = [(f"{' / '.join(cell.row)}: {'.'.join(cell.column)}", cell.measure) for cell in self.cells]
        return [*cells, *self.figures.items()]


def build_programs(
    studies: Sequence[Study],
    *,
    root: Path | str,
    scale: str,
    changes: Mapping[str, Any],
    only: Sequence[str] = (),
    keep: bool = False,
    progress: Reporter | None = None,
) -> list[Program]:
    """Run the studies' functions on labs, one a paper.

    ``changes`` replace sizes of the scale; a cell is taken if one pattern of ``only`` matches it, see
    :func:`matches`.
    """
    labs: dict[int, Lab] = {}
    programs = []
    for study in studies:
        if (lab := labs.get(id(study.sizes))) is None:
            how: dict[str, Any] = {"root": root, "scale": scale, "changes": changes, "keep": keep}
            lab = labs[id(study.sizes)] = Lab(study.sizes, variants=study.variants, progress=progress, **how)
        lab.cells, lab.figures = [], {}
        study.run(lab)
        selected = [not only or any(matches(cell, text) for text in only) for cell in lab.cells]
        parts = {
            take: [c for c, s in zip(lab.cells, selected, strict=True) if s is take] for take in (True, False)
        }
        programs.append(Program(study, lab, parts[True], {} if only else lab.figures, parts[False]))
    if only and not any(program.cells for program in programs):
        known = [cell for program in programs for cell in program.unselected]
        rows, columns = ({" / ".join(getattr(c, part)): 0 for c in known} for part in ("row", "column"))
        raise ConfigurationError(
            f"--only {' '.join(only)}: no cell matches; give a row's or column's label, or ROW:COLUMN, with wildcards. "
            f"Rows: {'; '.join(rows)}. Columns: {', '.join(columns)}"
        )
    return programs


def matches(cell: CellPlan, pattern: str) -> bool:
    """Whether a cell's row, column or both (``ROW:COLUMN``) match a pattern with wildcards."""
    row, column = " / ".join(cell.row), ".".join(cell.column)
    row_pattern, colon, column_pattern = pattern.partition(":")
    if colon:
        return fnmatchcase(row, row_pattern) and fnmatchcase(column, column_pattern)
    return any(fnmatchcase(text, pattern) for text in (row, column, *cell.row, *cell.column))


@dataclass(frozen=True)
class StudyPart:
    """A cell or figure of one of several programs, and what it wants."""

    program: int
    number: int  # among the cells and figures of the program
    title: str
    steps: tuple[Work, ...]
    lacks: str = ""  # the first file that is not there
    unavailable: str = ""  # why the study does not have it

    @property
    def todo(self) -> list[Work]:
        """Steps to make, where it can be had; each comes after what it needs."""
        return [] if self.lacks or self.unavailable else [work for work in self.steps if not work.manifest]

    @property
    def encoder(self) -> str:
        """What tells parts of one encoder from those of others."""
        return next(
            (work.step.checkpoint for work in self.steps if isinstance(work.step, Evaluate)), self.title
        )


@dataclass(frozen=True)
class Inspection:
    """What studies would do."""

    parts: Sequence[StudyPart]
    inputs: Mapping[Work, Sequence[Input]]  # of steps that are not finished

    def missing(self) -> list[str]:
        """Files that are not there."""
        return list(
            dict.fromkeys(read.path for reads in self.inputs.values() for read in reads if not read.there)
        )


def inspect_programs(
    programs: Sequence[Program], *, part: tuple[int, int] = (1, 1), check: bool = True
) -> Inspection:
    """Rehearse every cell and figure; nothing is made.

    ``part`` is (k, n) of the encoders: parts do not overlap, and all n together are everything.

    Raises:
        ConfigurationError: every mistake in recipes, tasks, settings, analyses and labels of the papers' tables.
    """
    problems, parts = list(_unknown_labels(programs)), list[StudyPart]()
    inputs: dict[Work, Sequence[Input]] = {}
    for index, program in enumerate(programs):
        program.lab.log = Log()
        for number in range(len(program.parts)):
            try:
                parts.append(rehearse(programs, index, number))
            except ConfigurationError as error:  # of a step, by sizes that are changed
                problems += [
                    f"{program.study.name} with these sizes: {problem}" for problem in error.problems
                ]
        problems += program.lab.log.problems
        inputs |= program.lab.log.inputs
    problems += _changed_inputs(dict.fromkeys(work for one in parts for work in one.steps))
    if problems and check:
        raise ConfigurationError(list(dict.fromkeys(problems)), heading="nothing was run")
    encoders = list(dict.fromkeys(one.encoder for one in parts))
    k, n = part
    return Inspection([one for one in parts if encoders.index(one.encoder) % n == k - 1], inputs)


def rehearse(programs: Sequence[Program], index: int, number: int) -> StudyPart:
    """What a cell or figure of one of several programs wants."""
    log, (title, make) = programs[index].lab.log, programs[index].parts[number]
    log.steps, unavailable = {}, ""
    try:
        make()
    except UnavailableError as error:
        unavailable = str(error)
    return StudyPart(index, number, title, tuple(log.steps), _missing(log), unavailable)


def _missing(log: Log) -> str:
    """The first file that steps of a rehearsal lack."""
    reads = (read for work in log.steps for read in log.inputs.get(work, ()))
    return next((read.path for read in reads if not read.there), "")


def _unknown_labels(programs: Sequence[Program]) -> Iterator[str]:
    """Cells whose labels single out no row or column of the paper's table that they name."""
    for program in programs:
        for cell in program.cells:
            if cell.table.partition(":")[0] not in PAPERS:
                continue
            try:
                table = paper_table(cell.table)
                table.row(*cell.row)
                table.column(*cell.column)
            except ConfigurationError as error:
                yield from (f"{program.study.name}: {problem}" for problem in error.problems)


def _changed_inputs(works: Iterable[Work]) -> list[str]:
    """Paths of outside that changed since finished work read them."""
    changed = {
        path: work
        for work in works
        for path, content in work.manifest.get("outside", {}).items()
        if Input.of(path).content not in ("", content)
    }
    return [
        f"{work.title} is done, with another {path} than there is now; give another --out, or delete "
        f"{work.folder} and what was made from it"
        for path, work in changed.items()
    ]


def write_program(program: Program) -> tuple[list[Table], Path]:
    """Write what there is of a study so far.

    ``cells.jsonl``, ``results.jsonl`` with the runs' records in ``runs.json``, ``table.txt`` and ``figures``.
    """
    from isoglot.reports.compare import compare  # noqa: PLC0415 - loads scipy
    from isoglot.reports.export import to_text  # noqa: PLC0415

    folder, program.lab.log = program.folder, Log()
    measured = [_measured(program.lab, cell) for cell in (*program.cells, *program.unselected)]
    cells, results = [], dict[str, None]()
    for number in _by_seed(measured):
        if number.value is not None or number.cell in program.cells:
            cells.append(_cell(program, number))
        if number.value is not None and number.cell.is_result:
            results[f"{_result(program, number, number.value).model_dump_json()}\n"] = None
    write_cells(folder / CELLS, cells)
    tables = compare(cells)
    text = "\n".join(to_text(table) for table in tables) or f"{program.caption()}\n"
    write_text(folder / "table.txt", f"{program.study.title}\n\n{text}")
    if results:
        write_text(folder / FILE_NAME, "".join(results))
        works = dict.fromkeys(work for number in measured for work in number.steps)
        write_json(folder / RUNS, {"runs": list(_trained(works))})
    else:
        for name in (FILE_NAME, RUNS):
            (folder / name).unlink(missing_ok=True)
    for name, draw in program.figures.items():
        _write_figure(name, draw, folder / "figures")
    return tables, folder


@dataclass(frozen=True)
class CellNumber:
    """A cell's number as far as it is known, what it was read from, or why there is none."""

    cell: CellPlan
    seed: int | None
    value: float | None
    sources: tuple[NumberSource, ...]
    steps: tuple[Work, ...]
    reason: str = ""


def _measured(lab: Lab, cell: CellPlan) -> CellNumber:
    lab.log.steps, lab.log.sources, reason = {}, [], ""
    try:
        value = cell.measure()
    except UnavailableError as error:
        value, reason = nan, str(error)
    if isnan(value) and not reason and (missing := _missing(lab.log)):
        reason = f"not there: {missing}"
    number = None if isnan(value) else value
    return CellNumber(cell, cell.seed, number, tuple(lab.log.sources), tuple(lab.log.steps), reason)


def _by_seed(measured: Iterable[CellNumber]) -> Iterator[CellNumber]:
    """Numbers with their seeds; where none of a place depends on its seed, one of them and none."""
    places: dict[Any, list[CellNumber]] = {}
    for number in measured:
        places.setdefault((number.cell.table, number.cell.row, number.cell.column), []).append(number)
    for numbers in places.values():
        alike = len({(number.sources, number.reason) for number in numbers}) == 1 < len(numbers)
        yield from [replace(numbers[0], seed=None)] if alike else numbers


def _cell(program: Program, number: CellNumber) -> Cell:
    setting, cell = program.lab.setting, number.cell
    return Cell(
        table=cell.table, row=cell.row, column=cell.column, value=number.value, seed=number.seed,
        unavailable=number.reason or None, scale=program.lab.scale, note=cell.note, about=program.caption(),
        setting=setting.name, sizes=setting.shown, paper_sizes=setting.paper,
    )  # fmt: skip


def _result(program: Program, number: CellNumber, value: float) -> Result:
    """The row of a cell of a task or analysis; a mean over languages or models has the language ``mean``."""
    rows = [_row(source) for source in number.sources]
    first, work, languages = rows[0], number.sources[0].work, {row["language"] for row in rows}
    options = [row["options"] for row in rows]
    quantity = _QUANTITIES.get(number.cell.column[-1].rpartition(".")[2], "")
    return Result(
        run=program.named(_run(work, by_metric=bool(quantity))),
        task=first["task"],
        language=languages.pop() if len(languages) == 1 else "mean",
        split=first["split"],
        metric=first["metric"] + quantity,
        value=value,
        seed=number.seed,
        examples=min(int(row["examples"]) for row in rows),
        checkpoint_hash=str(first["checkpoint_hash"]) if len(rows) == 1 else "",
        recipe_hash=str(first["recipe_hash"] or work.folder.name.rpartition("-")[2]),
        options={n: v for n, v in options[0].items() if all(n in each and each[n] == v for each in options)},
    )


def _row(source: NumberSource) -> dict[str, Any]:
    """The row of results of a number that was measured: its evaluation's, or one that says what it is."""
    language, _, metric = source.metric.rpartition("/")
    task, language, metric = source.row or (source.work.step.kind, language, metric)
    manifest = source.work.manifest
    rows = manifest.get("rows", [])
    evaluated = (row for row in rows if row["language"] == language and metric in ("", row["metric"]))
    about = {"task": task, "language": language, "metric": metric, "split": "test", "options": {}}
    examples = manifest.get("examples", {}).get(source.metric, 0)
    return {**about, "examples": examples, "checkpoint_hash": "", "recipe_hash": "", **next(evaluated, {})}


def _trained(works: Iterable[Work]) -> Iterator[dict[str, Any]]:
    """What the encoders that were trained recorded of themselves, with names in place of this machine's paths."""
    encoders = [work for work in works if work.step.kind == "pretrain"]
    names = {work / CHECKPOINT: work.step.label or work.name for work in encoders}
    for work in encoders:
        if (record := read_json(work.folder / RUN)) is not None:
            model = record["values"].get("model") or {}
            start = names.get(str(model.get("path")))
            shown = {key: record.get(key) for key in ("name", "recipe_hash", "seed", "encoder", "versions")}
            yield {**shown, "values": {"model": {**model, **({"path": start} if start else {})}}}


def _run(work: Work, *, by_metric: bool) -> str:
    """A run's name, with how it was fine-tuned where neither the metric nor English says that."""
    tuning = work.step.finetune if isinstance(work.step, Evaluate) else None
    setting = "" if tuning is None or by_metric else _SETTINGS.get(tuning.train.get("setting", ""), "")
    return " / ".join(filter(None, [work.step.label or work.name, setting]))


def _write_figure(name: str, draw: Figure, folder: Path) -> None:
    """Copy a figure that is drawn, or write one of the numbers that are known."""
    try:
        content = draw()
    except UnavailableError:
        content = {}
    if isinstance(content, Work):
        for path in sorted((content.folder / "figures").glob("*.json*")):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.name)
        return
    values = plain(content, lambda leaf: None if isinstance(leaf, float) and isnan(leaf) else leaf)
    for key, entries in values.items():
        if isinstance(entries, list):  # without those of which a number is not known
            values[key] = [e for e in entries if not (isinstance(e, dict) and None in e.values())]
    if values and all(entries for entries in values.values() if isinstance(entries, list)):
        write_json(folder / f"{name}.json", values)
    else:
        (folder / f"{name}.json").unlink(missing_ok=True)
