"""Write the cells, results, tables and figures of a study, as far as the numbers are known.

Start with :func:`run_studies`, which does everything; :func:`write_study` writes the files of one study.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoglot.core.errors import ConfigurationError, IsoglotError
from isoglot.results.rows import CELLS, FILE_NAME, RUNS, Cell, Result, write_cells
from isoglot.runs.files import read_json, write_json, write_text
from isoglot.runs.folder import CHECKPOINT
from isoglot.runs.pool import usable_cores
from isoglot.runs.record import RUN
from isoglot.runs.reporter import AnyReporter, reporter_of
from isoglot.studies.making import Tally, measure
from isoglot.studies.parts import NumberSource, StudyPart, Work
from isoglot.studies.program import Program, Selection, inspect_programs
from isoglot.studies.sizes import text_of_changes
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
"""Ending of a column's label -> ending of the metric's name in ``results.jsonl``.

The column ``pos.zs`` has the metric ``accuracy_zero_shot``. ``DICT`` and ``ALIGN`` are columns of ALIGN-MLM's Tables 2,
4 and 5, which show Δ of two objectives side by side.
"""
_SETTINGS = {
    "translate_train": "translate-train, no-cs",
    "code_switch": "translate-train, code-switched",
    "code_switch_and_originals": "translate-train, code-switched and not",
}
"""Option ``setting`` of fine-tuning -> ending of the run's name. Other values of the option add no ending."""


@dataclass(frozen=True)
class StudyTables:
    """The tables and results of a study that were written."""

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
        request: Scale, changes of sizes, selected cells and engine. There are as many processes as ``workers``, by
            default one per core; in both cases at most one per encoder.
        progress: Gets lines and bars.

    Raises:
        ConfigurationError: A wrong size, or cells that could not be measured. Cells that could not be measured are
            raised at the end, when all other cells are measured and written.
    """
    if not names:
        raise ConfigurationError("no study named; `isoglot study --list` shows them")
    reporter, request = reporter_of(progress), request or StudyRequest()
    # The command `isoglot study` (`cli/study.py`) takes the same steps, and prints between them. Both read `only`
    # through `part_and_cells`, so its forms are changed there alone.
    part_of_encoders, cell_patterns = part_and_cells(request.only)
    selection = Selection(names, out, request.scale, request.changes, cell_patterns, request.keep)
    programs = selection.programs(reporter)
    plan = inspect_programs(programs, part_of_encoders=part_of_encoders, check=not request.tables_only)
    tally = Tally()
    if not request.tables_only:
        distinct_encoders = {part.encoder for part in plan.parts}
        workers = min(request.workers or usable_cores(), len(distinct_encoders) or 1)
        engine = request.engine
        tally = measure(programs, plan, selection, engine=engine, workers=workers, progress=reporter)
    # Write before any mistake is raised: numbers that were measured are kept.
    written = [write_study(program, even_without_numbers=not request.tables_only) for program in programs]
    tally.require_all()
    if not request.tables_only:
        plan.require_measurable()
    return written


def write_study(program: Program, *, even_without_numbers: bool = True) -> StudyTables:
    """Write the numbers of a study that are known so far, and return the tables.

    The files are ``cells.jsonl``; ``results.jsonl``, with the records of the runs in ``runs.json``; ``table.txt``; and
    the folder ``figures``. Reports read the files of these names; a file of another name would be for people.

    ``even_without_numbers``: Write the files even if no number is known yet.
    """
    from isoglot.reports.beside_papers import tables_beside_papers  # noqa: PLC0415 - loads scipy

    folder = program.folder
    # All cells, selected or not, and the selected figures.
    all_parts = [*program.parts, *program.unselected]
    # Ask again, and look for missing files again: steps were made since, and files may have come.
    program.lab.inputs = {}
    with program.lab.manifests_read_once():
        for part in all_parts:
            try:
                part.ask()
            except IsoglotError as error:
                # A mistake in this cell alone, such as a fact that no step recorded: the other cells are written.
                part.unavailable = str(error)
    in_tables = [part for part in all_parts if part.is_cell and part.has_place]
    cells, results = _cells_and_results(program, in_tables)
    tables = tables_beside_papers(cells)
    # A folder of an earlier call is written again, even if its numbers are known no more.
    has_drawing = any(isinstance(part.content, Work) and part.content.manifest for part in program.parts)
    has_number = any(cell.value is not None for cell in cells)
    if not (even_without_numbers or has_drawing or has_number or folder.is_dir()):
        return StudyTables(program, folder, tables, [])
    _write_tables(program, cells, tables)
    _write_results(folder, list(results), in_tables)
    for part in program.parts:
        if not part.is_cell:
            _write_figure(part, folder / "figures")
    return StudyTables(program, folder, tables, list(results.values()))


def _cells_and_results(program: Program, parts: Sequence[StudyPart]) -> tuple[list[Cell], dict[str, Result]]:
    """Return the cells of the tables, and the results behind the cells with a known number, each by its JSON.

    1. A cell that was not selected is left out while its number is unknown.
    2. A number that the cell did not read among the values of a step, such as a fact or 3.0, is no result.
    3. Equal results are kept once: several tables may show one number.

    ``parts``: The cells that have a place in their table, selected or not.
    """
    setting = program.lab.setting
    selected = set(program.parts)
    # The changes that a cell names are those of all sizes that its table reads; a result's, those that its run reads.
    sizes_of_table: dict[str, set[str]] = defaultdict(set)
    sizes_of_run: dict[str, set[str]] = defaultdict(set)
    for part in parts:
        sizes_of_table[part.table] |= part.sizes_read
        if part.sources:
            sizes_of_run[_run(part)] |= part.sizes_read
    cells: list[Cell] = []
    results: dict[str, Result] = {}
    for part, seed in _distinct_cells(parts):
        value = None if isnan(part.content) else float(part.content)
        if value is not None or part in selected:  # 1
            changes = setting.changes_of(sizes_of_table[part.table])
            cells.append(_cell(program, part, seed, value, changes))
        if value is not None and part.is_result and part.sources:  # 2
            result = _result(part, seed, changes=setting.changes_of(sizes_of_run[_run(part)]))
            results[result.model_dump_json()] = result  # 3
    return cells, results


def _cell(
    program: Program, part: StudyPart, seed: int | None, value: float | None, changes: Mapping[str, Any]
) -> Cell:
    """Return the cell for ``cells.jsonl``; a cell without a value names the reason, if there is one."""
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
        setting=text_of_changes(changes),
        sizes=sizes,
        paper_sizes={name: size for name, size in setting.paper_where_different.items() if name in sizes},
    )


def _write_tables(program: Program, cells: Sequence[Cell], tables: Sequence[Table]) -> None:
    """Write ``cells.jsonl``, and the tables as text below the study's title."""
    from isoglot.reports.export import to_text  # noqa: PLC0415 - loads scipy

    write_cells(program.folder / CELLS, cells)
    text = "\n".join(map(to_text, tables)) or f"{program.caption}\n"
    write_text(program.folder / "table.txt", f"{program.study.title}\n\n{text}")


