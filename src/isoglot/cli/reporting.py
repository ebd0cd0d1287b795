"""``isoglot report``: a page; and its commands ``compare``, ``confusion`` and ``papers``: tables in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from isoglot.cli.console import print_table
from isoglot.cli.flags import with_flags
from isoglot.cli.help import add_commands
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import option
from isoglot.reports.options import CompareOptions, ReportOptions
from isoglot.runs.files import file_to_write

if TYPE_CHECKING:
    from isoglot.reports.papers import PaperTable
    from isoglot.reports.table import Table

Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN",
        help="Run or study folders, folders of them, or files of results; LABEL=FOLDER names its runs.",
    ),
]


class _PageByDefault(TyperGroup):
    """The group ``report``, in which ``report RUN`` means ``report page RUN``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert ``page`` where the first argument names no command."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["page", *args]
        return super().parse_args(ctx, args)


@with_flags
def page(
    runs: Runs,
    options: ReportOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", parser=file_to_write, metavar="PATH", help="The page to write.")
    ] = Path("report.html"),
) -> None:
    """Write one HTML page with all results, tables and figures (the default command).

    isoglot report runs --out report.html

    isoglot report before=runs/mlm after=runs/tlm --tables tables --out report.html

    The page needs no other file and no network.
    """
    from isoglot.reports.render import report

    written = report(runs, out=out, options=options)
    typer.echo(
        f"wrote {written}" + (f" and the tables in {options.tables}" if options.tables else ""), err=True
    )


class TableFormat(CompareOptions):
    """Flags for how tables are printed."""

    form: Literal["text", "csv", "latex"] = option(
        "text", "How tables are printed.", flags=["--format", "-f"]
    )


@with_flags
def compare(runs: Runs, options: TableFormat) -> None:
    """Print results beside a paper's, or your runs beside each other.

    Tables of a study, the paper's figures and the difference; figures that the paper printed wrong are marked:

    isoglot report compare runs/study

    Your own runs, a table per task, with each run's difference from the first:

    isoglot report compare runs/baseline runs/mine
    """
    from isoglot.reports.render import comparison_tables

    _print_tables(
        comparison_tables(runs, options),
        options,
        "nothing to compare: the runs have no results and no cells.jsonl of a study; name the folder of one, or "
        "type `isoglot evaluate CHECKPOINT ... --out`",
    )


@with_flags
def confusion(runs: Runs, options: TableFormat) -> None:
    """Print which label was predicted for which, by language, with precision, recall and F1 of every label.

    Reads what `isoglot evaluate --predictions FOLDER` wrote of classifications of texts, pairs and words.

    isoglot report confusion predictions

    isoglot report confusion predictions --format csv
    """
    from isoglot.reports.render import confusions_of

    _print_tables(
        confusions_of(runs, options),
        options,
        "no counts of classes in these folders; write them with `isoglot evaluate CHECKPOINT ... --predictions FOLDER`",
    )


def _print_tables(tables: Sequence[Table], options: TableFormat, none: str) -> None:
    """Print tables in the format that was asked for; ``none`` is the message where there are none."""
    from isoglot.reports.export import FORMS

    if not tables:
        raise ConfigurationError(none)
    typer.echo("\n".join(FORMS[options.form](table) for table in tables))


def papers(
    table: str | None = typer.Argument(None, metavar="TABLE", help="Show this table (weam:Table1)."),
    corrections: bool = typer.Option(
        False, "--corrections", help="List the figures that were printed wrong."
    ),
) -> None:
    """List the papers' tables, or show one.

    isoglot report papers

    isoglot report papers weam:Table1

    Averages are recomputed; where the printed one was wrong, both are shown.
    """
    from isoglot.reports import papers as figures

    if corrections:
        corrected = []
        for figure in figures.corrections():
            row = f"{figure.setting} {figure.row}".strip()
            printed, recomputed = f"{figure.printed:g}", f"{figure.recomputed:.1f}"
            corrected.append(
                [f"{figure.paper}:{figure.table}", row, figure.column, printed, recomputed, figure.reason]
            )
        print_table(["table", "row", "column", "printed", "recomputed", "reason"], corrected)
    elif table is None:
        tables = [[one.name, one.kind, str(len(one.rows)), one.title] for one in figures.paper_tables()]
        print_table(["table", "kind", "rows", "title"], tables)
    else:
        _print_paper_table(figures.paper_table(table))


def _print_paper_table(table: PaperTable) -> None:
    """Print a table of a paper; a figure that was printed wrong is shown as ``71.3 (printed 73.1)``."""
    rows = []
    for row in table.rows:
        texts = [table.address(row)]
        for column in table.columns:
            figure, printed = table.value(row, column), row.values.get(column.id)
            if figure is None:  # a text, or nothing
                texts.append("–" if printed is None else str(printed))
            elif figure.reason:
                texts.append(f"{figure.value:.1f} (printed {figure.printed:g})")
            else:
                texts.append(f"{figure.printed:g}")
        rows.append(texts)
    print_table(["row", *(column.id for column in table.columns)], rows)
    if table.note:
        typer.echo(table.note)


report = typer.Typer(
    name="report",
    cls=_PageByDefault,
    no_args_is_help=True,
    help="Show all results on one HTML page, or as tables.\n\nFor example: isoglot report RUN --out report.html\n\n"
    "The options of the page: isoglot report page --help",
)
add_commands(report, (page, compare, confusion, papers))
