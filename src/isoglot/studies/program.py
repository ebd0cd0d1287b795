"""A study at one scale: its cells and calls, what they read, what is missing, and what is written of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.errors import ConfigurationError
from isoglot.reports.papers import PAPERS, paper_table
from isoglot.results import CELLS, FILE_NAME, Cell, Result, write_cells
from isoglot.runs.files import write_json, write_text
from isoglot.studies.catalogue import Study
from isoglot.studies.engine import Store
from isoglot.studies.graph import Call, Value, leaves, resolve
from isoglot.studies.inputs import Input
from isoglot.studies.lab import CellPlan, Lab

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
    # by name: drawn by a call, or a figure file of the report with values in place of its numbers
    figures: Mapping[str, Call | Mapping[str, Any]]
    # cells that were not asked for now, and are written where they are known already
    others: Sequence[CellPlan] = ()

    def targets(self) -> list[Call]:
        """The calls whose results it wants."""
        values = [*(cell.value for cell in self.cells), *leaves(self.figures, Value)]
        measured = (call for value in values if not value.unavailable for call in value.calls())
        return list(dict.fromkeys([*measured, *leaves(self.figures, Call)]))

    def caption(self) -> str:
        """Which scale and variant it is, and what that runs on."""
        return f"{self.lab.setting.caption} {self.study.about.get(self.lab.scale, '')}".strip()

    def named(self, run: str) -> str:
        """A run's name in results: what was changed of the study's sizes stands after it."""
        changed = self.lab.setting.name
        return f"{run} ({changed})" if changed else run

    @property
    def folder(self) -> str:
        """The name of its folder, one for each scale and what was changed of it: none replaces another's tables."""
        return "_".join(filter(None, (self.study.name.replace("/", "_"), self.lab.setting.ending)))


def build_programs(
    studies: Sequence[Study], *, scale: str, changes: Mapping[str, Any], only: Sequence[str] = ()
) -> list[Program]:
    """Run the studies' functions on labs, one a paper.

    ``changes`` replace sizes of the scale; a cell is taken if one pattern of ``only`` matches it, see
    :func:`matches`.
    """
    labs: dict[int, Lab] = {}
    programs = []
    for study in studies:
        if (lab := labs.get(id(study.sizes))) is None:
            lab = Lab(study.sizes, scale=scale, changes=changes, variants=study.variants)
            labs[id(study.sizes)] = lab
        lab.cells, lab.figures = [], {}
        try:
            study.run(lab)
        except ConfigurationError as error:  # of a step, by sizes that are changed
            raise ConfigurationError(error.problems, heading=f"{study.name} with these sizes:") from error
        parts: dict[bool, list[CellPlan]] = {True: [], False: []}
        for cell in lab.cells:
            parts[not only or any(matches(cell, text) for text in only)].append(cell)
        programs.append(Program(study, lab, parts[True], {} if only else lab.figures, parts[False]))
    if only and not any(program.cells for program in programs):
        known = [cell for program in programs for cell in program.others]
        rows, columns = ({" / ".join(getattr(c, part)): 0 for c in known} for part in ("row", "column"))
        raise ConfigurationError(
            f"--only {' '.join(only)}: no cell matches; give a row's or column's label, or ROW:COLUMN, with wildcards. "
            f"Rows: {'; '.join(rows)}. Columns: {', '.join(columns)}"
        )
    return programs


def matches(cell: CellPlan, pattern: str) -> bool:
    """Whether a cell's row, column or both (``ROW:COLUMN``) match a pattern with wildcards."""
    row, column = " / ".join(cell.row), ".".join(cell.column)
    wanted_row, colon, wanted_column = pattern.partition(":")
    if colon:
        return fnmatchcase(row, wanted_row) and fnmatchcase(column, wanted_column)
    return any(fnmatchcase(text, pattern) for text in (row, column, *cell.row, *cell.column))


