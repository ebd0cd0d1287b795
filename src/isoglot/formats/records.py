"""Rows of one chunk, and how raw fields of any format become the columns of a kind of corpus."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import index
from typing import Any

from isoglot.core.errors import InputError
from isoglot.core.languages import NAMES, SCRIPTS, name_of, same_language, two_letters
from isoglot.formats.given_row import Column, GivenRow, TableForm, free_names
from isoglot.formats.line_files import Fields, each
from isoglot.formats.sources import LANGUAGES, ROLES, UNNAMED, Kind, Source
from isoglot.formats.words import is_blank, other_space, split_words

REMEDY = {"csv": "put a field that holds commas in quotes", "tsv": "take the tab out of its text"}
"""What to do about a row with too many cells."""
_LINK = re.compile(r"(\d{1,9})([-p?:])(\d{1,9})", re.ASCII)


@dataclass
class Records:
    """Parsed rows."""

    columns: dict[str, list[Any]]  # of the kind of corpus, without its languages
    flags: list[str] | None = None  # the flag field of each row, where the source has one
    incomplete: int = 0  # units passed over, see :class:`Chunk`
    spaces: Counter[str] = field(
        default_factory=Counter
    )  # rows with spaces that do not end a word, by the first one
    possible: int = 0  # word links that were left out because they are marked as possible
    described: int = 0  # units of a translation memory with an id, tags, notes or properties

    def sides(self) -> list[list[str]]:
        """The running text of each side: one list of strings for text and trees, two for pairs."""
        if "text" in self.columns:
            return [self.columns["text"]]
        if "words" in self.columns:
            return [[" ".join(words) for words in self.columns["words"]]]
        return [self.columns["source"], self.columns["target"]]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict a row."""
        names = list(self.columns)
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(names, values, strict=True))


def assemble(kind: Kind, fields: Fields, source: Source, *, incomplete: int = 0) -> Records:
    """Turn raw fields into the columns of a kind of corpus."""
    values, lines = fields.values, fields.lines
    flags = None
    if "flags" in values:  # JSON and Parquet may hold lists of names
        flags = [
            " ".join(map(str, row)) if isinstance(row, list) else str(row or "") for row in values["flags"]
        ]
    columns = {role: values[role] for role in ROLES[kind]}
    spaces: Counter[str] = Counter()
    possible = 0
    if kind == "aligned":
        pairs = zip(columns["source"], columns["target"], strict=True)
        found_spaces = (other_space(*(text for text in pair if isinstance(text, str))) for pair in pairs)
        spaces.update(filter(None, found_spaces))
        rows = zip(lines, zip(*columns.values(), strict=True), strict=True)
        converted: list[tuple[Any, ...]] = each(
            lambda row: _aligned(*row, source=source), rows, source.files()[-1]
        )
        source_words, target_words, links = ([row[i] for row in converted] for i in range(3))
        possible = sum(row[3] for row in converted)
        columns = {
            "source": list(map(" ".join, source_words)),
            "target": list(map(" ".join, target_words)),
            "source_words": source_words,
            "target_words": target_words,
            "links": links,
        }
    described = sum(map(_is_described, values.get("more", ())))
    return Records(columns, flags, incomplete, spaces, possible, described)


def _is_described(more: Mapping[str, Any]) -> bool:
    """Whether a row says more of itself than its texts and languages."""
    return any(value and not name.endswith("_language") for name, value in more.items())


def _aligned(
    first: Any, second: Any, links: Any, *, source: Source
) -> tuple[list[str], list[str], list[Any], int]:
    """Words of both sides; their sure links, sorted, 0-based, without repeats; and how many are possible alone."""
    words = _words(first, "source"), _words(second, "target")
    if not isinstance(links, str | list):
        raise InputError(f"the links are {links!r}; `0-0 1-2` or a list of pairs is needed: fix the line")
    items = split_words(links, mode="whitespace") if isinstance(links, str) else links
    read = [_link(item, source) for item in items]
    unique = sorted({link for link in read if link is not None})
    for i, j in unique:
        if not (0 <= i < len(words[0]) and 0 <= j < len(words[1])):
            raise InputError(
                f"word link {i}-{j} (counted from 0) is outside the sentence of {len(words[0])} source and "
                f"{len(words[1])} target words; check [[one_based=True]]: whether the file counts from 1"
            )
    return words[0], words[1], list(map(list, unique)), read.count(None)


def _link(item: Any, source: Source) -> tuple[int, int] | None:
    """One word link, 0-based; ``None`` for a possible one."""
    if isinstance(item, str):
        match = _LINK.fullmatch(item)
        if match is None:
            raise InputError(
                f"word link {item!r} cannot be read; `i-j` (or `ipj`) with numbers of words is needed"
            )
        if match[2] in "p?":
            return None
        item = int(match[1]), int(match[3])
    try:
        first, second = item
        return index(first) - source.one_based, index(second) - source.one_based
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"word link {item!r} cannot be read; [source word, target word] is needed") from None


