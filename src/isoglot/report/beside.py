"""A paper's figures under ours: its line, the difference or why there is none, and its other lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean

from isoglot.report.comparison import Comparison, RunInfo, objections, placed_lines
from isoglot.report.papers import PAPERS, PaperTable, PaperValue
from isoglot.report.placing import PaperLine
from isoglot.report.scores import Measure, Scores, lower_is_better
from isoglot.report.stats import Score, margin
from isoglot.report.table import Column, Row, Table, TableCell, decimals, figure

__all__ = ["Beside", "Slot", "add_rows", "metric_name", "score_cell"]

_METRICS = {"em": "EM", "exact_match": "EM", "f1": "F1", "aer": "AER", "mrr": "MRR"}
_QUANTITIES = {"zs": "ZS", "sup": "SUP", "delta": "Δ"}


@dataclass(frozen=True)
class Slot:
    """One column of a table: a measure in a language, or a mean over several of both.

    Args:
        label: heading.
        parts: measures with their languages, in groups; the mean over the groups' means is shown.
        group: heading over several columns.
        title: in full.
        average: whether the column is a mean of others.
        column: the column of the paper's table that this one is; by default it is told from the parts.
        over: columns of the paper's table that a mean is recomputed over, where they are not all of them.
    """

    label: str
    parts: tuple[tuple[tuple[Measure, str], ...], ...]
    group: str = ""
    title: str = ""
    average: bool = False
    column: str = ""
    over: tuple[str, ...] = ()

    @property
    def measure(self) -> Measure:
        """Its first."""
        return self.parts[0][0][0]

    @property
    def measures(self) -> list[Measure]:
        """All that it is made of."""
        return list(dict.fromkeys(m for group in self.parts for m, _ in group))

    @property
    def languages(self) -> list[str]:
        """Those that it is made of."""
        return list(dict.fromkeys(lang for group in self.parts for _, lang in group))

    def heading(self) -> Column:
        """The table's column."""
        return Column(self.label, self.title, self.group, self.average)


@dataclass
class Beside:
    """A paper's table beside ours.

    Args:
        comparison: what the user said of it.
        paper: the table.
        infos: what is known of our runs.
        objection: further reasons not to subtract in a column, beside those of the runs.
        corrected: reason -> number of the note on figures that were printed wrong.
    """

    comparison: Comparison
    paper: PaperTable
    infos: Mapping[str, RunInfo]
    objection: Callable[[Slot], str] = lambda _: ""
    corrected: dict[str, int] = field(default_factory=dict)


def metric_name(metric: str) -> str:
    """How a metric is written in headings: ``F1``, ``F1, ZS``."""
    measure = Measure("", "", metric)
    base = measure.base_metric if measure.quantity else metric.lower()
    name = _METRICS.get(base, metric.replace("_", " ") if not measure.quantity else base.replace("_", " "))
    return f"{name}, {quantity_name(measure.quantity)}" if measure.quantity else name


def quantity_name(quantity: str) -> str:
    """``ZS``, ``SUP`` or ``Δ``."""
    return _QUANTITIES.get(quantity, quantity)


def score_cell(score: Score | None, *, missing: str = "", digits: int = 1) -> TableCell:
    """A cell of a score; ``missing`` says why there is none."""
    if score is None:
        return TableCell("–", title=missing)
    seeds = f"{score.seeds} seeds" if score.seeds > 1 else "1 seed"
    title = f"{score.mean:.3f}, {seeds}, n = {score.examples:,}"
    return TableCell(figure(score.mean, digits=digits), score.mean, score.sd, title=title, digits=digits)


def add_rows(table: Table, slots: Sequence[Slot], scores: Scores, beside: Beside | None) -> None:
    """Fill a table: our runs that have a score in any column, and what a paper has beside them.

    Raises:
        ConfigurationError: the comparison names a run or row that does not exist.
    """
    rows = {run: tuple(_ours(scores, run, slot) for slot in slots) for run in scores.runs}
    rows = {run: cells for run, cells in rows.items() if any(_measured(scores, run, slot) for slot in slots)}
    matched: Mapping[str, tuple[PaperLine, list[str]]] = {}
    others: Sequence[PaperLine] = ()
    if beside is not None:
        known = [*rows, *(run for run in beside.comparison.rows if run in scores.runs and run not in rows)]
        matched, others = placed_lines(beside.paper, beside.comparison, known, slots[0].measure.task)
        _introduce(table, beside)
        if beside.comparison.placed_only:
            rows = {run: cells for run, cells in rows.items() if run in matched}
            settings = {line.attributes.get("setting") for line, _ in matched.values()}
            others = [line for line in others if line.attributes.get("setting") in settings]
    _embolden(rows, slots)
    for run, cells in rows.items():
        table.rows.append(Row(run, cells, "ours", _seeds(scores, run, slots)))
        if beside is not None and run in matched:
            _under(table, slots, scores, beside, run, *matched[run])
    _orderings(table, slots, scores, {run: line for run, (line, _) in matched.items() if run in rows})
    for line in others:
        if beside is not None:
            cells = tuple(_theirs(table, beside, line, slot)[0] for slot in slots)
            if any(cell.value is not None for cell in cells):
                table.rows.append(Row(line.name, cells, "reference", "paper"))


