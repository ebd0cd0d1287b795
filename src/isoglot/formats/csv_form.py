"""CSV files: find their form (delimiter, quotes, line ends) from the first lines; read and write their rows."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from isoglot.core.errors import InputError
from isoglot.core.named_options import spelled
from isoglot.formats.given_row import TableForm

_LOG = logging.getLogger(__name__)
_MARK = "\ufeff"
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""Characters that may separate the columns of CSV, the usual one first, and their names."""
_FIRST_ROWS = 100
_LONGEST_FIELD = 64 << 20  # characters; Python's own limit, 128 KiB, is too low for documents


def csv_form(path: str, head: Sequence[str], delimiter: str | None, needed: int) -> tuple[TableForm, int]:
    r"""Find the form of a CSV file from its first lines.

    1. A byte order mark and a first line ``sep=;`` are no rows. Excel writes both, and reads the character behind
       ``sep=`` as the delimiter.
    2. The delimiter is the one that the user names, else that of ``sep=``, else the one that fits (:func:`_fitting`).
    3. Lines end as the first one does: in ``\r\n``, as RFC 4180 asks for, or in ``\n``.
    4. All cells are in quotes if those of the first row are.

    Args:
        path: Name of the file in messages.
        head: The first lines, each with its ``\r`` if it has one.
        delimiter: The delimiter that the user names, if any.
        needed: Number of columns that the file must have at least.

    Returns:
        The form, and the number of lines before the first row: 1 if there is a line ``sep=;``.

    Raises:
        InputError: Several delimiters fit, and no rule chooses one.
    """
    lines = list(head)
    preamble, skipped = "", 0
    if lines and lines[0].startswith(_MARK):
        preamble, lines[0] = _MARK, lines[0].removeprefix(_MARK)  # 1
    line_end = "\r\n" if lines and lines[0].endswith("\r") else "\n"  # 3
    first_line = lines[0].removesuffix("\r") if lines else ""
    if first_line[:4].lower() == "sep=" and len(first_line) == len("sep=;"):
        preamble, skipped = f"{preamble}{first_line}{line_end}", 1  # 1
        delimiter = delimiter or first_line[4]
    rows = lines[skipped:]
    found = _fitting(path, rows, needed) if delimiter is None else delimiter  # 2
    # 4. Write the first row with quotes around all cells: does it stand like this in the file?
    first_row = next(_rows(rows, found), [])
    as_written = rows[0].removesuffix("\r") if rows else ""
    quoted = TableForm(delimiter=found, line_end="", quote_all=True, is_csv=True)
    quote_all = csv_line(first_row, quoted) == as_written
    return replace(quoted, quote_all=quote_all, line_end=line_end, preamble=preamble), skipped


def _fitting(path: str, lines: Sequence[str], needed: int) -> str:
    """Choose the delimiter that fits the first rows.

    1. A delimiter fits if it gives all rows the same number of columns, at least as many as are needed.
    2. If one fits, it is chosen; if none does, the comma.
    3. Of several, one that no space follows wins: in ``Hello, world;Hallo, Welt`` the comma is punctuation.
    4. Else the comma wins, unless spaces follow it and not all of the other delimiters that fit. Then the comma is
       punctuation, and the user has to name one of the others.

    Raises:
        InputError: Several fit, and neither rule 3 nor rule 4 chooses one.
    """
    fitting = []
    for delimiter in _DELIMITERS:
        widths = {len(row) for row in _rows(lines, delimiter) if any(map(str.strip, row))}
        if len(widths) == 1 and widths.pop() >= max(needed, 2):
            fitting.append(delimiter)  # 1
    if len(fitting) < 2:
        return fitting[0] if fitting else ","  # 2
    text = "\n".join(lines)
    tight = [delimiter for delimiter in fitting if f"{delimiter} " not in text]
    if len(tight) == 1:
        return tight[0]  # 3
    # 4
    if "," in fitting and tight and "," not in tight:
        fitting = tight
    if "," in fitting:
        return ","
    names = " or ".join(f"a {_DELIMITERS[delimiter]}" for delimiter in fitting)
    raise InputError(f"columns may be separated by {names}; name one: [[delimiter=';']]", path=path, line=1)


def _rows(lines: Sequence[str], delimiter: str) -> Iterator[list[str]]:
    """Yield the first rows, up to a row that is no CSV: the last of the first lines may end inside a quoted cell."""
    csv.field_size_limit(_LONGEST_FIELD)
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        for number, row in enumerate(rows):
            if number == _FIRST_ROWS:
                return
            yield row
    except csv.Error:
        return


@lru_cache(64)  # a file may be read more than once, and is reported once
def warn_of_delimiter(path: str, delimiter: str, advice: str = "") -> None:
    """Warn of a delimiter other than the comma; ``advice``: What to do if it is wrong."""
    if delimiter != ",":
        name = _DELIMITERS.get(delimiter, repr(delimiter))
        _LOG.warning(spelled(f"%s: read with a %s between columns{advice}"), path, name)


def csv_rows(
    path: str, lines: Iterable[str], delimiter: str = ",", *, line: int = 1
) -> Iterator[tuple[int, list[str]]]:
    """Read rows, each with the number of its first line: a cell in quotes may hold line ends.

    ``line``: The number of the first line.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    # strict: a quote inside a cell that is not doubled is a mistake, as in RFC 4180, and no text.
    rows = csv.reader((f"{text}\n" for text in lines), delimiter=delimiter, strict=True)
    lines_before = line - 1
    first = line
    try:
        for row in rows:
            yield first, row
            # line_num counts the lines that the reader has taken so far.
            first = lines_before + rows.line_num + 1
    except csv.Error as error:
        raise InputError(f"broken CSV ({error}): fix the quotes", path=path, line=first) from error


def csv_line(cells: Sequence[str], form: TableForm) -> str:
    """Write a row of CSV in a form."""
    line = io.StringIO()
    # The writer puts a cell in quotes if it has a character of the writer's line end: with this one, \r and \n both do.
    writer = csv.writer(
        line,
        delimiter=form.delimiter,
        quoting=csv.QUOTE_ALL if form.quote_all else csv.QUOTE_MINIMAL,
        lineterminator="\r\n",
    )
    writer.writerow(cells)
    return line.getvalue().removesuffix("\r\n") + form.line_end
