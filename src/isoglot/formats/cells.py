"""Tables of lines: what a row of cells must be, and a header that nobody has declared."""

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from isoglot.errors import InputError
from isoglot.formats.records import Fields, check_languages, language_columns, plan_columns
from isoglot.formats.sources import LANGUAGES, ROLES, Kind, Source
from isoglot.formats.words import is_blank
from isoglot.languages import NAMES, SCRIPTS, two_letters

_LOG = logging.getLogger(__name__)
_SIDES = [
    f"{side}{tail}"
    for side in ("source", "target")
    for tail in ("", "_text", "_sentence", "_lang", "_language")
]
_HEADERS = frozenset(
    ["id", "text", "sentence", "sentences", "content", *_SIDES, "src", "tgt", "sentence1", "sentence2", "premise",
     "hypothesis", "first", "second", "label", "links", "alignment", "sure", "possible", "flags", "score", "lang",
     "language"]
)  # fmt: skip
"""What the columns of text and of sentence pairs are called."""
_TEXTS = frozenset({"text", "sentence", "sentences", "content"})
_REMEDY = {"csv": "put a field that holds commas in quotes", "tsv": "take the tab out of its text"}


def first_row(source: Source, kind: Kind, rows: Iterable[tuple[int, list[str]]]) -> int:
    """How many cells each row of a table without a header has: those of its first row that is not blank; 0 if none is.

    Raises:
        InputError: The row reads like a header, or a CSV row has other cells than those that are wanted by default.
    """
    line, row = next(((n, row) for n, row in rows if not all(map(is_blank, row))), (0, []))
    if not row:
        return 0
    roles = ROLES[kind]
    by_place = " ".join(f"--column {role}={n}" for n, role in enumerate(roles))
    listed, problem = ", ".join(map(repr, row)), ""
    header = _is_header(row, source, kind)
    if source.columns and header:
        _LOG.warning("%s:%d: %s looks like a header but counts as a row", source.path, line, listed)
    elif header:
        problem = (
            f"{listed} looks like a header; set header: true (--header), or name the columns if it is a row"
        )
    elif source.format == "csv" and not source.columns and len(row) not in (1, len(roles)):
        read = f"{len(roles)} are read ({', '.join(roles)})"
        problem = f"{len(row)} columns, but {read}; {_REMEDY['csv']}, or name the columns"
    if problem:
        raise InputError(f"{problem} ({by_place})", path=source.path, line=line)
    return len(row)


def _is_header(row: Sequence[str], source: Source, kind: Kind) -> bool:
    """Whether all cells are names of columns, or of the languages of the source, and all of them others."""
    names = [cell.strip().casefold() for cell in row]
    tags = {two_letters(tag.partition("-")[0]) for tag in source.languages(kind)} if kind != "text" else set()

    def named(name: str) -> bool:
        code = two_letters(NAMES.get(name, name))
        # of a lexicon, languages that nobody names may be entries: es "de" is pt "de"
        return name in _HEADERS or code in (tags if kind == "lexicon" else {*tags, *SCRIPTS})

    if kind == "text" and not _TEXTS.intersection(names):
        return False
    return len(names) >= len(LANGUAGES[kind]) and len({*names}) == len(names) and all(map(named, names))


def cell_fields(
    source: Source,
    kind: Kind,
    names: Sequence[str] | None,
    width: int,
    rows: list[list[str]],
    numbers: Sequence[int],
    *,
    whole: bool = False,
) -> Fields:
    """The columns that are asked for; a blank line is an empty row.

    ``width``: How many cells a row has where no header says it.
    ``whole``: ``cells`` are the other columns, and ``more`` holds them by name where a header names them.
    """
    plan = plan_columns(source, kind, names=names)
    columns = {r: names.index(c) if names and isinstance(c, str) else int(c) for r, c in plan.items()}
    widest, expected = max(columns.values()), width if names is None else len(names)
    labels = language_columns(source, kind, names or ())
    check_languages((dict(zip(names or (), row, strict=False)) for row in rows), numbers, source, labels)
    for index, row in enumerate(rows):
        if widest < len(row) == expected:
            continue
        if all(map(is_blank, row)):
            rows[index] = [""] * max(expected, widest + 1)
            continue
        if len(row) <= widest:
            role = next(r for r, c in columns.items() if c >= len(row))
            problem = (
                f"{len(row)} columns, but column {columns[role]} (counted from 0) is needed for the {role}; fix "
                f"the line, or set columns: {{{role}: NUMBER}} (--column {role}=NUMBER)"
            )
        else:
            problem = f"{len(row)} columns, but {wrong_width(expected, source, header=names is not None)}"
        raise InputError(problem, path=source.path, line=numbers[index])
    fields: dict[str, list[Any]] = {role: [row[c] for row in rows] for role, c in columns.items()}
    if whole:
        rest = [n for n in range(max(expected, widest + 1)) if n not in columns.values()]
        fields["cells"] = [[row[n] for n in rest] for row in rows]
        fields["more"] = [{names[n]: row[n] for n in rest} if names else {} for row in rows]
    return fields, numbers


def wrong_width(width: int, source: Source, *, header: bool = False) -> str:
    """What is wrong with a row that has another number of cells."""
    remedy = _REMEDY[str(source.format)]
    return f"the {'header' if header else 'first line'} has {width}; {remedy}, or fix the line"
