"""``isoglot report``: run folders in, one page out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from isoglot import __version__
from isoglot.report.across import across_tables, overview
from isoglot.report.comparison import Comparison
from isoglot.report.curves import curve_figures
from isoglot.report.export import write_tables
from isoglot.report.folds import own_tables, paper_folds
from isoglot.report.grid import Layout, build_tables
from isoglot.report.headline import headlines, summary
from isoglot.report.html import Markup, element
from isoglot.report.page import (
    Section,
    figure_block,
    headline_cards,
    page,
    results_section,
    table_block,
)
from isoglot.report.placing import in_order
from isoglot.report.plots import Drawn, draw
from isoglot.report.runs import Material, gather
from isoglot.report.scores import Combination, Scores, collect
from isoglot.report.table import Column, Row, Table, TableCell, slug
from isoglot.report.viewer import alignment_table, alignment_viewer
from isoglot.runs.files import refuse_overwriting, write_text

__all__ = ["ReportOptions", "render", "report_tables"]


_CURVES = 6
"""So many training curves are shown; the others are folded."""
_INLINE = 3
"""So many tables beside a paper's stand among the tasks' own; more have a section of their own."""


@dataclass(frozen=True)
class ReportOptions:
    """What a report shows beside its runs.

    Args:
        title: heading of the page.
        headline: a sentence of your own, put above the computed headline.
        comparisons: tables of the papers to put beside ours.
        combinations: bilingual models shown as one row.
        names: run -> what it is called in the report.
        baseline: the run that the headline compares with; the second best without it.
        source: language fine-tuned on; the zero-shot mean leaves it out.
        sentences: pairs shown in each word-alignment viewer.
        tables: folder for every table as CSV and LaTeX.
    """

    title: str = "isoglot report"
    headline: str = ""
    comparisons: Sequence[Comparison] = ()
    combinations: Sequence[Combination] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    baseline: str | None = None
    source: str = "en"
    sentences: int = 30
    tables: str | Path | None = None


def render(runs: Sequence[str | Path], *, out: str | Path, options: ReportOptions | None = None) -> Path:
    """Write one self-contained HTML page on the runs.

    Args:
        runs: run folders, folders of them, or files of results.
        out: the page.
        options: what to show beside the runs.

    Returns:
        The page.

    Raises:
        InputError: a run is missing or holds nothing, or a file in it is wrong (``file:line``).
        ConfigurationError: a comparison, combination or baseline names what is not there.

    Example:
        >>> render(["runs/tlm", "runs/weam"], out="report.html")  # doctest: +SKIP
        PosixPath('report.html')
    """
    options = options or ReportOptions()
    refuse_overwriting(out, [run for run in runs if Path(run).is_file()])
    material = gather(runs, options.combinations, options.names)
    scores = _ordered(material, options)
    tables = _tables(scores, material, options)
    runs = in_order(list(dict.fromkeys([*scores.runs, *(curve.run for curve in material.curves)])))
    drawn = [draw(found, runs=runs) for _, found in material.figures]
    main, side = ([draw(chart, runs=runs) for chart in charts] for charts in curve_figures(material.curves))
    everything = _results_table(material)
    beside = [table for table in tables if table.paper]
    if len(beside) <= _INLINE and not any(c.placed_only for c in options.comparisons):
        beside = []
    own = [table for table in tables if table not in beside]
    links = [alignment_table(title, sentences) for title, sentences in material.alignments]
    provenance = _runs_table(material)
    exported = [*tables, *(d.data for d in (*drawn, *main, *side)), *links, everything, provenance]
    _distinct(exported)
    sections = [
        Section("tables", "Results by task", own_tables(own), own),
        Section("papers", "Beside the papers", paper_folds(beside), beside),
        Section("figures", "Figures", _figures(drawn)),
        Section("curves", "Training", _curves(main, side)),
        Section("alignments", "Word alignments", _viewers(material, options)),
        Section("all", "All results", results_section(everything) if material.rows else []),
        Section("runs", "Runs", [table_block(provenance, heading=False)] if provenance.rows else []),
    ]
    lead = _lead(scores, material, options)
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    text = page(
        options.title,
        lead,
        sections,
        f"Made by isoglot {__version__}, {made}. Nothing on this page is fetched.",
    )
    if options.tables is not None:
        write_tables(exported, options.tables)
    return write_text(out, text)


def report_tables(runs: Sequence[str | Path], options: ReportOptions) -> list[Table]:
    """The tables by task alone, for ``isoglot report compare``.

    Raises:
        InputError: as :func:`render`.
        ConfigurationError: as :func:`render`.
    """
    material = gather(runs, options.combinations, options.names)
    return _tables(_ordered(material, options), material, options)


def _ordered(material: Material, options: ReportOptions) -> Scores:
    """All scores; the run to compare with first, then those of known systems."""
    scores = collect(material.rows, options.combinations)
    runs = in_order(scores.runs)
    scores.runs = sorted(runs, key=lambda run: run != options.baseline)
    return scores


def _tables(scores: Scores, material: Material, options: ReportOptions) -> list[Table]:
    layout = Layout(options.source, options.comparisons, material.infos)
    first = overview(scores, layout)
    return [*([first] if first else []), *build_tables(scores, layout), *across_tables(scores, layout)]


def _lead(scores: Scores, material: Material, options: ReportOptions) -> list[Markup]:
    lines = headlines(scores, source=options.source, baseline=options.baseline)
    parts = [element("p", text, class_="headline") for text in (options.headline, summary(lines)) if text]
    cards = headline_cards(lines)
    if cards is not None:
        parts.append(cards)
    seeds = {row.seed for row in material.rows if row.seed is not None}
    counts = [(len(scores.runs), "run"), (len(seeds), "seed"), (len({m.task for m in scores.measures()}), "task"),
              (len({row.language for row in material.rows}), "language"), (len(material.rows), "result")]  # fmt: skip
    told = ", ".join(f"{n:,} {word}{'' if n == 1 else 's'}" for n, word in counts if n)
    if told:
        parts.append(
            element(
                "p",
                f"{told}. Means over languages are computed here from the columns shown.",
                class_="counts",
            )
        )
    if scores.repeated:
        first = scores.repeated[0]
        parts.append(
            element("p", f"{len(scores.repeated)} results were measured again with another value; the last one counts "
                    f"(first: {first.run}, {first.task}, {first.language}, {first.metric}).", class_="warning")
        )  # fmt: skip
    return parts


def _figures(drawn: Sequence[Drawn]) -> list[Markup]:
    return [element("div", *(figure_block(d) for d in drawn), class_="figures")] if drawn else []


def _curves(main: Sequence[Drawn], side: Sequence[Drawn]) -> list[Markup]:
    parts = _figures(main[:_CURVES])
    if main[_CURVES:]:
        title = element("summary", f"{len(main) - _CURVES} further losses and metrics")
        parts.append(element("details", title, *_figures(main[_CURVES:]), class_="fold"))
    if side:
        title = element("summary", "Learning rate, gradient norm, speed")
        parts.append(element("details", title, *_figures(side), class_="fold"))
    return parts


def _viewers(material: Material, options: ReportOptions) -> list[Markup]:
    return [
        alignment_viewer(title, sentences, most=options.sentences, number=number)
        for number, (title, sentences) in enumerate(material.alignments, 1)
    ]


def _results_table(material: Material) -> Table:
    names = ["task", "language", "split", "metric", "value", "seed", "examples", "recipe", "checkpoint"]
    table = Table(
        "all-results", "All results", "As measured, one row a result.", "run", [Column(n) for n in names]
    )
    for row in material.rows:
        seed = TableCell("") if row.seed is None else TableCell(str(row.seed), float(row.seed))
        value = TableCell(f"{row.value:.4f}".rstrip("0").rstrip("."), row.value)
        texts = (TableCell(row.task), TableCell(row.language), TableCell(row.split), TableCell(row.metric))
        hashes = (TableCell(row.recipe_hash[:8]), TableCell(row.checkpoint_hash[:8]))
        cells = (*texts, value, seed, TableCell(f"{row.examples:,}", float(row.examples)), *hashes)
        table.rows.append(Row(row.run, cells, "plain"))
    return table


def _runs_table(material: Material) -> Table:
    names = ["starts from", "seeds", "results", "recipe", "checkpoints", "versions", "folder"]
    table = Table("runs", "Runs", "", "run", [Column(name) for name in names])
    for info in material.infos.values():
        versions = ", ".join(f"{name} {version}" for name, version in info.versions.items())
        checkpoints = ", ".join(h[:8] for h in info.checkpoint_hashes)
        recipes = ", ".join(h[:8] for h in info.recipe_hash.split(", "))
        texts = [info.encoder or "not recorded", ", ".join(map(str, info.seeds)) or "–", f"{info.examples:,}",
                 recipes, checkpoints, versions, info.folder]  # fmt: skip
        table.rows.append(Row(info.name, tuple(map(TableCell, texts)), "plain"))
    return table


def _distinct(tables: Sequence[Table]) -> None:
    """Different file names for tables of one name."""
    seen: set[str] = set()
    for table in tables:
        name, number = table.id, 2
        while table.id in seen:
            table.id = slug([name, str(number)])
            number += 1
        seen.add(table.id)