def _orderings(table: Table, slots: Sequence[Slot], scores: Scores, lines: Mapping[str, PaperLine]) -> None:
    """Whether what the paper finds better is better here too: told even where figures must not be subtracted."""
    same = other = close = 0
    for slot in slots:
        for one, two in combinations(lines, 2):
            ours = [scores.average(run, slot.parts) for run in (one, two)]
            theirs = [_figure(lines[run], slot) for run in (one, two)]
            if slot.average or ours[0] is None or ours[1] is None or theirs[0] is None or theirs[1] is None:
                continue
            expected, found = theirs[0].value - theirs[1].value, ours[0].mean - ours[1].mean
            noise = margin(ours[0], ours[1])
            if not expected:
                continue
            if abs(found) <= noise or not found:
                close += 1
            elif (expected > 0) == (found > 0):
                same += 1
            else:
                other += 1
    table.orderings = (same, other, close)
    if same + other + close:
        table.note(
            f"Orderings of two runs in a column: {same} as in the paper, {other} the other way round, "
            f"{close} within noise (Welch's t at 95 %, seeds unpaired)."
        )


def _introduce(table: Table, beside: Beside) -> None:
    paper, comparison = beside.paper, beside.comparison
    table.paper = paper.name
    table.caption += f" Beside them: {PAPERS[paper.paper]}, {paper.title}."
    if paper.note:
        table.note(paper.note)
    if comparison.comparable:
        table.note(f"Declared comparable{': ' + comparison.reason if comparison.reason else ''}.")


def _under(
    table: Table,
    slots: Sequence[Slot],
    scores: Scores,
    beside: Beside,
    run: str,
    line: PaperLine,
    assumed: list[str],
) -> None:
    """The paper's line under ours, and the difference or why there is none."""
    theirs = [_theirs(table, beside, line, slot) for slot in slots]
    info = beside.infos.get(run, RunInfo(run))
    reasons: dict[str, None] = {}
    cells = []
    for slot, (_, value) in zip(slots, theirs, strict=True):
        ours = scores.average(run, slot.parts)
        if value is None or ours is None:
            cells.append(TableCell(""))
            continue
        against = objections(beside.comparison, line, slot.measures, info, assumed)
        further = "" if beside.comparison.comparable is not None else beside.objection(slot)
        against += [further] if further else []
        reasons.update(dict.fromkeys(against))
        if against:
            cells.append(TableCell("n/c", muted=True, title="not comparable: " + "; ".join(against)))
        else:
            difference, digits = ours.mean - value.value, decimals(slot.measure.metric)
            cells.append(TableCell(figure(difference, signed=True, digits=digits), difference, digits=digits))
    table.rows.append(Row(line.name, tuple(cell for cell, _ in theirs), "paper", "paper"))
    note = ""
    if reasons:
        pair = "" if beside.comparison.comparable is False else f", {run} beside {line.name}"
        told = "; ".join(reasons)
        note = f"note {table.note(f'Not comparable (n/c){pair}: {told}.')}"
    if any(cell.value is not None for cell in cells):
        if beside.comparison.comparable is None:
            table.note(
                "Same task, metric, split and starting encoder; the amount of training is not compared."
            )
        told = f"ours − paper; {note}" if note else "ours − paper"
        table.rows.append(Row("difference", tuple(cells), "difference", told))
    elif note:
        table.rows.append(Row("not comparable", tuple(cells), "difference", note))


def _measured(scores: Scores, run: str, slot: Slot) -> bool:
    return any(scores.values.get(m, {}).get(run, {}).get(lang) for group in slot.parts for m, lang in group)


