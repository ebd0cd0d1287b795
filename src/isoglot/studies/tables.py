"""Write the cells, results, tables and figures of a study, as far as their numbers are known.

Start with :func:`run_studies`, which does everything; :func:`write_study` writes the files of one study.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
"""Endings of column labels, with what they add to the name of the metric in ``results.jsonl``.

The column ``pos.zs`` has the metric ``accuracy_zero_shot``. ``DICT`` and ``ALIGN`` are columns of ALIGN-MLM's Tables 2,
4 and 5, which have Δ of two objectives side by side.
"""
_SETTINGS = {
    "translate_train": "translate-train, no-cs",
    "code_switch": "translate-train, code-switched",
    "code_switch_and_originals": "translate-train, code-switched and not",
}
"""Settings of fine-tuning, with what they add to the name of a run. Other settings add nothing."""


@dataclass(frozen=True)
class StudyTables:
    """A study that was written."""

    program: Program
    folder: Path
    tables: Sequence[Table]  # with the paper's numbers beside ours
    results: Sequence[Result]


def run_studies(
    names: Sequence[str],
    *,
    out: str | Path,
    request: StudyRequest | None = None,
    progress: AnyReporter | None = None,
) -> list[StudyTables]:
    """Make and measure studies by name, and write their tables; finished work is not repeated.

    Args:
        names: Studies, papers or files: ``["weam/table1"]``.
        out: Folder of the studies.
        request: Scale, sizes, selected cells and engine. Without ``workers`` there is a process per core, and at most
            one per encoder.
        progress: Gets lines and bars.

    Raises:
        ConfigurationError: A wrong size, or cells that could not be measured. That is raised at the end, when all
            other cells were measured and written.
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
    """Write what is known of a study so far.

    The files are ``cells.jsonl``, ``results.jsonl`` with the records of the runs in ``runs.json``, ``table.txt``, and
    ``figures``.

    ``empty``: Write the files also if nothing is known yet.
    """
    from isoglot.reports.beside_papers import tables_beside_papers  # noqa: PLC0415 - loads scipy

    folder, every = program.folder, [*program.parts, *program.unselected]
    program.lab.inputs = {}
    with program.lab.manifests_read_once():
        for part in every:
            part.ask()
    in_tables = [part for part in every if part.table]
    cells, results = _cells_and_results(program, in_tables)
    tables = tables_beside_papers(cells)
    drawn = any(isinstance(part.content, Work) and part.content.manifest for part in program.parts)
    known = drawn or folder.is_dir() or any(cell.value is not None for cell in cells)
    if not (empty or known):
        return StudyTables(program, folder, tables, [])
    _write_tables(program, cells, tables)
    _write_results(folder, results, in_tables)
    for part in program.parts:
        if not part.table:
            _write_figure(part, folder / "figures")
    return StudyTables(program, folder, tables, list(results.values()))


def _cells_and_results(program: Program, parts: Sequence[StudyPart]) -> tuple[list[Cell], dict[str, Result]]:
    """Return the cells of the tables, and by their JSON the results behind those that are known.

    Equal results are one. ``parts``: All parts of the study that are cells.
    """
    setting = program.lab.setting
    selected = set(program.parts)
    # A table lists the sizes that any of its cells looked up, and a run those of its own cells.
    sizes_of_table = _sizes_read((part.table, part) for part in parts)
    sizes_of_run = _sizes_read((_run(part), part) for part in parts if part.sources)
    cells: list[Cell] = []
    results: dict[str, Result] = {}
    for part, seed in _by_seed(parts):
        value = None if isnan(part.content) else float(part.content)
        if value is not None or part in selected:
            changes = setting.changes_of(sizes_of_table[part.table])
            cells.append(_cell(program, part, seed, value, changes))
        if value is not None and part.is_result:
            result = _result(part, seed, changes=setting.changes_of(sizes_of_run[_run(part)]))
            results[result.model_dump_json()] = result
    return cells, results


def _cell(
    program: Program, part: StudyPart, seed: int | None, value: float | None, changes: Mapping[str, Any]
) -> Cell:
    """The cell of a table; one without a value says why it has none, if that is known."""
    setting = program.lab.setting
    reason = part.unavailable or (f"not there: {part.missing}" if part.missing else None)
    sizes = setting.reported(part.sizes_read)
    return Cell(
        table=part.table,
        row=part.row,
        column=part.column,
        value=value,
        seed=seed,
        unavailable=reason if value is None else None,
        scale=setting.scale,
        note=part.note,
        added=part.is_added,
        about=program.caption,
        setting=typed(changes),
        sizes=sizes,
        paper_sizes={name: size for name, size in setting.paper.items() if name in sizes},
    )


def _write_tables(program: Program, cells: Sequence[Cell], tables: Sequence[Table]) -> None:
    from isoglot.reports.export import to_text  # noqa: PLC0415 - loads scipy

    write_cells(program.folder / CELLS, cells)
    text = "\n".join(map(to_text, tables)) or f"{program.caption}\n"
    write_text(program.folder / "table.txt", f"{program.study.title}\n\n{text}")


def _write_results(folder: Path, results: Collection[str], parts: Sequence[StudyPart]) -> None:
    """Write the results, which are given as JSON, and the records of the encoders behind them.

    Without results delete both files.
    """
    if not results:
        for name in (FILE_NAME, RUNS):
            (folder / name).unlink(missing_ok=True)
        return
    write_text(folder / FILE_NAME, "".join(f"{result}\n" for result in results))
    works = dict.fromkeys(work for part in parts for work in part.steps)
    write_json(folder / RUNS, {"runs": list(_records(works))})