def _write_results(folder: Path, lines: Sequence[str], parts: Sequence[StudyPart]) -> None:
    """Write the results, given as ``lines`` of JSON, and the records of the encoders behind them.

    Without results, delete both files of an earlier call.
    """
    if not lines:
        for name in (FILE_NAME, RUNS):
            (folder / name).unlink(missing_ok=True)
        return
    write_text(folder / FILE_NAME, "".join(f"{line}\n" for line in lines))
    works = dict.fromkeys(work for part in parts for work in part.steps)
    write_json(folder / RUNS, {"runs": list(_records(works))})


def _distinct_cells(parts: Iterable[StudyPart]) -> Iterator[tuple[StudyPart, int | None]]:
    """Yield the cells, each with its seed; cells that do not depend on their seed are yielded once, without a seed.

    The number of a checkpoint that the study does not train is the same for the seeds 1, 2 and 3. So the three cells,
    which have one place in the table, are one cell.
    """
    places: dict[tuple[str, Any, Any], list[StudyPart]] = {}
    for part in parts:
        places.setdefault((part.table, part.row, part.column), []).append(part)
    for cells in places.values():
        if len(cells) > 1 and _are_one_cell(cells):
            yield cells[0], None
        else:
            yield from ((cell, cell.seed) for cell in cells)


def _are_one_cell(cells: Sequence[StudyPart]) -> bool:
    """Whether all cells of one place have the same number.

    1. Cells that read no number of a step, such as those computed from facts alone, cannot be compared: they stay
       apart, unless they have a reason for having no number.
    2. All other cells are one cell if they read the same numbers of steps, and have the same reason or none.
    """
    first = cells[0]
    reasons = [cell.unavailable or cell.missing for cell in cells]  # for having no number; often empty
    if not first.sources and not reasons[0]:  # 1
        return False
    same_numbers = all(cell.sources == first.sources for cell in cells)
    same_reasons = all(reason == reasons[0] for reason in reasons)
    return same_numbers and same_reasons  # 2


def _quantity(part: StudyPart) -> str:
    """Return the ending that the column gives to the metric: ``_zero_shot`` for ``pos.zs``; empty for most columns."""
    return _QUANTITIES.get(part.column[-1].rpartition(".")[2], "")