def _ours(scores: Scores, run: str, slot: Slot) -> TableCell:
    score, digits = scores.average(run, slot.parts), decimals(slot.measure.metric)
    if score is not None or len(slot.languages) == len(slot.measures) == 1:
        return score_cell(score, missing="not measured", digits=digits)
    lacking = [lang if len(slot.measures) == 1 else f"{m.task} {lang}"
               for group in slot.parts for m, lang in group if scores.score(m, run, lang) is None]  # fmt: skip
    why = (
        f"no mean: {', '.join(dict.fromkeys(lacking))} missing"
        if lacking
        else "no mean: no seed has everything"
    )
    return score_cell(None, missing=why)


def _theirs(table: Table, beside: Beside, line: PaperLine, slot: Slot) -> tuple[TableCell, PaperValue | None]:
    """The paper's figure; a mean is the paper's own where its parts are ours, else recomputed over the shared."""
    value = _figure(line, slot)
    if value is None:
        return TableCell("–"), None
    digits = decimals(slot.measure.metric)
    shown = figure(value.value, digits=digits)
    if not value.reason:
        return TableCell(shown, value.value, digits=digits), value
    printed = figure(value.printed, digits=digits)
    heading = metric_name(slot.measure.metric) if len(slot.measures) == 1 else ""
    where = " ".join(dict.fromkeys(part for part in (slot.group, slot.label, heading) if part))
    note = _corrected(table, beside, value.reason, f"{line.name}, {where}: {printed}")
    return TableCell(shown, value.value, note=note, title=f"printed as {printed}", digits=digits), value


def _figure(line: PaperLine, slot: Slot) -> PaperValue | None:
    if slot.column:
        return line.at(slot.column, slot.over)
    if not slot.average:
        measure, language = slot.parts[0][0]
        return line.cell(measure, language)
    printed = _printed_mean(line, slot)
    if printed is not None:
        return printed
    means = []
    for group in slot.parts:
        values = [line.cell(measure, language) for measure, language in group]
        if not all(values):
            return None
        means.append(fmean(value.value for value in values if value is not None))
    return PaperValue(fmean(means), fmean(means))


def _printed_mean(line: PaperLine, slot: Slot) -> PaperValue | None:
    """The paper's own mean over exactly our languages."""
    if len(line.rows) != 1 or len(slot.measures) != 1:
        return None
    wanted = slot.label.endswith("zero-shot") or slot.group.endswith("zero-shot")
    for column in line.columns():
        if not column.average or column.metric not in ("", slot.measure.common_metric):
            continue
        members = {c.language for c in line.columns() if not c.average and c.language}
        if wanted:
            members.discard("en")
        if ("zero_shot" in column.id) == wanted and members == set(slot.languages):
            return line.table.value(line.rows[0], column)
    return None


def _corrected(table: Table, beside: Beside, reason: str, printed: str) -> int:
    """The number of the note on figures that were printed wrong for one reason; this one is added to it."""
    if reason not in beside.corrected:
        beside.corrected[reason] = table.note(f"Recomputed here: {reason}. Printed: {printed}.")
        return beside.corrected[reason]
    number = beside.corrected[reason]
    if printed not in table.notes[number - 1]:
        table.notes[number - 1] = f"{table.notes[number - 1][:-1]}; {printed}."
    return number


def _embolden(rows: dict[str, tuple[TableCell, ...]], slots: Sequence[Slot]) -> None:
    """Mark the best of each column, and all that print the same as it."""
    if len(rows) < 2:
        return
    for place, slot in enumerate(slots):
        known = [cells[place].value for cells in rows.values() if cells[place].value is not None]
        if len(known) < 2:
            continue
        best = (min if lower_is_better(slot.measure.metric) else max)(v for v in known if v is not None)
        for run, cells in rows.items():
            cell = cells[place]
            if cell.value is not None and cell.text == figure(best, digits=cell.digits):
                bold = TableCell(
                    cell.text, cell.value, cell.sd, True, cell.note, cell.title, digits=cell.digits
                )
                rows[run] = (*cells[:place], bold, *cells[place + 1 :])


def _seeds(scores: Scores, run: str, slots: Sequence[Slot]) -> str:
    counts = {
        len(seeds)
        for slot in slots
        for group in slot.parts
        for m, lang in group
        if (seeds := scores.values.get(m, {}).get(run, {}).get(lang))
    }
    if counts == {1}:
        return "1 seed"
    return f"{min(counts)} seeds" if len(counts) == 1 else f"{min(counts)}–{max(counts)} seeds"