def _by_seed(parts: Iterable[StudyPart]) -> Iterator[tuple[StudyPart, int | None]]:
    """Yield the cells with their seeds; of a place in a table that depends on no seed, one cell without a seed.

    The number of a checkpoint that nobody trains here is the same for the seeds 1, 2 and 3: its three cells read the
    same numbers, or lack them for the same reason. They are one cell.
    """
    places: dict[tuple[str, Any, Any], list[StudyPart]] = {}
    for part in parts:
        places.setdefault((part.table, part.row, part.column), []).append(part)
    for cells in places.values():
        distinct = {(part.sources, part.unavailable or part.missing) for part in cells}
        if len(cells) > 1 and len(distinct) == 1:
            yield cells[0], None
        else:
            yield from ((cell, cell.seed) for cell in cells)


def _sizes_read(parts: Iterable[tuple[str, StudyPart]]) -> dict[str, set[str]]:
    """Return the sizes that the parts under each name looked up, together."""
    read: dict[str, set[str]] = {}
    for name, part in parts:
        read.setdefault(name, set()).update(part.sizes_read)
    return read


def _quantity(part: StudyPart) -> str:
    """What the column adds to the name of the metric: ``_zero_shot`` for ``pos.zs``; usually nothing."""
    return _QUANTITIES.get(part.column[-1].rpartition(".")[2], "")


def _run(part: StudyPart) -> str:
    """Name the run of a cell: the label of its model, and how it was fine-tuned if nothing else says so.

    The run ``ppa`` is zero-shot; ``ppa / translate-train, no-cs`` was fine-tuned on translations.
    """
    work = part.sources[0].work
    names = [work.step.label or work.name]
    # In a table with columns of both fine-tunings, the metric says which one it is.
    if isinstance(work.step, Evaluate) and work.step.finetune is not None and not _quantity(part):
        names.append(_SETTINGS.get(work.step.finetune.train.get("setting", ""), ""))
    return " / ".join(filter(None, names))


def _result(part: StudyPart, seed: int | None, *, changes: Mapping[str, Any]) -> Result:
    """The row of a cell in ``results.jsonl``.

    A cell may be computed from several numbers. Its task, split, metric and recipe are those of the first number; its
    examples are the fewest of any; options count where all have the same value; and numbers of several languages make
    the language ``mean``.

    ``changes``: Changed sizes of the study, by which reports tell this run from runs of other settings.
    """
    rows = [_row(source) for source in part.sources]
    first, work = rows[0], part.sources[0].work
    languages = {row["language"] for row in rows}
    shared_options = {
        name: value
        for name, value in first["options"].items()
        if all(name in row["options"] and row["options"][name] == value for row in rows)
    }
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
        # A step that is no evaluation has no recipe: the key in the name of its folder stands for one.
        recipe_hash=str(first["recipe_hash"] or work.folder.name.rpartition("-")[2]),
        options=shared_options,
        changes=dict(changes),
    )


def _row(source: NumberSource) -> dict[str, Any]:
    """The row behind a number: the row that its evaluation wrote, or one made from the number's names.

    In an evaluation the number ``de/f1`` has the row of German with F1, and ``de/`` the first row of German.
    """
    manifest = source.work.manifest
    language, _, metric = source.metric.rpartition("/")
    task = source.work.step.kind
    if source.row is not None:
        task, language, metric = source.row
    row = {
        "task": task,
        "language": language,
        "metric": metric,
        "split": "test",
        "options": {},
        "examples": manifest.get("examples", {}).get(source.metric, 0),
        "checkpoint_hash": "",
        "recipe_hash": "",
    }
    for evaluated in manifest.get("rows", []):
        if evaluated["language"] == language and metric in ("", evaluated["metric"]):
            return {**row, **evaluated}
    return row


def _records(works: Iterable[Work]) -> Iterator[dict[str, Any]]:
    """Yield what the trained encoders recorded of themselves, with names in place of this machine's paths."""
    encoders = [work for work in works if work.step.kind == "pretrain"]
    names = {work / CHECKPOINT: work.step.label or work.name for work in encoders}
    for work in encoders:
        record = read_json(work.folder / RUN)
        if record is None:
            continue
        model = dict(record["values"].get("model") or {})
        # An encoder that continues another one of the study names that one.
        if start := names.get(str(model.get("path"))):
            model["path"] = start
        about = {key: record.get(key) for key in ("name", "recipe_hash", "seed", "encoder", "versions")}
        yield {**about, "values": {"model": model}}


def _write_figure(part: StudyPart, folder: Path) -> None:
    """Copy a figure that a step drew, or write the numbers of a figure that are known.

    A figure of which a whole list is unknown is not written, and the file of an earlier one is deleted.
    """
    if isinstance(part.content, Work):
        for path in sorted((part.content.folder / "figures").glob("*.json*")):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.name)
        return
    content = {} if part.unavailable else part.content
    values = with_leaves(content, lambda v: None if isinstance(v, float) and not isfinite(v) else v)
    for key, entries in values.items():
        if isinstance(entries, list):
            # A point or bar with an unknown number is left out.
            values[key] = [e for e in entries if not (isinstance(e, dict) and None in e.values())]
    lists = [entries for entries in values.values() if isinstance(entries, list)]
    path = folder / f"{part.title}.json"
    if values and all(lists):
        write_json(path, values)
    else:
        path.unlink(missing_ok=True)
