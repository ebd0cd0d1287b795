"""Tables in the papers' layout: runs down, languages across, means computed here, a paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from isoglot.report.comparison import Comparison, RunInfo, matching_column, objections, paper_rows
from isoglot.report.languages import language_name
from isoglot.report.papers import PAPERS, PaperRow, PaperTable, PaperValue, paper_table
from isoglot.report.scores import Measure, Score, Scores, lower_is_better
from isoglot.report.table import Cell, Column, Row, Table, figure, slug

__all__ = ["Layout", "average_sets", "build_tables", "score_cell"]

_METRICS = {"em": "EM", "f1": "F1", "aer": "AER", "mrr": "MRR"}


@dataclass(frozen=True)
class Layout:
    """How tables are laid out.

    Args:
        source: the language fine-tuned on; the zero-shot mean leaves it out.
        comparisons: tables of papers to put beside ours.
        runs: what is known of each run.
    """

    source: str = "en"
    comparisons: Sequence[Comparison] = ()
    runs: Mapping[str, RunInfo] = field(default_factory=dict)


@dataclass(frozen=True)
class _Slot:
    """One column of a table: a measure in a language, or its mean over several."""

    measure: Measure
    languages: tuple[str, ...]
    label: str
    average: bool


@dataclass
class _Draft:
    table: Table
    slots: list[_Slot]
    scores: Scores
    layout: Layout
    corrected: dict[str, int] = field(default_factory=dict)


def metric_name(metric: str) -> str:
    """How a metric is written in headings."""
    return _METRICS.get(metric.lower(), metric.replace("_", " "))


def average_sets(languages: Sequence[str], source: str) -> list[tuple[str, tuple[str, ...]]]:
    """The means a table shows: over all languages, and over all but the source language.

    Returns:
        label and languages of each; none for a single language.
    """
    sets: list[tuple[str, tuple[str, ...]]] = []
    if len(languages) > 1:
        sets.append(("avg", tuple(languages)))
        if source in languages and len(languages) > 2:
            sets.append(("avg zero-shot", tuple(lang for lang in languages if lang != source)))
    return sets


def build_tables(scores: Scores, layout: Layout) -> list[Table]:
    """A table for each task, split and metric; EM and F1 share one, each language having both.

    Where tables of papers are to be compared with, there is one table for each that has the task's columns.

    Raises:
        ConfigurationError: a comparison names a run, table or row that does not exist.
    """
    drafts = []
    for measures in _together(scores.measures()):
        found = 0
        for comparison in layout.comparisons:
            paper = paper_table(comparison.paper)
            if _concerns(comparison, paper, measures, scores):
                drafts.append(_draft(measures, scores, layout, (comparison, paper)))
                found += 1
        if not found:
            drafts.append(_draft(measures, scores, layout, None))
    _unique(drafts)
    return drafts


def score_cell(score: Score | None, *, missing: str = "") -> Cell:
    """A cell of a score; ``missing`` says why there is none."""
    if score is None:
        return Cell("–", title=missing)
    seeds = f"{score.seeds} seeds" if score.seeds > 1 else "1 seed"
    return Cell(
        figure(score.mean), score.mean, score.sd, title=f"{score.mean:.3f}, {seeds}, n = {score.examples:,}"
    )


def _together(measures: Sequence[Measure]) -> list[list[Measure]]:
    """EM and F1 of one task and split in one group, EM first; every other measure alone."""
    groups: dict[tuple[str, str, str], list[Measure]] = {}
    for measure in measures:
        both = {m.common_metric for m in measures if (m.task, m.split) == (measure.task, measure.split)}
        pair = measure.common_metric in ("em", "f1") and {"em", "f1"} <= both
        groups.setdefault((measure.task, measure.split, "em/f1" if pair else measure.metric), []).append(
            measure
        )
    return [sorted(group, key=lambda m: m.common_metric) for group in groups.values()]


def _concerns(comparison: Comparison, paper: PaperTable, measures: Sequence[Measure], scores: Scores) -> bool:
    if comparison.task is not None and comparison.task not in {
        t for m in measures for t in (m.task, m.common_task)
    }:
        return False
    return any(matching_column(paper, m, lang) for m in measures for lang in scores.languages(m))


def _draft(
    measures: list[Measure], scores: Scores, layout: Layout, beside: tuple[Comparison, PaperTable] | None
) -> Table:
    first = measures[0]
    names = " / ".join(metric_name(m.metric) for m in measures)
    languages = _order(measures, scores, layout.source, None if beside is None else beside[1])
    title = f"{first.task}: {names}" + ("" if beside is None else f", beside {beside[1].name}")
    table = Table(slug([first.task, first.split, *(m.metric for m in measures), *([beside[1].name] if beside else [])]),
                  title, _caption(measures, scores), "run", [])  # fmt: skip
    shared = languages if beside is None else _shared(measures, scores, languages, beside[1])
    if beside is not None and len(shared) > 1 and set(shared) != set(languages):
        table.note(f"Means are over {', '.join(shared)}, the languages that both have.")
    sets: list[tuple[str, tuple[str, ...], bool]] = [(lang, (lang,), False) for lang in languages]
    sets += [(label, members, True) for label, members in average_sets(shared, layout.source)]
    slots = [_Slot(m, members, label, average) for label, members, average in sets for m in measures]
    for slot in slots:
        full = f"mean over {', '.join(slot.languages)}" if slot.average else language_name(slot.label)
        several = len(measures) > 1
        label = metric_name(slot.measure.metric) if several else slot.label
        table.columns.append(Column(label, full, slot.label if several else "", slot.average))
    draft = _Draft(table, slots, scores, layout)
    _fill(draft, measures, beside)
    return table


def _fill(draft: _Draft, measures: list[Measure], beside: tuple[Comparison, PaperTable] | None) -> None:
    runs = [run for run in draft.scores.runs if any(run in draft.scores.values[m] for m in measures)]
    rows = {run: tuple(_ours(draft, run, slot) for slot in draft.slots) for run in runs}
    _embolden(rows, draft.slots)
    matched: Mapping[str, PaperRow] = {}
    others: Sequence[PaperRow] = ()
    if beside is not None:
        comparison, paper = beside
        mapped = set(comparison.rows) & set(draft.scores.runs)
        matched, others = paper_rows(paper, comparison, [*runs, *(r for r in mapped if r not in runs)])
        draft.table.caption += f" Beside them: {PAPERS[paper.paper]}, {paper.title}."
        if paper.note:
            draft.table.note(paper.note)
        if comparison.comparable:
            draft.table.note(f"Declared comparable{': ' + comparison.reason if comparison.reason else ''}.")
    for run, cells in rows.items():
        draft.table.rows.append(Row(run, cells, "ours", _seeds(draft.scores, measures, run)))
        if beside is not None and run in matched:
            _beside(draft, run, matched[run], beside)
    if beside is not None:
        for row in others:
            cells = tuple(_theirs(draft, beside[1], row, slot)[0] for slot in draft.slots)
            if any(cell.value is not None for cell in cells):
                draft.table.rows.append(Row(row.name, cells, "reference", "paper"))


def _beside(draft: _Draft, run: str, row: PaperRow, beside: tuple[Comparison, PaperTable]) -> None:
    """The paper's row under ours, and the difference or why there is none."""
    comparison, paper = beside
    theirs = [_theirs(draft, paper, row, slot) for slot in draft.slots]
    reasons: dict[str, None] = {}
    cells = []
    for slot, (_, value) in zip(draft.slots, theirs, strict=True):
        ours = _score(draft.scores, run, slot)
        against = objections(comparison, paper, row, slot.measure, draft.layout.runs.get(run, RunInfo(run)))
        reasons.update(dict.fromkeys(against))
        if value is None or ours is None:
            cells.append(Cell(""))
        elif against:
            cells.append(Cell("n/c", muted=True, title="not comparable: " + "; ".join(against)))
        else:
            difference = ours.mean - value.value
            cells.append(Cell(figure(difference, signed=True), difference))
    draft.table.rows.append(Row(row.name, tuple(cell for cell, _ in theirs), "paper", "paper"))
    if reasons:
        pair = "" if comparison.comparable is False else f", {run} beside {row.name}"
        number = draft.table.note(f"Not comparable (n/c){pair}: {'; '.join(reasons)}.")
        draft.table.rows.append(Row("not comparable", tuple(cells), "difference", f"note {number}"))
    else:
        if comparison.comparable is None:
            draft.table.note(
                "Same task, metric, split and starting encoder; the amount of training is not compared."
            )
        draft.table.rows.append(Row("difference", tuple(cells), "difference", "ours − paper"))


