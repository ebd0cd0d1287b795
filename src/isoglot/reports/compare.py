"""The engine of every comparison: cells and the papers' own figures make tables ours / paper / difference."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from isoglot.reports.changed_sizes import SizeChanges, size_list
from isoglot.reports.papers import (
    PAPERS,
    PaperColumn,
    PaperRow,
    PaperTable,
    PaperValue,
    paper_key,
    paper_table,
)
from isoglot.reports.stats import Score, margin
from isoglot.reports.table import Column, Table, TableCell, TableRow, slug
from isoglot.results.rows import Cell

_TOGETHER = ("transformation", "setting", "pairs", "changed")
"""Rows are ordered among rows that have these attributes in common."""

_NAMES = {
    "zs": "ZS", "sup": "SUP", "delta": "Δ", "em": "EM", "f1": "F1", "rho": "ρ",
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
    over: dict[str, tuple[str, ...]] = field(default_factory=dict)  # columns of a mean that is not over all

    def score(self, column: str) -> Score | None:
        """The mean over seeds."""
        values = self.values.get(column)
        return Score.of(list(values.values())) if values else None


def compare(cells: Iterable[Cell], *, unmeasured: bool = False) -> list[Table]:
    """One table for each table and scale that the cells name.

    Each measured row has the paper's row and the difference below it. Means over columns are computed here from the
    columns measured, and the paper's over the same ones. Notes count the pairs of rows that stand in the paper's order.

    Of several cells for one place and seed the last one counts; ``unmeasured`` adds the paper's rows without any.
    """
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.table, cell.scale].append(cell)
    return [
        _Comparison(name, scale, group).filled(unmeasured=unmeasured)
        for (name, scale), group in groups.items()
    ]


class _Comparison:
    """One table: our lines, the paper's figures beside them, and what has to be noted of either."""

    def __init__(self, name: str, scale: str, cells: Sequence[Cell]) -> None:
        self.is_paper = paper_key(name) in PAPERS
        if self.is_paper:
            self.paper = self.printed = paper_table(name)
            for cell in cells:
                if cell.added:
                    self.paper = self.paper.extended(cell.row, cell.column)
        else:  # rows and columns that the cells name
            rows = [PaperRow(" / ".join(labels), {}) for labels in dict.fromkeys(cell.row for cell in cells)]
            ids = dict.fromkeys(" / ".join(cell.column) for cell in cells)
            self.paper = PaperTable("", name, name, "results", tuple(map(PaperColumn, ids)), tuple(rows))
            self.printed = self.paper
        self.scale, self.cells, self.changed = scale, cells, SizeChanges(cells)
        self.lines, self.columns = self._lines()
        self.wrong: dict[str, list[str]] = defaultdict(list)  # reason to the figures that were printed wrong
        headings = []
        for column in self.columns:  # `en.f1` as F1 under en
            group, _, label = column.id.rpartition(".")
            title = column.language or column.task or column.metric
            label, group = (_NAMES.get(text, text) for text in (label, group))
            headings.append(Column(label, title, group, column.average))
        title = f"{self.paper.cited}: {self.paper.title}" if self.is_paper else name
        self.table = Table(slug([name, scale]), title, self._caption(), "", headings)

    def filled(self, *, unmeasured: bool) -> Table:
        """The table with its rows and notes."""
        table, paper, measured = self.table, self.paper, [line.row for line in self.lines]
        for line in self.lines:
            self._add_line(line)
        for row in paper.rows if unmeasured else ():
            cells = tuple(self._reference(row, column) for column in self.columns)
            if row not in measured and any(cell.value is not None for cell in cells):
                table.rows.append(TableRow(paper.address(row), cells, "reference", "paper"))
        for reason, printed in self.wrong.items():
            text = f"Recomputed: {reason}. Printed: {'; '.join(dict.fromkeys(printed))}."
            table.notes[table.note(reason) - 1] = text
        ids = [column.id for column in self.columns if not column.average]
        rows = [
            replace(line.row, attributes={**line.row.attributes, "changed": line.setting})
            for line in self.lines
        ]
        scores = {(i, c): score for i, line in enumerate(self.lines) for c in ids if (score := line.score(c))}
        # Data and sizes are no results of systems: their order says nothing.
        counts = orderings(rows, ids, scores) if paper.kind in ("results", "cost") else {}
        each = [
            f"{name} {n['kept']} of {sure}" for name, n in counts.items() if (sure := n["kept"] + n["broken"])
        ]
        notes = []
        if each:
            notes.append(
                f"Pairs of rows of one setting that are in the paper's order here too: {', '.join(each)}."
            )
        if close := sum(n["close"] for n in counts.values()):
            notes.append(
                f"Too close to order: {close} pair{'s' * (close > 1)} (Welch's t at 95 %, seeds unpaired)."
            )
        if notes:
            table.note(" ".join(notes))
        again = [
            cell
            for line in self.lines
            for cells in line.cells.values()
            for last in [{cell.seed: cell.value for cell in cells if cell.value is not None}]
            for cell in cells
            if cell.value is not None and cell.value != last[cell.seed]
        ]
        if sizes := size_list(self.cells, self.changed):
            table.note(sizes)  # too long for a caption
        if again:
            table.note(
                f"{len(again)} figures were measured again with another value; the last one counts "
                f"(first: {' / '.join((*again[0].row, *again[0].column))})."
            )
        if paper.note:
            table.note(paper.note)
        return table

    def _caption(self) -> str:
        seeds = sorted({cell.seed for cell in self.cells if cell.seed is not None})
        parts = list(dict.fromkeys(cell.about for cell in self.cells if cell.about))
        parts = parts or [f"Scale {self.scale}." if self.scale else ""]
        if self.changed.shared:
            parts.append(f"Changed: {', '.join(self.changed.shared)}.")
        parts.append("Ours, the paper's, ours − paper's." if self.is_paper else "")
        if len(seeds) > 1:
            parts.append(f"Mean ± standard deviation over seeds {', '.join(map(str, seeds))}.")
        if self.is_paper and self.scale not in ("", "paper"):
            parts.append("At this scale compare the order of rows, not the figures.")
        return " ".join(filter(None, parts))

    def _lines(self) -> tuple[list[_Line], list[PaperColumn]]:
        """Our rows and the columns they fill, in the paper's order, averages among them."""
        paper, lines = self.paper, dict[tuple[str, str, str], _Line]()
        for cell in self.cells:
            labels = (cell.row, cell.column)
            if not self.is_paper:
                labels = ((" / ".join(cell.row),), (" / ".join(cell.column),))
            row, column = paper.row(*labels[0]), paper.column(*labels[1])
            setting = self.changed.of(cell)
            key = (paper.address(row), cell.run, setting)
            line = lines.setdefault(key, _Line(row, cell.run, setting))
            line.cells[column.id].append(cell)
            if cell.value is not None:
                line.values.setdefault(column.id, {})[cell.seed] = cell.value
        filled = {column for line in lines.values() for column in line.cells}
        for line in lines.values():
            for column in paper.columns:
                if column.average and column.id not in line.cells:
                    _average(self.printed, line, column)
        filled |= {column for line in lines.values() for column in line.values}
        order = sorted(lines.values(), key=lambda line: paper.rows.index(line.row))
        return order, [column for column in paper.columns if column.id in filled]

    def _add_line(self, line: _Line) -> None:
        """Three rows: ours, the paper's, the difference."""
        ours, theirs, differences = [], [], []
        notes = {cell.note for cells in line.cells.values() for cell in cells}
        common = notes.pop() if len(notes) == 1 else ""
        for column in self.columns:
            over, score = line.over.get(column.id, ()), line.score(column.id)
            value = self._paper_value(line.row, column, over)
            theirs.append(self._printed(value, line.row, column, over))
            ours.append(self._our_cell(line, column, score, common))
            difference = TableCell("")
            if value is not None and score is not None and not column.bound:
                difference = TableCell.of(score.mean - value.value, column.metric, signed=True)
            differences.append(difference)
        counts = {len(values) for name, values in line.values.items() if name in line.cells} - {0}
        low, high = min(counts, default=0), max(counts, default=0)
        seeds = "" if high <= 1 else f"{high} seeds" if low == high else f"{low}–{high} seeds"
        detail = ", ".join(filter(None, [seeds, f"note {self.table.note(common)}" if common else ""]))
        address = self.paper.address(line.row)
        header = f"{line.run or address} ({line.setting})" if line.setting else line.run or address
        rows = [TableRow(header, tuple(ours), "ours", detail)]
        if any(cell.value is not None for cell in theirs):
            names = (address, "paper") if line.run else ("paper", "")
            rows.append(TableRow(names[0], tuple(theirs), "paper", names[1]))
            rows.append(TableRow("difference", tuple(differences), "difference"))
        self.table.rows += rows

    def _our_cell(self, line: _Line, column: PaperColumn, score: Score | None, common: str) -> TableCell:
        """A figure of ours, or why there is none; ``common`` is the note of the whole line."""
        cells = line.cells.get(column.id, [])
        if score is None:
            reasons = "; ".join(dict.fromkeys(cell.unavailable for cell in cells if cell.unavailable))
            if reasons:
                return TableCell("–", note=self.table.note(f"Not available: {reasons}."), title=reasons)
            return TableCell("…", title="not measured yet") if cells else TableCell("–", title="not measured")
        notes = list(dict.fromkeys(cell.note for cell in cells if cell.note and cell.note != common))
        seeds = line.values[column.id].keys()
        planned = {c.seed for group in line.cells.values() for c in group if c.unavailable is None} - {None}
        if None not in seeds and not planned <= seeds:
            listed = ", ".join(map(str, sorted(seed for seed in seeds if seed is not None)))
            notes.append(f"Over seed{'s' * (score.seeds > 1)} {listed} alone.")
        if over := line.over.get(column.id):
            notes.append(_over(over))
        title = f"{score.mean:.3f}, {score.seeds} seed{'s' * (score.seeds > 1)}"
        note = self.table.note(" ".join(notes)) if notes else 0
        return TableCell.of(score.mean, column.metric, sd=score.sd, note=note, title=title)

    def _paper_value(self, row: PaperRow, column: PaperColumn, over: Sequence[str]) -> PaperValue | None:
        """The paper's figure; of a mean over fewer columns, the paper's mean over the same."""
        if not over:
            return self.paper.value(row, column)
        values = {name: row.values.get(name) for name in over}
        whole = all(isinstance(value, int | float) for value in values.values())
        mean = self.paper.mean(values, column, partial=True) if whole else None
        return None if mean is None else PaperValue(mean, mean)

    def _reference(self, row: PaperRow, column: PaperColumn) -> TableCell:
        """A figure of a row that is not measured; a mean only over the columns that all of ours above it are over."""
        sets = {line.over.get(column.id, ()) for line in self.lines if column.id in line.values}
        if len(sets) > 1:
            return TableCell("–", title="our means above are over different columns")
        over = next(iter(sets), ())
        return self._printed(self._paper_value(row, column, over), row, column, over)

    def _printed(
        self, value: PaperValue | None, row: PaperRow, column: PaperColumn, over: Sequence[str]
    ) -> TableCell:
        """A figure of the paper; one that was printed wrong is noted."""
        if value is None:
            return TableCell("–")
        if over:
            return TableCell.of(value.value, column.metric, note=self.table.note(_over(over)))
        if column.bound:
            return TableCell(f"< {value.value:g}", value.value, title="the paper gives a bound alone")
        if not value.reason:
            return TableCell.of(value.value, column.metric)
        self.wrong[value.reason].append(f"{row.name}, {column.id}: {value.printed:g}")
        note, title = self.table.note(value.reason), f"printed as {value.printed:g}"
        return TableCell.of(value.value, column.metric, note=note, title=title)


