"""The engine of every comparison: cells and the papers' own figures make tables ours / paper / difference."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from isoglot.reports.papers import PAPERS, PaperColumn, PaperRow, PaperTable, PaperValue, paper_table
from isoglot.reports.stats import Score, margin
from isoglot.reports.table import Column, Table, TableCell, TableRow, slug
from isoglot.results import Cell

_TOGETHER = ("transformation", "setting", "pairs", "changed")
"""Rows are ordered among rows that have these attributes in common."""

_NAMES = {
    "zs": "ZS", "sup": "SUP", "delta": "Δ", "em": "EM", "f1": "F1", "rho": "ρ", "p_below": "p <",
    "avg_all": "avg", "avg_zero_shot": "avg zero-shot",
}  # fmt: skip


@dataclass
class _Line:
    """What one run, or one study, measured in one row of a table."""

    row: PaperRow
    run: str
    setting: str
    cells: dict[str, list[Cell]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, dict[int | None, float]] = field(default_factory=dict)
    over: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def score(self, column: str) -> Score | None:
        """The mean over seeds."""
        values = self.values.get(column)
        return Score.of(list(values.values())) if values else None


def compare(cells: Iterable[Cell], *, others: bool = False) -> list[Table]:
    """One table for each table and scale that the cells name.

    Each measured row has the paper's row and the difference below it. Means over columns are computed here from the
    columns measured, and the paper's over the same ones. Notes count the pairs of rows that stand in the paper's order.

    Of several cells for one place and seed the last one counts; ``others`` adds the paper's rows without any.
    """
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.table, cell.scale].append(cell)
    return [_table(name, scale, own, others=others) for (name, scale), own in groups.items()]


def _table(name: str, scale: str, cells: Sequence[Cell], *, others: bool) -> Table:
    known = name.partition(":")[0] in PAPERS
    paper = paper_table(name) if known else _own_table(name, cells)
    lines, columns = _lines(paper, cells)
    seeds = sorted({cell.seed for cell in cells if cell.seed is not None})
    about = list(dict.fromkeys(cell.about for cell in cells if cell.about)) or [
        f"Scale {scale}." if scale else ""
    ]
    told = [*about, "Ours, the paper's, ours − paper's." if known else ""]
    if len(seeds) > 1:
        told.append(f"Mean ± standard deviation over seeds {', '.join(map(str, seeds))}.")
    if known and scale and scale != "paper":
        told.append("At this scale compare the order of rows, not the figures.")
    told.append(_told_sizes(cells))
    title = f"{paper.cited}: {paper.title}" if known else name
    headings = [_heading(column) for column in columns]
    table = Table(slug([name, scale]), title, " ".join(filter(None, told)), "", headings)
    wrong: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        _measured_rows(table, paper, line, columns, wrong)
    for row in paper.rows if others else ():
        shown = tuple(_reference(table, paper, row, c, lines, wrong) for c in columns)
        if row not in [line.row for line in lines] and any(cell.value is not None for cell in shown):
            table.rows.append(TableRow(paper.address(row), shown, "reference", "paper"))
    for reason, printed in wrong.items():
        table.notes[table.note(reason) - 1] = (
            f"Recomputed: {reason}. Printed: {'; '.join(dict.fromkeys(printed))}."
        )
    _tell_orderings(table, lines, columns)
    if again := [cell for line in lines for own in line.cells.values() for cell in _replaced(own)]:
        first = again[0]
        table.note(
            f"{len(again)} figures were measured again with another value; the last one counts "
            f"(first: {' / '.join((*first.row, *first.column))})."
        )
    if paper.note:
        table.note(paper.note)
    return table


def _told_sizes(cells: Sequence[Cell]) -> str:
    """Every size that the cells ran with; of several settings, those that differ after the others."""
    settings = {cell.setting: cell for cell in cells if cell.sizes}
    if not settings:
        return ""
    first, *others = settings.values()
    shared = {name for name, value in first.sizes.items() if all(o.sizes.get(name) == value for o in others)}

    def told(cell: Cell, names: Sequence[str]) -> str:
        brackets = {name: f" ({value})" for name, value in cell.paper_sizes.items()}
        return ", ".join(f"{name} {cell.sizes[name]}{brackets.get(name, '')}" for name in names)

    bracketed = any(cell.paper_sizes for cell in settings.values())
    heading = "Sizes (in brackets: at scale paper)" if bracketed else "Sizes"
    parts = [told(first, [name for name in first.sizes if name in shared])] if shared else []
    for setting, cell in settings.items():
        own = [name for name in cell.sizes if name not in shared]
        parts += [f"{setting or 'unchanged'}: {told(cell, own)}"] if own else []
    return f"{heading}: {'; '.join(parts)}."


def _replaced(cells: Sequence[Cell]) -> list[Cell]:
    """Those of one place that a later one of the same seed and another value took the place of."""
    last = {cell.seed: cell.value for cell in cells if cell.value is not None}
    return [cell for cell in cells if cell.value is not None and cell.value != last[cell.seed]]


def _heading(column: PaperColumn) -> Column:
    """``en.f1`` as F1 under en."""
    group, _, label = column.id.rpartition(".")
    title = column.language or column.task or column.metric
    return Column(_NAMES.get(label, label), title, _NAMES.get(group, group), column.average)


def _own_table(name: str, cells: Sequence[Cell]) -> PaperTable:
    """A table without a paper's figures, with the rows and columns that the cells name."""
    rows = [PaperRow(" / ".join(labels), {}) for labels in dict.fromkeys(cell.row for cell in cells)]
    columns = [PaperColumn(" / ".join(labels)) for labels in dict.fromkeys(cell.column for cell in cells)]
    return PaperTable("", name, name, "results", tuple(columns), tuple(rows))


