"""Write the cells, results, tables and figures of a study, as far as their numbers are known."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigurationError
from isoglot.results.rows import CELLS, FILE_NAME, RUNS, Cell, Result, write_cells
from isoglot.runs.files import read_json, write_json, write_text
from isoglot.runs.folder import CHECKPOINT
from isoglot.runs.pool import usable_cores
from isoglot.runs.record import RUN
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.studies.making import Tally, measure
from isoglot.studies.parts import NumberSource, StudyPart, Work
from isoglot.studies.program import Program, Selection, inspect_programs
from isoglot.studies.sizes import typed
from isoglot.studies.step import with_leaves
from isoglot.studies.training_steps import Evaluate
from isoglot.study_request import StudyRequest, part_and_cells

if TYPE_CHECKING:
    from isoglot.reports.table import Table

_QUANTITIES = {
    "sup": "_supervised",
    "zs": "_zero_shot",
    **dict.fromkeys(("delta", "DICT", "ALIGN"), "_delta"),
}
"""The last part of a column's label to the end of a metric's name in ``results.jsonl``."""
_SETTINGS = {
    "translate_train": "translate-train, no-cs",
    "code_switch": "translate-train, code-switched",
    "code_switch_and_originals": "translate-train, code-switched and not",
}
"""How a model was fine-tuned, where neither the metric nor English says that."""


@dataclass(frozen=True)
class StudyTables:
    """The files that were written of a study."""

    program: Program
    folder: Path
    tables: Sequence[Table]
    results: Sequence[Result]


def run_studies(
    names: Sequence[str],
    *,
    out: str | Path,
    request: StudyRequest | None = None,
    progress: AnyReporter | None = None,
) -> list[StudyTables]:
    """Make and measure studies by name, and write their tables; finished work is not repeated.

    Without ``workers`` in the request there is a process per core, one an encoder at most.

    Raises:
        ConfigurationError: a wrong size, or what kept cells from being measured after all others were.
    """
    if not names:
        raise ConfigurationError("no study named; `isoglot study --list` shows them")
    reporter, request = reporter_of(progress), request or StudyRequest()
    part, patterns = part_and_cells(request.only)
    selection = Selection(names, out, request.scale, request.sizes, patterns, request.keep)
    programs = selection.programs(reporter)
    plan = inspect_programs(programs, part=part, check=not request.tables_only)
    tally = Tally()
    if not request.tables_only:
        workers = min(request.workers or usable_cores(), len({part.encoder for part in plan.parts}) or 1)
        engine = request.engine
        tally = measure(programs, plan, selection, engine=engine, workers=workers, progress=reporter)
    # Written before any mistake is raised: what was measured is kept.
    written = [write_study(program, empty=not request.tables_only) for program in programs]
    tally.require_all()
    if not request.tables_only:
        plan.require_measurable()
    return written


def write_study(program: Program, *, empty: bool = True) -> StudyTables:
    """Write what there is of a study so far; without ``empty`` nothing where nothing is known.

    ``cells.jsonl``, ``results.jsonl`` with the runs' records in ``runs.json``, ``table.txt`` and ``figures``.
    """
    from isoglot.reports.beside_papers import tables_beside_papers  # noqa: PLC0415 - loads scipy
    from isoglot.reports.export import to_text  # noqa: PLC0415

    folder, setting = program.folder, program.lab.setting
    program.lab.inputs = {}
    with program.lab.one_look():
        for part in (*program.parts, *program.unselected):
            part.ask()
    cells, results, selected = list[Cell](), dict[str, Result](), set(program.parts)
    every = [part for part in (*program.parts, *program.unselected) if part.table]
    of_table = _sizes_read((part.table, part) for part in every)
    of_run = _sizes_read((_run(part), part) for part in every if part.sources)
    for part, seed in _by_seed(every):
        value = None if isnan(part.content) else float(part.content)
        reason = part.unavailable or (f"not there: {part.missing}" if part.missing else None)
        if value is not None or part in selected:
            cells.append(Cell(
                table=part.table, row=part.row, column=part.column, value=value, seed=seed,
                unavailable=reason if value is None else None, scale=setting.scale, note=part.note, added=part.is_added,
                about=program.caption, setting=typed(setting.changes_of(of_table[part.table])),
                sizes=(sizes := setting.reported(part.sizes_read)),
                paper_sizes={name: v for name, v in setting.paper.items() if name in sizes},
            ))  # fmt: skip
        if value is not None and part.is_result:
            result = _result(part, seed, changes=setting.changes_of(of_run[_run(part)]))
            results[result.model_dump_json()] = result
    tables = tables_beside_papers(cells)
    drawn = any(isinstance(part.content, Work) and part.content.manifest for part in program.parts)
    if not (empty or drawn or folder.is_dir() or any(cell.value is not None for cell in cells)):
        return StudyTables(program, folder, tables, [])
    write_cells(folder / CELLS, cells)
    text = "\n".join(map(to_text, tables)) or f"{program.caption}\n"
    write_text(folder / "table.txt", f"{program.study.title}\n\n{text}")
    if results:
        write_text(folder / FILE_NAME, "".join(f"{line}\n" for line in results))
        works = dict.fromkeys(work for part in every for work in part.steps)
        write_json(folder / RUNS, {"runs": list(_records(works))})
    else:
        for name in (FILE_NAME, RUNS):
            (folder / name).unlink(missing_ok=True)
    for part in program.parts:
        if not part.table:
            _write_figure(part, folder / "figures")
    return StudyTables(program, folder, tables, list(results.values()))


def _by_seed(parts: Iterable[StudyPart]) -> Iterator[tuple[StudyPart, int | None]]:
    """Cells with their seeds; where none of an address depends on its seed, one of them and none."""
    addresses: dict[Any, list[StudyPart]] = {}
    for part in parts:
        if part.table:
            addresses.setdefault((part.table, part.row, part.column), []).append(part)
    for cells in addresses.values():
        reasons = {(part.sources, part.unavailable or part.missing) for part in cells}
        yield from [(cells[0], None)] if len(reasons) == 1 < len(cells) else ((c, c.seed) for c in cells)


def _sizes_read(parts: Iterable[tuple[str, StudyPart]]) -> dict[str, set[str]]:
    """The sizes that parts of one name read together: what a table's cells, or a run's, depend on."""
    read: dict[str, set[str]] = {}
    for name, part in parts:
        read.setdefault(name, set()).update(part.sizes_read)
    return read


def _quantity(part: StudyPart) -> str:
    """The end of a metric's name for a cell that is measured after one of two fine-tunings, or their difference."""
    return _QUANTITIES.get(part.column[-1].rpartition(".")[2], "")