def _over(columns: Sequence[str]) -> str:
    return f"Means over {', '.join(columns)}, the columns measured; the paper's over the same."


def _average(paper: PaperTable, line: _Line, column: PaperColumn) -> None:
    """The mean for each seed that has every column; a column without seeds counts for all of them."""
    ids = {c.id for c in paper.columns if not c.average}
    measured = {name: values for name, values in line.values.items() if name in ids}
    printed = {name for name, value in line.row.values.items() if isinstance(value, int | float)}
    shared = {name: values for name, values in measured.items() if name in printed} or measured
    if len({(c.task, c.language) for c in paper.columns if c.id in shared}) < 2:
        return  # EM and F1 of one language are not an average
    seeds: Sequence[int | None] = sorted(
        {seed for values in shared.values() for seed in values if seed is not None}
    )
    means: dict[int | None, float] = {}
    for seed in seeds or [None]:
        values = {name: by_seed.get(seed, by_seed.get(None)) for name, by_seed in shared.items()}
        if None not in values.values() and (mean := paper.mean(values, column, partial=True)) is not None:
            means[seed] = mean
    if means:
        line.values[column.id] = means
        if set(shared) != ids:
            line.over[column.id] = tuple(c.id for c in paper.columns if c.id in shared)


def orderings(
    rows: Sequence[PaperRow], columns: Sequence[str], ours: Mapping[tuple[int, str], Score]
) -> dict[str, Counter[str]]:
    """How many pairs of rows under one setting are ordered as in the paper, column by column.

    Pairs are ``kept``, ``broken``, or too ``close``: two means that differ by less than Welch's 95 % margin. ``ours``
    maps the number of a row and a column's id to our figure; columns without any pair are left out.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for (i, first), (j, second) in combinations(enumerate(rows), 2):
        if any(first.attributes.get(k) != second.attributes.get(k) for k in _TOGETHER):
            continue
        for column in columns:
            theirs = [row.values.get(column) for row in (first, second)]
            scores = [ours[number, column] for number in (i, j) if (number, column) in ours]
            if len(scores) < 2 or not all(isinstance(value, int | float) for value in theirs):
                continue
            expected, here = float(str(theirs[0])) - float(str(theirs[1])), scores[0].mean - scores[1].mean
            if expected:
                close = abs(here) <= margin(*scores)
                counts[column]["close" if close else "kept" if expected * here > 0 else "broken"] += 1
    return dict(counts)
