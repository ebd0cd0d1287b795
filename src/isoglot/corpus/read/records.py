"""Rows of one chunk, and how raw fields of any format become the columns of a kind of corpus."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from isoglot.checks import closest
from isoglot.corpus.read.sources import Kind, Source
from isoglot.errors import InputError

ROLES: dict[Kind, tuple[str, ...]] = {
    "text": ("text",),
    "bitext": ("source", "target"),
    "lexicon": ("source", "target"),
    "aligned": ("source", "target", "links"),
    "treebank": ("words", "upos", "heads", "deprels"),
}
"""The fields that a format must deliver for each kind of corpus."""

_LINK = re.compile(r"(\d{1,9})([-p?:])(\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class Chunk:
    """A piece of one source, small enough to hold, that any process can parse by itself.

    Attributes:
        first_line: number of its first line (of its first row, where a format has no lines), from 1.
        payload: the bytes or rows, as the format's own parser wants them.
        incomplete: units that were passed over because a language is missing in them (TMX).
    """

    first_line: int
    payload: Any
    incomplete: int = 0


@dataclass
class Records:
    """Parsed rows.

    Attributes:
        columns: the columns of the kind of corpus, without its languages.
        flags: the flag field of each row, where the source has one.
        incomplete: units passed over, see :class:`Chunk`.
    """

    columns: dict[str, list[Any]]
    flags: list[str] | None = None
    incomplete: int = 0

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

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


def assemble(
    kind: Kind, fields: Mapping[str, list[Any]], source: Source, *, path: str, lines: Sequence[int]
) -> Records:
    """Turn raw fields into the columns of a kind of corpus."""
    flags = [("" if f is None else str(f)) for f in fields["flags"]] if "flags" in fields else None
    if kind == "treebank":
        return Records({role: fields[role] for role in ROLES[kind]}, flags)
    if kind != "aligned":
        columns = {role: _strings(fields[role], role, path, lines) for role in ROLES[kind]}
        return Records(columns, flags)
    words = {
        role: [_words(v, role, path, line) for v, line in zip(fields[role], lines, strict=True)]
        for role in ("source", "target")
    }
    links = [
        parse_links(v, sizes=(len(s), len(t)), source=source, path=path, line=line)
        for v, s, t, line in zip(fields["links"], words["source"], words["target"], lines, strict=True)
    ]
    return Records(
        {
            "source": [" ".join(w) for w in words["source"]],
            "target": [" ".join(w) for w in words["target"]],
            "source_words": words["source"],
            "target_words": words["target"],
            "links": links,
        },
        flags,
    )


def parse_links(
    value: Any, *, sizes: tuple[int, int], source: Source, path: str, line: int
) -> list[list[int]]:
    """Word links of one pair, sorted, 0-based, without repeats."""
    found: set[tuple[int, int]] = set()
    for item in value.split() if isinstance(value, str) else value:
        if isinstance(item, str):
            match = _LINK.fullmatch(item)
            if match is None:
                raise InputError(
                    f"word link {item!r} cannot be read; `i-j` (or `ipj`) with numbers of words is needed",
                    path=path,
                    line=line,
                )
            if match[2] in "p?":  # a possible link
                continue
            pair = (int(match[1]), int(match[3]))
        else:
            try:
                first, second = item
                pair = (int(first), int(second))
            except (TypeError, ValueError, OverflowError):
                raise InputError(
                    f"word link {item!r} cannot be read; [source word, target word] is needed",
                    path=path,
                    line=line,
                ) from None
        link = (pair[0] - source.one_based, pair[1] - source.one_based)
        if not (0 <= link[0] < sizes[0] and 0 <= link[1] < sizes[1]):
            base = "from 1" if source.one_based else "from 0"
            other = (
                "" if source.one_based else "; if the file counts from 1, set one_based: true (--one-based)"
            )
            raise InputError(
                f"word link {pair[0]}-{pair[1]} (counted {base}) is outside the sentence of {sizes[0]} source and "
                f"{sizes[1]} target words{other}",
                path=path,
                line=line,
            )
        found.add(link)
    return [list(p) for p in sorted(found)]


def plan_columns(
    source: Source, kind: Kind, *, names: Sequence[str] | None, path: str, line: int = 1
) -> dict[str, int | str]:
    """Which column feeds which role.

    Columns that the source names are taken as they are. The others are found by their usual names, or by position
    (text 0; source 0, target 1, links 2) where a table has no header.

    Args:
        source: its ``columns``.
        kind: the kind of corpus, which has its roles.
        names: names that the table has; None if its columns are only numbered.
        path: the file, for errors.
        line: the line of the header, for errors.
    """
    plan: dict[str, int | str] = {}
    for position, role in enumerate(ROLES[kind]):
        if role in source.columns:
            plan[role] = source.columns[role]
        elif names is None:
            plan[role] = position
        else:
            usual = _usual_names(role, source)
            known = [c for c in usual if c.split(".")[0] in names]
            if not known:
                raise InputError(
                    f"columns {', '.join(map(repr, names))} given, and none is the {role} (looked for "
                    f"{', '.join(usual)}); set columns: {{{role}: NAME}} (--column {role}=NAME)",
                    path=path,
                    line=line,
                )
            plan[role] = known[0]
    if "flags" in source.columns:
        plan["flags"] = source.columns["flags"]
    for role, column in plan.items():
        problem = _column_problem(column, role, names)
        if problem is not None:
            raise InputError(problem, path=path, line=line)
    places = {
        role: names[c] if names and isinstance(c, int) and c < len(names) else c for role, c in plan.items()
    }
    for role, other in combinations(places, 2):
        if places[role] == places[other]:
            raise InputError(
                f"column {plan[role]!r} is read as {role} and as {other}; set columns: {{{role}: ..., {other}: ...}} "
                f"(--column {role}=... --column {other}=...)",
                path=path,
                line=line,
            )
    return plan


def _column_problem(column: int | str, role: str, names: Sequence[str] | None) -> str | None:
    """Why a column cannot be read."""
    if isinstance(column, int):
        return f"column {column} given for the {role}; columns count from 0" if column < 0 else None
    if names is None:
        return (
            f"column {column!r} is asked for by name, but the file has no header; set header: true, or give the "
            "number of the column, counted from 0"
        )
    name = column.split(".")[0]
    if name not in names:
        return _missing(column, role, names)
    if names.count(name) > 1:
        return f"{names.count(name)} columns are called {name!r}; rename all but one, or give the number of the {role}"
    return None


def pick(record: Mapping[str, Any], column: int | str, *, path: str, line: int) -> Any:
    """One field of a record; `a.b` reaches into nested ones."""
    name = str(column)
    if name in record:
        return record[name]
    value: Any = record
    above = ""
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            names = [above + str(k) for k in (value if isinstance(value, Mapping) else record)]
            raise InputError(_missing(name, None, names), path=path, line=line)
        value = value[part]
        above += f"{part}."
    return value


def _missing(column: str, role: str | None, names: Sequence[str]) -> str:
    """What is wrong where a column is not there, with the nearest name."""
    close = closest(column, names)
    hint = f"; did you mean {close!r}?" if close else ""
    needed = f" for the {role}" if role else ""
    return (
        f"no column {column!r}{needed}; the columns are {', '.join(map(repr, names))}{hint}; "
        "set columns: {FIELD: NAME} (--column FIELD=NAME)"
    )


def _usual_names(role: str, source: Source) -> tuple[str, ...]:
    if role == "text":
        return tuple(n for n in ("text", "sentence", "content", source.language) if n)
    if role == "links":
        return ("links", "alignment", "sure")
    language = source.source_language if role == "source" else source.target_language
    short = {"source": "src", "target": "tgt"}[role]
    return tuple(n for n in (role, short, f"{role}_words", language, f"translation.{language}") if n)


def _strings(values: list[Any], role: str, path: str, lines: Sequence[int]) -> list[str]:
    for value, line in zip(values, lines, strict=True):
        if value is not None and not isinstance(value, str):
            raise InputError(
                f"the {role} is {json.dumps(value, default=str)[:60]}, not text; "
                f"set columns: {{{role}: NAME}} (--column {role}=NAME)",
                path=path,
                line=line,
            )
    return ["" if v is None else v for v in values]


def _words(value: Any, role: str, path: str, line: int) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list) and all(isinstance(w, str) for w in value):
        return value
    raise InputError(
        f"the {role} is neither text nor a list of words; one of them is needed", path=path, line=line
    )
