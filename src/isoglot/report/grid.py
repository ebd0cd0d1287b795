"""Tables in the papers' layout, one a task: runs down, languages across, means computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isoglot.report.beside import Beside, Slot, add_rows, metric_name, quantity_name
from isoglot.report.comparison import Comparison, RunInfo, placed_lines
from isoglot.report.languages import language_name
from isoglot.report.papers import PaperTable, paper_table
from isoglot.report.placing import paper_lines, transformation
from isoglot.report.scores import Measure, Scores, lower_is_better, main_measures, percentage
from isoglot.report.table import Table, slug

__all__ = ["Layout", "average_sets", "build_tables", "caption", "transfer_groups"]

_QUANTITIES = ("zs", "sup", "delta")
_FURTHER = "further metrics"


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
    """A table for each task, split and metric.

    EM and F1 share one, each language having both; so do the supervised and zero-shot results of
    ``isoglot transfer`` and their difference. Where one table of a paper was named to be compared with, the paper's
    figures stand in the task's own table; where there are several, each has a table after it.

    Raises:
        ConfigurationError: a comparison names a run, table or row that does not exist.
    """
    tables = []
    for measures in _together(scores.measures()):
        found = []
        for comparison in layout.comparisons:
            paper = paper_table(comparison.paper)
            if _concerns(comparison, paper, measures, scores):
                found.append(_draft(measures, scores, layout, (comparison, paper)))
        if len(found) != 1 or any(c.placed_only for c in layout.comparisons):
            tables.append(_draft(measures, scores, layout, None))
        tables += found
    _unique(tables)
    return tables


def _is_secondary(measures: Sequence[Measure], scores: Scores) -> bool:
    return not set(measures) & set(main_measures(scores.measures()))


def caption(measures: Sequence[Measure], scores: Scores, *, names: str = "") -> str:
    """What the numbers of a table are.

    Args:
        measures: shown in it.
        scores: all.
        names: of the measures; by default those of their metrics.
    """
    names = names or " and ".join(dict.fromkeys(metric_name(m.metric) for m in measures))
    values = [langs for m in measures for langs in scores.values[m].values()]
    counts = [n for langs in values for seeds in langs.values() for _, n in seeds.values()]
    examples = f"{min(counts):,}" if min(counts) == max(counts) else f"{min(counts):,} to {max(counts):,}"
    examples = f", {examples} examples a language" if max(counts) else ""  # analyses of embeddings have none
    directions = list(dict.fromkeys(lower_is_better(m.metric) for m in measures))
    better = "lower is better" if directions == [True] else "higher is better"
    shares = [percentage(m) for m in measures]
    scale = ", in percent" if all(shares) else ", shares in percent" if any(shares) else ""
    several = any(len(seeds) > 1 for langs in values for seeds in langs.values())
    seeds = " Mean ± standard deviation over seeds." if several else ""
    splits = "/".join(dict.fromkeys(m.split for m in measures))
    if len(directions) > 1:
        better = "higher is better, but lower in Δ = SUP − ZS"
    chance = (
        " Guessing gives 33.3."
        if {(m.common_task, m.base_metric) for m in measures} == {("xnli", "accuracy")}
        else ""
    )
    return f"{names}{scale}, {splits} split{examples}; {better}.{chance}{seeds}"


def transfer_groups(measures: Sequence[Measure]) -> bool:
    """Whether these are results of ``isoglot transfer``."""
    return all(m.quantity for m in measures)


def _together(measures: Sequence[Measure]) -> list[list[Measure]]:
    """Measures of one table each: EM and F1 of a task and split, EM first; ZS, SUP and Δ; the main one; the others."""
    main = main_measures(measures)
    groups: dict[tuple[str, str, str], list[Measure]] = {}
    for measure in measures:
        own = (measure.task, measure.split)
        both = {m.common_metric for m in measures if (m.task, m.split) == own}
        key = measure.metric
        if measure.quantity:
            key = f"transfer {measure.base_metric}"
        elif measure.common_metric in ("em", "f1") and {"em", "f1"} <= both:
            key = "em/f1"
        elif measure not in main:
            key = _FURTHER
        groups.setdefault((*own, key), []).append(measure)
    order = {q: place for place, q in enumerate(_QUANTITIES)}
    return [sorted(g, key=lambda m: (order.get(m.quantity, 0), m.common_metric)) for g in groups.values()]


def _concerns(comparison: Comparison, paper: PaperTable, measures: Sequence[Measure], scores: Scores) -> bool:
    if comparison.task is not None and comparison.task not in {
        t for m in measures for t in (m.task, m.common_task)
    }:
        return False
    lines = paper_lines(paper)
    cells = [(m, lang) for m in measures for lang in scores.languages(m)]
    if not comparison.placed_only and any(line.cell(m, lang) for m, lang in cells for line in lines):
        return True
    runs = list(dict.fromkeys(run for m in measures for run in scores.values[m]))
    here = comparison.model_copy(update={"rows": {k: v for k, v in comparison.rows.items() if k in runs}})
    if comparison.rows and not here.rows:
        return False
    placed, _ = placed_lines(paper, here, runs, measures[0].task)
    return any(line.cell(m, lang) for m, lang in cells for line, _ in placed.values())


def _draft(
    measures: list[Measure], scores: Scores, layout: Layout, beside: tuple[Comparison, PaperTable] | None
) -> Table:
    first = measures[0]
    transfer = transfer_groups(measures)
    further = _is_secondary(measures, scores)
    names = " / ".join(metric_name(m.metric) for m in measures)
    if transfer:
        base = metric_name(first.base_metric)
        names = f"{base}, zero-shot (ZS), supervised (SUP) and the gap Δ"
    if further and len(measures) > 1 and not transfer:
        names = _FURTHER
    if transfer and beside is not None:
        names = f"{base}, ZS, SUP and Δ"
    title = f"{first.task}: {names}" + ("" if beside is None else f", beside {beside[1].cited}")
    named = [names] if names == _FURTHER else [m.metric for m in measures]
    if transfer:
        named = [first.base_metric, "transfer"]
    parts = [first.task, first.split, *named, *([beside[1].name] if beside else [])]
    told = caption(measures, scores, names=metric_name(first.base_metric) if transfer else "")
    table = Table(slug(parts), title, told, "run", [], secondary=further)
    paper = None if beside is None else beside[1]
    if transfer:
        slots = _transfer_slots(measures, scores)
    elif names == _FURTHER:
        slots = _further_slots(measures, scores, layout)
    else:
        slots = _slots(table, measures, scores, layout, paper)
    if beside is not None and beside[0].placed_only:
        slots = _printed_slots(slots, beside[1], beside[0], scores)
    table.columns = [slot.heading() for slot in slots]
    add_rows(table, slots, scores, None if beside is None else Beside(beside[0], beside[1], layout.runs))
    return table


def _slots(
    table: Table, measures: Sequence[Measure], scores: Scores, layout: Layout, paper: PaperTable | None
) -> list[Slot]:
    languages = _order(measures, scores, layout.source, paper)
    shared = languages if paper is None else _shared(measures, languages, paper)
    if paper is not None and len(shared) > 1 and set(shared) != set(languages):
        table.note(f"Means are over {', '.join(shared)}, the languages that both have.")
    sets: list[tuple[str, tuple[str, ...], bool]] = [(lang, (lang,), False) for lang in languages]
    sets += [(label, members, True) for label, members in average_sets(shared, layout.source)]
    slots = []
    for label, members, average in sets:
        full = f"mean over {', '.join(members)}" if average else language_name(label)
        for m in measures:
            part = (tuple((m, lang) for lang in members),)
            several = len(measures) > 1
            name = metric_name(m.metric) if several else label or "value"
            slots.append(Slot(name, part, label if several else "", full, average))
    return slots


def _further_slots(measures: Sequence[Measure], scores: Scores, layout: Layout) -> list[Slot]:
    """One metric after the other, in each the languages and their last mean."""
    slots = []
    for m in measures:
        languages = _order([m], scores, layout.source, None)
        sets: list[tuple[str, tuple[str, ...], bool]] = [(lang, (lang,), False) for lang in languages]
        sets += [(label, members, True) for label, members in average_sets(languages, layout.source)[-1:]]
        for label, members, average in sets:
            full = f"mean over {', '.join(members)}" if average else language_name(label)
            part = (tuple((m, lang) for lang in members),)
            slots.append(Slot(label or "value", part, metric_name(m.metric), full, average))
    return slots


def _transfer_slots(measures: Sequence[Measure], scores: Scores) -> list[Slot]:
    """ALIGN-MLM's layout: the transformations across, in each ZS, SUP and Δ."""
    slots = []
    for language in dict.fromkeys(lang for m in measures for lang in scores.languages(m)):
        applied = language.partition("-x-")[2].replace("-", "+") if transformation(language) else language
        slots += [
            Slot(quantity_name(m.quantity), (((m, language),),), applied, language_name(language))
            for m in measures
        ]
    return slots


