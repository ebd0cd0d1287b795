"""How a CSV file is written: what separates its columns, whether all are in quotes, and how its rows end."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from isoglot.core.errors import InputError
from isoglot.core.named_options import spelled
from isoglot.formats.given_row import TableForm

_LOG = logging.getLogger(__name__)
_MARK = "\ufeff"
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""What may separate the columns of CSV, the usual one first."""
_FIRST_ROWS = 100


def csv_form(path: str, head: Sequence[str], delimiter: str | None, fields: int) -> tuple[TableForm, int]:
    """The form of a CSV file by its first lines, and how many of them stand before its rows.

    ``fields``: How many columns are read at least.

    A delimiter fits if all first rows have the same number of columns, enough of them. Of several that fit, one that
    no space follows wins: in ``Hello, world;Hallo, Welt`` the comma is punctuation.

    Raises:
        InputError: Several fit, and nothing tells them apart.
    """
    preamble, lines, skipped = "", list(head), 0
    if lines and lines[0].startswith(_MARK):
        preamble, lines[0] = _MARK, lines[0].removeprefix(_MARK)
    line_end = "\r\n" if lines and lines[0].endswith("\r") else "\n"
    named = lines[0].removesuffix("\r") if lines else ""
    if named[:4].lower() == "sep=" and len(named) == 5:  # of Excel
        preamble, skipped, delimiter = f"{preamble}{named}{line_end}", 1, delimiter or named[4]
    found = _fitting(path, lines[skipped:], fields) if delimiter is None else delimiter
    if found != ",":
        _say(path, found)
    row = next(_rows(lines[skipped:], found), [])
    raw = lines[skipped].removesuffix("\r") if len(lines) > skipped else ""
    quoted = TableForm(delimiter=found, line_end="", quote_all=True, is_csv=True)
    form = replace(quoted, quote_all=csv_line(row, quoted) == raw, line_end=line_end, preamble=preamble)
    return form, skipped


def _fitting(path: str, lines: Sequence[str], fields: int) -> str:
    """The delimiter that fits the first rows; the comma if none does."""
    widths = {}
    for delimiter in _NAMES:
        counts = {len(row) for row in _rows(lines, delimiter) if any(map(str.strip, row))}
        if len(counts) == 1 and (width := counts.pop()) >= max(fields, 2):
            widths[delimiter] = width
    if len(widths) < 2:
        return next(iter(widths), ",")
    text = "\n".join(lines)
    tight = [delimiter for delimiter in widths if f"{delimiter} " not in text]
    if len(tight) == 1:
        return tight[0]
    if "," in widths and "," not in tight and tight:
        widths = {delimiter: widths[delimiter] for delimiter in tight}
    if "," in widths:
        return ","
    names = " or ".join(f"a {_NAMES[delimiter]}" for delimiter in widths)
    raise InputError(f"columns may be separated by {names}; name one: [[delimiter=';']]", path=path, line=1)


def _rows(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    """The first rows, as far as they can be read; the last one may be cut off."""
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        for number, row in enumerate(rows):
            if number == _FIRST_ROWS:
                return
            yield row
    except csv.Error:
        return


@lru_cache(64)  # a file is read more than once
def _say(path: str, delimiter: str) -> None:
    name = _NAMES.get(delimiter, repr(delimiter))
    _LOG.warning(spelled("%s: read with a %s between columns; [[delimiter]] names another one"), path, name)


def csv_line(cells: Sequence[str], form: TableForm) -> str:
    """A row of CSV in a form."""
    line = io.StringIO()
    # The writer quotes line breaks of its own line end alone; with this one it quotes both kinds.
    writer = csv.writer(
        line,
        delimiter=form.delimiter,
        quoting=csv.QUOTE_ALL if form.quote_all else csv.QUOTE_MINIMAL,
        lineterminator="\r\n",
    )
    writer.writerow(cells)
    return line.getvalue().removesuffix("\r\n") + form.line_end
