"""Rows as a user gave them, and names for values that we write beside them.

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
    """The form in which a table is written: its header; for CSV also delimiter, quotes and line ends.

    Args:
        names: The header, in which names may be repeated; None for a table without a header.
        delimiter: The character between columns.
        quote_all: Every cell is in quotes, not only cells that need them.
        line_end: The characters that end a row.
        preamble: Characters before the first row: a byte order mark, or the line ``sep=;`` of Excel.
        is_csv: Cells may be in quotes; otherwise a tab or line end always ends a cell.
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
        columns: The columns that were read as source and target.
        row: The row by name, in the order of its columns; None for a table without a header. A name that the header
            repeats has a number behind it, as :func:`free_names` gives it.
        cells: All cells of the row; empty for a row of JSON lines or Parquet, which has none.
        table: The form of the table; None for a row of JSON lines or Parquet.
    """

    columns: tuple[Column, Column]
    row: Mapping[str, Any] | None = None
    cells: Sequence[str] = ()
    table: TableForm | None = None

    def row_with_texts(self, texts: Sequence[str]) -> dict[str, Any]:
        """Make the row by name, with these texts in place of its sides.

        Example:
            >>> GivenRow(("en", "t.de"), {"en": "a", "t": {"de": "b"}, "source": "OPUS"}).row_with_texts(("a", "c"))
            {'en': 'a', 't': {'de': 'c'}, 'source': 'OPUS'}
        """
        row = dict(self.row or {})
        for column, text in zip(self.columns, texts, strict=True):
            name = str(column)
            path = [name] if name in row else name.split(".")
            value = _inside(row, path)
            # A list of words stays: the text is only these words joined. Null stays if the text is empty.
            if not isinstance(value, list) and (value or "") != text:
                _replace(row, path, text)
        return row

    def cells_with_texts(self, texts: Sequence[str]) -> list[str]:
        """Make the cells of a table's row, with these texts in place of its sides."""
        cells = list(self.cells)
        # The keys of the row, and not the header, in which a name may be repeated: the third column of `note src note`
        # is `note_2` in `columns` and in the row.
        names = list(self.row or ())
        for column, text in zip(self.columns, texts, strict=True):
            number = column if isinstance(column, int) else names.index(column)
            cells[number] = text
        return cells

    def transpose(self) -> GivenRow:
        """The same row for a pair whose sides are exchanged."""
        return replace(self, columns=self.columns[::-1])


def _inside(row: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value at a path, ``["translation", "de"]``."""
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
    """Add the next free number to names that are taken, or that come twice.

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
    """Add values of ours to a row, under names that are free.

    Example:
        >>> with_values({"text": "a", "score": 5}, {"score": 0.9})
        {'text': 'a', 'score': 5, 'score_2': 0.9}
    """
    names = free_names(values, row)
    return {**row, **dict(zip(names, values.values(), strict=True))}