def _score(scores: Scores, run: str, slot: _Slot) -> Score | None:
    if slot.average:
        return scores.mean(slot.measure, run, slot.languages)
    return scores.score(slot.measure, run, slot.languages[0])


def _ours(draft: _Draft, run: str, slot: _Slot) -> Cell:
    score = _score(draft.scores, run, slot)
    if score is not None or not slot.average:
        return score_cell(score, missing="not measured")
    lacking = [lang for lang in slot.languages if draft.scores.score(slot.measure, run, lang) is None]
    why = f"no mean: {', '.join(lacking)} missing" if lacking else "no mean: no seed has all languages"
    return score_cell(None, missing=why)


def _theirs(draft: _Draft, paper: PaperTable, row: PaperRow, slot: _Slot) -> tuple[Cell, PaperValue | None]:
    """The paper's figure; a mean is the paper's own where its languages are ours, else recomputed over the shared."""
    value = (
        _printed_mean(paper, row, slot)
        if slot.average
        else _printed(paper, row, slot.measure, slot.languages[0])
    )
    if value is None and slot.average:
        parts = [_printed(paper, row, slot.measure, lang) for lang in slot.languages]
        if all(parts):
            mean = fmean(part.value for part in parts if part is not None)
            value = PaperValue(mean, mean)
    if value is None:
        return Cell("–"), None
    if not value.reason:
        return Cell(figure(value.value), value.value), value
    where = f"{row.name}, {slot.label} {metric_name(slot.measure.metric)}"
    note = _corrected(draft, value.reason, f"{where}: {figure(value.printed)}")
    title = f"printed as {figure(value.printed)}"
    return Cell(figure(value.value), value.value, note=note, title=title), value


