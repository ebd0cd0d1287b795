"""Rows as a user gave them: their names and order, and how values of ours are called beside them.

The rule, for every format: **the user's columns keep their names; a value of ours whose name is taken gets the next
free one**, ``alignment_2``, ``alignment_3``. A warning names both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Column = int | str
"""A column by number, or by name; ``translation.de`` reaches into a record."""


@dataclass(frozen=True, slots=True)
class TableForm:
    """How a table is written: its header, and of CSV its delimiter, quotes and line ends.

    Args:
        names: The header, with names that may be repeated; None of a table without one.
        delimiter: What separates columns.
        quote_all: Every field is in quotes, not only those that need them.
        line_end: What ends a row.
        preamble: What stands before the first row: a byte order mark, the line ``sep=;`` of Excel.
        is_csv: Fields may be in quotes; else a tab or line end always ends one.
    """

    names: tuple[str, ...] | None = None
    delimiter: str = "\t"
    quote_all: bool = False
    line_end: str = "\n"
    preamble: str = ""
    is_csv: bool = False


@dataclass(frozen=True, slots=True)
class GivenRow:
    """The row that a pair was read from.

    Args:
        columns: The columns of the source and the target.
        row: The row by name, in its order; None of a table without a header.
        cells: All cells of a table's row.
        table: How the table is written.
    """

    columns: tuple[Column, Column]
    row: Mapping[str, Any] | None = None
    cells: Sequence[str] = ()
    table: TableForm | None = None

    def named(self, texts: Sequence[str]) -> dict[str, Any]:
        """The row by name, with these texts.

        Example:
            >>> GivenRow(("en", "t.de"), {"en": "a", "t": {"de": "b"}, "source": "OPUS"}).named(("a", "c"))
            {'en': 'a', 't': {'de': 'c'}, 'source': 'OPUS'}
        """
        row = dict(self.row or {})
        for column, text in zip(self.columns, texts, strict=True):
            name = str(column)
            path = [name] if name in row else name.split(".")
            value = _inside(row, path)
            # A list of words stays, though its text is another value; null stays where the text is empty.
            if not isinstance(value, list) and (value or "") != text:
                _replace(row, path, text)
        return row

    def table_cells(self, texts: Sequence[str]) -> list[str]:
        """The cells of a table's row, with these texts."""
        cells = list(self.cells)
        header = (self.table.names if self.table else None) or ()
        for column, text in zip(self.columns, texts, strict=True):
            number = column if isinstance(column, int) else header.index(column)
            cells[number] = text
        return cells

    def transpose(self) -> GivenRow:
        """The row of the pair whose sides are exchanged."""
        return replace(self, columns=self.columns[::-1])


def _inside(row: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = row
    for name in path:
        value = value[name]
    return value


def _replace(row: dict[str, Any], path: Sequence[str], text: str) -> None:
    """Set the value at a path, ``["translation", "de"]``."""
    first, *rest = path
    if rest:
        row[first] = dict(row[first])  # a copy: the record belongs to the row that was given
        _replace(row[first], rest, text)
    else:
        row[first] = text


def free_names(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Give names that are taken, or that come twice, the next free number.

    A number never makes one of the other names: with ``note, note, note_2``, the second one is ``note_3``.

    Example:
        >>> free_names(["alignment", "score"], ["alignment", "alignment_2"]), free_names(["note", "note"], [])
        (['alignment_3', 'score'], ['note', 'note_2'])
    """
    used, free = set(taken), []
    names = list(names)
    for name in names:
        candidate, number = name, 1
        while candidate in used or (number > 1 and candidate in names):
            number += 1
            candidate = f"{name}_{number}"
        used.add(candidate)
        free.append(candidate)
    return free


def with_values(row: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A row and our values beside it, under names that are free.

    Example:
        >>> with_values({"text": "a", "score": 5}, {"score": 0.9})
        {'text': 'a', 'score': 5, 'score_2': 0.9}
    """
    names = free_names(values, row)
    return {**row, **dict(zip(names, values.values(), strict=True))}