def _run(part: StudyPart) -> str:
    """What a cell's run is called: the label of its model, and how that was fine-tuned."""
    work = part.sources[0].work
    tuning = work.step.finetune if isinstance(work.step, Evaluate) and not _quantity(part) else None
    setting = "" if tuning is None else _SETTINGS.get(tuning.train.get("setting", ""), "")
    return " / ".join(filter(None, [work.step.label or work.name, setting]))


def _result(part: StudyPart, seed: int | None, *, changes: Mapping[str, Any]) -> Result:
    """The row of a cell of a task or analysis; a mean over languages or models has the language ``mean``.

    ``changes`` are those of the study's sizes, by which reports tell its runs from those of other settings.
    """
    rows = [_row(source) for source in part.sources]
    first, work, languages = rows[0], part.sources[0].work, {row["language"] for row in rows}
    return Result(
        run=_run(part),
        task=first["task"],
        language=languages.pop() if len(languages) == 1 else "mean",
        split=first["split"],
        metric=first["metric"] + _quantity(part),
        value=part.content,
        seed=seed,
        examples=min(int(row["examples"]) for row in rows),
        checkpoint_hash=str(first["checkpoint_hash"]) if len(rows) == 1 else "",
        recipe_hash=str(first["recipe_hash"] or work.folder.name.rpartition("-")[2]),
        options={
            name: value
            for name, value in first["options"].items()
            if all(name in row["options"] and row["options"][name] == value for row in rows)
        },
        changes=dict(changes),
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


def _records(works: Iterable[Work]) -> Iterator[dict[str, Any]]:
    """What the encoders that were trained recorded of themselves, with names in place of this machine's paths."""
    encoders = [work for work in works if work.step.kind == "pretrain"]
    names = {work / CHECKPOINT: work.step.label or work.name for work in encoders}
    for work in encoders:
        if (record := read_json(work.folder / RUN)) is not None:
            model = record["values"].get("model") or {}
            start = names.get(str(model.get("path")))
            about = {key: record.get(key) for key in ("name", "recipe_hash", "seed", "encoder", "versions")}
            yield {**about, "values": {"model": {**model, **({"path": start} if start else {})}}}


def _write_figure(part: StudyPart, folder: Path) -> None:
    """Copy a figure that is drawn, or write one of the numbers that are known."""
    if isinstance(part.content, Work):
        for path in sorted((part.content.folder / "figures").glob("*.json*")):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.name)
        return
    content = {} if part.unavailable else part.content
    values = with_leaves(content, lambda v: None if isinstance(v, float) and not isfinite(v) else v)
    for key, entries in values.items():
        if isinstance(entries, list):  # without those of which a number is not known
            values[key] = [e for e in entries if not (isinstance(e, dict) and None in e.values())]
    path = folder / f"{part.title}.json"
    if values and all(entries for entries in values.values() if isinstance(entries, list)):
        write_json(path, values)
    else:
        path.unlink(missing_ok=True)
