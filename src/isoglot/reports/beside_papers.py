"""Tables of our results beside the papers' own: ours, the paper's and the difference, below each other.

    cells ──> groups, one for each ──> lines: one for each row, ──> rows of the table:
              table and scale          run and change of sizes      ours, paper, difference
                                              ▲                            ▲
                      all seeds in one line, averages added        the paper's values

``tables_beside_papers`` is the way in. A table that no paper has, whose cells name their own rows and columns, is made
the same way with an empty "paper".
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from isoglot.reports.changed_sizes import SizeChanges, size_list
from isoglot.reports.order_agreement import order_agreement
from isoglot.reports.papers import (
    PAPERS,
    PaperColumn,
    PaperRow,
    PaperTable,
    PaperValue,
    paper_key,
    paper_table,
)
from isoglot.reports.stats import CONFIDENCE, Score
from isoglot.reports.table import Column, Table, TableCell, TableRow, slug
from isoglot.results.rows import Cell

_NAMES = {
    "zs": "ZS", "sup": "SUP", "delta": "Δ", "em": "EM", "f1": "F1", "rho": "ρ",
    "avg_all": "avg", "avg_zero_shot": "avg zero-shot",
}  # fmt: skip
"""Parts of column ids, as headings spell them."""


@dataclass
class _Line:
    """Our measurements of one row of the paper, by one run with one change of sizes.

    Two seeds of XLM-Align on German, and its mean over languages, make one line:

        cells   {"de": [cell of seed 1, cell of seed 2]}
        values  {"de": {1: 74.0, 2: 75.0}, "avg": {1: 70.1, 2: 70.9}}
    """

    row: PaperRow
    run: str
    changes: str  # what was changed of the study's sizes: `steps=50`
    cells: dict[str, list[Cell]] = field(default_factory=lambda: defaultdict(list))  # by column
    values: dict[str, dict[int | None, float]] = field(default_factory=dict)  # by column, then by seed
    # A mean over fewer columns than the paper's: its column -> the columns that it covers.
    covered: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def score(self, column: str) -> Score | None:
        """Compute the mean over seeds in a column; ``None`` if there is no value."""
        values = self.values.get(column)
        return Score.of(list(values.values())) if values else None


def tables_beside_papers(cells: Iterable[Cell], *, unmeasured: bool = False) -> list[Table]:
    """Make one table for each table and scale that the cells name.

    Below each measured row stand the paper's row and the difference. Means over columns are computed here, from the
    measured columns, and the paper's means again over the same columns. A note counts the pairs of rows that stand in
    the paper's order.

    Args:
        cells: Measured values and their places. Of several for one place and seed the last one counts.
        unmeasured: Add the paper's rows that have no cell.

    Example:
        >>> cell = Cell(table="weam:Table2", row=("weam",), column=("de",), value=75.0)
        >>> (table,) = tables_beside_papers([cell])
        >>> [(row.header, row.cells[0].text) for row in table.rows]
        [('zero-shot / mBERT+WEAM', '75.0'), ('paper', '74.5'), ('difference', '+0.5')]
    """
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.table, cell.scale].append(cell)
    return [_Builder(name, scale, group).table(unmeasured) for (name, scale), group in groups.items()]


class _Builder:
    """Builds one table."""

    def __init__(self, name: str, scale: str, cells: Sequence[Cell]) -> None:
        self.name, self.scale, self.cells = name, scale, cells
        self.is_paper = paper_key(name) in PAPERS
        self.published = paper_table(name) if self.is_paper else _without_paper(name, cells)
        # The published table, then the rows and columns that a study adds to it.
        self.layout = self.published
        if self.is_paper:
            for cell in cells:
                if cell.added:
                    self.layout = self.layout.extended(cell.row, cell.column)
        self.changes = SizeChanges(cells)
        self.misprints: dict[str, list[str]] = defaultdict(list)  # reason -> row, column and printed number
        self.lines: list[_Line] = []
        self.columns: list[PaperColumn] = []
        self.result = Table(slug([name, scale]), "", "", "", [])

    def table(self, unmeasured: bool) -> Table:
        """Fill in the table: headings, then rows, then notes on all of them."""
        self.lines = self._measured_lines()
        self.columns = self._filled_columns()
        self.result.title = f"{self.layout.cited}: {self.layout.title}" if self.is_paper else self.name
        self.result.caption = self._caption()
        self.result.columns = [_heading(column) for column in self.columns]
        for line in self.lines:
            self._add_line(line)
        if unmeasured:
            self._add_unmeasured_rows()
        self._note_on_misprints()
        self._note_on_order()
        if sizes := size_list(self.cells, self.changes):
            self.result.note(sizes)  # too long for a caption
        self._note_on_remeasured()
        if self.layout.note:
            self.result.note(self.layout.note)
        return self.result

    def _caption(self) -> str:
        """Say on what the table's runs were trained and tested, which sizes were changed, and how to read the rows."""
        parts = list(dict.fromkeys(cell.about for cell in self.cells if cell.about))
        if not parts and self.scale:
            parts.append(f"Scale {self.scale}.")
        if self.changes.shared:
            parts.append(f"Changed: {', '.join(self.changes.shared)}.")
        if self.is_paper:
            parts.append("Ours, the paper's, ours − paper's.")
        seeds = sorted({cell.seed for cell in self.cells if cell.seed is not None})
        if len(seeds) > 1:
            parts.append(f"Mean ± standard deviation over seeds {', '.join(map(str, seeds))}.")
        if self.is_paper and self.scale not in ("", "paper"):
            parts.append("At this scale compare the order of rows, not the numbers.")
        return " ".join(parts)

    # Lines: what was measured

    def _measured_lines(self) -> list[_Line]:
        """Sort cells into lines in the paper's order, and add the means that no cell gives."""
        lines: dict[tuple[str, str, str], _Line] = {}
        for cell in self.cells:
            if self.is_paper:
                row, column = self.layout.row(*cell.row), self.layout.column(*cell.column)
            else:
                row = self.layout.row(" / ".join(cell.row))
                column = self.layout.column(" / ".join(cell.column))
            changes = self.changes.of(cell)
            key = (self.layout.address(row), cell.run, changes)
            line = lines.setdefault(key, _Line(row, cell.run, changes))
            line.cells[column.id].append(cell)
            if cell.value is not None:
                line.values.setdefault(column.id, {})[cell.seed] = cell.value  # the last one counts
        for line in lines.values():
            for column in self.layout.columns:
                if column.average and column.id not in line.cells:
                    _add_mean(self.published, line, column)  # columns that a study adds are in no mean
        return sorted(lines.values(), key=lambda line: self.layout.rows.index(line.row))

    def _filled_columns(self) -> list[PaperColumn]:
        """Choose the columns with a cell or a mean of ours, in the paper's order; a planned cell has no value yet."""
        filled: set[str] = set()
        for line in self.lines:
            filled.update(line.cells, line.values)
        return [column for column in self.layout.columns if column.id in filled]

    # Rows: how a line is shown

    def _add_line(self, line: _Line) -> None:
        """Add three rows: ours, the paper's, the difference. Without a value of the paper's, ours alone."""
        # A note that all cells share stands at the row, else each at its cell. A cell without a note has the note "".
        notes = {cell.note for cells in line.cells.values() for cell in cells}
        shared_note = notes.pop() if len(notes) == 1 else ""
        ours, theirs, differences = [], [], []
        for column in self.columns:
            covered, score = line.covered.get(column.id, ()), line.score(column.id)
            value = self._paper_value(line.row, column, covered)
            theirs.append(self._paper_cell(value, line.row, column, covered))
            ours.append(self._our_cell(line, column, score, shared_note))
            difference = TableCell("")
            if value is not None and score is not None and not column.bound:
                difference = TableCell.of(score.mean - value.value, column.metric, signed=True)
            differences.append(difference)
        details = []
        seeds = [len(values) for column, values in line.values.items() if column in line.cells]
        low, high = min(seeds, default=0), max(seeds, default=0)
        if high > 1:
            details.append(f"{high} seeds" if low == high else f"{low}–{high} seeds")
        if shared_note:
            details.append(f"note {self.result.note(shared_note)}")
        address = self.layout.address(line.row)
        header = line.run or address
        if line.changes:
            header += f" ({line.changes})"
        self.result.rows.append(TableRow(header, tuple(ours), "ours", ", ".join(details)))
        if any(cell.value is not None for cell in theirs):
            # Under a run's own name, the paper's row says which row of the paper it is.
            name, detail = (address, "paper") if line.run else ("paper", "")
            self.result.rows.append(TableRow(name, tuple(theirs), "paper", detail))
            self.result.rows.append(TableRow("difference", tuple(differences), "difference"))

    def _add_unmeasured_rows(self) -> None:
        """Add the paper's rows that we have no line for, if they have a value in the columns shown."""
        measured = [line.row for line in self.lines]
        for row in self.layout.rows:
            cells = tuple(self._unmeasured_cell(row, column) for column in self.columns)
            if row not in measured and any(cell.value is not None for cell in cells):
                self.result.rows.append(TableRow(self.layout.address(row), cells, "reference", "paper"))

    def _our_cell(self, line: _Line, column: PaperColumn, score: Score | None, shared_note: str) -> TableCell:
        """Show our mean over seeds, or why there is none."""
        cells = line.cells.get(column.id, [])
        if score is None:
            reasons = "; ".join(dict.fromkeys(cell.unavailable for cell in cells if cell.unavailable))
            if reasons:
                note = self.result.note(f"Not available: {reasons}.")
                return TableCell("–", note=note, tooltip=reasons)
            if cells:
                return TableCell("…", tooltip="not measured yet")
            return TableCell("–", tooltip="not measured")
        notes = list(dict.fromkeys(cell.note for cell in cells if cell.note and cell.note != shared_note))
        # Seeds that other columns have, measured or planned, and this one lacks. Seed None: it depends on no seed.
        seeds = set(line.values[column.id])
        lacking = {
            cell.seed
            for cells_of_column in line.cells.values()
            for cell in cells_of_column
            if cell.unavailable is None and cell.seed is not None
        } - seeds
        if lacking and None not in seeds:
            listed = ", ".join(map(str, sorted(seed for seed in seeds if seed is not None)))
            notes.append(f"Over seed{'s' * (score.seeds > 1)} {listed} alone.")
        if covered := line.covered.get(column.id):
            notes.append(_covered_note(covered))
        tooltip = f"{score.mean:.3f}, {score.seeds} seed{'s' * (score.seeds > 1)}"
        note = self.result.note(" ".join(notes)) if notes else 0
        return TableCell.of(score.mean, column.metric, sd=score.sd, note=note, tooltip=tooltip)

    def _paper_value(self, row: PaperRow, column: PaperColumn, covered: Sequence[str]) -> PaperValue | None:
        """Return the paper's value; if our mean covers only some columns, the paper's mean over the same columns.

        ``covered``: The columns that our mean covers; empty if it covers all of them, or if this is no mean.
        """
        if not covered:
            return self.layout.value(row, column)
        values = {name: row.values.get(name) for name in covered}
        if not all(isinstance(value, int | float) for value in values.values()):
            return None
        mean = self.layout.mean(values, column, partial=True)
        return None if mean is None else PaperValue(mean, mean)

    def _unmeasured_cell(self, row: PaperRow, column: PaperColumn) -> TableCell:
        """Show the paper's value in a row that we did not measure.

        A mean is taken over the columns that our means above it cover. If ours cover different columns, no mean of the
        paper's could be compared with all of them, and none is shown.
        """
        coverages = {line.covered.get(column.id, ()) for line in self.lines if column.id in line.values}
        if len(coverages) > 1:
            return TableCell("–", tooltip="our means above are over different columns")
        covered = next(iter(coverages), ())
        return self._paper_cell(self._paper_value(row, column, covered), row, column, covered)

    def _paper_cell(
        self, value: PaperValue | None, row: PaperRow, column: PaperColumn, covered: Sequence[str]
    ) -> TableCell:
        """Show a value of the paper; a misprint is shown corrected, with a note."""
        if value is None:
            return TableCell("–")
        if covered:
            note = self.result.note(_covered_note(covered))
            return TableCell.of(value.value, column.metric, note=note)
        if column.bound:
            return TableCell(f"< {value.value:g}", value.value, tooltip="the paper gives a bound alone")
        if not value.reason:
            return TableCell.of(value.value, column.metric)
        self.misprints[value.reason].append(f"{row.name}, {column.id}: {value.printed:g}")
        note, tooltip = self.result.note(value.reason), f"printed as {value.printed:g}"
        return TableCell.of(value.value, column.metric, note=note, tooltip=tooltip)

    # Notes on the whole table

    def _note_on_misprints(self) -> None:
        """Complete the notes on misprints: cells have the numbers of notes, so each note keeps its place."""
        for reason, printed in self.misprints.items():
            place = self.result.notes.index(reason)
            self.result.notes[place] = f"Recomputed: {reason}. Printed: {'; '.join(dict.fromkeys(printed))}."

    def _note_on_order(self) -> None:
        """Say how many pairs of rows are in the paper's order here too: ``de 2 of 3``."""
        if self.layout.kind not in ("results", "cost"):
            return  # Data and sizes are no results of systems: their order says nothing.
        columns = [column.id for column in self.columns if not column.average]
        # Lines with other sizes are not ordered against each other.
        rows = []
        ours = {}
        for number, line in enumerate(self.lines):
            rows.append(replace(line.row, attributes={**line.row.attributes, "changed": line.changes}))
            for column in columns:
                score = line.score(column)
                if score is not None:
                    ours[number, column] = score
        counts = order_agreement(rows, columns, ours)
        kept = []
        for column, count in counts.items():
            ordered = count["kept"] + count["broken"]
            if ordered:
                kept.append(f"{column} {count['kept']} of {ordered}")
        close = sum(count["close"] for count in counts.values())
        notes = []
        if kept:
            listed = ", ".join(kept)
            notes.append(f"Pairs of rows of one setting that are in the paper's order here too: {listed}.")
        if close:
            pairs = f"{close} pair{'s' * (close > 1)}"
            notes.append(f"Too close to order: {pairs} (Welch's t at {CONFIDENCE} %, seeds unpaired).")
        if notes:
            self.result.note(" ".join(notes))

    def _note_on_remeasured(self) -> None:
        """Say which cells of this table were measured twice; ``ReportScores.warnings`` does it for rows of results."""
        remeasured = []
        for line in self.lines:
            for cells in line.cells.values():
                last_value = {cell.seed: cell.value for cell in cells if cell.value is not None}
                measured = [cell for cell in cells if cell.value is not None]
                remeasured += [cell for cell in measured if cell.value != last_value[cell.seed]]
        if remeasured:
            first = " / ".join((*remeasured[0].row, *remeasured[0].column))
            self.result.note(
                f"{len(remeasured)} numbers were measured again with another value; the last one counts "
                f"(first: {first})."
            )