def _printed_slots(
    slots: Sequence[Slot], paper: PaperTable, comparison: Comparison, scores: Scores
) -> list[Slot]:
    """Those columns that the paper has figures in, means aside."""
    placed, _ = placed_lines(paper, comparison, scores.runs, slots[0].measure.task)
    lines = [*paper_lines(paper), *(line for line, _ in placed.values())]
    return [slot for slot in slots
            if slot.average or any(line.cell(*slot.parts[0][0]) for line in lines)]  # fmt: skip


def _order(measures: Sequence[Measure], scores: Scores, source: str, paper: PaperTable | None) -> list[str]:
    """Languages in the paper's order, or the source language first and the others by their code."""
    ours = list(dict.fromkeys(lang for m in measures for lang in scores.languages(m)))
    plain = sorted(ours, key=lambda lang: (lang != source, lang))
    if paper is None:
        return plain
    printed = [c.language for c in paper.columns if c.language]
    swapped = {"-".join(reversed(lang.split("-"))): printed.index(lang) for lang in reversed(printed)}
    places = {**swapped, **{lang: printed.index(lang) for lang in reversed(printed)}}
    return sorted(plain, key=lambda lang: places.get(lang, len(printed)))


def _shared(measures: Sequence[Measure], languages: Sequence[str], paper: PaperTable) -> list[str]:
    lines = paper_lines(paper)
    return [lang for lang in languages if all(any(line.cell(m, lang) for line in lines) for m in measures)]


def _unique(tables: Sequence[Table]) -> None:
    """Give tables whose names fold into one (``a b``, ``a-b``) different ones."""
    seen: dict[str, int] = {}
    for table in tables:
        seen[table.id] = seen.get(table.id, 0) + 1
        if seen[table.id] > 1:
            table.id = f"{table.id}-{seen[table.id]}"
