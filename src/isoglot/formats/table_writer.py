"""Pairs as rows of TSV, CSV and JSON lines, and as the two files of a Moses pair.

A row that was a row of a table or an object of JSON lines comes out as it was, with our values behind it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.core.errors import InputError
from isoglot.formats.csv_form import csv_line
from isoglot.formats.given_row import TableForm, free_names
from isoglot.formats.sentence_pair import SentencePair
from isoglot.runs.json_lines import json_line

_LOG = logging.getLogger(__name__)
_MARK = "\ufeff"
_ENDS = str.maketrans("\t\n\r", "   ")


class FreeNames:
    """Gives our values free names beside the user's columns, and says once which name became which."""

    def __init__(self, path: str) -> None:
        self._path, self._said = path, set[str]()

    def __call__(self, values: Sequence[str], taken: Sequence[str]) -> list[str]:
        """The names of values."""
        names = free_names(values, taken)
        for name, free in zip(values, names, strict=True):
            if name != free and name not in self._said:
                self._said.add(name)
                _LOG.warning(
                    "%s: the input has a column %r, which it keeps; ours is called %r", self._path, name, free
                )
        return names


class RowWriter:
    """Lines of JSON: the row of a pair, then our values."""

    def __init__(self, path: str) -> None:
        self._path, self._renamed, self._not_finite = path, FreeNames(path), 0

    def lines(self, pair: SentencePair, values: Mapping[str, Any]) -> list[str]:
        """The line of a pair."""
        row = pair.row()
        names = self._renamed(list(values), list(row))
        row |= zip(names, values.values(), strict=True)
        try:
            return [json_line(row, allow_null=False)]
        except ValueError:
            self._not_finite += 1
            return [json_line(row)]

    def warn(self) -> None:
        """Say how many rows have numbers that JSON does not know."""
        if self._not_finite:
            _LOG.warning(
                "%s: numbers that JSON does not know (NaN, infinity), written as null, in rows: %d",
                self._path,
                self._not_finite,
            )


class TableWriter:
    """Lines of the two files of a Moses pair, or of a table, all of the same columns.

    A table that was read is written with its columns in their order, and its header. Other pairs are source and target.
    """

    def __init__(self, paths: Sequence[str], *, comma: bool = False) -> None:
        self._path, self._comma = " ".join(paths), comma
        self._moses = len(paths) == 2
        self._form: TableForm | None = None
        self._width = -1
        self._warned = False
        self._ends = 0

    def lines(self, pair: SentencePair, values: Mapping[str, Any]) -> list[str]:
        """The lines of a pair, before the first one those of the header."""
        self._warn_of_lost(pair)
        if self._moses:
            return [f"{self._without_ends(text)}\n" for text in pair.texts]
        given = pair.given
        table = given.table if given is not None else None
        cells = given.table_cells(pair.texts) if given is not None and table is not None else list(pair.texts)
        before = self.head(pair, list(values))
        if self._width < 0:
            self._width = len(cells)
            # A byte order mark at the start of a file is no text. A text that begins with one gets another before it.
            before += _MARK * (cells[0].startswith(_MARK) and not before)
        names = table.names if table is not None else None
        first_names = self._form.names if self._form is not None else None
        if len(cells) != self._width or names != first_names:
            what = "other columns" if len(cells) == self._width else f"{len(cells)} columns"
            named = f" ({', '.join(first_names)})" if first_names else ""
            raise InputError(
                f"{what}, but the first pair has {self._width}{named}, and so has each row of a table; write a .jsonl "
                "file",
                path=pair.path,
                line=pair.line,
            )
        known = [f"{value:.4f}" if isinstance(value, float) else str(value) for value in values.values()]
        return [before + self._line([*cells, *known])]

    def head(self, pair: SentencePair, names: Sequence[str]) -> str:
        """What stands before the first row, once: of a table with a header its names, then those of our values.

        ``pair``: One of the table, whether it is written or not: a table of which no row is kept has a header too.
        """
        if self._moses or self._form is not None:
            return ""
        self._form = self._form_of(pair.given.table if pair.given is not None else None)
        if self._form.names is None:
            return self._form.preamble
        header = list(self._form.names)
        return self._form.preamble + self._line([*header, *FreeNames(self._path)(names, header)])

    def warn(self) -> None:
        """Say how many texts had what ends columns and lines."""
        if self._ends:
            _LOG.warning(
                "%s: tabs and line breaks inside text, written as spaces, in cells: %d; write a .jsonl file to keep "
                "them",
                self._path,
                self._ends,
            )

    def _form_of(self, table: TableForm | None) -> TableForm:
        """The form of the output: that of the input, if both are CSV."""
        names = table.names if table is not None else None
        if not self._comma:
            return TableForm(names)
        return table if table is not None and table.is_csv else TableForm(names, delimiter=",", is_csv=True)

    def _line(self, cells: Sequence[str]) -> str:
        if self._comma and self._form is not None:
            return csv_line(cells, self._form)
        return "\t".join(map(self._without_ends, cells)) + "\n"

    def _without_ends(self, text: str) -> str:
        """A text without what ends columns and lines."""
        if text.isprintable() or (plain := text.translate(_ENDS)) == text:
            return text
        self._ends += 1
        return plain

    def _warn_of_lost(self, pair: SentencePair) -> None:
        """Name what the file has no room for, once."""
        in_table = not self._moses and pair.given is not None and pair.given.table is not None
        if self._warned or in_table:
            return
        lost = ["id"] * (pair.id is not None)
        lost += [name for name in pair.more if not name.endswith("_language")]
        lost += ["in-line tags"] * any(pair.tags)
        if lost:
            self._warned = True
            _LOG.warning(
                "%s: has no room for %s; write a .jsonl file to keep them", self._path, ", ".join(lost)
            )
