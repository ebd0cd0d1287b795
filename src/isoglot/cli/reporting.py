"""``isoglot report``: a page, ``isoglot report compare``: tables in the terminal, ``isoglot report papers``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["compare", "page", "papers", "register"]

_RUNS = typer.Argument(..., help="Run folders, folders of run folders, or files of results.")
_PAPER = typer.Option(
    None,
    "--paper",
    metavar="PAPER:TABLE",
    help="A paper's table to put beside ours (weam:Table1), all of a paper (weam), or all; repeatable.",
)
_COMPARE = typer.Option(
    None, "--compare", help="YAML file: which run stands beside which row of a paper, and whether it may."
)
_AGAINST = typer.Option(
    None,
    "--not-comparable",
    metavar="REASON",
    help="Print this in place of differences from the tables of --paper.",
)
_COMPARABLE = typer.Option(
    None,
    "--comparable",
    metavar="REASON",
    help="Your word that our setting is that of the tables of --paper, and why.",
)
_COMBINE = typer.Option(
    None,
    "--combine",
    metavar="NAME=LANG:RUN,…",
    help="Show bilingual models as one row; English is their mean.",
)
_RENAME = typer.Option(
    None, "--rename", metavar="RUN=NAME", help="What a run is called in the report; repeatable."
)
_SOURCE = typer.Option("en", "--source", help="Language fine-tuned on; the zero-shot mean leaves it out.")


class _PageByDefault(TyperGroup):
    """Takes ``report RUN`` for ``report page RUN``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name in where the first argument names none."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["page", *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add this group's commands."""
    group = typer.Typer(
        cls=_PageByDefault,
        no_args_is_help=True,
        help="Results as a page, beside the papers' figures: [bold]isoglot report RUN... --out report.html[/bold]",
        rich_markup_mode="rich",
    )
    group.command()(page)
    group.command()(compare)
    group.command()(papers)
    app.add_typer(group, name="report")


def page(  # noqa: PLR0917 - one parameter a flag
    runs: list[str] = _RUNS,
    out: Path = typer.Option(Path("report.html"), "--out", "-o", help="The page."),
    title: str = typer.Option("isoglot report", help="Heading of the page."),
    headline: str = typer.Option("", help="A sentence of your own above the computed headline."),
    paper: list[str] = _PAPER,
    compare_with: Path | None = _COMPARE,
    not_comparable: str | None = _AGAINST,
    comparable: str | None = _COMPARABLE,
    combine: list[str] = _COMBINE,
    rename: list[str] = _RENAME,
    baseline: str | None = typer.Option(None, help="The run that the headline compares with."),
    source: str = _SOURCE,
    sentences: int = typer.Option(30, min=1, help="Pairs shown in each word-alignment viewer."),
    tables: Path | None = typer.Option(None, "--tables", help="Folder for every table as CSV and LaTeX."),
) -> None:
    """One self-contained HTML page on runs (the default: `isoglot report RUN... --out report.html`)."""
    from dataclasses import replace

    from isoglot.report.render import render

    options = replace(
        _options(paper, compare_with, not_comparable, comparable, (combine, rename), source),
        title=title, headline=headline, baseline=baseline, sentences=sentences, tables=tables,
    )  # fmt: skip
    written = render(runs, out=out, options=options)
    typer.echo(f"wrote {written}" + (f" and the tables in {tables}" if tables else ""), err=True)


