"""``isoglot report``: a page, ``isoglot report compare``: tables in the terminal, ``isoglot report papers``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from isoglot.cli.help import add_commands

if TYPE_CHECKING:
    from isoglot.report.papers import PaperColumn, PaperRow, PaperTable
    from isoglot.report.render import ReportOptions

__all__ = ["report"]

_RUNS = typer.Argument(..., help="Run folders, folders of them, study folders, or files of results.")
_BESIDE = typer.Option(
    None,
    "--beside",
    metavar="RUN=TABLE:ROW",
    help="Put a run beside a paper's row: tlm=weam:Table2:tlm; repeatable.",
)
_COMBINE = typer.Option(
    None,
    "--combine",
    metavar="NAME=LANG:RUN,…",
    help="Show bilingual models as one row; English is their mean.",
)
_RENAME = typer.Option(None, "--rename", metavar="RUN=NAME", help="Call a run by another name; repeatable.")
_SOURCE = typer.Option("en", "--source", help="Fine-tuning language; zero-shot means leave it out.")


class _PageByDefault(TyperGroup):
    """Takes ``report RUN`` for ``report page RUN``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name in where the first argument names none."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["page", *args]
        return super().parse_args(ctx, args)


def page(  # noqa: PLR0917 - one parameter per flag
    runs: list[str] = _RUNS,
    out: Path = typer.Option(Path("report.html"), "--out", "-o", help="The page to write."),
    title: str = typer.Option("isoglot report", help="Heading of the page."),
    headline: str = typer.Option("", help="A sentence of your own above the computed headline."),
    beside: list[str] = _BESIDE,
    combine: list[str] = _COMBINE,
    rename: list[str] = _RENAME,
    baseline: str | None = typer.Option(None, help="The run that the headline compares with."),
    source: str = _SOURCE,
    sentences: int = typer.Option(30, min=1, help="Pairs shown in each word-alignment viewer."),
    tables: Path | None = typer.Option(
        None, "--tables", help="Also write every table here as CSV and LaTeX."
    ),
) -> None:
    """Write one self-contained HTML page (the default command)."""
    from dataclasses import replace

    from isoglot.report.render import render

    options = replace(
        _options(beside, combine, rename, source),
        title=title, headline=headline, baseline=baseline, sentences=sentences, tables=tables,
    )  # fmt: skip
    written = render(runs, out=out, options=options)
    typer.echo(f"wrote {written}" + (f" and the tables in {tables}" if tables else ""), err=True)


def compare(
    runs: list[str] = _RUNS,
    beside: list[str] = _BESIDE,
    combine: list[str] = _COMBINE,
    rename: list[str] = _RENAME,
    form: str = typer.Option("text", "--format", "-f", help="text, csv or latex."),
) -> None:
    """Print ours, the paper's and the difference.

    Shows the tables of studies among the runs and those of --beside; figures that a paper printed wrong are marked.
    """
    from isoglot.errors import ConfigurationError
    from isoglot.report import export
    from isoglot.report.render import comparison_tables

    writers = {"text": export.to_text, "csv": export.to_csv, "latex": export.to_latex}
    if form not in writers:
        raise ConfigurationError(f"unknown --format {form!r}; available: {', '.join(writers)}")
    tables = comparison_tables(runs, _options(beside, combine, rename, "en"))
    if not tables:
        raise ConfigurationError(
            "nothing to compare with: the runs have no cells.jsonl of a study; "
            "add --beside RUN=TABLE:ROW, for example --beside tlm=weam:Table2:tlm"
        )
    typer.echo("\n".join(writers[form](table) for table in tables))


def papers(
    table: str | None = typer.Argument(None, metavar="[TABLE]", help="Show this table (weam:Table1)."),
    corrections: bool = typer.Option(
        False, "--corrections", help="List the figures that were printed wrong."
    ),
) -> None:
    """List the papers' tables, or show one.

    Averages are recomputed; where the printed one was wrong, both are shown.
    """
    from isoglot.cli.console import print_table
    from isoglot.report import papers as figures

    if corrections:
        rows = [[f"{c.paper}:{c.table}", f"{c.setting} {c.row}".strip(), c.column, f"{c.printed:g}",
                 f"{c.recomputed:.1f}", c.reason] for c in figures.corrections()]  # fmt: skip
        print_table(["table", "row", "column", "printed", "recomputed", "reason"], rows)
    elif table is None:
        print_table(["table", "kind", "rows", "title"],
                    [[t.name, t.kind, str(len(t.rows)), t.title] for t in figures.paper_tables()])  # fmt: skip
    else:
        found = figures.paper_table(table)
        rows = [[found.address(row), *(_shown(found, row, c) for c in found.columns)] for row in found.rows]
        print_table(["row", *(column.id for column in found.columns)], rows)
        if found.note:
            typer.echo(found.note)


def _shown(table: PaperTable, row: PaperRow, column: PaperColumn) -> str:
    value, printed = table.value(row, column), row.values.get(column.id)
    if value is None:
        return "–" if printed is None else str(printed)
    return f"{value.value:.1f} (printed {value.printed:g})" if value.reason else f"{value.printed:g}"


def _options(
    beside: list[str] | None, combine: list[str] | None, rename: list[str] | None, source: str
) -> ReportOptions:
    from isoglot.report.beside import Place
    from isoglot.report.render import ReportOptions
    from isoglot.report.scores import Combination

    return ReportOptions(
        places=[Place.parse(text) for text in beside or ()],
        combinations=[Combination.parse(text) for text in combine or ()],
        names=dict(_pair(text) for text in rename or ()),
        source=source,
    )


def _pair(text: str) -> tuple[str, str]:
    from isoglot.errors import ConfigurationError

    run, _, name = (part.strip() for part in text.partition("="))
    if not run or not name:
        raise ConfigurationError(
            f"--rename {text!r} given; it needs RUN=NAME, for example --rename mlm_small=mlm"
        )
    return run, name


report = typer.Typer(
    name="report",
    cls=_PageByDefault,
    no_args_is_help=True,
    help="Show results as a page. For example: isoglot report RUN --out report.html. "
    "Its options: isoglot report page --help",
)
add_commands(report, (page, compare, papers))
