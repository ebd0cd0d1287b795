"""Write the page of ``isoglot report``: one HTML file on runs and studies, which fetches nothing.

``report`` gathers the material, computes the page's parts as data (``_page``) and writes them as HTML (``_html``).
``comparison_tables`` makes the tables of ``isoglot report compare``, which has no page.
"""

import base64
import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from isoglot import __version__
from isoglot.core.checks import one_request, shortened
from isoglot.core.errors import ConfigurationError
from isoglot.core.languages import common_code
from isoglot.reports.beside_papers import tables_beside_papers
from isoglot.reports.confusion_tables import confusion_tables
from isoglot.reports.curves import curve_figures
from isoglot.reports.export import to_csv, to_latex, write_tables
from isoglot.reports.figure_files import ReportFigure
from isoglot.reports.grid import overview, result_tables
from isoglot.reports.headline import headlines
from isoglot.reports.labels import labelled
from isoglot.reports.options import CompareOptions, ReportOptions
from isoglot.reports.paired_table import paired_table
from isoglot.reports.run_infos import RunInfo
from isoglot.reports.runs import Material, gather
from isoglot.reports.scores import Combination, ReportScores, collect
from isoglot.reports.sweeps import sweep_figures
from isoglot.reports.table import LONGEST_SLUG, Table, TableCell, TableRow, shown_number
from isoglot.reports.viewer import KEYS, Viewer
from isoglot.results.rows import FILE_NAME, Result, append
from isoglot.runs.files import refuse_overwriting, require_writable, write_text
from isoglot.runs.xml_text import XmlText


def report(
    runs: str | Path | Result | Iterable[str | Path | Result],
    *,
    out: str | Path,
    options: ReportOptions | None = None,
    **single: Any,
) -> Path:
    """Write one self-contained HTML page on run folders, files of results, and results in memory.

    Args:
        runs: Run or study folders, folders of them, files of results (``LABEL=FOLDER`` names their runs), or results.
        out: The page to write.
        options: All options as one object, in place of single ones.
        **single: Options of :class:`isoglot.ReportOptions`, such as ``title="Ours"`` and ``baseline="tlm"``.

    Raises:
        InputError: A run is missing or holds nothing, or a file in it is wrong (``file:line``).
        ConfigurationError: There is no run; or a place, combination or baseline does not exist.

    Example:
        >>> report(["runs/tlm", "runs/weam"], out="report.html", baseline="tlm")  # doctest: +SKIP
        PosixPath('report.html')
    """
    options = one_request(ReportOptions, options, single, whole_name="options")
    runs = [runs] if isinstance(runs, str | Path | Result) else list(runs)
    got = [] if runs else ["none"]
    got += [shortened(run) for run in runs if not isinstance(run, str | Path | Result)]
    if got:
        raise ConfigurationError(f"runs must be folders, files of results or rows of results, got {got[0]}")
    paths = [labelled(run)[1] for run in runs if not isinstance(run, Result)]
    refuse_overwriting(out, [path for path in paths if path.is_file()])
    require_writable(out)
    if options.tables is not None:
        require_writable(options.tables, folder=True)
    if Path(out).suffix in (".json", ".jsonl") and Path(out).exists():
        raise ConfigurationError(f"{out}: holds results, which the page would overwrite; name it report.html")
    material, scores = gathered(runs, options, options.gold)
    # The baseline becomes the first row of every table of scores. The sort is stable: the other runs keep their order,
    # and without a baseline nothing moves.
    scores.runs.sort(key=lambda run: run != options.baseline)
    page = _page(material, scores, options)
    chart_tables = [chart.data for chart in (*page["figures"], *page["curves"])]
    tables = [*page["results"], *page["beside"], *chart_tables, page["everything"], page["runs"]]
    _distinguish_ids(tables)
    legal = XmlText()
    text = legal(_html(page))
    legal.warn(out)
    if options.tables is not None:
        write_tables(tables, options.tables)
    return write_text(out, text)


def _distinguish_ids(tables: Sequence[Table]) -> None:
    """Number tables of one id, which names files and anchors: ``pos-test-f1``, ``pos-test-f1-2``."""
    ids: set[str] = set()
    for table in tables:
        name, number = table.id, 2
        while table.id in ids:
            ending = f"-{number}"
            # A long name is cut so that the number fits behind it.
            table.id = name[: LONGEST_SLUG - len(ending)].rstrip("-") + ending
            number += 1
        ids.add(table.id)