def compare(  # noqa: PLR0917 - one parameter a flag
    runs: list[str] = _RUNS,
    paper: list[str] = _PAPER,
    compare_with: Path | None = _COMPARE,
    not_comparable: str | None = _AGAINST,
    comparable: str | None = _COMPARABLE,
    combine: list[str] = _COMBINE,
    rename: list[str] = _RENAME,
    source: str = _SOURCE,
    form: str = typer.Option("text", "--format", "-f", help="text, csv or latex."),
) -> None:
    """Ours, the paper's and the difference; figures that a paper printed wrong are marked."""
    from isoglot.errors import ConfigurationError
    from isoglot.report import export
    from isoglot.report.render import report_tables

    writers = {"text": export.to_text, "csv": export.to_csv, "latex": export.to_latex}
    if form not in writers:
        raise ConfigurationError(f"--format {form!r} given; it is one of {', '.join(writers)}")
    if not paper and compare_with is None:
        raise ConfigurationError("nothing to compare with; add --paper weam:Table1 or --compare FILE")
    options = _options(paper, compare_with, not_comparable, comparable, (combine, rename), source)
    tables = [table for table in report_tables(runs, options) if table.paper]
    if not tables:
        raise ConfigurationError(
            "no task, metric and language of these results is in the tables named; "
            "type `isoglot report papers weam:Table1` to see what a table holds"
        )
    typer.echo("\n".join(writers[form](table) for table in tables))


def papers(
    table: str | None = typer.Argument(
        None, metavar="[PAPER:TABLE]", help="Show this table; all names without it."
    ),
    corrections: bool = typer.Option(
        False, "--corrections", help="List the figures that were printed wrong."
    ),
) -> None:
    """The papers' tables that come with isoglot, averages recomputed."""
    from isoglot.cli.console import print_table
    from isoglot.report import papers as figures

    if corrections:
        rows = [[f"{c.paper}:{c.table}", f"{c.setting} {c.row}".strip(), c.column, f"{c.printed:g}",
                 f"{c.recomputed:.1f}", c.reason] for c in figures.corrections()]  # fmt: skip
        print_table(["table", "row", "column", "printed", "recomputed", "reason"], rows)
        return
    if table is None:
        print_table(["table", "kind", "rows", "title"],
                    [[t.name, t.kind, str(len(t.rows)), t.title] for t in figures.paper_tables()])  # fmt: skip
        return
    found = figures.paper_table(table)
    lines = []
    for row in found.rows:
        cells = [_paper_cell(found.value(row, column), row.values.get(column.id)) for column in found.columns]
        lines.append([row.name, *cells])
    print_table(["row", *(column.id for column in found.columns)], lines)
    if found.note:
        typer.echo(found.note)


def _paper_cell(value: Any, printed: Any) -> str:
    if value is None:
        return "–" if printed is None else str(printed)
    return f"{value.value:.1f} (printed {value.printed:g})" if value.reason else f"{value.printed:g}"


def _options(
    paper: list[str] | None,
    compare_with: Path | None,
    not_comparable: str | None,
    comparable: str | None,
    of_runs: tuple[list[str] | None, list[str] | None],
    source: str,
) -> Any:
    from isoglot.errors import ConfigurationError
    from isoglot.report.comparison import Comparison, paper_names, read_comparisons
    from isoglot.report.render import ReportOptions
    from isoglot.report.scores import Combination

    if comparable is not None and not_comparable is not None:
        raise ConfigurationError("--comparable and --not-comparable given; use one of them")
    if not_comparable == "":
        raise ConfigurationError("--not-comparable '' given; say why, the report prints it")
    judged = None if comparable is None and not_comparable is None else not_comparable is None
    reason = comparable or not_comparable or ""
    found = [] if compare_with is None else read_comparisons(compare_with)
    for given in paper or ():
        names = paper_names(given)
        found += [
            Comparison(paper=name, comparable=judged, reason=reason, placed_only=len(names) > 1)
            for name in names
        ]
    combine, rename = of_runs
    combinations = [Combination.parse(text) for text in combine or ()]
    called = dict(_pair(text) for text in rename or ())
    return ReportOptions(comparisons=found, combinations=combinations, names=called, source=source)


def _pair(text: str) -> tuple[str, str]:
    from isoglot.errors import ConfigurationError

    run, _, name = (part.strip() for part in text.partition("="))
    if not run or not name:
        raise ConfigurationError(
            f"--rename {text!r} given; RUN=NAME is needed, for example --rename mlm_small=mlm"
        )
    return run, name
