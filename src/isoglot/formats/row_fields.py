"""Take the fields out of rows: of rows that name their columns (JSON, Parquet), and of rows of cells (TSV, CSV)."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from isoglot.core.errors import InputError
from isoglot.formats.column_plan import check_languages, choose_columns, language_columns, plan_columns
from isoglot.formats.given_row import Column, GivenRow, TableForm, free_names
from isoglot.formats.line_files import Fields, each
from isoglot.formats.sources import Kind, Source
from isoglot.formats.words import is_blank

REMEDY = {"csv": "put a field that holds commas in quotes", "tsv": "take the tab out of its text"}
"""What to do about a row with too many cells."""


def from_rows(
    rows: Sequence[Mapping[str, Any]],
    lines: Sequence[int],
    names: Sequence[str],
    source: Source,
    kind: Kind,
    *,
    whole: bool = False,
) -> Fields:
    """Read the fields of rows that name their columns.

    In English and German, ``{"en": "a house", "de": "ein Haus", "year": 2011}`` has the source ``a house`` and the
    target ``ein Haus``.

    Args:
        rows: The rows.
        lines: The line of each row.
        names: Names of the columns; the column of each role is chosen by them, once for all rows.
        source: What is read.
        kind: What the rows are read as.
        whole: Read all of each row: the field ``more`` has its other columns, ``given`` the row itself. A list of words
            may stand for a text then.
    """
    plan = plan_columns(source, kind, names=names, line=lines[0] if lines else 1)
    check_languages(rows, lines, source, language_columns(source, kind))
    values: dict[str, list[Any]] = {}
    for role, column in plan.items():
        # The sides of an aligned corpus may be lists of words, its links are lists, and flags may be of any type.
        text_only = kind != "aligned" and role != "flags"
        read = partial(_field, column=str(column), role=role, text_only=text_only, allow_words=whole)
        values[role] = each(read, zip(lines, rows, strict=True), source.path)
    if whole:
        columns_read = set(map(str, plan.values()))
        values["more"] = [
            {name: value for name, value in row.items() if name not in columns_read} for row in rows
        ]
        if "source" in plan:
            sides = plan["source"], plan["target"]
            values["given"] = [GivenRow(sides, row) for row in rows]
    return Fields(values, lines)


def _field(row: Mapping[str, Any], *, column: str, role: str, text_only: bool, allow_words: bool) -> Any:
    """Read one field of a row; the column ``translation.de`` is ``de`` inside ``translation``.

    ``text_only``: Refuse a value that is not a text; null is an empty text.
    ``allow_words``: Also accept a list of words.
    """
    # A column that is really called `a.b` wins over `b` inside `a`.
    path = [column] if column in row else column.split(".")
    value: Any = row
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            raise InputError(f"no column {column!r} in this row; {choose_columns(role)}")
        value = value[name]
    if allow_words and isinstance(value, list) and all(isinstance(word, str) for word in value):
        return value
    if not text_only:
        return value
    if not isinstance(value, str | None):
        problem = "neither text nor a list of words" if allow_words else "not text"
        shown = json.dumps(value, default=str)[:60]
        raise InputError(f"the {role} is {shown}, {problem}; {choose_columns(role)}")
    return "" if value is None else value


def with_blank_rows(fields: Fields, line_numbers: Sequence[int]) -> Fields:
    """Add an empty row for each line of a chunk that has no row, because it is blank."""
    row_of_line = {line: row for row, line in enumerate(fields.lines)}
    empty_values: dict[str, Any] = {"more": {}, "given": None}  # of other roles, the empty text
    values: dict[str, list[Any]] = {}
    for role, column in fields.values.items():
        empty_value = empty_values.get(role, "")
        values[role] = [
            column[row_of_line[number]] if number in row_of_line else empty_value for number in line_numbers
        ]
    return Fields(values, line_numbers, fields.problems)


def cell_fields(
    source: Source,
    kind: Kind,
    names: Sequence[str] | None,
    width: int,
    rows: list[list[str]],
    fields: Fields,
    *,
    form: TableForm | None = None,
) -> Fields:
    """Read the columns of a table that have a role, into ``fields``.

    1. A row of the expected number of cells is read, if that includes every column that is read.
    2. Any other row of blank cells is an empty row: a blank line keeps its place.
    3. Any other row is an empty row too, and ``fields.problems`` says what is wrong with its line.

    Args:
        source: What is read.
        kind: What the rows are read as.
        names: The header, if there is one.
        width: The number of cells of a row, for a table without a header.
        rows: The cells of each row; this list is changed: rows that are not read (2, 3) are replaced by empty ones.
        fields: The lines of the rows, and problems that were found so far.
        form: How the table is written, if rows are read whole. Then the field ``cells`` has the other columns of each
            row, ``more`` the same by name where a header names them (a name that comes twice is ``note_2``), and
            ``given`` the whole row.
    """
    plan = plan_columns(source, kind, names=names, nested=False)
    column_of_role: dict[str, int] = {}
    for role, column in plan.items():
        column_of_role[role] = names.index(column) if names and isinstance(column, str) else int(column)
    rows_by_name = (dict(zip(names or (), row, strict=False)) for row in rows)
    check_languages(rows_by_name, fields.lines, source, language_columns(source, kind, names or ()))

    expected = width if names is None else len(names)
    last_read = max(column_of_role.values())
    row_length = max(expected, last_read + 1)
    for index, row in enumerate(rows):
        if last_read < len(row) == expected:
            continue  # 1
        rows[index] = [""] * row_length  # 2, 3
        if all(map(is_blank, row)):
            continue  # 2
        if len(row) <= last_read:
            role = next(role for role, number in column_of_role.items() if number >= len(row))
            problem = (
                f"{len(row)} columns, but column {column_of_role[role]} (counted from 0) is needed for the {role}; fix "
                f"the line, or {choose_columns(role, value='NUMBER')}"
            )
        else:
            problem = (
                f"{len(row)} columns, but the {'first line' if names is None else 'header'} has {expected}; "
                f"{REMEDY[source.format or '']}, or fix the line"
            )
        line = fields.lines[index]
        # A line that is not UTF-8 has a problem already, which is the cause of this one.
        fields.problems.setdefault(line, InputError(problem, path=source.path, line=line))  # 3

    fields.values = {role: [row[number] for row in rows] for role, number in column_of_role.items()}
    if form is not None:
        others = [number for number in range(row_length) if number not in column_of_role.values()]
        fields.values |= _whole_rows(rows, names, column_of_role, others, form)
    return fields


def _whole_rows(
    rows: Sequence[list[str]],
    names: Sequence[str] | None,
    column_of_role: Mapping[str, int],
    others: Sequence[int],
    form: TableForm,
) -> dict[str, list[Any]]:
    """The fields ``cells``, ``more`` and ``given`` of rows that are read whole.

    ``column_of_role``: The columns that are read, by role. ``others``: The other columns.
    """
    # Kinds of one text have no sides, and nobody asks for their `given`: any column will do.
    source, target = column_of_role.get("source", 0), column_of_role.get("target", 0)
    cells = [[row[number] for number in others] for row in rows]
    if not names:
        by_number: tuple[Column, Column] = source, target
        given = [GivenRow(by_number, cells=row, table=form) for row in rows]
        return {"cells": cells, "more": [{} for _ in rows], "given": given}
    unique = free_names(names, ())  # `note`, `note_2`: a row by name has each name once
    by_name: tuple[Column, Column] = unique[source], unique[target]
    more = [{unique[number]: row[number] for number in others} for row in rows]
    given = [
        GivenRow(by_name, row=dict(zip(unique, row, strict=True)), cells=row, table=form) for row in rows
    ]
    return {"cells": cells, "more": more, "given": given}