def _without_paper(name: str, cells: Sequence[Cell]) -> PaperTable:
    """Make an empty table with the rows and columns that the cells name, in the order of the cells."""
    rows = dict.fromkeys(" / ".join(cell.row) for cell in cells)
    columns = dict.fromkeys(" / ".join(cell.column) for cell in cells)
    return PaperTable(
        "", name, name, "results", tuple(map(PaperColumn, columns)), tuple(PaperRow(row, {}) for row in rows)
    )


def _heading(column: PaperColumn) -> Column:
    """Make the heading of a column: ``en.f1`` is F1 under en.

    XLM-Align's Table 15 prints its languages in an order that its values do not fit: the values of ``es.f1`` are of
    Arabic, so they stand under ar.
    """
    group, _, label = column.id.rpartition(".")
    if column.language and label == column.metric:
        group = column.language
    tooltip = column.language or column.task or column.metric
    return Column(_NAMES.get(label, label), tooltip, _NAMES.get(group, group), column.average)


def _covered_note(columns: Sequence[str]) -> str:
    return f"Means over {', '.join(columns)}, the columns measured; the paper's over the same."


def _add_mean(paper: PaperTable, line: _Line, average: PaperColumn) -> None:
    """Add a line's value of an average column: one mean for each seed.

    1. Columns. Of the columns that the average is the mean of (a zero-shot average leaves out English), it covers the
       measured ones for which the paper's row has a number. Measured de, fr and sw, of which the paper has de and fr:
       the mean is over de and fr. A row in which the paper has none of the three: the mean is over de, fr and sw.
    2. One column, or EM and F1 of one language, are not an average: no mean.
    3. Seeds. A seed has a mean if it has a value in all these columns. A value without a seed counts for every seed:
       de of seeds 1 and 2, fr without a seed: two means, both with the same fr.
    4. If the mean covers fewer columns than the paper has, the line remembers which, for the paper's mean and a note.
    """
    columns = paper.columns_of_mean(average)
    measured = [column for column in columns if column.id in line.values]
    in_paper = [column for column in measured if isinstance(line.row.values.get(column.id), int | float)]
    covered = in_paper or measured
    if len({(column.task, column.language) for column in covered}) < 2:
        return
    seeds: set[int] = set()
    for column in covered:
        seeds.update(seed for seed in line.values[column.id] if seed is not None)
    seeds_or_none: list[int | None] = [*sorted(seeds)] if seeds else [None]
    means: dict[int | None, float] = {}
    for seed in seeds_or_none:
        values = {}
        for column in covered:
            by_seed = line.values[column.id]
            if seed in by_seed or None in by_seed:
                values[column.id] = by_seed[seed if seed in by_seed else None]
        is_complete = len(values) == len(covered)
        mean = paper.mean(values, average, partial=True) if is_complete else None
        if mean is not None:
            means[seed] = mean
    if means:
        line.values[average.id] = means
        if len(covered) < len(columns):
            line.covered[average.id] = tuple(column.id for column in covered)
