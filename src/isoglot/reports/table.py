"""A table as data, drawn as HTML, CSV, LaTeX or plain text elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from isoglot.core.frames import Tabular

if TYPE_CHECKING:
    import pandas as pd

RowKind = Literal["ours", "paper", "difference", "reference", "plain"]


@dataclass(frozen=True)
class TableCell:
    """One place in a table: the text that is shown, and the number behind it."""

    text: str
    value: float | None = None  # what it sorts by, and what CSV holds
    sd: float | None = None
    best: bool = False
    note: int = 0  # number of a note of the table, 1-based; 0 for none
    title: str = ""
    digits: int = 1  # after the point, of the standard deviation as of the text

    @classmethod
    def of(cls, value: float, metric: str, *, signed: bool = False, **more: Any) -> TableCell:
        """A figure of a metric."""
        digits = decimals(metric)
        text = shown_number(value, signed=signed, digits=digits)
        if metric.lower() == "p" and not signed and 0 <= value < 10**-digits:
            text = f"< {10**-digits:g}"  # p = 0.000 would be a certainty
        return cls(text, value, digits=digits, **more)

    @property
    def spread(self) -> str:
        """``±0.4``; empty for one seed."""
        return "" if self.sd is None else f"±{self.sd:.{self.digits}f}"

    @property
    def is_number(self) -> bool:
        """Whether it is set as a number, or stands for one that is missing."""
        return self.value is not None or self.text in ("–", "…", "")


@dataclass(frozen=True)
class Column:
    """One column."""

    label: str
    title: str = ""
    group: str = ""  # columns that follow each other in one group stand under its name
    average: bool = False


@dataclass(frozen=True)
class TableRow:
    """One row; ``reference`` rows are a paper's that stand beside none of ours."""

    header: str
    cells: tuple[TableCell, ...]
    kind: RowKind = "ours"
    detail: str = ""

    @property
    def is_indented(self) -> bool:
        """Whether it stands under the row above it."""
        return self.kind in ("paper", "difference")


@dataclass
class Table(Tabular):
    """A table."""

    id: str
    title: str
    caption: str
    corner: str
    columns: list[Column]
    rows: list[TableRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    secondary: bool = False  # of a metric that is not its task's main one

    @classmethod
    def listing(
        cls, title: str, caption: str, headings: Sequence[str], rows: Iterable[Sequence[str | TableCell]]
    ) -> Table:
        """Rows that each stand for themselves, headers first; texts become cells."""
        corner, *names = headings
        table = cls(slug([title]), title, caption, corner, [Column(name) for name in names])
        for header, *texts in rows:
            cells = (text if isinstance(text, TableCell) else TableCell(text) for text in texts)
            table.rows.append(TableRow(str(header), tuple(cells), "plain"))
        return table

    def to_frame(self) -> pd.DataFrame:
        """The table as a frame: numbers where its cells have values, else their texts."""
        import pandas as pd  # noqa: PLC0415 - only for those who want one

        rows = [
            [row.header, *(cell.text if cell.value is None else cell.value for cell in row.cells)]
            for row in self.rows
        ]
        return pd.DataFrame(rows, columns=self.headings)

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Headings over several columns, each with the number of its columns; empty where no column has a group."""
        groups = groupby(self.columns, key=lambda column: column.group)
        sizes = [(name, len(list(columns))) for name, columns in groups]
        return sizes if any(name for name, _ in sizes) else []

    @property
    def headings(self) -> list[str]:
        """The headings of all columns, first that of the rows' headers."""
        return [self.corner, *(column.label for column in self.columns)]

    def note(self, text: str) -> int:
        """Add a note below the table, unless it has the same one already; return its number, for cells to refer to."""
        if text not in self.notes:
            self.notes.append(text)
        return self.notes.index(text) + 1


def shown_number(value: float, *, signed: bool = False, digits: int = 1) -> str:
    """Write a number as the papers print it, with one decimal and a true minus sign: ``72.3``, ``+1.2``, ``−0.4``.

    A number that rounds to 0 has no sign of its own: ``0.0``, or ``±0.0`` for a difference.
    """
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    if float(text) == 0:
        text = f"±{0:.{digits}f}" if signed else f"{0:.{digits}f}"
    return text.replace("-", "−")


COUNTS = ("count", "sentences", "tokens")
"""Metrics that are whole numbers."""


def decimals(metric: str) -> int:
    """Say how many decimals the papers print for a metric.

    AER has two; correlations, cosines and p three; counts of rows, tokens and weights none; sizes of corpora four, for
    0.0001 GB is a tenth of a megabyte; any other metric one.
    """
    name = metric.lower()
    places = {"aer": 2, **dict.fromkeys(("spearman", "rho", "p", "cosine"), 3), "gigabytes": 4}
    return 0 if name in COUNTS else places.get(name, 1)


def slug(parts: Iterable[str]) -> str:
    """A name for files and anchors of any texts: ASCII letters, digits and hyphens."""
    text = "-".join(parts).lower()
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")[:80] or "table"
