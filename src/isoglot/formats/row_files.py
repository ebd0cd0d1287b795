"""Read files of rows with any columns: lines of text, tables with a header, JSON lines, Parquet.

For callers that need rows with any columns, and neither roles nor pairs; ``readers.py`` does not use this module. The
whole file is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from isoglot.core.errors import InputError
from isoglot.formats.csv_form import csv_form, csv_rows, warn_of_delimiter
from isoglot.formats.line_files import numbered_lines, numbered_objects
from isoglot.formats.words import is_blank
from isoglot.runs.files import bare_suffix
from isoglot.runs.json_lines import JSON_LINES

_FIRST_LINES = 100


def read_rows(path: str) -> list[dict[str, Any]]:
    """Read the rows of a file by the names of their columns.

    ``.jsonl`` and ``.ndjson`` are JSON lines, ``.csv`` and ``.tsv`` tables with a header, ``.parquet`` is Parquet. In
    any other file each line is a text, in a column ``text``; ``-`` is standard input. Packed files are unpacked.

    Raises:
        InputError: A line that cannot be read (``file:line``), or a file without rows.
    """
    suffix = bare_suffix(path)
    rows: list[dict[str, Any]]
    if suffix in JSON_LINES:
        rows = [row for _, row in numbered_objects(path)]
    elif suffix == ".parquet":
        from pyarrow import parquet  # noqa: PLC0415 - only for Parquet

        rows = list(parquet.read_table(path).to_pylist())
    elif suffix in (".csv", ".tsv"):
        rows = list(_table_rows(path, "\t" if suffix == ".tsv" else None))
    else:
        rows = [{"text": line} for _, line in numbered_lines(path)]
    if not rows:
        raise InputError("holds no rows; name a file with at least one", path=path)
    return rows


def _table_rows(path: str, delimiter: str | None) -> Iterator[dict[str, Any]]:
    """Read the rows of a table whose first row names its columns; ``delimiter``: By default that of the first lines."""
    lines = [line for _, line in numbered_lines(path)]
    form, skipped = csv_form(path, list(islice(lines, _FIRST_LINES)), delimiter, 1)
    if delimiter is None:
        warn_of_delimiter(path, form.delimiter)
    if skipped == 0 and lines:
        lines[0] = lines[0].removeprefix("\ufeff")
    rows = csv_rows(path, lines[skipped:], form.delimiter, line=skipped + 1)
    _, names = next(rows, (1, []))
    for number, cells in rows:
        if not cells or (len(cells) == 1 and is_blank(cells[0])):
            continue
        if len(cells) != len(names):
            raise InputError(
                f"{len(cells)} columns, and the header has {len(names)}; correct the line",
                path=path,
                line=number,
            )
        yield dict(zip(names, cells, strict=True))
