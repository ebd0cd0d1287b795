"""Tables of results: one for each task, runs down and languages across; and one overview of all tasks.

A table is planned as *slots*, one for each column: a measure (task, split, metric) and the languages whose mean the
column shows. ``_filled`` then reads the cells of each slot from the scores. Open ``result_tables`` first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pandas import concat

from isoglot.reports.scores import Measure, ReportScores, lower_is_better, main_measures
from isoglot.reports.stats import Score
from isoglot.reports.table import Column, Table, TableCell, TableRow, shown_number, slug
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
    """Spell a metric for headings.

    Example:
        >>> metric_name("f1"), metric_name("f1_zero_shot"), metric_name("token_accuracy")
        ('F1', 'F1, ZS', 'token accuracy')
    """
    measure = Measure("", "", metric)
    if measure.quantity:
        base = measure.base_metric
        name = _METRICS.get(base, base.replace("_", " "))
        return f"{name}, {_QUANTITY_NAMES[measure.quantity]}"
    return _METRICS.get(metric.lower(), metric.replace("_", " "))


def target_languages(scores: ReportScores, measure: Measure, source: str) -> tuple[str, ...]:
    """Choose the languages whose mean stands for a measure: the last of :func:`average_sets`."""
    languages = scores.languages(measure)
    sets = average_sets(languages, source)
    return sets[-1][1] if sets else tuple(languages)


def average_sets(languages: Sequence[str], source: str) -> list[tuple[str, tuple[str, ...]]]:
    """Name the means that a table shows: over all languages, and over all but the source language.

    The second needs two other languages: with one, it would repeat that language's column.

    Example:
        >>> average_sets(["en", "de", "fr"], "en")
        [('avg', ('en', 'de', 'fr')), ('avg zero-shot', ('de', 'fr'))]
        >>> average_sets(["en", "de"], "en")
        [('avg', ('en', 'de'))]
    """
    sets: list[tuple[str, tuple[str, ...]]] = []
    if len(languages) > 1:
        sets.append(("avg", tuple(languages)))
        if source in languages and len(languages) > 2:
            sets.append(("avg zero-shot", tuple(lang for lang in languages if lang != source)))
    return sets


def overview(scores: ReportScores, source: str) -> Table | None:
    """Show all tasks in one table: each task's main metric as a mean over the target languages (zero-shot).

    ``None`` for fewer than two tasks or two runs: the table would repeat another one.
    """
    measures = [measure for measure in main_measures([*scores.values]) if not measure.quantity]
    if len(measures) < 2 or len(scores.runs) < 2:
        return None
    slots = []
    for measure in measures:
        languages = target_languages(scores, measure, source)
        name = metric_name(measure.metric)
        arrow = " ↓" if lower_is_better(measure.metric) else ""
        title = f"{name}, mean over {', '.join(languages)}"
        slots.append(_Slot(measure, languages, Column(name + arrow, title, measure.title)))
    caption = f"Means over the languages measured, {source} left out where there are two others."
    if any(slot.heading.label.endswith("↓") for slot in slots):
        caption += " Higher is better, but lower under ↓."
    return _filled(Table("overview", "All tasks", caption, "run", []), slots, scores)


def result_tables(scores: ReportScores, source: str) -> list[Table]:
    """Make a table for each task, split and metric; some metrics share one.

    1. The supervised and zero-shot results of ``isoglot transfer`` and their difference: three columns for each
       language.
    2. EM and F1 of a task: two columns for each language.
    3. Further metrics, none of which is the task's main one: languages below each metric. This table is secondary.
    4. Any other metric has a table of its own, a column for each language.
    """
    tables = []
    main = set(main_measures([*scores.values]))
    for measures in _measures_by_table([*scores.values]):
        first = measures[0]
        is_further = main.isdisjoint(measures)
        if all(measure.quantity for measure in measures):
            base = metric_name(first.base_metric)
            names = f"{base}, zero-shot (ZS), supervised (SUP) and the gap Δ"
            parts = [first.task, first.split, first.base_metric, "transfer"]
            slots = _transfer_slots(measures, scores)
            caption = _caption(measures, scores, base)
        else:
            if is_further and len(measures) > 1:
                names, parts = _FURTHER, [first.task, first.split, _FURTHER]
                slots = []
                for measure in measures:
                    slots += _language_slots([measure], scores, source, by_metric=True)
            else:
                names = " / ".join(metric_name(measure.metric) for measure in measures)
                parts = [first.task, first.split, *(measure.metric for measure in measures)]
                slots = _language_slots(measures, scores, source)
            caption = _caption(measures, scores)
        table = Table(slug(parts), f"{first.task}: {names}", caption, "run", [], secondary=is_further)
        table.notes += scores.notes(first.task)
        tables.append(_filled(table, slots, scores))
    return tables


def _caption(measures: Sequence[Measure], scores: ReportScores, names: str = "") -> str:
    """Say what the numbers of a table are.

    For example ``F1, in percent, test split, 100 examples per language; higher is better.`` ``names`` is how it begins;
    by default the names of the metrics.
    """
    names = names or " and ".join(dict.fromkeys(metric_name(measure.metric) for measure in measures))

    # Shares are shown in percent; a correlation or a cosine is not.
    shares = [measure.base_metric in SHARES for measure in measures]
    scale = ""
    if all(shares):
        scale = ", in percent"
    elif any(shares):
        scale = ", shares in percent"
    splits = "/".join(dict.fromkeys(measure.split for measure in measures))

    # Examples: 0 where nobody counted them, as in analyses of embeddings.
    counts = [scores.examples[measure].where(scores.examples[measure] > 0) for measure in measures]
    counts = [frame for frame in counts if frame.notna().any(axis=None)]
    low = int(min((frame.min(axis=None) for frame in counts), default=0))
    high = int(max((frame.max(axis=None) for frame in counts), default=0))
    examples = ""
    if high:
        examples = f", {low:,}" if low == high else f", {low:,} to {high:,}"
        examples += " examples per language"

    # The better direction, and the metrics that have the other one.
    lower = [measure for measure in measures if lower_is_better(measure.metric)]
    if len(lower) == len(measures):
        better = "lower is better"
    elif not lower:
        better = "higher is better"
    elif all(measure.quantity for measure in measures):
        better = "higher is better, but lower in Δ = SUP − ZS"
    else:
        exceptions = dict.fromkeys(metric_name(measure.metric) for measure in lower)
        better = f"higher is better, but lower in {' and '.join(exceptions)}"

    seeds_of_runs = [scores.values[measure].groupby(level="run").count() for measure in measures]
    several = any((seeds > 1).any(axis=None) for seeds in seeds_of_runs)
    seeds = " Mean ± standard deviation over seeds." if several else ""
    return f"{names}{scale}, {splits} split{examples}; {better}.{seeds}"


def _measures_by_table(measures: Sequence[Measure]) -> list[list[Measure]]:
    """Group measures that share a table, by the rules of :func:`result_tables`.

    Tables: tasks in their order of appearance; within a task, further metrics last. Columns: ZS, SUP, Δ; EM before F1;
    else by the alphabet.
    """
    main = main_measures(measures)
    groups: dict[tuple[str, str, str], list[Measure]] = {}
    for measure in measures:
        same_task = [m for m in measures if (m.task, m.split) == (measure.task, measure.split)]
        metrics_of_task = {m.base_metric for m in same_task if not m.quantity}
        if measure.quantity:
            key = f"transfer {measure.base_metric}"
        elif measure.base_metric in ("em", "f1") and {"em", "f1"} <= metrics_of_task:
            key = "em/f1"
        elif measure not in main:
            key = _FURTHER
        else:
            key = measure.metric
        groups.setdefault((measure.task, measure.split, key), []).append(measure)
    tasks = list(dict.fromkeys((task, split) for task, split, _ in groups))
    keys = sorted(groups, key=lambda key: (tasks.index(key[:2]), key[2] == _FURTHER))
    quantities = list(_QUANTITY_NAMES)
    return [sorted(groups[key], key=lambda m: (quantities.index(m.quantity), m.base_metric)) for key in keys]


def _transfer_slots(measures: Sequence[Measure], scores: ReportScores) -> list[_Slot]:
    """Plan ALIGN-MLM's layout: the transformations across, below each ZS, SUP and Δ.

    The language ``en-x-inv-trans`` was derived from English by two transformations: its group is ``inv+trans``.
    """
    languages = dict.fromkeys(lang for measure in measures for lang in scores.languages(measure))
    slots = []
    for language in languages:
        transformations = language.partition("-x-")[2].replace("-", "+")
        # Without any letter in it, the language's own code says more.
        group = transformations if transformations.strip("+_") else language
        for measure in measures:
            heading = Column(_QUANTITY_NAMES[measure.quantity], language, group)
            slots.append(_Slot(measure, (language,), heading))
    return slots


def _language_slots(
    measures: Sequence[Measure], scores: ReportScores, source: str, *, by_metric: bool = False
) -> list[_Slot]:
    """Plan a column for each language, the source language first, then for the means; a measure each below them.

    With ``by_metric`` the languages stand below the measure instead, with the last mean alone.
    """
    languages = sorted({lang for measure in measures for lang in scores.languages(measure)})
    languages.sort(key=lambda lang: lang != source)
    means = average_sets(languages, source)
    if by_metric:
        means = means[-1:]
    sets: list[tuple[str, tuple[str, ...], bool]] = [(lang, (lang,), False) for lang in languages]
    sets += [(label, members, True) for label, members in means]
    slots = []
    for label, members, average in sets:
        title = f"mean over {', '.join(members)}" if average else ""
        for measure in measures:
            metric = metric_name(measure.metric)
            if by_metric:
                name, group = label or "value", metric
            elif len(measures) > 1:
                name, group = metric, label
            else:
                name, group = label or "value", ""  # an analysis may have no language
            slots.append(_Slot(measure, members, Column(name, title, group, average)))
    return slots


def _filled(table: Table, slots: Sequence[_Slot], scores: ReportScores) -> Table:
    """Fill in a row for each run that has a value in any column; the best of each column is marked."""
    table.columns = [slot.heading for slot in slots]
    columns = [_column(scores, slot) for slot in slots]
    # How many seeds each run has, in each language of each slot.
    values = [scores.values[slot.measure].reindex(columns=slot.languages) for slot in slots]
    seeds_of = concat([frame.groupby(level="run").count() for frame in values], axis=1).reindex(scores.runs)
    for run, cells in zip(scores.runs, zip(*columns, strict=True), strict=True):
        counts = seeds_of.loc[run]
        measured = counts[counts > 0]
        if len(measured) == 0:
            continue
        low, high = int(measured.min()), int(measured.max())
        seeds = f"{low} seeds" if low == high else f"{low}–{high} seeds"
        if high == 1:
            seeds = "1 seed"
        table.rows.append(TableRow(run, cells, "ours", seeds))
    return table


def _column(scores: ReportScores, slot: _Slot) -> list[TableCell]:
    """Make a column's cell for each run, and mark the best."""
    means = scores.means(slot.measure, slot.languages)
    cells = [_cell(scores, slot, run, means.get(run)) for run in scores.runs]
    values = [cell.value for cell in cells if cell.value is not None]
    if len(values) < 2:
        return cells
    best = min(values) if lower_is_better(slot.measure.metric) else max(values)
    # All that print the same as the best are best: of 70.04 and 70.01 both read 70.0.
    return [replace(cell, best=cell.text == shown_number(best, digits=cell.digits)) for cell in cells]


def _cell(scores: ReportScores, slot: _Slot, run: str, score: Score | None) -> TableCell:
    """Show a run's mean over seeds, or a dash with its reason."""
    if score is not None:
        title = f"{score.mean:.3f}, {score.seeds} seed{'s' * (score.seeds > 1)}, n = {score.examples:,}"
        return TableCell.of(score.mean, slot.measure.metric, sd=score.sd, title=title)
    if not slot.heading.average:
        return TableCell("–", title="not measured")
    measured = scores.languages(slot.measure, run)
    lacking = [lang for lang in slot.languages if lang not in measured]
    if lacking:
        return TableCell("–", title=f"no mean: {', '.join(lacking)} missing")
    return TableCell("–", title="no mean: no seed has everything")
