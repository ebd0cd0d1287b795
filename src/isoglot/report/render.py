"""``isoglot report``: run folders and studies in, one page out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from isoglot.report.beside import Place, beside_cells
from isoglot.report.charts import draw
from isoglot.report.compare import compare
from isoglot.report.curves import curve_figures
from isoglot.report.export import write_tables
from isoglot.report.grid import overview, result_tables
from isoglot.report.headline import headlines, summary
from isoglot.report.options import CompareOptions, ReportOptions
from isoglot.report.page import Page, to_html
from isoglot.report.runs import Material, gather
from isoglot.report.scores import Combination, Scores, collect
from isoglot.report.table import Column, Row, Table, TableCell, slug
from isoglot.report.viewer import Viewer, alignment_table
from isoglot.runs.files import refuse_overwriting, write_text


def render(runs: Sequence[str | Path], *, out: str | Path, options: ReportOptions | None = None) -> Path:
    """Write one self-contained HTML page on the runs.

    Raises:
        InputError: a run is missing or holds nothing, or a file in it is wrong (``file:line``).
        ConfigurationError: a place, combination or baseline names what is not there.

    Example:
        >>> render(["runs/tlm", "runs/weam"], out="report.html")  # doctest: +SKIP
        PosixPath('report.html')
    """
    options = options or ReportOptions()
    refuse_overwriting(out, [run for run in runs if Path(run).is_file()])
    material, scores = _gathered(runs, options)
    scores.runs.sort(key=lambda run: run != options.baseline)
    page = _page(material, scores, options)
    links = [alignment_table(title, sentences) for title, sentences in material.alignments]
    drawn = [figure.data for figure in (*page.figures, *page.curves, *page.side)]
    tables = [*page.own, *page.beside, *drawn, *links, page.everything, page.runs]
    _distinct(tables)
    text = to_html(page)
    if options.tables is not None:
        write_tables(tables, options.tables)
    return write_text(out, text)


def comparison_tables(runs: Sequence[str | Path], options: CompareOptions) -> list[Table]:
    """The tables beside the papers' alone, for ``isoglot report compare``."""
    return _compared(*_gathered(runs, options), options)


def _gathered(runs: Sequence[str | Path], options: CompareOptions) -> tuple[Material, Scores]:
    combinations = [Combination.parse(text) for text in options.combine]
    material = gather(runs, combinations, options.names)
    return material, collect(material.rows, combinations)


def _compared(material: Material, scores: Scores, options: CompareOptions) -> list[Table]:
    encoders = {run: info.encoder for run, info in material.infos.items()}
    places = [Place.parse(text) for text in options.beside]
    return compare([*material.cells, *beside_cells(places, scores, encoders)], others=True)


def _page(material: Material, scores: Scores, options: ReportOptions) -> Page:
    lines = headlines(scores, source=options.source, baseline=options.baseline)
    first = overview(scores, options.source)
    names = list(dict.fromkeys([*scores.runs, *(curve.run for curve in material.curves)]))
    main, side = ([draw(chart, runs=names) for chart in charts] for charts in curve_figures(material.curves))
    warning = ""
    if scores.repeated:
        row = scores.repeated[0]
        warning = (
            f"{len(scores.repeated)} results were measured again with another value; the last one counts "
            f"(first: {row.run}, {row.task}, {row.language}, {row.metric})."
        )
    return Page(
        options.title, _results_table(material), _runs_table(material),
        lead=(options.headline, summary(lines)), cards=lines, counts=_counts(material, scores), warning=warning,
        own=[*([first] if first else []), *result_tables(scores, options.source)],
        beside=_compared(material, scores, options),
        figures=[draw(found, runs=names) for found in material.figures], curves=main, side=side,
        viewers=[Viewer(title, pairs, most=options.sentences) for title, pairs in material.alignments],
    )  # fmt: skip


def _counts(material: Material, scores: Scores) -> str:
    seeds = {row.seed for row in material.rows if row.seed is not None}
    languages = {row.language for row in material.rows}
    counts = [(len(scores.runs), "run"), (len(seeds), "seed"), (len({m.task for m in scores.measures()}), "task"),
              (len(languages), "language"), (len(material.rows), "result")]  # fmt: skip
    return ", ".join(f"{n:,} {word}{'s' * (n != 1)}" for n, word in counts if n)


def _results_table(material: Material) -> Table:
    has_options = any(row.options for row in material.rows)
    names = ["task", "language", "split", "metric", *["options"] * has_options, "value", "seed", "examples"]
    columns = [Column(name) for name in (*names, "recipe", "checkpoint")]
    table = Table("all-results", "All results", "As measured, one row per result.", "run", columns)
    for row in material.rows:
        texts = [row.task, row.language, row.split, row.metric, *[row.settings] * has_options]
        value = TableCell(f"{row.value:.4f}".rstrip("0").rstrip("."), row.value)
        seed = TableCell("") if row.seed is None else TableCell(str(row.seed), float(row.seed))
        examples = TableCell(f"{row.examples:,}", float(row.examples))
        hashes = (TableCell(row.recipe_hash[:8]), TableCell(row.checkpoint_hash[:8]))
        table.rows.append(Row(row.run, (*map(TableCell, texts), value, seed, examples, *hashes), "plain"))
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


def _distinct(tables: Iterable[Table]) -> None:
    """Different file names for tables of one name."""
    seen: set[str] = set()
    for table in tables:
        name, number = table.id, 2
        while table.id in seen:
            table.id = slug([name, str(number)])
            number += 1
        seen.add(table.id)
