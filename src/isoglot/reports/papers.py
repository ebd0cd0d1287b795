"""The four papers' own numbers: every number of their tables, and where an average was printed wrong.

The numbers lie beside this module as ``data/papers.json``. Averages that are not the means of the printed columns are
corrected, such as the zero-shot averages of WEAM's Table 1.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from statistics import fmean
from typing import Any

from isoglot.core.checks import closest
from isoglot.core.errors import ConfigurationError
from isoglot.reports.table import COUNTS

PAPERS: Mapping[str, str] = {
    "weam": "WEAM", "ppa": "PPA", "align_mlm": "ALIGN-MLM", "xlm_align": "XLM-Align",
}  # fmt: skip
"""Key of a paper -> its name in texts."""

_UNLABELLED = ("source", "runs")
"""Attributes that are the same for many rows, so that no row is named by them."""


@dataclass(frozen=True)
class PaperColumn:
    """One column of a paper's table: ``de.f1`` of a question task is German, F1."""

    id: str  # unique within the table (`de.f1`)
    task: str = ""
    metric: str = ""
    language: str = ""  # ISO 639, or a pair such as `en-de`
    quantity: str = ""  # `sup`, `zs` or `delta` of derived languages
    average: bool = False
    system: str = ""  # where a column stands for a system
    bound: bool = False  # the paper gives upper bounds, `< 0.01`, in place of values

    @property
    def labels(self) -> frozenset[str]:
        """Texts by which the column can be named; a pair of languages either way round: ``en-de``, ``de-en``."""
        turned = "-".join(reversed(self.language.split("-")))
        texts = (self.id, self.task, self.metric, self.language, turned, self.quantity, self.system)
        return frozenset([*texts, *self.id.split(".")]) - {""}


@dataclass(frozen=True)
class PaperRow:
    """One row of a paper's table.

    A row of PPA's Table 5:

        label    - MoCo                      as printed; six rows have it
        name     zero-shot / - MoCo          with the setting and the encoder; three rows have it
        address  zero-shot / - MoCo / 250k   of this row alone (:meth:`PaperTable.address`)
        labels   each of these parts, by any of which a user may name the row
    """

    label: str
    values: Mapping[str, float | str | None]  # by column; `None` where the paper prints nothing
    # Values that tell the row from others: setting, system, layer.
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def setting(self) -> str:
        """``zero-shot`` or ``translate-train``; empty where the table has no settings."""
        return str(self.attributes.get("setting", ""))

    @property
    def system(self) -> str:
        """``weam``, ``tlm``, ``mbert`` and so on."""
        return str(self.attributes.get("system", ""))

    @property
    def pretrained(self) -> str:
        """The encoder in a column of its own (XLM-Align's Table 2: ``XLM-R``); empty where the table has none."""
        return str(self.attributes.get("pretrained", ""))

    @property
    def name(self) -> str:
        """The label with its setting and encoder, by which a comparison names the row."""
        return " / ".join(filter(None, [self.setting, self.label, self.pretrained]))

    @property
    def labels(self) -> frozenset[str]:
        """Texts by which the row can be named: its label as printed, and the values of its attributes."""
        values = (str(value) for key, value in self.attributes.items() if key not in _UNLABELLED)
        return frozenset([self.name, self.label, *values]) - {""}


@dataclass(frozen=True)
class PaperValue:
    """A number of a paper."""

    value: float  # the number to compare with: recomputed if the paper printed a wrong mean
    printed: float
    reason: str = ""  # why the number was recomputed; empty if it was not


@dataclass(frozen=True)
class Correction:
    """A printed number that other numbers of the same paper contradict."""

    paper: str
    table: str
    row: str
    column: str
    printed: float
    recomputed: float
    reason: str
    setting: str = ""