def _words(value: Any, role: str) -> list[str]:
    if value is None or isinstance(value, str):
        return split_words(value or "", mode="whitespace")
    if isinstance(value, list) and all(isinstance(w, str) for w in value):
        return value
    raise InputError(f"the {role} is neither text nor a list of words; one of them is needed")


def from_rows(
    rows: Sequence[Mapping[str, Any]],
    lines: Sequence[int],
    names: Sequence[str],
    source: Source,
    kind: Kind,
    *,
    whole: bool = False,
) -> Fields:
    """The fields of rows that name their columns.

    ``whole``: A list of words may stand for its text, and ``more`` is what else each row says.
    """
    plan = plan_columns(source, kind, names=names, line=lines[0] if lines else 1)
    check_languages(rows, lines, source, language_columns(source, kind))
    values = {
        role: each(
            partial(
                _field, column=str(column), role=role, text=kind != "aligned" and role != "flags", words=whole
            ),
            zip(lines, rows, strict=True),
            source.path,
        )
        for role, column in plan.items()
    }
    if whole:
        read = set(map(str, plan.values()))
        values["more"] = [{name: value for name, value in row.items() if name not in read} for row in rows]
        if "source" in plan:
            columns = plan["source"], plan["target"]
            values["given"] = [GivenRow(columns, row) for row in rows]
    return Fields(values, lines)


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
    """The columns of a table that are asked for, into ``fields``; a blank line is an empty row.

    ``width``: How many cells a row has where no header says it.
    ``form``: How the table is written, if rows are read whole. Then ``cells`` are the other columns, ``more`` holds
    them by name where a header names them (of a repeated one ``note_2``), and ``given`` is the whole row.
    """
    plan, numbers = plan_columns(source, kind, names=names), fields.lines
    columns = {r: names.index(c) if names and isinstance(c, str) else int(c) for r, c in plan.items()}
    widest, expected = max(columns.values()), width if names is None else len(names)
    labels = language_columns(source, kind, names or ())
    check_languages((dict(zip(names or (), row, strict=False)) for row in rows), numbers, source, labels)
    for number, row in enumerate(rows):
        if widest < len(row) == expected:
            continue
        rows[number] = [""] * max(expected, widest + 1)
        if all(map(is_blank, row)):
            continue
        if len(row) <= widest:
            role = next(r for r, c in columns.items() if c >= len(row))
            problem = (
                f"{len(row)} columns, but column {columns[role]} (counted from 0) is needed for the {role}; fix "
                f"the line, or set [[columns={{'{role}': NUMBER}}]]"
            )
        else:
            problem = (
                f"{len(row)} columns, but the {'first line' if names is None else 'header'} has {expected}; "
                f"{REMEDY[source.format or '']}, or fix the line"
            )
        line = numbers[number]
        fields.problems.setdefault(line, InputError(problem, path=source.path, line=line))
    fields.values = {role: [row[c] for row in rows] for role, c in columns.items()}
    if form is not None:
        rest = [n for n in range(max(expected, widest + 1)) if n not in columns.values()]
        unique = free_names(names, ()) if names else []
        fields.values["cells"] = [[row[n] for n in rest] for row in rows]
        fields.values["more"] = [{unique[n]: row[n] for n in rest} if names else {} for row in rows]
        numbers_of_sides = (columns["source"], columns["target"]) if "source" in columns else (0, 0)
        first, second = numbers_of_sides
        sides: tuple[Column, Column] = (unique[first], unique[second]) if names else numbers_of_sides
        fields.values["given"] = [
            GivenRow(
                sides,
                dict(zip(unique, row, strict=True)) if names else None,
                row,
                form,
            )
            for row in rows
        ]
    return fields


