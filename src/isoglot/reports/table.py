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
    value: float | None = None  # the number that CSV files and frames hold
    # Standard deviation over seeds. It is shown behind the number, `72.3 ±0.4`; only CSV has a column for it.
    sd: float | None = None
    best: bool = False  # of its column: `*72.3` in text, bold in LaTeX and HTML, no sign in CSV
    note: int = 0  # number of a note of the table, 1-based; 0 for none
    tooltip: str = ""
    digits: int = 1  # decimals of the text and of the standard deviation

    @classmethod
    def of(cls, value: float, metric: str, *, signed: bool = False, **more: Any) -> TableCell:
        """Make the cell of a number, with as many decimals as its metric has."""
        digits = decimals(metric)
        text = shown_number(value, signed=signed, digits=digits)
        # A p of 0.000 would be a certainty: `< 0.001`.
        if metric.lower() == "p" and not signed and 0 <= value < 10**-digits:
            text = f"< {10**-digits:g}"
        return cls(text, value, digits=digits, **more)

    @property
    def spread(self) -> str:
        """``±0.4``; empty for one seed."""
        return "" if self.sd is None else f"±{self.sd:.{self.digits}f}"

    @property
    def is_number(self) -> bool:
        """Whether the cell has a number, or a sign or nothing in place of one: it is set flush right."""
        return self.value is not None or self.text in ("–", "…", "")


@dataclass(frozen=True)
class Column:
    """One column."""

    label: str
    tooltip: str = ""
    group: str = ""  # columns that follow each other in one group stand under its name
    average: bool = False


@dataclass(frozen=True)
class TableRow:
    """One row of a table.

    Its ``kind`` is one of these:

    - ``ours``: a run of ours.
    - ``paper``: the paper's row, below the row of ours that it is compared with.
    - ``difference``: the row of ours minus the row that it is compared with, below both.
    - ``reference``: a paper's row that we did not measure.
    - ``plain``: a row of a list, in which no rows are compared.
    """

    header: str
    cells: tuple[TableCell, ...]
    kind: RowKind = "ours"
    detail: str = ""  # more about the row, in brackets behind the header: `3 seeds`

    @property
    def is_indented(self) -> bool:
        """Whether the row belongs to the row above it."""
        return self.kind in ("paper", "difference")


@dataclass
class Table(Tabular):
    """A table: headings, rows, and numbered notes to which cells refer."""

    id: str  # for names of files and anchors; see :func:`slug`
    title: str
    caption: str
    corner: str  # heading above the headers of the rows: `run`
    columns: list[Column]
    rows: list[TableRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # The page folds the table away: it shows confusions, or metrics none of which is its task's main one.
    secondary: bool = False

    @classmethod
    def listing(
        cls, title: str, caption: str, headings: Sequence[str], rows: Iterable[Sequence[str | TableCell]]
    ) -> Table:
        """Make a table whose rows are not compared with each other; the first text of each row is its header."""
        corner, *names = headings
        table = cls(slug([title]), title, caption, corner, [Column(name) for name in names])
        for header, *texts in rows:
            cells = (text if isinstance(text, TableCell) else TableCell(text) for text in texts)
            table.rows.append(TableRow(str(header), tuple(cells), "plain"))
        return table

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame: of each cell the number, without its deviation, or the text if it has no number."""
        import pandas as pd  # noqa: PLC0415 - only for those who want one

        rows = [
            [row.header, *(cell.text if cell.value is None else cell.value for cell in row.cells)]
            for row in self.rows
        ]
        return pd.DataFrame(rows, columns=[self.corner, *self.full_headings])

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The headings above columns, each with its number of columns; empty if no column has a group."""
        groups = groupby(self.columns, key=lambda column: column.group)
        sizes = [(name, len(list(columns))) for name, columns in groups]
        return sizes if any(name for name, _ in sizes) else []

    @property
    def headings(self) -> list[str]:
        """The headings of all columns; the first one stands above the headers of the rows."""
        return [self.corner, *(column.label for column in self.columns)]

    @property
    def full_headings(self) -> list[str]:
        """The headings of the columns of cells, each with the heading above it: ``en EM``, ``en F1``, ``de EM``."""
        return [f"{column.group} {column.label}".strip() for column in self.columns]

    def note(self, text: str) -> int:
        """Add a note below the table, unless the table has it already; return its number, to which cells refer."""
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


LONGEST_SLUG = 80
"""Most characters of a name that :func:`slug` makes."""


def slug(parts: Iterable[str]) -> str:
    """Make a name for files and anchors from texts: ASCII letters, digits and hyphens.

    Example:
        >>> slug(["pos", "test", "F1 (%)"])
        'pos-test-f1'
    """
    text = "-".join(parts).lower()
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")[:LONGEST_SLUG] or "table"