def comparison_tables(runs: Sequence[str | Path | Result], options: CompareOptions) -> list[Table]:
    """Make the tables of ``isoglot report compare``.

    1. Studies, whose cells name places in the papers' tables: ours beside the papers'. The rows of results in a study's
       folder hold the same numbers, so they are not shown again.
    2. Other runs: a table for each task, in which each run has a row with its difference from the first run (no test).
       If predictions were kept, :func:`paired_table` follows, which tests the differences.
    """
    material, scores = gathered(runs, options)
    beside = tables_beside_papers(material.cells, unmeasured=True)  # 1
    if beside:
        rows = [row for place, row in enumerate(material.rows) if place not in material.rows_of_studies]
        if not rows:
            return beside
        material = replace(material, rows=rows)
        scores = collect(rows, [Combination.parse(text) for text in options.combine])
    tables = result_tables(scores, "en")  # 2
    for table in tables:
        _add_differences(table)
    paired = paired_table(material, None)
    if paired is not None:
        tables.append(paired)
    return [*beside, *tables]


def _add_differences(table: Table) -> None:
    """Put below each row but the first its difference from the first, which is not tested."""
    first, *others = table.rows
    if not others:
        return
    table.caption += f" Differences are from {first.header}."
    table.rows = [first]
    for row in others:
        differences = []
        for ours, reference in zip(row.cells, first.cells, strict=True):
            difference = TableCell("")
            if ours.value is not None and reference.value is not None:
                value = ours.value - reference.value
                text = shown_number(value, signed=True, digits=ours.digits)
                difference = TableCell(text, value, digits=ours.digits)
            differences.append(difference)
        table.rows += [row, TableRow("difference", tuple(differences), "difference")]


def confusions_of(paths: Sequence[str | Path], options: CompareOptions) -> list[Table]:
    """Make tables of which labels were confused, for every run with predictions of classes."""
    material, _ = gathered(paths, options)
    return confusion_tables(material.confusions)


def gathered(
    runs: Sequence[str | Path | Result], options: CompareOptions, gold: Path | None = None
) -> tuple[Material, ReportScores]:
    """Read runs, and collect the scores of their rows of results."""
    combinations = [Combination.parse(text) for text in options.combine]
    paths = [run for run in runs if not isinstance(run, Result)]
    rows = [run for run in runs if isinstance(run, Result)]
    with tempfile.TemporaryDirectory() as folder:
        # Rows in memory are written to a temporary file first, so that `gather` reads all rows in one way.
        if rows:
            paths.append(append(Path(folder) / FILE_NAME, rows))
        material = gather(paths, combinations, rename=options.rename, gold=gold)
    return material, collect(material.rows, combinations)


def _page(material: Material, scores: ReportScores, options: ReportOptions) -> dict[str, Any]:
    """Compute all parts of the page as data, for the templates; a part that is empty is left out."""
    source = common_code(options.source)
    # Charts: a run has one colour in all of them.
    names = list(dict.fromkeys([*scores.runs, *(curve.run for curve in material.curves)]))
    swept = sweep_figures(material.varied, scores, source)
    curves = _drawn(curve_figures(material.curves), names)
    figures = _drawn([*swept, *material.figures], names)
    # Tables
    summaries = [overview(scores, source), paired_table(material, options.baseline)]
    results = [
        *filter(None, summaries),
        *result_tables(scores, source),
        *confusion_tables(material.confusions),
    ]
    beside = tables_beside_papers(material.cells, unmeasured=True)
    # Word alignments: the worst pairs, or pairs spread over the file.
    most = options.worst or options.sentences
    worst_first = options.worst is not None
    viewers = [Viewer(title, pairs, most=most, worst=worst_first) for title, pairs in material.alignments]
    everything = _results_table(material.rows)
    # Runs, and the encoders that they start from
    columns = ["run", "starts from", "seeds", "results", "versions", "folder"]
    rows = []
    infos = _merged_by_run(material.infos.values())
    for info in infos:
        versions = ", ".join(f"{name} {version}" for name, version in info.versions.items())
        seeds = ", ".join(map(str, info.seeds)) or "–"
        rows.append([info.name, info.start or "–", seeds, f"{info.results:,}", versions, info.folder])
    runs = Table.listing("Runs", "", columns, rows)
    starts: dict[str, list[str]] = {}  # encoder to the runs that start from it
    for info in infos:
        if info.start:
            starts.setdefault(info.start, []).append(info.name)
    parts = [
        ("tables", "Results by task", results), ("papers", "Beside the papers", beside),
        ("figures", "Figures", figures), ("curves", "Training", curves), ("alignments", "Word alignments", viewers),
        ("all", "All results", everything.rows), ("runs", "Runs", runs.rows),
    ]  # fmt: skip
    return {
        "title": options.title, "introduction": options.introduction,
        "cards": headlines(
            scores, source=source, baseline=options.baseline, counted=[name for _, name in material.counts]
        ),
        "warning": " ".join(scores.warnings()),
        "starts": [(", ".join(members), start) for start, members in starts.items()],
        "contents": [(anchor, title) for anchor, title, part in parts if part],
        "results": results, "beside": beside, "figures": figures, "curves": curves, "viewers": viewers,
        "everything": everything, "runs": runs,
    }  # fmt: skip