def language_columns(source: Source, kind: Kind, names: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Languages of a source, and the columns that may name them row by row, unless they are read as something else.

    ``names``: of the columns that there are, where all rows have the same.
    """
    pairs = (
        (field, name) for field in LANGUAGES[kind] for name in (field, field.replace("language", "lang"))
    )
    used = source.columns.values()
    return [(f, name) for f, name in pairs if name not in used and (names is None or name in names)]


def check_languages(
    rows: Iterable[Mapping[str, Any]],
    lines: Sequence[int],
    source: Source,
    columns: Sequence[tuple[str, str]],
) -> None:
    """Refuse a row that is labelled with another language than its source, by its :func:`language_columns`."""
    labels = [(field, name, str(getattr(source, field))) for field, name in columns]
    fields = [label for label in labels if label[-1] not in UNNAMED]
    if not fields:
        return
    for line, row in zip(lines, rows, strict=True):
        for column, name, given in fields:
            tag = row.get(name)
            if tag != given and isinstance(tag, str) and not same_language(tag, given):
                raise InputError(
                    f"{name} is {tag!r}, expected {given!r}; keep the rows of one language in a file, or set "
                    f"[[{column}={tag!r}]]",
                    path=source.path,
                    line=line,
                )


def _field(row: Mapping[str, Any], *, column: str, role: str, text: bool, words: bool) -> Any:
    """One field of a row; `a.b` reaches into nested ones."""
    value: Any = row
    for part in [column] if column in row else column.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise InputError(f"no column {column!r} in this row; {_set(role)}")
        value = value[part]
    if words and isinstance(value, list) and all(isinstance(word, str) for word in value):
        return value
    if text and not isinstance(value, str | None):
        problem = "neither text nor a list of words" if words else "not text"
        raise InputError(f"the {role} is {json.dumps(value, default=str)[:60]}, {problem}; {_set(role)}")
    return "" if text and value is None else value


def plan_columns(
    source: Source, kind: Kind, *, names: Sequence[str] | None, line: int = 1
) -> dict[str, int | str]:
    """Which column feeds which role.

    Columns that the source names are taken as they are. The others are found by their usual names, or by position
    (text 0; source 0, target 1, links 2) where a table has no header and so no ``names``.
    """
    plan: dict[str, int | str] = {}
    for position, role in enumerate(ROLES[kind]):
        usual = [] if names is None else _usual_names(role, source, kind)
        known = [c for c in usual if c.split(".")[0] in (names or ())]
        plan[role] = source.columns.get(role, position if names is None else (known or usual)[0])
    if "flags" in source.columns:
        plan["flags"] = source.columns["flags"]
    problems = {role: _column_problem(column, role, names) for role, column in plan.items()}
    wrong = [role for role, problem in problems.items() if problem]
    columns = {names[c] if names and isinstance(c, int) and c < len(names) else c for c in plan.values()}
    if wrong:
        advice = [_set(*wrong, value="NUMBER" if names is None else "NAME")]
        codes = [NAMES.get(name.casefold(), name) for name in names or ()]
        codes = [code for code in codes if two_letters(code) in SCRIPTS]
        if len(codes) == 2 and set(UNNAMED) & {*source.languages(kind)}:  # columns are called by languages
            advice.append(f"name the languages: [[languages=('{codes[0]}', '{codes[1]}')]]")
        raise InputError(f"{problems[wrong[0]]}; {', or '.join(advice)}", path=source.path, line=line)
    if len(columns) < len(plan):
        raise InputError(f"one column is read as two fields; {_set(*plan)}", path=source.path, line=line)
    return plan


def wanted_columns(source: Source, kind: Kind, names: list[str]) -> list[str]:
    """The columns of a table that rows are made of."""
    plan = plan_columns(source, kind, names=names)
    labels = {name for _, name in language_columns(source, kind, names)}
    return sorted(labels | {c if c in names else c.split(".")[0] for c in map(str, plan.values())})


def _column_problem(column: int | str, role: str, names: Sequence[str] | None) -> str:
    """Why a column cannot be read, if it cannot."""
    if isinstance(column, int):
        return f"got column {column} for the {role}, but columns count from 0" if column < 0 else ""
    if names is None:
        return f"column {column!r} is a name, but the file has no header (if it has: [[header=True]])"
    name = column if column in names else column.split(".")[0]
    if (count := names.count(name)) == 1:
        return ""
    problem = f"{count} columns are called" if count else "no column"
    return f"{problem} {name!r} for the {role}; the columns are {', '.join(map(repr, names))}"


def _set(*roles: str, value: str = "NAME") -> str:
    """What to type to choose columns."""
    columns = ", ".join(f"'{role}': {value}" for role in roles)
    return f"set [[columns={{{columns}}}]]"


def _usual_names(role: str, source: Source, kind: Kind) -> list[str]:
    if role == "text":
        names = ["text", "sentence", "content", source.language]
    elif role == "links":
        names = ["links", "alignment", "sure"]
    else:
        language = source.source_language if role == "source" else source.target_language
        short = {"source": "src", "target": "tgt"}[role]
        named = name_of(two_letters(language or ""))
        # Links count words, which a text cut at blanks need not have.
        names = (
            [f"{role}_words", role, short]
            if kind == "aligned"
            else [role, f"{short}_text", short, f"{role}_words"]
        )
        names += [language, f"translation.{language}", named, named.lower()]
    return [name for name in names if name]
