"""The cells of a study's tables, the units they need, and parts of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from isoglot.errors import ConfigurationError
from isoglot.recipe.source import did_you_mean
from isoglot.report.papers import PaperColumn, PaperRow, PaperTable, paper_table
from isoglot.report.scores import common_task
from isoglot.studies.figures import PlannedFigure, plan_figure
from isoglot.studies.file import Correlation, RowEntry, Setting, Study, TableEntry
from isoglot.studies.resolve import Resolver, UnavailableError
from isoglot.studies.units import Term, Unit, in_order, readings

__all__ = ["Cell", "Plan", "PlannedCorrelation", "PlannedPoint", "PlannedTable", "build_plan"]

_QUANTITIES: Mapping[str, Setting] = {"sup": "supervised", "zs": "zero_shot", "delta": "delta"}
_SETTINGS: Mapping[str, Setting] = {"zero-shot": "zero_shot", "translate-train": "translate_train"}


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Args:
        row: its number among the planned rows.
        column: id of the paper's column.
        terms: seed -> the number that stands there; without any the cell is left out.
        mark: why it is left out.
        run: name of the run in results.
        task: ours.
        setting: how it was fine-tuned.
    """

    row: int
    column: str
    terms: Mapping[int, Term] = field(default_factory=dict)
    mark: str = ""
    run: str = ""
    task: str = ""
    setting: str = ""


@dataclass(frozen=True)
class PlannedPoint:
    """A point of a correlation: its names, and both numbers by seed."""

    label: str
    group: str
    x: Mapping[int, Term]
    y: Mapping[int, Term]
    mark: str = ""


@dataclass(frozen=True)
class PlannedCorrelation:
    """The points of each of the paper's rows (a task)."""

    entry: Correlation
    points: Mapping[str, Sequence[PlannedPoint]]


@dataclass(frozen=True)
class PlannedTable:
    """A paper's table with what fills it.

    Args:
        name: in the study.
        entry: of the study.
        paper: the paper's figures.
        rows: the paper's rows that are measured, in order.
        columns: the paper's columns, averages among them.
        cells: of all rows and columns but averages.
        correlation: instead of cells.
    """

    name: str
    entry: TableEntry
    paper: PaperTable
    rows: Sequence[PaperRow]
    columns: Sequence[PaperColumn]
    cells: Sequence[Cell]
    correlation: PlannedCorrelation | None = None

    def terms(self) -> list[Term]:
        """All numbers that are measured for it."""
        found = [term for cell in self.cells for term in cell.terms.values()]
        if self.correlation is not None:
            for points in self.correlation.points.values():
                found += [t for p in points for side in (p.x, p.y) for t in side.values()]
        return found


@dataclass(frozen=True)
class Plan:
    """What a study measures.

    Args:
        study: at one scale.
        tables: in its order.
        figures: in its order.
    """

    study: Study
    tables: Sequence[PlannedTable]
    figures: Sequence[PlannedFigure] = ()

    def leaves(self, part: tuple[int, int] = (1, 1)) -> list[Unit]:
        """Evaluations and analyses, those of one checkpoint together; a part has every n-th checkpoint.

        Args:
            part: (k, n): parts do not overlap, and all n together are everything.
        """
        groups: dict[str, list[Unit]] = {}
        measured = [r.unit for t in self.tables for term in t.terms() for r in readings(term)]
        drawn = [figure.unit for figure in self.figures if figure.unit is not None]
        for unit in dict.fromkeys([*measured, *drawn]):
            groups.setdefault(_checkpoint_of(unit), []).append(unit)
        k, n = part
        return [unit for number, units in enumerate(groups.values()) if number % n == k - 1 for unit in units]

    def units(self, part: tuple[int, int] = (1, 1)) -> list[Unit]:
        """All units of a part, each after what it needs."""
        return in_order(self.leaves(part))

    def count(self, kind: str, part: tuple[int, int] = (1, 1)) -> int:
        """How many units of a kind there are."""
        return sum(unit.kind == kind for unit in self.units(part))


def build_plan(study: Study, *, assume: bool = False) -> Plan:
    """Work out every cell of a study.

    Args:
        study: at one scale.
        assume: take external checkpoints to be there.

    Raises:
        ConfigurationError: names that are not there, bad entries.
    """
    resolver = Resolver(study, assume=assume)
    tables = [_table(resolver, name, entry) for name, entry in study.tables.items()]
    return Plan(study, tables, [plan_figure(resolver, name, entry) for name, entry in study.figures.items()])


def _checkpoint_of(unit: Unit) -> str:
    """What a measurement hangs on: the checkpoint below its fine-tuning."""
    for needed in unit.needs:
        if needed.kind == "finetune":
            return str(needed.config["checkpoint"])
    return str(unit.config["checkpoint"])


def _table(resolver: Resolver, name: str, entry: TableEntry) -> PlannedTable:
    paper = paper_table(entry.paper)
    if entry.correlation is not None:
        planned = _correlation(resolver, entry, entry.correlation)
        rows = [paper.row(label) for label in entry.correlation.rows]
        return PlannedTable(name, entry, paper, rows, paper.columns, [], planned)
    columns = [paper.column(c) for c in entry.columns] if entry.columns is not None else list(paper.columns)
    given = entry.rows if entry.rows is not None else [RowEntry(paper=_attributes(row)) for row in paper.rows]
    rows, cells = [], []
    for number, row_entry in enumerate(given):
        row = _paper_row(paper, row_entry.paper)
        rows.append(row)
        cells += [
            _cell(resolver, (name, entry), (number, row, row_entry), c) for c in columns if not c.average
        ]
    return PlannedTable(name, entry, paper, rows, columns, cells)


