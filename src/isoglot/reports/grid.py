"""Tables of results: one for each task, runs down and languages across; and one overview of all tasks.

A table is planned first: each column is a *slot*, a measure (task, split, metric) and the languages whose mean the
column shows. ``_filled`` then makes the cells of each slot from the scores. Open ``result_tables`` first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pandas import concat

from isoglot.reports.scores import Measure, ReportScores, lower_is_better, main_measures
from isoglot.reports.stats import Score
from isoglot.reports.table import Column, Table, TableCell, TableRow, shown_number, slug
from isoglot.results.rows import SHARES

_QUANTITY_NAMES = {"": "", "zs": "ZS", "sup": "SUP", "delta": "Δ"}
"""Quantities of ``isoglot transfer`` as headings, in the order of their columns."""
_METRIC_NAMES = {"em": "EM", "exact_match": "EM", "f1": "F1", "aer": "AER", "mrr": "MRR"}
"""Metrics whose headings are not simply their names."""
_FURTHER = "further metrics"
"""Title of the table of metrics that are not the task's main one."""


@dataclass(frozen=True)
class _Slot:
    """The plan of one column: a measure in one language, or the mean of the measure over several languages."""

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
        name = _METRIC_NAMES.get(base, base.replace("_", " "))
        return f"{name}, {_QUANTITY_NAMES[measure.quantity]}"
    return _METRIC_NAMES.get(metric.lower(), metric.replace("_", " "))


def target_languages(scores: ReportScores, measure: Measure, source: str) -> tuple[str, ...]:
    """Choose the languages whose mean stands for a measure in overviews, headlines and charts.

    They are the languages of the last mean of :func:`average_sets`: ``de`` and ``fr`` of ``en``, ``de``, ``fr`` if the
    source is ``en``.
    """
    languages = scores.languages(measure)
    sets = average_sets(languages, source)
    if not sets:
        return tuple(languages)
    _, members = sets[-1]
    return members


def average_sets(languages: Sequence[str], source: str) -> list[tuple[str, tuple[str, ...]]]:
    """List the means that a table shows, each with its languages: over all languages, and without the source language.

    The second mean needs two other languages: with one, it would repeat the column of that language.

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
            others = tuple(language for language in languages if language != source)
            sets.append(("avg zero-shot", others))
    return sets


def overview(scores: ReportScores, source: str) -> Table | None:
    """Show all tasks in one table: the main metric of each task, as a mean over the languages without the source.

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
        tooltip = f"{name}, mean over {', '.join(languages)}"
        slots.append(_Slot(measure, languages, Column(name + arrow, tooltip, measure.title)))
    caption = f"Means over the languages measured, {source} left out where there are two others."
    if any(slot.heading.label.endswith("↓") for slot in slots):
        caption += " Higher is better, but lower under ↓."
    return _filled(Table("overview", "All tasks", caption, "run", []), slots, scores)


def result_tables(scores: ReportScores, source: str) -> list[Table]:
    """Make a table for each task, split and metric; some metrics share a table.

    1. The supervised and zero-shot results of ``isoglot transfer`` and their difference: three columns for each
       language.
    2. EM and F1 of a task: two columns for each language.
    3. Further metrics, none of which is the task's main one: languages below each metric. This table is secondary:
       the page shows it folded.
    4. Any other metric has a table of its own, a column for each language.
    """
    tables = []
    main = set(main_measures([*scores.values]))
    for measures in _measures_by_table([*scores.values]):
        first = measures[0]
        is_further = main.isdisjoint(measures)
        if all(measure.quantity for measure in measures):  # 1
            base = metric_name(first.base_metric)
            title_end = f"{base}, zero-shot (ZS), supervised (SUP) and the gap Δ"
            id_parts = [first.task, first.split, first.base_metric, "transfer"]
            slots = _transfer_slots(measures, scores)
            caption = _caption(measures, scores, base)
        else:
            if is_further and len(measures) > 1:  # 3
                title_end, id_parts = _FURTHER, [first.task, first.split, _FURTHER]
                slots = []
                for measure in measures:
                    slots += _language_slots([measure], scores, source, by_metric=True)
            else:  # 2, 4, and 3 with a single metric
                title_end = " / ".join(metric_name(measure.metric) for measure in measures)
                id_parts = [first.task, first.split, *(measure.metric for measure in measures)]
                slots = _language_slots(measures, scores, source)
            caption = _caption(measures, scores)
        table = Table(slug(id_parts), f"{first.task}: {title_end}", caption, "run", [], secondary=is_further)
        table.notes += scores.notes(first.task)
        tables.append(_filled(table, slots, scores))
    return tables


