"""Tables of results: one a task, runs down and languages across, means computed here; and one over all tasks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pandas import concat

from isoglot.reports.scores import Measure, ReportScores, lower_is_better, main_measures
from isoglot.reports.table import Column, Table, TableCell, TableRow, figure, slug
from isoglot.results.rows import SHARES

_QUANTITY_NAMES = {"": "", "zs": "ZS", "sup": "SUP", "delta": "Δ"}
_METRICS = {"em": "EM", "exact_match": "EM", "f1": "F1", "aer": "AER", "mrr": "MRR"}
_FURTHER = "further metrics"


@dataclass(frozen=True)
class _Slot:
    """One column: a measure in a language, or its mean over several languages."""

    measure: Measure
    languages: tuple[str, ...]
    heading: Column


def metric_name(metric: str) -> str:
    """How a metric is written in headings: ``F1``, ``F1, ZS``."""
    measure = Measure("", "", metric)
    base = measure.base_metric if measure.quantity else metric.lower()
    name = _METRICS.get(base, (base if measure.quantity else metric).replace("_", " "))
    return f"{name}, {_QUANTITY_NAMES[measure.quantity]}" if measure.quantity else name


def target_languages(scores: ReportScores, measure: Measure, source: str) -> tuple[str, ...]:
    """The languages whose mean stands for a measure: all but the source language where there are two others."""
    languages = scores.languages(measure)
    sets = average_sets(languages, source)
    return sets[-1][1] if sets else tuple(languages)


def average_sets(languages: Sequence[str], source: str) -> list[tuple[str, tuple[str, ...]]]:
    """The means a table shows: over all languages, and over all but the source language."""
    sets: list[tuple[str, tuple[str, ...]]] = []
    if len(languages) > 1:
        sets.append(("avg", tuple(languages)))
        if source in languages and len(languages) > 2:
            sets.append(("avg zero-shot", tuple(lang for lang in languages if lang != source)))
    return sets


def overview(scores: ReportScores, source: str) -> Table | None:
    """All tasks in one table: each task's main metric as a mean over the target languages (zero-shot).

    ``None`` for fewer than two tasks or two runs, where it would say nothing new.
    """
    measures = [m for m in main_measures([*scores.values]) if not m.quantity]
    if len(measures) < 2 or len(scores.runs) < 2:
        return None
    slots = []
    for m in measures:
        members = target_languages(scores, m, source)
        arrow = " ↓" if lower_is_better(m.metric) else ""
        full = f"{metric_name(m.metric)}, mean over {', '.join(members)}"
        slots.append(_Slot(m, members, Column(metric_name(m.metric) + arrow, full, m.title)))
    caption = f"Means over the languages measured, {source} left out where there are two others."
    if any(slot.heading.label.endswith("↓") for slot in slots):
        caption += " Higher is better, but lower under ↓."
    return _filled(Table("overview", "All tasks", caption, "run", []), slots, scores)


def result_tables(scores: ReportScores, source: str) -> list[Table]:
    """A table for each task, split and metric.

    EM and F1 share one, each language having both; so do the supervised and zero-shot results of
    ``isoglot transfer`` and their difference, and the further metrics of a task.
    """
    tables, main = [], set(main_measures([*scores.values]))
    for measures in _groups([*scores.values]):
        first, further, base = measures[0], not set(measures) & main, ""
        names = " / ".join(metric_name(m.metric) for m in measures)
        parts = [first.task, first.split, *(m.metric for m in measures)]
        if all(m.quantity for m in measures):
            base = metric_name(first.base_metric)
            names = f"{base}, zero-shot (ZS), supervised (SUP) and the gap Δ"
            parts = [first.task, first.split, first.base_metric, "transfer"]
            slots = []  # ALIGN-MLM's layout: the transformations across, in each ZS, SUP and Δ
            for language in dict.fromkeys(lang for m in measures for lang in scores.languages(m)):
                orders = language.partition("-x-")[2].replace("-", "+")
                group = (orders.strip("+_") and orders) or language
                columns = (Column(_QUANTITY_NAMES[m.quantity], language, group) for m in measures)
                slots += [_Slot(m, (language,), c) for m, c in zip(measures, columns, strict=True)]
        elif further and len(measures) > 1:
            names, parts = _FURTHER, [first.task, first.split, _FURTHER]
            slots = [slot for m in measures for slot in _language_slots([m], scores, source, by_metric=True)]
        else:
            slots = _language_slots(measures, scores, source)
        title, caption = f"{first.task}: {names}", _caption(measures, scores, base)
        table = Table(slug(parts), title, caption, "run", [], secondary=further)
        table.notes += scores.notes(first.task)
        tables.append(_filled(table, slots, scores))
    return tables


def _caption(measures: Sequence[Measure], scores: ReportScores, names: str = "") -> str:
    """What the numbers of a table are."""
    names = names or " and ".join(dict.fromkeys(metric_name(m.metric) for m in measures))
    counts = [scores.examples[m].where(scores.examples[m] > 0) for m in measures]  # 0 where nobody counted
    counts = [frame for frame in counts if frame.notna().any(axis=None)]
    low = int(min((frame.min(axis=None) for frame in counts), default=0))
    high = int(max((frame.max(axis=None) for frame in counts), default=0))
    examples = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    examples = f", {examples} examples per language" if high else ""  # analyses of embeddings have none
    directions = list(dict.fromkeys(lower_is_better(m.metric) for m in measures))
    better = "lower is better" if directions == [True] else "higher is better"
    if len(directions) > 1:
        lower = list(dict.fromkeys(metric_name(m.metric) for m in measures if lower_is_better(m.metric)))
        of_gap = all(m.quantity for m in measures)
        better = f"higher is better, but lower in {'Δ = SUP − ZS' if of_gap else ' and '.join(lower)}"
    shares = [m.base_metric in SHARES for m in measures]  # not a correlation or a cosine
    scale = ", in percent" if all(shares) else ", shares in percent" if any(shares) else ""
    several = any((scores.values[m].groupby(level="run").count() > 1).any(axis=None) for m in measures)
    seeds = " Mean ± standard deviation over seeds." if several else ""
    splits = "/".join(dict.fromkeys(m.split for m in measures))
    return f"{names}{scale}, {splits} split{examples}; {better}.{seeds}"


def _groups(measures: Sequence[Measure]) -> list[list[Measure]]:
    """Measures of one table each: EM and F1 of a task and split, EM first; ZS, SUP and Δ; the main one; the others."""
    main = main_measures(measures)
    groups: dict[tuple[str, str, str], list[Measure]] = {}
    for measure in measures:
        task = (measure.task, measure.split)
        both = {m.base_metric for m in measures if (m.task, m.split) == task and not m.quantity}
        key = measure.metric
        if measure.quantity:
            key = f"transfer {measure.base_metric}"
        elif measure.base_metric in ("em", "f1") and {"em", "f1"} <= both:
            key = "em/f1"
        elif measure not in main:
            key = _FURTHER
        groups.setdefault((*task, key), []).append(measure)
    order, tasks = [*_QUANTITY_NAMES], list(dict.fromkeys(key[:2] for key in groups))
    keys = sorted(groups, key=lambda key: (tasks.index(key[:2]), key[2] == _FURTHER))
    return [sorted(groups[key], key=lambda m: (order.index(m.quantity), m.base_metric)) for key in keys]


def _language_slots(
    measures: Sequence[Measure], scores: ReportScores, source: str, *, by_metric: bool = False
) -> list[_Slot]:
    """Languages, the source language first, and their means; several measures stand under each language.

    With ``by_metric`` the languages stand under the measure instead, with their last mean.
    """
    languages = sorted({lang for m in measures for lang in scores.languages(m)})
    languages.sort(key=lambda lang: lang != source)
    means = average_sets(languages, source)
    sets: list[tuple[str, tuple[str, ...], bool]] = [(lang, (lang,), False) for lang in languages]
    sets += [(label, members, True) for label, members in (means[-1:] if by_metric else means)]
    slots = []
    for label, members, average in sets:
        full = f"mean over {', '.join(members)}" if average else ""
        for m in measures:
            name, group = label or "value", ""
            if by_metric:
                group = metric_name(m.metric)
            elif len(measures) > 1:
                name, group = metric_name(m.metric), label
            slots.append(_Slot(m, members, Column(name, full, group, average)))
    return slots


def _filled(table: Table, slots: Sequence[_Slot], scores: ReportScores) -> Table:
    """The table with a row for each run that has a score in any column; the best of each column is marked."""
    table.columns = [slot.heading for slot in slots]
    columns = [_column(scores, slot) for slot in slots]
    values = [scores.values[slot.measure].reindex(columns=slot.languages) for slot in slots]
    seeds_of = concat([frame.groupby(level="run").count() for frame in values], axis=1).reindex(scores.runs)
    for run, cells in zip(scores.runs, zip(*columns, strict=True), strict=True):
        counts = seeds_of.loc[run]
        if (counts > 0).any():
            low, high = int(counts[counts > 0].min()), int(counts.max())
            seeds = "1 seed" if high == 1 else f"{low} seeds" if low == high else f"{low}–{high} seeds"
            table.rows.append(TableRow(run, cells, "ours", seeds))
    return table


def _column(scores: ReportScores, slot: _Slot) -> list[TableCell]:
    """A column's cell for each run; of several figures those that print the same as the best are marked."""
    means, cells = scores.means(slot.measure, slot.languages), []
    for run in scores.runs:
        if (score := means.get(run)) is None:
            measured = scores.languages(slot.measure, run)
            lacking = [lang for lang in slot.languages if lang not in measured]
            why = f"no mean: {', '.join(lacking)} missing" if lacking else "no mean: no seed has everything"
            cells.append(TableCell("–", title=why if slot.heading.average else "not measured"))
        else:
            title = f"{score.mean:.3f}, {score.seeds} seed{'s' * (score.seeds > 1)}, n = {score.examples:,}"
            cells.append(TableCell.of(score.mean, slot.measure.metric, sd=score.sd, title=title))
    values = [cell.value for cell in cells if cell.value is not None]
    if len(values) < 2:
        return cells
    best = (min if lower_is_better(slot.measure.metric) else max)(values)
    return [replace(cell, best=cell.text == figure(best, digits=cell.digits)) for cell in cells]