def _attributes(row: PaperRow) -> dict[str, Any]:
    return {"label": row.label, **row.attributes}


def _paper_row(table: PaperTable, wanted: str | dict[str, Any]) -> PaperRow:
    if isinstance(wanted, str):
        return table.row(wanted)
    found = [r for r in table.rows if all(_attributes(r).get(k) == v for k, v in wanted.items())]
    if len(found) != 1:
        raise ConfigurationError(
            f"{table.name}: {len(found)} rows are {wanted}; give attributes that one row has: "
            f"`isoglot report papers {table.name}` shows them"
        )
    return found[0]


def _cell(
    resolver: Resolver,
    table: tuple[str, TableEntry],
    of: tuple[int, PaperRow, RowEntry],
    column: PaperColumn,
) -> Cell:
    entry, (number, row, own) = table[1], of
    if own.unavailable:
        return Cell(number, column.id, mark=own.unavailable)
    system = own.system or _renamed(entry, "system", row.system or column.system) or ""
    name, metric = _measured(resolver.study, entry, column)
    if not name:
        return Cell(number, column.id, mark="not measured at this scale")
    setting = _setting(entry, row, own, column)
    language = str(_renamed(entry, "language", column.language) or "")
    try:
        point = _point(resolver.study, table[0], entry, row, own)
        terms = {
            seed: resolver.term(system, name, setting, language, {**point, "seed": seed}, metric)
            for seed in resolver.study.seeds
        }
    except UnavailableError as reason:
        return Cell(number, column.id, mark=str(reason))
    runs = [r.unit.run for r in readings(next(iter(terms.values())))]
    return Cell(number, column.id, _distinct(terms), "", runs[0], name, setting)


def _distinct(terms: Mapping[int, Term]) -> dict[int, Term]:
    """One seed for a number that depends on none."""
    kept: dict[int, Term] = {}
    for seed, term in terms.items():
        if term not in kept.values():
            kept[seed] = term
    return kept


def _setting(entry: TableEntry, row: PaperRow, own: RowEntry, column: PaperColumn) -> Setting:
    if column.quantity in _QUANTITIES:
        return _QUANTITIES[column.quantity]
    if own.setting is not None:
        return own.setting
    setting = _SETTINGS.get(row.setting, entry.setting)
    return "code_switch" if setting == "translate_train" and row.attributes.get("code_switch") else setting


def _measured(study: Study, entry: TableEntry, column: PaperColumn) -> tuple[str, str]:
    """Our task or analysis of a column, and the metric; nothing where the study has neither."""
    candidates = [
        _renamed(entry, "task", column.task),
        column.task,
        common_task(column.task) if column.task else "",
        _renamed(entry, "metric", column.metric),
        column.metric,
    ]
    for name in candidates:
        if name and (name in study.tasks or name in study.analyses):
            return str(name), column.metric
    return "", ""


def _renamed(entry: TableEntry, attribute: str, value: Any) -> Any:
    return entry.rename.get(attribute, {}).get(str(value), value)


def _point(study: Study, name: str, entry: TableEntry, row: PaperRow, own: RowEntry) -> dict[str, Any]:
    """The values of a row: the study's, the table's, the paper's attributes of the row, the row's own."""
    for place, given in ((f"tables.{name}.values", entry.values), (f"tables.{name}.rows", own.values)):
        if unknown := sorted(set(given) - set(study.values)):
            raise ConfigurationError(
                f"{place}: {unknown[0]!r} is no value of this study; {did_you_mean(unknown[0], study.values)}"
            )
    told = {k: _renamed(entry, k, v) for k, v in row.attributes.items() if k in study.values}
    return {**study.values, **entry.values, **told, **own.values}


def _correlation(resolver: Resolver, entry: TableEntry, wanted: Correlation) -> PlannedCorrelation:
    """All combinations of the points' values, for each task."""
    study = resolver.study
    found: dict[str, list[PlannedPoint]] = {}
    names = list(wanted.points)
    for label, task in wanted.rows.items():
        own = []
        for combination in product(*wanted.points.values()):
            values = dict(zip(names, combination, strict=True))
            system = str(values.pop("system", ""))
            if unknown := sorted(set(values) - set(study.values)):
                raise ConfigurationError(f"correlation.points: {unknown[0]!r} is no value of this study")
            point = {**study.values, **entry.values, **values}
            title = " / ".join([system, *map(str, values.values())])
            try:
                x = {
                    s: resolver.term(system, wanted.x, "zero_shot", "", {**point, "seed": s})
                    for s in study.seeds
                }
                y = {
                    s: resolver.term(system, task, wanted.setting, "", {**point, "seed": s})
                    for s in study.seeds
                }
            except UnavailableError as reason:
                own.append(PlannedPoint(title, system, {}, {}, str(reason)))
                continue
            own.append(PlannedPoint(title, system, x, y))
        found[label] = own
    return PlannedCorrelation(wanted, found)