def _merged_by_run(infos: Iterable[RunInfo]) -> list[RunInfo]:
    """Return one info for each run: a run that was evaluated with several options has one for each of them before.

    ``tlm (layer=3)`` and ``tlm (layer=4)`` become ``tlm``.
    """
    runs: dict[tuple[str, str, str], list[RunInfo]] = {}
    for info in infos:
        runs.setdefault((info.run, info.start, info.folder), []).append(info)
    merged = []
    for members in runs.values():
        if len(members) == 1:
            merged.append(members[0])
            continue
        seeds = {seed for member in members for seed in member.seeds}
        count = sum(member.results for member in members)
        merged.append(replace(members[0], name=members[0].run, seeds=tuple(sorted(seeds)), results=count))
    return merged


def _drawn(figures: Sequence[ReportFigure], runs: Sequence[str]) -> list[Any]:
    """Draw figures as charts."""
    if not figures:  # as in most reports: then the library for charts is not loaded
        return []
    from isoglot.reports.charts import draw  # noqa: PLC0415

    return [draw(figure, runs=runs) for figure in figures]


def _html(page: dict[str, Any]) -> str:
    """Render the whole document.

    A content security policy admits this page's own style and script and nothing else.
    """
    environment = Environment(
        loader=PackageLoader("isoglot.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown_number": shown_number, "saved": _saved}
    environment.globals["signs"] = KEYS
    style, script = _asset("report.css"), _asset("report.js")
    policy = f"default-src 'none'; style-src '{_sha(style)}'; script-src '{_sha(script)}'; img-src data:"
    return environment.get_template("page.html").render(
        page=page,
        policy=policy,
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        version=__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _results_table(results: Sequence[Result]) -> Table:
    """List every row of results as it was measured; the column of options is there if any row has options."""
    has_options = any(row.options for row in results)
    headings = ["run", "task", "language", "split", "metric"]
    if has_options:
        headings.append("options")
    headings += ["value", "seed", "examples", "recipe", "checkpoint"]
    rows: list[list[str | TableCell]] = []
    for row in results:
        cells: list[str | TableCell] = [row.run, row.task, row.language, row.split, row.metric]
        if has_options:
            cells.append(row.settings)
        value = TableCell(f"{row.value:.4f}".rstrip("0").rstrip("."), row.value)
        seed = "" if row.seed is None else TableCell(str(row.seed), float(row.seed))
        examples = TableCell(f"{row.examples:,}", float(row.examples))
        cells += [value, seed, examples, row.recipe_hash[:8], row.checkpoint_hash[:8]]
        rows.append(cells)
    return Table.listing("All results", "As measured, one row per result.", headings, rows)


def _saved(table: Table) -> Iterator[tuple[str, str, str]]:
    """Yield suffix, name and data URL of each form in which a table can be saved: ``csv``, ``CSV``, ``data:…``."""
    for suffix, label, kind, text in (
        ("csv", "CSV", "text/csv", to_csv(table)),
        ("tex", "LaTeX", "application/x-tex", to_latex(table)),
    ):
        data = base64.b64encode(text.encode()).decode()
        yield suffix, label, f"data:{kind};charset=utf-8;base64,{data}"


def _asset(name: str) -> str:
    """Read a file of the folder of templates."""
    return (files("isoglot.reports") / "templates" / name).read_text(encoding="utf-8")


def _sha(text: str) -> str:
    """Hash a text as a content security policy names it: ``sha256-…``."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