def _lines(paper: PaperTable, cells: Sequence[Cell]) -> tuple[list[_Line], list[PaperColumn]]:
    """Our rows and the columns they fill, in the paper's order, averages among them."""
    lines: dict[tuple[str, str, str], _Line] = {}
    for cell in cells:
        if paper.paper:
            row, column = paper.row(*cell.row), paper.column(*cell.column)
        else:
            row, column = paper.row(" / ".join(cell.row)), paper.column(" / ".join(cell.column))
        line = lines.setdefault(
            (paper.address(row), cell.run, cell.setting), _Line(row, cell.run, cell.setting)
        )
        line.cells[column.id].append(cell)
        if cell.value is not None:
            line.values.setdefault(column.id, {})[cell.seed] = cell.value
    given = {column for line in lines.values() for column in line.cells}
    for line in lines.values():
        for column in paper.columns:
            if column.average and column.id not in line.cells:
                _average(paper, line, column)
    filled = given | {column for line in lines.values() for column in line.values}
    order = sorted(lines.values(), key=lambda line: paper.rows.index(line.row))
    return order, [column for column in paper.columns if column.id in filled]


def _average(paper: PaperTable, line: _Line, column: PaperColumn) -> None:
    """The mean for each seed that has every column; a column without seeds counts for all of them."""
    plain = {c.id for c in paper.columns if not c.average}
    there = {name: values for name, values in line.values.items() if name in plain}
    printed = {name for name, value in line.row.values.items() if isinstance(value, int | float)}
    shared = {name: values for name, values in there.items() if name in printed} or there
    apart = {(c.task, c.language) for c in paper.columns if c.id in shared}
    if len(apart) < 2:  # EM and F1 of one language are not an average
        return
    seeds: Sequence[int | None] = sorted(
        {seed for values in shared.values() for seed in values if seed is not None}
    )
    means: dict[int | None, float] = {}
    for seed in seeds or [None]:
        own = {n: v.get(seed, v.get(None)) for n, v in shared.items()}
        if None not in own.values() and (mean := paper.mean(own, column, partial=True)) is not None:
            means[seed] = mean
    if means:
        line.values[column.id] = means
        if set(shared) != plain:
            line.over[column.id] = tuple(c.id for c in paper.columns if c.id in shared)


def _measured_rows(
    table: Table, paper: PaperTable, line: _Line, columns: Sequence[PaperColumn], wrong: dict[str, list[str]]
) -> None:
    """Three rows: ours, the paper's, the difference."""
    ours, theirs, differences = [], [], []
    notes = {cell.note for own in line.cells.values() for cell in own}
    common = notes.pop() if len(notes) == 1 else ""
    for column in columns:
        over, score = line.over.get(column.id, ()), line.score(column.id)
        value = _paper_value(paper, line.row, column, over)
        theirs.append(_printed(table, value, column, f"{line.row.name}, {column.id}", wrong, over))
        ours.append(_our_cell(table, line, column, score, common))
        if value is None or score is None:
            differences.append(TableCell(""))
        else:
            differences.append(TableCell.of(score.mean - value.value, column.metric, signed=True))
    counts = {len(values) for name, values in line.values.items() if name in line.cells} - {0}
    several = f"{min(counts)}–{max(counts)} seeds" if len(counts) > 1 else f"{max(counts, default=0)} seeds"
    told = [several if max(counts, default=1) > 1 else "", f"note {table.note(common)}" if common else ""]
    address = paper.address(line.row)
    header = f"{line.run or address} ({line.setting})" if line.setting else line.run or address
    table.rows.append(TableRow(header, tuple(ours), "ours", ", ".join(filter(None, told))))
    if any(cell.value is not None for cell in theirs):
        whose = (address, "paper") if line.run else ("paper", "")
        table.rows.append(TableRow(whose[0], tuple(theirs), "paper", whose[1]))
        table.rows.append(TableRow("difference", tuple(differences), "difference"))