@dataclass(frozen=True)
class Inspection:
    """What studies would do."""

    targets: Sequence[Call]
    calls: Sequence[Call]  # that are not finished, each after what it needs
    inputs: Mapping[Call, Sequence[Input]]
    blocked: Mapping[Call, str]  # call -> the first file that it, or what it needs, misses

    def missing(self) -> list[str]:
        """Files that are not there."""
        return list(dict.fromkeys(one.path for own in self.inputs.values() for one in own if not one.there))


def inspect_programs(
    programs: Sequence[Program], store: Store, *, part: tuple[int, int] = (1, 1), check: bool = True
) -> Inspection:
    """Look at every call that is not finished; nothing is made.

    ``part`` is (k, n) of the encoders: parts do not overlap, and all n together are everything.

    Raises:
        ConfigurationError: every mistake in recipes, tasks, settings, analyses and labels of the papers' tables.
    """
    targets = _part(list(dict.fromkeys(call for p in programs for call in p.targets())), part)
    calls = store.missing(targets)
    inputs: dict[Call, Sequence[Input]] = {}
    blocked: dict[Call, str] = {}
    problems = [*_unknown_labels(programs), *_changed_inputs(targets, store)] if check else []
    for call in calls:
        try:
            if check:
                store.resolved(call, assume=True).check()
            inputs[call] = call.step.reads()
        except ConfigurationError as error:
            problems += [f"{call.title}: {problem}" for problem in error.problems]
            continue
        absent = [one.path for one in inputs[call] if not one.there]
        absent += [blocked[needed] for needed in call.needs if needed in blocked]
        if absent:
            blocked[call] = absent[0]
    if problems:
        raise ConfigurationError(list(dict.fromkeys(problems)), heading="nothing was run")
    return Inspection(targets, calls, inputs, blocked)


def _part(targets: Sequence[Call], part: tuple[int, int]) -> list[Call]:
    """Every n-th encoder with all that is measured of it."""
    groups: dict[str, list[Call]] = {}
    for call in targets:
        tuned = next((needed for needed in call.needs if needed.step.kind == "finetune"), call)
        groups.setdefault(str(getattr(tuned.step, "checkpoint", tuned.key)), []).append(call)
    k, n = part
    return [call for number, calls in enumerate(groups.values()) if number % n == k - 1 for call in calls]


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


def _changed_inputs(targets: Sequence[Call], store: Store) -> list[str]:
    """Paths of outside that changed since a finished call read them."""
    found: dict[str, Call] = {}
    waiting, seen = list(targets), set[Call]()
    while waiting:
        call = waiting.pop()
        if call not in seen:
            seen.add(call)
            waiting += call.needs
            read = store.manifest(call).get("outside", {})
            changed = [path for path, held in read.items() if Input.of(path).content not in ("", held)]
            found |= dict.fromkeys(changed, call)
    return [
        f"{call.title} is done, with another {path} than there is now; give another --out, or delete "
        f"{store.folder(call)} and what was made from it"
        for path, call in found.items()
    ]


def write_program(program: Program, store: Store, blocked: Mapping[Call, str]) -> tuple[list[Table], Path]:
    """Write ``cells.jsonl``, ``results.jsonl``, ``table.txt`` and ``figures`` of a study from what there is so far."""
    from isoglot.reports.compare import compare  # noqa: PLC0415 - loads scipy
    from isoglot.reports.export import to_text  # noqa: PLC0415

    folder = store.root / program.folder
    cells = [_cell(program, cell, store, blocked) for cell in program.cells]
    others = [_cell(program, cell, store, {}) for cell in program.others]
    cells += [cell for cell in others if cell.value is not None]
    write_cells(folder / CELLS, cells)
    tables = compare(cells)
    text = "\n".join(to_text(table) for table in tables) or f"{program.caption()}\n"
    write_text(folder / "table.txt", f"{program.study.title}\n\n{text}")
    lines = dict.fromkeys(f"{row.model_dump_json()}\n" for row in _results(program, store))
    if lines:
        write_text(folder / FILE_NAME, "".join(lines))
    else:
        (folder / FILE_NAME).unlink(missing_ok=True)
    for name, content in program.figures.items():
        _write_figure(name, content, store, folder / "figures")
    return tables, folder


