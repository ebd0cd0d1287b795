"""Write pairs as rows of TSV, CSV and JSON lines, or as the two files of a Moses pair.

A pair that was read from a row of a table, or from an object of JSON lines, is written as this row, with our values
behind it.
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
_ENDS_AS_SPACES = str.maketrans("\t\n\r", "   ")


class FreeNames:
    """Names for our values that are free beside the user's columns, with a warning for each that was changed."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._reported = set[str]()

    def __call__(self, values: Sequence[str], taken: Sequence[str]) -> list[str]:
        """Name values beside the columns whose names are ``taken``; a changed name is reported once."""
        names = free_names(values, taken)
        for name, free in zip(values, names, strict=True):
            if name != free and name not in self._reported:
                self._reported.add(name)
                _LOG.warning(
                    "%s: the input has a column %r, which it keeps; ours is called %r", self._path, name, free
                )
        return names


class RowWriter:
    """A writer of JSON lines: the row of a pair, then our values.

    ``{"en": "a", "de": "b"}`` with a score comes out as ``{"en": "a", "de": "b", "score": 0.5}``.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._free_names = FreeNames(path)
        self._not_finite = 0  # rows with NaN or infinity

    def lines(self, pair: SentencePair, values: Mapping[str, Any]) -> list[str]:
        """The line of a pair."""
        row = pair.row()
        names = self._free_names(list(values), list(row))
        row |= zip(names, values.values(), strict=True)
        try:
            return [json_line(row, allow_null=False)]
        except ValueError:  # NaN or infinity, for which RFC 8259 (JSON) has no literal
            self._not_finite += 1
            return [json_line(row)]

    def warn(self) -> None:
        """Report how many rows have numbers that JSON does not know."""
        if self._not_finite:
            _LOG.warning(
                "%s: numbers that JSON does not know (NaN, infinity), written as null, in rows: %d",
                self._path,
                self._not_finite,
            )


class TableWriter:
    """A writer of TSV, CSV (``comma``), or of the two files of a Moses pair, as the number of paths says.

    A table that was read is written with its columns in their order, and its header; other pairs are the columns source
    and target, without a header. Our values are the last columns. The first pair decides on the columns of all.
    """

    def __init__(self, paths: Sequence[str], *, comma: bool = False) -> None:
        self._path = " ".join(paths)
        self._comma = comma
        self._moses = len(paths) == 2
        self._form: TableForm | None = None  # of the output, once its head is written
        self._head = ""  # everything that was written before the first row
        self._width = -1  # cells of each row without our values; -1 before the first row
        self._has_warned = False  # of values for which the file has no room
        self._with_ends = 0  # cells in which a tab or line end became a space

    def lines(self, pair: SentencePair, values: Mapping[str, Any]) -> list[str]:
        """The lines of a pair, one for each file; before the first pair also the header."""
        self._warn_of_lost(pair)
        if self._moses:
            return [f"{self._without_ends(text)}\n" for text in pair.texts]
        given = pair.given
        cells, names = list(pair.texts), None
        if given is not None and given.table is not None:
            cells, names = given.cells_with_texts(pair.texts), given.table.names
        before = self.head(pair, list(values))
        if self._width < 0:
            self._width = len(cells)
            # A reader drops a byte order mark at the start of a file. If the first text begins with one, and no head
            # stands before the text, another mark is written, which is dropped instead. The head may be here, in
            # `before`, or in the file already.
            if cells[0].startswith(_MARK) and not self._head:
                before = _MARK
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
        written = [f"{value:.4f}" if isinstance(value, float) else str(value) for value in values.values()]
        return [before + self._line([*cells, *written])]

    def head(self, pair: SentencePair, names: Sequence[str]) -> str:
        """Everything before the first row: the preamble of CSV, and the header with the names of our values.

        Only the first call returns this; later calls return an empty text.

        ``pair``: Any pair of the table, written or not: a table of which no row is kept has a header too.
        """
        if self._moses or self._form is not None:
            return ""
        self._form = self._form_of(pair.given.table if pair.given is not None else None)
        self._head = self._form.preamble
        if self._form.names is not None:
            header = list(self._form.names)
            self._head += self._line([*header, *FreeNames(self._path)(names, header)])
        return self._head

    def warn(self) -> None:
        """Report in how many cells tabs and line ends became spaces."""
        if self._with_ends:
            _LOG.warning(
                "%s: tabs and line breaks inside text, written as spaces, in cells: %d; write a .jsonl file to keep "
                "them",
                self._path,
                self._with_ends,
            )

    def _form_of(self, table: TableForm | None) -> TableForm:
        """Choose the form of the output: the form of the input, if both are CSV."""
        names = table.names if table is not None else None
        if not self._comma:
            return TableForm(names)
        return table if table is not None and table.is_csv else TableForm(names, delimiter=",", is_csv=True)

    def _line(self, cells: Sequence[str]) -> str:
        """Write a row: CSV puts tabs and line ends in quotes; TSV cannot hold them, so they become spaces."""
        if self._comma and self._form is not None:
            return csv_line(cells, self._form)
        return "\t".join(map(self._without_ends, cells)) + "\n"

    def _without_ends(self, text: str) -> str:
        """Replace tabs and line ends, which would end the cell or line, by spaces."""
        if text.isprintable():  # most text, and quick to tell
            return text
        plain = text.translate(_ENDS_AS_SPACES)
        self._with_ends += plain != text
        return plain

    def _warn_of_lost(self, pair: SentencePair) -> None:
        """Warn once of values of a pair for which the file has no room; of a table, all columns are written."""
        in_table = not self._moses and pair.given is not None and pair.given.table is not None
        if self._has_warned or in_table:
            return
        lost = [name for name in pair.more if not name.endswith("_language")]
        if pair.id is not None:
            lost.insert(0, "id")
        if any(pair.tags):
            lost.append("in-line tags")
        if lost:
            self._has_warned = True
            _LOG.warning(
                "%s: has no room for %s; write a .jsonl file to keep them", self._path, ", ".join(lost)
            )