def _our_cell(table: Table, line: _Line, column: PaperColumn, score: Score | None, common: str) -> TableCell:
    own = line.cells.get(column.id, [])
    if score is None:
        reasons = "; ".join(dict.fromkeys(cell.unavailable for cell in own if cell.unavailable))
        if reasons:
            return TableCell("–", note=table.note(f"Not available: {reasons}."), title=reasons)
        return TableCell("…", title="not measured yet") if own else TableCell("–", title="not measured")
    told = list(dict.fromkeys(cell.note for cell in own if cell.note and cell.note != common))
    measured = line.values[column.id]
    asked = {c.seed for cells in line.cells.values() for c in cells if c.unavailable is None} - {None}
    if None not in measured and not asked <= measured.keys():
        seeds = ", ".join(map(str, sorted(s for s in measured if s is not None)))
        told.append(f"Over seed{'s' * (score.seeds > 1)} {seeds} alone.")
    if over := line.over.get(column.id):
        told.append(_told_mean(over))
    title = f"{score.mean:.3f}, {score.seeds} seed{'s' * (score.seeds > 1)}"
    note = table.note(" ".join(told)) if told else 0
    return TableCell.of(score.mean, column.metric, sd=score.sd, note=note, title=title)


def _paper_value(
    paper: PaperTable, row: PaperRow, column: PaperColumn, over: Sequence[str]
) -> PaperValue | None:
    """The paper's figure; of a mean over fewer columns, the paper's mean over the same."""
    if not over:
        return paper.value(row, column)
    values = {name: row.values.get(name) for name in over}
    whole = all(isinstance(value, int | float) for value in values.values())
    mean = paper.mean(values, column, partial=True) if whole else None
    return None if mean is None else PaperValue(mean, mean)


def _told_mean(over: Sequence[str]) -> str:
    return f"Means over {', '.join(over)}, the columns measured; the paper's over the same."


def _reference(
    table: Table,
    paper: PaperTable,
    row: PaperRow,
    column: PaperColumn,
    lines: Sequence[_Line],
    wrong: dict[str, list[str]],
) -> TableCell:
    """A figure of a row that is not measured; a mean only over the columns that all of ours above it are over."""
    sets = {line.over.get(column.id, ()) for line in lines if column.id in line.values}
    if len(sets) > 1:
        return TableCell("–", title="our means above are over different columns")
    over = next(iter(sets), ())
    place = f"{row.name}, {column.id}"
    return _printed(table, _paper_value(paper, row, column, over), column, place, wrong, over)


def _printed(
    table: Table,
    value: PaperValue | None,
    column: PaperColumn,
    place: str,
    wrong: dict[str, list[str]],
    over: Sequence[str] = (),
) -> TableCell:
    if value is None:
        return TableCell("–")
    if over:
        return TableCell.of(value.value, column.metric, note=table.note(_told_mean(over)))
    if not value.reason:
        return TableCell.of(value.value, column.metric)
    wrong[value.reason].append(f"{place}: {value.printed:g}")
    note, title = table.note(value.reason), f"printed as {value.printed:g}"
    return TableCell.of(value.value, column.metric, note=note, title=title)


def orderings(
    rows: Sequence[PaperRow], columns: Sequence[str], ours: Mapping[tuple[int, str], Score]
) -> dict[str, Counter[str]]:
    """How many pairs of rows under one setting are ordered as in the paper, column by column.

    Pairs are ``kept``, ``broken``, or too ``close``: two means that differ by less than Welch's 95 % margin. ``ours``
    maps the number of a row and a column's id to our figure; columns without any pair are left out.
    """
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for (i, first), (j, second) in combinations(enumerate(rows), 2):
        if any(first.attributes.get(k) != second.attributes.get(k) for k in _TOGETHER):
            continue
        for column in columns:
            theirs = [row.values.get(column) for row in (first, second)]
            one, two = ours.get((i, column)), ours.get((j, column))
            if one is None or two is None or not all(isinstance(value, int | float) for value in theirs):
                continue
            expected, here = float(str(theirs[0])) - float(str(theirs[1])), one.mean - two.mean
            if expected:
                close = abs(here) <= margin(one, two)
                found[column]["close" if close else "kept" if expected * here > 0 else "broken"] += 1
    return dict(found)


def _tell_orderings(table: Table, lines: Sequence[_Line], columns: Sequence[PaperColumn]) -> None:
    plain = [column.id for column in columns if not column.average]
    rows = [replace(o.row, attributes={**o.row.attributes, "changed": o.setting}) for o in lines]
    scores = {(i, c): score for i, line in enumerate(lines) for c in plain if (score := line.score(c))}
    found = orderings(rows, plain, scores)
    total = sum(found.values(), Counter[str]())
    each = [f"{name} {n['kept']} of {sure}" for name, n in found.items() if (sure := n["kept"] + n["broken"])]
    told = []
    if each:
        told.append(
            f"Pairs of rows of one setting that are in the paper's order here too: {', '.join(each)}."
        )
    if close := total["close"]:
        told.append(
            f"Too close to order: {close} pair{'s' * (close > 1)} (Welch's t at 95 %, seeds unpaired)."
        )
    if told:
        table.note(" ".join(told))