def _caption(measures: Sequence[Measure], scores: ReportScores, names: str = "") -> str:
    """Say what the numbers of a table are.

    For example ``F1, in percent, test split, 100 examples per language; higher is better.``

    ``names``: The beginning of the caption; by default the names of the metrics.
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

    # The smallest and the largest number of examples. A number of 0 was not counted, as in analyses of embeddings.
    counts = []
    for measure in measures:
        frame = scores.examples[measure]
        counted = frame.where(frame > 0)
        if counted.notna().any(axis=None):
            counts.append(counted)
    low = int(min((frame.min(axis=None) for frame in counts), default=0))
    high = int(max((frame.max(axis=None) for frame in counts), default=0))
    examples = ""
    if high:
        examples = f", {low:,}" if low == high else f", {low:,} to {high:,}"
        examples += " examples per language"

    # The better direction, and the metrics that are better the other way.
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

    # Runs down, languages across: the number of seeds that have a value.
    seed_counts = [scores.values[measure].groupby(level="run").count() for measure in measures]
    has_several_seeds = any((count > 1).any(axis=None) for count in seed_counts)
    seeds = " Mean ± standard deviation over seeds." if has_several_seeds else ""
    return f"{names}{scale}, {splits} split{examples}; {better}.{seeds}"


def _measures_by_table(measures: Sequence[Measure]) -> list[list[Measure]]:
    """Group measures that share a table, by the rules of :func:`result_tables`.

    1. Tables stand in the order in which their tasks appear; within a task, the table of further metrics is last.
    2. Columns stand in the order ZS, SUP, Δ; those of other measures by the alphabet, so EM comes before F1.
    """
    main = main_measures(measures)
    groups: dict[tuple[str, str, str], list[Measure]] = {}  # task, split and name of the table -> measures
    for measure in measures:
        same_task = [m for m in measures if (m.task, m.split) == (measure.task, measure.split)]
        metrics_of_task = {m.base_metric for m in same_task if not m.quantity}
        if measure.quantity:
            table = f"transfer {measure.base_metric}"
        elif measure.base_metric in ("em", "f1") and {"em", "f1"} <= metrics_of_task:
            table = "em/f1"
        elif measure not in main:
            table = _FURTHER
        else:
            table = measure.metric
        groups.setdefault((measure.task, measure.split, table), []).append(measure)
    tasks = list(dict.fromkeys((task, split) for task, split, _ in groups))
    quantities = list(_QUANTITY_NAMES)

    def table_order(key: tuple[str, str, str]) -> tuple[int, bool]:  # 1
        task, split, table = key
        return tasks.index((task, split)), table == _FURTHER

    def column_order(measure: Measure) -> tuple[int, str]:  # 2
        return quantities.index(measure.quantity), measure.base_metric

    return [sorted(groups[key], key=column_order) for key in sorted(groups, key=table_order)]


def _languages(measures: Sequence[Measure], scores: ReportScores) -> list[str]:
    """List the languages of some measures, each once, in the order of their first rows."""
    return list(dict.fromkeys(lang for measure in measures for lang in scores.languages(measure)))


def _source_first(languages: Sequence[str], source: str) -> list[str]:
    """Sort languages by the alphabet, but put the source first: ``en``, ``de``, ``fr`` if the source is ``en``."""
    return sorted(languages, key=lambda language: (language != source, language))


def _transfer_slots(measures: Sequence[Measure], scores: ReportScores) -> list[_Slot]:
    """Plan the columns as ALIGN-MLM's tables have them: ZS, SUP and Δ below the name of each transformation.

    The language ``en-x-inv-trans`` was derived from English by two transformations: the name is ``inv+trans``. The
    code of the language stands in its place if the language is not derived, as ``de``, or if two languages of the table
    would have the same name, as ``en-x-inv`` and ``fr-x-inv``. The languages keep the order of their first rows.
    """
    languages = _languages(measures, scores)
    names = [_transformations(language) for language in languages]
    slots = []
    for language, name in zip(languages, names, strict=True):
        group = name if name and names.count(name) == 1 else language
        for measure in measures:
            heading = Column(_QUANTITY_NAMES[measure.quantity], language, group)
            slots.append(_Slot(measure, (language,), heading))
    return slots


def _transformations(language: str) -> str:
    """Name the transformations of a derived language, ``inv+trans`` of ``en-x-inv-trans``; empty for any other one."""
    return language.partition("-x-")[2].replace("-", "+")


def _language_slots(
    measures: Sequence[Measure], scores: ReportScores, source: str, *, by_metric: bool = False
) -> list[_Slot]:
    """Plan a column for each language, the source first and the others by the alphabet; then one for each mean.

    1. A single measure without ``by_metric``: the headings are the languages, ``en  de  fr  avg``.
    2. Several measures: they stand below each language, ``EM F1`` below ``en``.
    3. With ``by_metric``, a single measure: the languages stand below it, ``en de`` below ``MRR``, with the last mean
       only.
    """
    languages = _source_first(_languages(measures, scores), source)
    means = average_sets(languages, source)
    if by_metric:
        means = means[-1:]
    # A language or mean: the label, the languages, and the tooltip, which only means have.
    places: list[tuple[str, tuple[str, ...], str]] = [(lang, (lang,), "") for lang in languages]
    for label, members in means:
        places.append((label, members, f"mean over {', '.join(members)}"))
    slots = []
    for label, members, tooltip in places:
        for measure in measures:
            metric = metric_name(measure.metric)
            # The label is empty if a result has no language, as in some analyses.
            if by_metric:
                name, group = label or "value", metric  # 3
            elif len(measures) > 1:
                name, group = metric, label  # 2
            else:
                name, group = label or "value", ""  # 1
            slots.append(_Slot(measure, members, Column(name, tooltip, group, average=bool(tooltip))))
    return slots


def _filled(table: Table, slots: Sequence[_Slot], scores: ReportScores) -> Table:
    """Add a row to a table for each run that has a value in any column; the best cell of each column is marked."""
    table.columns = [slot.heading for slot in slots]
    columns = [_column(scores, slot) for slot in slots]
    cells_of_runs = zip(*columns, strict=True)
    # Runs down, the languages of all slots across: the number of seeds that have a value.
    seed_counts = []
    for slot in slots:
        values = scores.values[slot.measure].reindex(columns=slot.languages)
        seed_counts.append(values.groupby(level="run").count())
    seeds_of_runs = concat(seed_counts, axis=1).reindex(scores.runs)
    for run, cells in zip(scores.runs, cells_of_runs, strict=True):
        counts = seeds_of_runs.loc[run]
        measured = counts[counts > 0]
        if len(measured) == 0:
            continue
        low, high = int(measured.min()), int(measured.max())
        if high == 1:
            seeds = "1 seed"
        elif low == high:
            seeds = f"{high} seeds"
        else:
            seeds = f"{low}–{high} seeds"
        table.rows.append(TableRow(run, cells, "ours", seeds))
    return table


def _column(scores: ReportScores, slot: _Slot) -> list[TableCell]:
    """Make the cell of each run in a column, and mark the best cells; a single value is not marked."""
    means = scores.means(slot.measure, slot.languages)
    cells = [_cell(scores, slot, run, means.get(run)) for run in scores.runs]
    values = [cell.value for cell in cells if cell.value is not None]
    if len(values) < 2:
        return cells
    best = min(values) if lower_is_better(slot.measure.metric) else max(values)
    # Every cell that prints like the best one is marked: 70.04 and 70.01 both read 70.0.
    marked = []
    for cell in cells:
        is_best = cell.text == shown_number(best, digits=cell.digits)
        marked.append(replace(cell, best=is_best))
    return marked


def _cell(scores: ReportScores, slot: _Slot, run: str, score: Score | None) -> TableCell:
    """Show a run's mean over seeds, or a dash whose tooltip gives the reason."""
    if score is not None:
        tooltip = f"{score.mean:.3f}, {score.seeds} seed{'s' * (score.seeds > 1)}, n = {score.examples:,}"
        return TableCell.of(score.mean, slot.measure.metric, sd=score.sd, tooltip=tooltip)
    if len(slot.languages) == 1:
        return TableCell("–", tooltip="not measured")
    measured = scores.languages(slot.measure, run)
    lacking = [lang for lang in slot.languages if lang not in measured]
    if lacking:
        return TableCell("–", tooltip=f"no mean: {', '.join(lacking)} missing")
    return TableCell("–", tooltip="no mean: no seed has everything")