def _cell(program: Program, cell: CellPlan, store: Store, blocked: Mapping[Call, str]) -> Cell:
    value, setting = cell.value.known(store.value), program.lab.setting
    lost = [blocked[call] for call in cell.value.calls() if call in blocked]
    reason = cell.value.unavailable or (f"not there: {lost[0]}" if lost and value is None else "")
    return Cell(
        table=cell.table, row=cell.row, column=cell.column, value=value, seed=cell.seed,
        unavailable=reason or None, scale=program.lab.scale, note=cell.note, about=program.caption(),
        setting=setting.name, sizes=setting.shown, paper_sizes=setting.paper,
    )  # fmt: skip


def _results(program: Program, store: Store) -> Iterator[Result]:
    """One row a cell of a task or analysis; a mean over languages or models has the language ``mean``.

    A number that is not a result, such as a layer, has none.
    """
    for cell in (*program.cells, *program.others):
        number = cell.value.known(store.value)
        if number is None or not cell.value.is_result:
            continue
        measured = [(call, _measured(store, call, value)) for call, value in cell.value.leaves()]
        (call, first), languages = measured[0], {row["language"] for _, row in measured}
        quantity = _QUANTITIES.get(cell.column[-1].rpartition(".")[2], "")
        yield Result(
            run=program.named(_run(call, by_metric=bool(quantity))),
            task=first["task"],
            language=languages.pop() if len(languages) == 1 else "mean",
            split=first["split"],
            metric=first["metric"] + quantity,
            value=number,
            seed=cell.seed,
            examples=min(int(row["examples"]) for _, row in measured),
            checkpoint_hash=str(first["checkpoint_hash"]) if len(measured) == 1 else "",
            recipe_hash=str(first["recipe_hash"] or call.key),
        )


def _measured(store: Store, call: Call, value: Value) -> dict[str, Any]:
    """The row of results of a number that a call measured: its evaluation's, or one that says what it is."""
    language, _, metric = value.metric.rpartition("/")
    task, language, metric = value.row or (call.step.kind, language, metric)
    rows = store.manifest(call).get("rows", [])
    own = (row for row in rows if row["language"] == language and metric in ("", row["metric"]))
    about = {"task": task, "language": language, "metric": metric, "split": "test"}
    return {**about, "examples": 0, "checkpoint_hash": "", "recipe_hash": "", **next(own, {})}


def _run(call: Call, *, by_metric: bool) -> str:
    """A run's name, with how it was fine-tuned where neither the metric nor English says that."""
    tuned = [getattr(needed.step, "train", {}).get("setting", "") for needed in call.needs]
    ways = [_SETTINGS[setting] for setting in tuned if setting in _SETTINGS and not by_metric]
    return " / ".join([call.step.label or call.name, *ways])


def _write_figure(name: str, content: Call | Mapping[str, Any], store: Store, folder: Path) -> None:
    """Copy a figure that is drawn, or write one of the values that are known."""
    if isinstance(content, Call):
        for path in sorted((store.folder(content) / "figures").glob("*.json*")):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.name)
        return
    found = resolve(content, lambda leaf: leaf.known(store.value) if isinstance(leaf, Value) else leaf)
    for key, entries in found.items():
        if isinstance(entries, list):  # without those of which a number is not known
            found[key] = [one for one in entries if not (isinstance(one, dict) and None in one.values())]
    if all(entries for entries in found.values() if isinstance(entries, list)):
        write_json(folder / f"{name}.json", found)
    else:
        (folder / f"{name}.json").unlink(missing_ok=True)
