"""A study's tables: ours, the paper's, the difference; and what the report reads."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from isoglot.report.export import to_text
from isoglot.report.papers import PaperColumn, PaperRow
from isoglot.report.stats import Score
from isoglot.report.table import Column, Row, Table, TableCell, decimals, figure, slug
from isoglot.results import FILE_NAME, Result
from isoglot.runs.files import write_text
from isoglot.studies.figures import collect_figures
from isoglot.studies.file import Study
from isoglot.studies.orderings import orderings, told
from isoglot.studies.plan import Cell as PlannedCell
from isoglot.studies.plan import Plan, PlannedTable
from isoglot.studies.points import correlation_table, scatters
from isoglot.studies.store import Store
from isoglot.studies.units import in_order, readings, value_of

__all__ = ["Filled", "fill", "study_tables", "to_markdown", "write_study"]

Measured = Mapping[str, Mapping[str, float]]
_QUANTITIES = ("supervised", "zero_shot", "delta")


@dataclass(frozen=True)
class Filled:
    """A table's cells with what was measured.

    Args:
        values: (row, column) -> seed -> value; averages included.
        partial: average cells that some columns are missing from, with the ids that are there.
    """

    values: Mapping[tuple[int, str], Mapping[int, float]]
    partial: Mapping[tuple[int, str], tuple[str, ...]]


def study_tables(plan: Plan, out: str | Path) -> list[Table]:
    """The tables of a study from what is in its folder so far."""
    store = Store(Path(out))
    measured = _measured(plan, store)
    return [_table(plan.study, planned, measured) for planned in plan.tables]


def write_study(plan: Plan, out: str | Path) -> tuple[list[Table], Path]:
    """Write ``results.jsonl``, ``figures``, ``table.md`` and ``tables.json`` of a study.

    Returns:
        The tables, and the folder.
    """
    store, folder = Store(Path(out)), Path(out) / plan.study.name
    measured = _measured(plan, store)
    tables = [_table(plan.study, planned, measured) for planned in plan.tables]
    rows = [row for planned in plan.tables for row in _results(planned, measured, store)]
    if rows:
        lines = dict.fromkeys(f"{row.model_dump_json()}\n" for row in rows)
        write_text(folder / FILE_NAME, "".join(lines))
    write_text(folder / "table.md", "\n".join(to_markdown(table) for table in tables))
    write_text(folder / "table.txt", "\n".join(to_text(table) for table in tables))
    for planned in plan.tables:
        for name, content in scatters(planned, measured):
            text = json.dumps(content, indent=1, ensure_ascii=False)
            write_text(folder / "figures" / f"{name}.json", text + "\n")
    drawn = [figure.unit for figure in plan.figures if figure.unit is not None]
    collect_figures([store.folder(unit) for unit in drawn if store.manifest(unit)], folder / "figures")
    return tables, folder


def fill(planned: PlannedTable, measured: Measured) -> Filled:
    """Values of every cell by seed; an average is over the columns that are measured and that the paper has too."""
    values: dict[tuple[int, str], dict[int, float]] = {}
    for cell in planned.cells:
        found = {seed: value_of(term, measured) for seed, term in cell.terms.items()}
        known = {seed: value for seed, value in found.items() if value is not None}
        if known:
            values[cell.row, cell.column] = known
    partial: dict[tuple[int, str], tuple[str, ...]] = {}
    plain = [c for c in planned.columns if not c.average]
    unseeded = {(cell.row, cell.column) for cell in planned.cells if len(cell.terms) == 1}
    for number, row in enumerate(planned.rows):
        for column in (c for c in planned.columns if c.average):
            there = {c.id: values[number, c.id] for c in plain if (number, c.id) in values}
            printed = [c.id for c in planned.paper.columns if isinstance(row.values.get(c.id), int | float)]
            shared = {name: by_seed for name, by_seed in there.items() if name in printed} or there
            means = _means(planned, column, shared, {name for name in shared if (number, name) in unseeded})
            if means:
                values[number, column.id] = means
                if set(shared) != {c.id for c in planned.paper.columns if not c.average}:
                    partial[number, column.id] = tuple(shared)
    return Filled(values, partial)


def _means(
    planned: PlannedTable,
    column: PaperColumn,
    cells: Mapping[str, Mapping[int, float]],
    unseeded: Collection[str],
) -> dict[int, float]:
    """An average by seed; a cell that depends on no seed counts for all of them."""
    seeds = sorted({seed for by_seed in cells.values() for seed in by_seed})
    found = {}
    for seed in seeds:
        own = {
            name: by_seed[seed] if seed in by_seed else next(iter(by_seed.values()))
            for name, by_seed in cells.items()
            if seed in by_seed or name in unseeded
        }
        mean = planned.paper.mean(own, column, partial=True)
        if mean is not None and len(own) == len(cells):
            found[seed] = mean
    return found


def to_markdown(table: Table) -> str:
    """The table in Markdown, notes below."""
    heading = [table.corner, *(f"{c.group} {c.label}".strip() for c in table.columns)]
    lines = [f"### {table.title}", "", table.caption, "", _line(heading),
             _line(["---", *["---:"] * len(table.columns)])]  # fmt: skip
    for row in table.rows:
        cells = [f"{c.text} {c.spread}".strip() + (f" [{c.note}]" if c.note else "") for c in row.cells]
        header = f"**{row.header}**" if row.kind == "ours" else f"↳ {row.header}"
        lines.append(_line([header, *cells]))
    notes = [f"[{number}] {note}\n" for number, note in enumerate(table.notes, 1)]
    return "\n".join([*lines, "", *notes])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _measured(plan: Plan, store: Store) -> Measured:
    return store.measured(in_order(plan.leaves()))


def _table(study: Study, planned: PlannedTable, measured: Measured) -> Table:
    seeds = ", ".join(map(str, study.seeds))
    caption = (
        f"Scale {study.scale}. {study.about} Mean ± sd over seeds {seeds}; ours, the paper's, ours − paper's."
    )
    if study.scale != "paper":
        caption += " Orderings can be held against the paper's at this scale, figures cannot."
    title = f"{planned.paper.name}: {study.title or planned.paper.title}"
    table = Table(
        slug([study.name, planned.name, study.scale]), title, caption, "", [], paper=planned.paper.name
    )
    if planned.correlation is not None:
        correlation_table(table, planned, measured)
    else:
        table.columns = [_column(column) for column in planned.columns]
        filled = fill(planned, measured)
        for number, row in enumerate(planned.rows):
            _rows(table, planned, filled, number, row)
        means = {place: fmean(by_seed.values()) for place, by_seed in filled.values.items()}
        plain = [column.id for column in planned.columns if not column.average]
        if line := told(orderings(planned.rows, plain, means)):
            table.note(line)
    for note in (planned.entry.note, planned.paper.note):
        if note:
            table.note(note)
    return table


def _column(column: PaperColumn) -> Column:
    return Column(column.id, title=column.task or column.metric, average=column.average)


def _rows(table: Table, planned: PlannedTable, filled: Filled, number: int, row: PaperRow) -> None:
    """Three rows: ours, the paper's, the difference."""
    cells = {cell.column: cell for cell in planned.cells if cell.row == number}
    ours, theirs, differences = [], [], []
    for column in planned.columns:
        by_seed = filled.values.get((number, column.id))
        digits = decimals(column.metric)
        paper, note = _paper_value(planned, row, column, filled.partial.get((number, column.id)))
        shown = "–" if paper is None else figure(paper, digits=digits)
        theirs.append(
            TableCell(shown, paper, note=table.note(note) if paper is not None and note else 0, digits=digits)
        )
        if by_seed is None:
            mark = cells[column.id].mark if column.id in cells else "its columns are not measured"
            missing = (
                TableCell("–", note=table.note(mark)) if mark else TableCell("…", title="not measured yet")
            )
            ours.append(missing)
            differences.append(TableCell(""))
            continue
        score = Score.of(list(by_seed.values()), 0)
        lacking = _lacking(by_seed, list(cells.values()) if column.average else [cells[column.id]])
        ours.append(
            TableCell(
                figure(score.mean, digits=digits),
                score.mean,
                score.sd,
                note=table.note(lacking) if lacking else 0,
                title=f"{score.seeds} seeds",
                digits=digits,
            )
        )
        difference = None if paper is None else score.mean - paper
        differences.append(
            TableCell("")
            if difference is None
            else TableCell(figure(difference, signed=True, digits=digits), difference, digits=digits)
        )
    table.rows.append(Row(row.name, tuple(ours), "ours"))
    table.rows.append(Row("paper", tuple(theirs), "paper"))
    table.rows.append(Row("difference", tuple(differences), "difference"))