@dataclass(frozen=True)
class PaperTable:
    """One table of one paper."""

    paper: str
    number: str  # `1`, or `E` for numbers given in the text
    title: str
    kind: str  # `results`, `data`, `hyperparameters`, `architecture` or `cost`
    columns: tuple[PaperColumn, ...]
    rows: tuple[PaperRow, ...]
    split: str = ""
    note: str = ""
    corrections: tuple[Correction, ...] = ()

    @property
    def name(self) -> str:
        """The name that ``--paper`` takes: ``weam:Table1``."""
        return (
            f"{self.paper}:Table{self.number}" if self.number[0].isdigit() else f"{self.paper}:{self.number}"
        )

    @property
    def cited(self) -> str:
        """The name by which a text cites the table: ``WEAM, Table 2``."""
        number = f"Table {self.number}" if self.number[0].isdigit() else f"text {self.number}"
        return f"{PAPERS[self.paper]}, {number}"

    def column(self, *labels: str) -> PaperColumn:
        """Find the one column that has all these labels: its id, or its task, metric, language, quantity, system."""
        columns = self._columns_of(*labels)
        if len(columns) != 1:
            names = [column.id for column in columns or self.columns]
            raise _unknown(f"{self.name}: column", labels, names, several=bool(columns))
        return columns[0]

    def _columns_of(self, *labels: str) -> list[PaperColumn]:
        """List the columns that have all these labels, or the one column whose id they are."""
        # The id of a column that `extended` added is all its labels in one text.
        exact = [column for column in self.columns if column.id == " / ".join(labels)]
        return exact or [column for column in self.columns if set(labels) <= column.labels]

    def row(self, *labels: str) -> PaperRow:
        """Find the one row that has all these labels: as printed, with its setting, or values of its attributes.

        If rows of several settings have the labels, the zero-shot row is meant.
        """
        rows = self.rows_of(*labels)
        if len(rows) > 1:
            rows = [row for row in rows if row.setting == "zero-shot"] or rows
        if len(rows) != 1:
            names = [self.address(row) for row in self.rows_of(*labels) or self.rows]
            raise _unknown(f"{self.name}: row", labels, names, several=bool(rows))
        return rows[0]

    def address(self, row: PaperRow) -> str:
        """Return a text that names one row alone: its name, and the attributes in which rows of that name differ.

        Two rows are called ``zero-shot / - MoCo``: the address of one of them is ``zero-shot / - MoCo / 250k``.
        """
        namesakes = [r for r in self.rows if r.name == row.name]
        values = []
        for key, value in row.attributes.items():
            if key not in _UNLABELLED and any(r.attributes.get(key) != value for r in namesakes):
                values.append(str(value))
        return " / ".join([row.name, *dict.fromkeys(values)])

    def rows_of(self, *labels: str) -> list[PaperRow]:
        """List the rows that have all these labels, or the parts of an :meth:`address`, given as one text.

        If a row's name or printed label is exactly this text, rows that only have it as an attribute are not meant.
        """
        # One label finds the row of the paper with this printed label or name. Several labels, joined, find the row
        # that `extended` made of them: its label is the joined text.
        exact = [row for row in self.rows if " / ".join(labels) in (row.name, row.label)]
        parts = set(labels[0].split(" / ") if len(labels) == 1 else labels) - {""}
        return exact or [row for row in self.rows if parts <= row.labels]

    def extended(self, row: Sequence[str], column: Sequence[str]) -> "PaperTable":
        """Add a row and a column of a study, each as the last one, and only if no row or column has these labels."""
        rows, columns = self.rows, self.columns
        if not self.rows_of(*row):
            rows += (PaperRow(" / ".join(row), {}),)
        if not self._columns_of(*column):
            metric = column[-1] if column[-1] in COUNTS else ""
            columns += (PaperColumn(" / ".join(column), metric=metric),)
        return replace(self, rows=rows, columns=columns)

    def value(self, row: PaperRow, column: PaperColumn) -> PaperValue | None:
        """Return the number in a row and column, corrected if it is wrong; ``None`` if the paper has no number."""
        printed = row.values.get(column.id)
        if not isinstance(printed, int | float):
            return None
        # A correction without a setting holds in every setting.
        keys = {(row.label, setting, column.id) for setting in ("", row.setting)}
        wrong = next((c for c in self.corrections if (c.row, c.setting, c.column) in keys), None)
        if wrong is None:
            return PaperValue(float(printed), float(printed))
        mean = self.mean(row.values, column) if column.average else None
        return PaperValue(wrong.recomputed if mean is None else mean, float(printed), wrong.reason)

    def columns_of_mean(self, average: PaperColumn) -> list[PaperColumn]:
        """List the columns over which an average column is a mean, by rules 1 and 2 of :meth:`mean`."""
        leaves_out_english = "zero_shot" in average.id
        columns = []
        for column in self.columns:
            if column.average or (leaves_out_english and column.language == "en"):
                continue
            if average.metric and column.metric != average.metric:
                continue
            columns.append(column)
        return columns

    def mean(
        self, values: Mapping[str, float | str | None], column: PaperColumn, *, partial: bool = False
    ) -> float | None:
        """Compute the value of an average column from a row's other values.

        1. A mean with a metric is over the columns of that metric alone: the average F1 is over F1, not over EM.
        2. A zero-shot mean leaves out English, the language of the training data.
        3. Columns of one language, or without languages those of one task, count once, as their mean: in XLM-Align's
           Table 1, F1 and EM of a task are one share of the row's average.
        4. Without a value of one of these columns there is no mean; with ``partial`` it is over the columns that have
           a value.

        Args:
            values: Column id -> value.
            column: The average column.
            partial: Compute the mean even if values are missing.

        Returns:
            The mean, or ``None``.
        """
        groups: dict[tuple[str, str], list[float]] = defaultdict(list)
        for part in self.columns_of_mean(column):
            value = values.get(part.id)
            if isinstance(value, int | float):
                group = (part.language, "") if part.language else ("", part.task)
                groups[group].append(float(value))
            elif not partial:
                return None
        return fmean(fmean(group) for group in groups.values()) if groups else None