def _run(part: StudyPart) -> str:
    """Name the run of a cell: the label of the model, and the setting of fine-tuning where the metric does not tell.

    ``ppa / translate-train, no-cs`` was fine-tuned on translations; the run ``ppa`` was fine-tuned on English only.
    """
    work = part.sources[0].work
    names = [work.step.label or work.name]
    # In a table with columns for zero-shot and supervised results, the metric already says which one it is.
    if isinstance(work.step, Evaluate) and work.step.finetune is not None and not _quantity(part):
        names.append(_SETTINGS.get(work.step.finetune.train.get("setting", ""), ""))
    return " / ".join(filter(None, names))


def _result(part: StudyPart, seed: int | None, *, changes: Mapping[str, Any]) -> Result:
    """Return the row of a cell in ``results.jsonl``.

    A cell may be computed from several numbers, such as the mean over de and fr. Then

    1. the task, split, metric and recipe are those of the first number;
    2. ``examples`` is the smallest number of examples;
    3. an option is kept if all numbers have it with the same value;
    4. the language of numbers in several languages is ``mean``;
    5. no single checkpoint is named.

    ``changes``: Changed sizes of the study, by which reports tell this run from runs of other settings.
    """
    rows = [_row(source) for source in part.sources]
    first, work = rows[0], part.sources[0].work
    languages = {row["language"] for row in rows}

    def is_shared(name: str, value: object) -> bool:
        return all(name in row["options"] and row["options"][name] == value for row in rows)

    shared_options = {name: value for name, value in first["options"].items() if is_shared(name, value)}
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
        # A step that is not an evaluation has no recipe: the key in the name of the step's folder stands for it.
        recipe_hash=str(first["recipe_hash"] or work.folder.name.rpartition("-")[2]),
        options=shared_options,
        changes=dict(changes),
    )


def _row(source: NumberSource) -> dict[str, Any]:
    """Return the row behind a number: the row that an evaluation wrote, or a row made from the number's name.

    1. The number ``de/f1`` of an evaluation has the row of German with F1.
    2. ``de/`` is the value of the task's primary metric, which the evaluation recorded. Folders of earlier releases do
       not name it: there the number has the first row of German with its value. The primary metric need not come
       first: lexicon induction begins with ``precision_at_1``, and its primary one is by CSLS.
    """
    manifest = source.work.manifest
    language, _, metric = source.metric.rpartition("/")
    metric = metric or manifest.get("primary_metric", "")  # 2
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
    value = manifest.get("values", {}).get(source.metric)
    for evaluated in manifest.get("rows", []):
        is_wanted = evaluated["metric"] == metric if metric else evaluated["value"] == value  # 1, 2
        if evaluated["language"] == language and is_wanted:
            return {**row, **evaluated}
    return row


def _records(works: Iterable[Work]) -> Iterator[dict[str, Any]]:
    """Yield the records of the trained encoders, with the names of encoders in place of paths on this machine."""
    encoders = [work for work in works if work.step.kind == "pretrain"]
    names = {work / CHECKPOINT: work.step.label or work.name for work in encoders}
    for work in encoders:
        record = read_json(work.folder / RUN)
        if record is None:
            continue
        model = dict(record["values"].get("model") or {})
        # An encoder may start from another one of the study: "mlm" in place of "/runs/pretrain/mlm-.../checkpoint".
        if start := names.get(str(model.get("path"))):
            model["path"] = start
        about = {key: record.get(key) for key in ("name", "recipe_hash", "seed", "encoder", "versions")}
        yield {**about, "values": {"model": model}}


def _write_figure(part: StudyPart, folder: Path) -> None:
    """Copy a figure that a step drew, or write the known numbers of a figure that the study describes.

    1. A point or bar with an unknown number is left out: ``[{"x": 1, "y": 80.2}, {"x": 2, "y": None}]`` is one point.
    2. If no entry of a list is left, the figure is not written, and the file of an earlier call is deleted.
    """
    if isinstance(part.content, Work):
        for path in sorted((part.content.folder / "figures").glob("*.json*")):
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / path.name)
        return
    content = {} if part.unavailable else part.content

    def none_if_unknown(value: Any) -> Any:
        """Return None for a number that is not known: NaN, or the stand-in for a fact."""
        is_unmeasured = isinstance(value, float) and not isfinite(value)
        # Not isinstance: True and False are integers too.
        is_stand_in = type(value) is int and value in part.lab.unknown
        return None if is_unmeasured or is_stand_in else value

    values = with_leaves(content, none_if_unknown)
    for key, entries in values.items():
        if isinstance(entries, list):
            values[key] = [e for e in entries if not (isinstance(e, dict) and None in e.values())]  # 1
    lists = [entries for entries in values.values() if isinstance(entries, list)]
    path = folder / f"{part.title}.json"
    if values and all(lists):  # 2
        write_json(path, values)
    else:
        path.unlink(missing_ok=True)
