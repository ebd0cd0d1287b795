"""Tables across tasks: one column a task, its mean over languages (XLM-Align, Tables 1 and 3 to 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isoglot.report.beside import Beside, Slot, add_rows, metric_name
from isoglot.report.comparison import Comparison, placed_lines
from isoglot.report.grid import Layout, average_sets, caption
from isoglot.report.papers import PaperColumn, PaperTable, paper_table, paper_tables
from isoglot.report.scores import Measure, Scores, common_task, lower_is_better, main_measures
from isoglot.report.table import Table, slug

__all__ = ["across_tables", "overview"]

_FEWEST = 2


def overview(scores: Scores, layout: Layout) -> Table | None:
    """All tasks in one table: each task's main metric as a mean over the target languages (zero-shot).

    Returns:
        ``None`` for fewer than two tasks or two runs, where it would say nothing new.
    """
    measures = [m for m in main_measures(scores.measures()) if not m.quantity]
    if len(measures) < _FEWEST or len(scores.runs) < _FEWEST:
        return None
    slots = []
    for m in measures:
        languages = scores.languages(m)
        sets = average_sets(languages, layout.source)
        members = sets[-1][1] if sets else tuple(languages)
        task = m.task if m.split == "test" else f"{m.task} ({m.split})"
        full = f"{metric_name(m.metric)}, mean over {', '.join(members)}"
        arrow = " ↓" if lower_is_better(m.metric) else ""
        slots.append(Slot(metric_name(m.metric) + arrow, (tuple((m, lang) for lang in members),), task, full))
    told = f"Means over the languages measured, {layout.source} left out where there are two others."
    if any(slot.label.endswith("↓") for slot in slots):
        told += " Higher is better, but lower under ↓."
    table = Table("overview", "All tasks", told, "run", [slot.heading() for slot in slots])
    add_rows(table, slots, scores, None)
    return table


def across_tables(scores: Scores, layout: Layout) -> list[Table]:
    """A table for each of the papers' tables that have tasks as columns, with the tasks that ours have.

    Raises:
        ConfigurationError: a comparison names a run, table or row that does not exist.
    """
    tables = []
    for comparison in layout.comparisons:
        paper = paper_table(comparison.paper)
        found = _columns(paper, comparison, scores)
        if found and (not comparison.placed_only or _placed(paper, comparison, found, scores)):
            tables.append(_draft(paper, found, scores, layout, comparison))
    return tables


def _placed(
    paper: PaperTable, comparison: Comparison, columns: Mapping[PaperColumn, Measure], scores: Scores
) -> bool:
    runs = [run for run in scores.runs if any(run in scores.values[m] for m in columns.values())]
    return bool(placed_lines(paper, comparison, runs, "")[0])


def _columns(paper: PaperTable, comparison: Comparison, scores: Scores) -> dict[PaperColumn, Measure]:
    """The paper's columns of a task without a language, each with our measure."""
    found = {}
    for column in paper.columns:
        if column.average or column.quantity or column.language or not column.task:
            continue
        fitting = [
            m
            for m in scores.measures()
            if (m.common_task, m.common_metric) == (common_task(column.task), column.metric)
            and comparison.task in (None, m.task, m.common_task)
        ]
        if fitting:  # the test split before the dev split, as the paper's figures are of test sets
            found[column] = min(fitting, key=lambda m: m.split != (paper.split or "test"))
    return found


def _draft(
    paper: PaperTable,
    columns: Mapping[PaperColumn, Measure],
    scores: Scores,
    layout: Layout,
    comparison: Comparison,
) -> Table:
    measures = list(dict.fromkeys(columns.values()))
    tasks = ", ".join(dict.fromkeys(m.task for m in measures))
    told = caption(measures, scores, names="Means over languages")
    table = Table(slug(["across", paper.name]), f"{tasks}, beside {paper.cited}", told, "run", [])
    slots = []
    for column, m in columns.items():
        languages = scores.languages(m)
        part = tuple((m, lang) for lang in languages)
        full = f"mean over {', '.join(languages)}"
        slots.append(Slot(metric_name(m.metric), (part,), m.task, full, column=column.id))
    slots += _average(table, paper, slots)
    table.columns = [slot.heading() for slot in slots]
    beside = Beside(comparison, paper, layout.runs, objection=lambda slot: _languages_differ(paper, slot))
    add_rows(table, slots, scores, beside)
    return table


def _average(table: Table, paper: PaperTable, slots: Sequence[Slot]) -> list[Slot]:
    """The mean over tasks, a task's metrics (EM and F1) counting as one; over the tasks that both have."""
    mean = next((c for c in paper.columns if c.average), None)
    tasks = list(dict.fromkeys(slot.group for slot in slots))
    if mean is None or len(tasks) < _FEWEST:
        return []
    groups = tuple(tuple(p for slot in slots if slot.group == task for p in slot.parts[0]) for task in tasks)
    whole = len(slots) == sum(1 for c in paper.columns if c.task)
    if not whole:
        table.note(f"The last column is the mean over {', '.join(tasks)}, the tasks that both have.")
    full = f"mean over {', '.join(tasks)}"
    columns = () if whole else tuple(slot.column for slot in slots)
    return [Slot("avg", groups, "", full, average=True, column=mean.id, over=columns)]


def _languages_differ(paper: PaperTable, slot: Slot) -> str:
    """Why means over languages are not means of one thing; empty where they are, or where the paper's are unknown."""
    told = {}
    for measure in slot.measures:
        theirs = _languages(paper, measure)
        ours = {lang for group in slot.parts for m, lang in group if m == measure}
        if theirs and ours not in (theirs, {"mean"}):  # a study's own mean is over the languages it was told
            told[measure.task] = (
                f"{measure.task} is a mean over {len(ours)} languages here, {len(theirs)} in the paper"
            )
    return "; ".join(told.values())


def _languages(paper: PaperTable, measure: Measure) -> set[str]:
    """Languages of a task in the same paper's table that gives it by language."""
    for other in paper_tables():
        if other.paper == paper.paper:
            found = {c.language for c in other.columns
                     if c.language and c.task and common_task(c.task) == measure.common_task}  # fmt: skip
            if found:
                return found
    return set()