@cache
def paper_tables() -> tuple[PaperTable, ...]:
    """Return all tables, in the order of the papers."""
    tables = []
    for entry in _data()["tables"]:
        columns = []
        for fields in entry["columns"]:
            known = {k: v for k, v in fields.items() if k in PaperColumn.__dataclass_fields__}
            language = fields.get("language") or fields.get("pair") or ""
            columns.append(PaperColumn(**{**known, "language": language}))
        rows = []
        for fields in entry["rows"]:
            attributes = {k: v for k, v in fields.items() if k not in ("label", "values")}
            values = dict(zip((c.id for c in columns), fields["values"], strict=True))
            rows.append(PaperRow(fields["label"], values, attributes))
        paper, number = entry["paper"], entry["table"].removeprefix("text.")
        about: dict[str, Any] = {name: entry.get(name, "") for name in ("title", "kind", "split", "note")}
        about["corrections"] = tuple(c for c in corrections() if (c.paper, c.table) == (paper, number))
        tables.append(PaperTable(paper, number, columns=tuple(columns), rows=tuple(rows), **about))
    return tuple(tables)


def paper_key(name: str) -> str:
    """Return the key of the paper in a table's name, whether the paper is written as a key or as in texts.

    Example:
        >>> paper_key("ALIGN-MLM:3")
        'align_mlm'
    """
    return name.strip().partition(":")[0].strip().lower().replace("-", "_")


def paper_table(name: str) -> PaperTable:
    """Return the table called ``weam:Table1``, ``weam:1`` or ``weam:T1``.

    Example:
        >>> paper_table("weam:Table2").row("weam").values["de"]
        74.5
    """
    paper, number = paper_key(name), name.partition(":")[2]
    number = number.strip().lower().removeprefix("table").removeprefix("t").strip()
    for table in paper_tables():
        if (table.paper, table.number.lower()) == (paper, number):
            return table
    raise _unknown("paper table", [name], [t.name for t in paper_tables()])


@cache
def corrections() -> tuple[Correction, ...]:
    """Return every printed number that its own paper contradicts."""
    return tuple(Correction(**entry) for entry in _data()["corrections"])


@cache
def _data() -> dict[str, Any]:
    text = (files("isoglot.reports") / "data" / "papers.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def _unknown(
    what: str, labels: Sequence[str], known: Sequence[str], *, several: bool = False
) -> ConfigurationError:
    """Return the error that no row or column, or more than one, has these labels; it lists at most eight names."""
    name = " / ".join(labels)
    shown = list(known[:8])
    if len(known) > len(shown):
        shown.append("…")
    listed = "; ".join(shown)
    if several:
        return ConfigurationError(f"{what} {name!r} fits several; add one of these to choose: {listed}")
    near = closest(name, known)
    hint = f"did you mean {near!r}?" if near else "type `isoglot report papers` to list what there is"
    return ConfigurationError(f"{what} {name!r} is unknown; known: {listed}; {hint}")