def _corrected(draft: _Draft, reason: str, printed: str) -> int:
    """The number of the note on figures that were printed wrong for one reason; this one is added to it."""
    if reason not in draft.corrected:
        draft.corrected[reason] = draft.table.note(f"Recomputed here: {reason}. Printed: {printed}.")
        return draft.corrected[reason]
    number = draft.corrected[reason]
    draft.table.notes[number - 1] = f"{draft.table.notes[number - 1][:-1]}; {printed}."
    return number


def _printed(paper: PaperTable, row: PaperRow, measure: Measure, language: str) -> PaperValue | None:
    column = matching_column(paper, measure, language)
    return None if column is None else paper.value(row, column)


def _printed_mean(paper: PaperTable, row: PaperRow, slot: _Slot) -> PaperValue | None:
    wanted = "zero_shot" in slot.label.replace("-", "_").replace(" ", "_")
    for column in paper.columns:
        if not column.average or column.metric not in ("", slot.measure.common_metric):
            continue
        members = {c.language for c in paper.columns if not c.average and c.language}
        if wanted:
            members.discard("en")
        if ("zero_shot" in column.id) == wanted and members == set(slot.languages):
            return paper.value(row, column)
    return None


def _order(measures: Sequence[Measure], scores: Scores, source: str, paper: PaperTable | None) -> list[str]:
    """Languages in the paper's order, or the source language first and the others by their code."""
    ours = list(dict.fromkeys(lang for m in measures for lang in scores.languages(m)))
    plain = sorted(ours, key=lambda lang: (lang != source, lang))
    if paper is None:
        return plain
    places = {c.id: place for place, c in enumerate(paper.columns)}
    at = {}
    for lang in ours:
        column = matching_column(paper, measures[0], lang)
        at[lang] = len(places) if column is None else places[column.id]
    return sorted(plain, key=lambda lang: at[lang])


def _shared(
    measures: Sequence[Measure], scores: Scores, languages: Sequence[str], paper: PaperTable
) -> list[str]:
    return [lang for lang in languages if all(matching_column(paper, m, lang) for m in measures)]


def _embolden(rows: dict[str, tuple[Cell, ...]], slots: Sequence[_Slot]) -> None:
    """Mark the best of each column, and all that print the same as it."""
    if len(rows) < 2:
        return
    for place, slot in enumerate(slots):
        values = [cells[place].value for cells in rows.values()]
        known = [value for value in values if value is not None]
        if len(known) < 2:
            continue
        best = (min if lower_is_better(slot.measure.metric) else max)(known)
        for run, cells in rows.items():
            cell = cells[place]
            if cell.value is not None and cell.text == figure(best):
                bold = Cell(cell.text, cell.value, cell.sd, True, cell.note, cell.title)
                rows[run] = (*cells[:place], bold, *cells[place + 1 :])


def _caption(measures: Sequence[Measure], scores: Scores) -> str:
    first = measures[0]
    names = " and ".join(metric_name(m.metric) for m in measures)
    counts = [
        n
        for m in measures
        for langs in scores.values[m].values()
        for s in langs.values()
        for _, n in s.values()
    ]
    examples = f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
    better = "lower is better" if lower_is_better(first.metric) else "higher is better"
    scale = ", in percent" if any(m in scores.scaled for m in measures) else ""
    several = any(len(s) > 1 for m in measures for langs in scores.values[m].values() for s in langs.values())
    seeds = " Mean ± standard deviation over seeds." if several else ""
    return f"{names}{scale}, {first.split} split, {examples} examples a language; {better}.{seeds}"


def _seeds(scores: Scores, measures: Sequence[Measure], run: str) -> str:
    counts = {len(seeds) for m in measures for seeds in scores.values[m].get(run, {}).values()}
    if counts == {1}:
        return "1 seed"
    return f"{min(counts)} seeds" if len(counts) == 1 else f"{min(counts)}–{max(counts)} seeds"


def _unique(tables: Sequence[Table]) -> None:
    """Give tables whose names fold into one (``a b``, ``a-b``) different ones."""
    seen: dict[str, int] = {}
    for table in tables:
        seen[table.id] = seen.get(table.id, 0) + 1
        if seen[table.id] > 1:
            table.id = f"{table.id}-{seen[table.id]}"
