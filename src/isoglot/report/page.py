"""One self-contained HTML page from templates: style sheet, script and charts inside, nothing fetched."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from itertools import pairwise

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from isoglot import __version__
from isoglot.report.charts import Drawn
from isoglot.report.export import to_csv, to_latex
from isoglot.report.headline import Headline
from isoglot.report.languages import language_name
from isoglot.report.table import Table, figure
from isoglot.report.viewer import KEYS, Viewer

_FILTERED = 5
"""So many of the first columns of all results have a list to filter by."""


@dataclass
class Page:
    """What a report shows; a part that is empty is left out."""

    title: str
    everything: Table
    runs: Table
    lead: Sequence[str] = ()
    cards: Sequence[Headline] = ()
    counts: str = ""
    warning: str = ""
    own: list[Table] = field(default_factory=list)
    beside: list[Table] = field(default_factory=list)
    figures: list[Drawn] = field(default_factory=list)
    curves: list[Drawn] = field(default_factory=list)
    side: list[Drawn] = field(default_factory=list)  # learning rate, gradient norm and the like
    viewers: list[Viewer] = field(default_factory=list)

    @property
    def contents(self) -> list[tuple[str, str]]:
        """Anchor and title of each part that is there."""
        parts = [
            ("tables", "Results by task", self.own), ("papers", "Beside the papers", self.beside),
            ("figures", "Figures", self.figures), ("curves", "Training", [*self.curves, *self.side]),
            ("alignments", "Word alignments", self.viewers), ("all", "All results", self.everything.rows),
            ("runs", "Runs", self.runs.rows),
        ]  # fmt: skip
        return [(anchor, title) for anchor, title, part in parts if part]


def to_html(page: Page) -> str:
    """The whole document. A content security policy admits this page's own style and script and nothing else."""
    environment = Environment(
        loader=PackageLoader("isoglot.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "compared": _compared, "figure": figure, "filters": _filters, "language_name": language_name, "saved": _saved,
    }  # fmt: skip
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


def _saved(table: Table) -> Iterator[tuple[str, str, str]]:
    """Suffix, name and data URL of each form that a table can be saved in."""
    for suffix, label, kind, text in (
        ("csv", "CSV", "text/csv", to_csv(table)),
        ("tex", "LaTeX", "application/x-tex", to_latex(table)),
    ):
        data = base64.b64encode(text.encode()).decode()
        yield suffix, label, f"data:{kind};charset=utf-8;base64,{data}"


def _filters(table: Table) -> Iterator[tuple[int, str, list[str]]]:
    """Place, name and values of each column that rows can be chosen by."""
    for place, name in enumerate(table.headings[:_FILTERED]):
        values = {row.header if place == 0 else row.cells[place - 1].text for row in table.rows}
        if len(values) > 1:
            yield place, name, [value or "(none)" for value in sorted(values)]


def _compared(table: Table) -> str:
    """Which of our runs stand in a table, how far from the paper's, and how many pairs are in its order."""
    ours = [row.header for row, below in pairwise(table.rows) if (row.kind, below.kind) == ("ours", "paper")]
    cells = [
        cell
        for row in table.rows
        if row.kind == "difference"
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.value is not None and not column.average
    ]
    parts = [", ".join(ours[:4]) + (f" and {len(ours) - 4} more" if len(ours) > 4 else "")]
    if cells:
        shown = sorted(cells, key=lambda cell: cell.value or 0.0)
        ends = dict.fromkeys(
            figure(c.value or 0.0, signed=True, digits=c.digits) for c in (shown[0], shown[-1])
        )
        parts.append(f"differences {' to '.join(ends)}")
    kept, broken, close = table.orderings
    if kept + broken:
        parts.append(f"{kept} of {kept + broken} pairs ordered as in the paper")
    if close:
        parts.append(f"{close} pairs within noise")
    return "; ".join(filter(None, parts))


def _asset(name: str) -> str:
    return (files("isoglot.report") / "templates" / name).read_text(encoding="utf-8")


def _sha(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