def _lacking(by_seed: Mapping[int, float], cells: Sequence[PlannedCell]) -> str:
    """What to say of a cell, or of the cells that are averaged, where seeds are not measured yet."""
    missing = sorted({seed for cell in cells for seed in cell.terms} - set(by_seed))
    told = ", ".join(map(str, sorted(by_seed)))
    return f"over seed{'s' * (len(by_seed) > 1)} {told} so far" if missing else ""


def _paper_value(
    planned: PlannedTable, row: PaperRow, column: PaperColumn, over: tuple[str, ...] | None
) -> tuple[float | None, str]:
    """The paper's figure, over the same columns as ours where it is a mean, and why it is not the printed one."""
    if column.average and over:
        mean = planned.paper.mean({name: row.values.get(name) for name in over}, column, partial=True)
        return mean, f"means over {', '.join(over)}, the columns measured"
    found = planned.paper.value(row, column)
    if found is None:
        return None, ""
    return found.value, f"printed {found.printed:g}: {found.reason}" if found.reason else ""


def _results(planned: PlannedTable, measured: Measured, store: Store) -> list[Result]:
    """One row a cell and seed; a mean over languages or models as one row a measured number.

    Without a recipe of its own, the unit's configuration stands for it: the report takes rows without any hash for
    those of other tools, and their values for shares where they are small.
    """
    found = []
    for cell in planned.cells:
        column = next(c for c in planned.columns if c.id == cell.column)
        for seed, term in cell.terms.items():
            value = value_of(term, measured)
            parts = readings(term)
            rows = [r for part in parts for r in (store.manifest(part.unit) or {}).get("rows", [])]
            if value is None:
                continue
            languages = sorted({str(part.unit.config["language"]) for part in parts})
            found.append(
                Result(
                    run=_run(cell),
                    task=cell.task,
                    language=column.language or (languages[0] if len(languages) == 1 else "mean"),
                    split=str(parts[0].unit.config.get("split", "test")),
                    metric=_metric(cell, column),
                    value=value,
                    seed=seed,
                    examples=min((int(r["examples"]) for r in rows), default=0),
                    checkpoint_hash=str(rows[0]["checkpoint_hash"]) if len(parts) == 1 and rows else "",
                    recipe_hash=str(rows[0]["recipe_hash"]) if rows else parts[0].unit.key,
                )
            )
    return found


def _run(cell: PlannedCell) -> str:
    settings = {"translate_train": "translate-train, no-cs", "code_switch": "translate-train, code-switched",
                "translate_train_all": "translate-train all"}  # fmt: skip
    return f"{cell.run} / {settings[cell.setting]}" if cell.setting in settings else cell.run


def _metric(cell: PlannedCell, column: PaperColumn) -> str:
    """The column's metric; of derived languages with what was measured, as papers' columns are found by it."""
    metric = column.metric or "value"
    return f"{metric}_{cell.setting}" if column.quantity and cell.setting in _QUANTITIES else metric
