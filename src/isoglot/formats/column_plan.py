"""Decide which column of an input is read in which role: as source, target, links or the language of a row."""

from collections.abc import Iterable, Mapping, Sequence

from isoglot.core.errors import InputError
from isoglot.core.languages import NAMES, SCRIPTS, name_of, same_language, two_letters
from isoglot.formats.sources import LANGUAGES, ROLES, UNNAMED, Kind, Source


def plan_columns(
    source: Source, kind: Kind, *, names: Sequence[str] | None, line: int = 1, nested: bool = True
) -> dict[str, int | str]:
    """Choose the column of each role: ``{"source": "en", "target": "translation.de"}``.

    1. A column that the user names for a role is taken, by name or by number.
    2. Else the first usual name (:func:`_usual_names`) that is there: ``source``, ``src``, ``en``, ``English`` ...
    3. In a table without a header, and so without ``names``, the columns are in the order of the roles: text 0; source
       0, target 1, links 2.

    A name may be a path into records: ``translation.de`` counts as there if ``translation`` is. Cells of TSV and CSV
    hold no records (``nested`` is false), so there the whole name must be that of a column.

    Raises:
        InputError: A role has no column, or two roles have the same one; ``line`` is where the names stand.
    """
    plan: dict[str, int | str] = {}
    for position, role in enumerate(ROLES[kind]):
        if role in source.columns:
            plan[role] = source.columns[role]  # 1
        elif names is not None:
            usual = _usual_names(role, source, kind)
            present = [name for name in usual if _outermost(name, names, nested=nested) in names]
            # The first usual name is the one that the message calls missing.
            plan[role] = (present or usual)[0]  # 2
        else:
            plan[role] = position  # 3
    if "flags" in source.columns:
        plan["flags"] = source.columns["flags"]

    problems = {role: _column_problem(column, role, names, nested=nested) for role, column in plan.items()}
    unread = [role for role, problem in problems.items() if problem]
    if unread:
        # The message tells the first problem, and what to type for all roles that have one.
        advice = [choose_columns(*unread, value="NUMBER" if names is None else "NAME")]
        advice += _advice_on_languages(source, kind, names or ())
        raise InputError(f"{problems[unread[0]]}; {', or '.join(advice)}", path=source.path, line=line)

    # Two roles may not have the same column, even if it is called by its name for one and by its number for the other.
    # Columns are compared by number, because a header may repeat a name.
    distinct: set[int | str] = set()
    for column in plan.values():
        if names and isinstance(column, str) and column in names:
            distinct.add(names.index(column))
        else:
            distinct.add(column)
    if len(distinct) < len(plan):
        raise InputError(
            f"one column is read as two fields; {choose_columns(*plan)}", path=source.path, line=line
        )
    return plan


def wanted_columns(source: Source, kind: Kind, names: list[str]) -> list[str]:
    """The columns of a table that are read, sorted, so that the others need not be loaded."""
    wanted = {name for _, name in language_columns(source, kind, names)}
    for column in map(str, plan_columns(source, kind, names=names).values()):
        wanted.add(_outermost(column, names))
    return sorted(wanted)


def choose_columns(*roles: str, value: str = "NAME") -> str:
    """The end of a message: what to type to choose the columns of some roles."""
    columns = ", ".join(f"'{role}': {value}" for role in roles)
    return f"set [[columns={{{columns}}}]]"


def _outermost(column: str, names: Sequence[str], *, nested: bool = True) -> str:
    """The column that holds a field: ``translation`` of ``translation.de``, unless a column has the whole name."""
    return column if column in names or not nested else column.partition(".")[0]


def _column_problem(column: int | str, role: str, names: Sequence[str] | None, *, nested: bool) -> str:
    """Why a column cannot be read; empty if it can."""
    if isinstance(column, int):
        if column < 0:
            return f"got column {column} for the {role}, but columns count from 0"
        # In records (`nested`), a number is the name of a column: 5 is "5".
        if not nested and names is not None and column >= len(names):
            return f"got column {column} for the {role}, but the header has {len(names)}, counted from 0"
        return ""
    if names is None:
        return f"column {column!r} is a name, but the file has no header (if it has: [[header=True]])"
    name = _outermost(column, names, nested=nested)
    if (count := names.count(name)) == 1:
        return ""
    problem = f"{count} columns are called" if count else "no column"
    return f"{problem} {name!r} for the {role}; the columns are {', '.join(map(repr, names))}"


def _advice_on_languages(source: Source, kind: Kind, names: Sequence[str]) -> list[str]:
    """Advise to name the languages, if columns are called by two (``en``, ``German``) and the user has named none."""
    codes = [NAMES.get(name.casefold(), name) for name in names]
    codes = [code for code in codes if two_letters(code) in SCRIPTS]
    if len(codes) == 2 and set(UNNAMED) & {*source.languages(kind)}:
        return [f"name the languages: [[languages=('{codes[0]}', '{codes[1]}')]]"]
    return []


def _usual_names(role: str, source: Source, kind: Kind) -> list[str]:
    """The names that data sets give to the column of a role, in the order in which they are tried.

    ``translation.en`` is the habit of translation data sets of the Hugging Face hub, ``sure`` of gold link files.
    """
    names: list[str | None]
    if role == "text":
        names = ["text", "sentence", "content", source.language]
    elif role == "links":
        names = ["links", "alignment", "sure"]
    else:
        language = source.source_language if role == "source" else source.target_language
        short = {"source": "src", "target": "tgt"}[role]
        language_name = name_of(two_letters(language or ""))
        # Links count words: a text that is cut at blanks may not have the words that were linked.
        words_first: list[str | None] = [f"{role}_words", role, short]
        text_first: list[str | None] = [role, f"{short}_text", short, f"{role}_words"]
        names = words_first if kind == "aligned" else text_first
        names += [language, f"translation.{language}", language_name, language_name.lower()]
    return [name for name in names if name]


def language_columns(source: Source, kind: Kind, names: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Find the columns that may name the language of each row, each with the option of the source that it is about.

    ``[("source_language", "source_lang"), ...]``: the column is called as the option is, or with ``lang`` in it. A
    column that the user reads in another role does not count.

    ``names``: The columns, where all rows have the same; by default any row may have any column.
    """
    read_otherwise = source.columns.values()
    columns = []
    for option in LANGUAGES[kind]:
        for name in (option, option.replace("language", "lang")):
            is_there = names is None or name in names
            if is_there and name not in read_otherwise:
                columns.append((option, name))
    return columns


def check_languages(
    rows: Iterable[Mapping[str, object]],
    lines: Sequence[int],
    source: Source,
    columns: Sequence[tuple[str, str]],
) -> None:
    """Refuse a row that is labelled with another language than its source; ``columns`` are :func:`language_columns`.

    A source of ``de`` accepts ``de-AT`` and ``deu``, but not ``nl``; one whose language nobody named accepts any.
    """
    expected = []
    for option, name in columns:
        language = str(getattr(source, option))
        if language not in UNNAMED:
            expected.append((option, name, language))
    if not expected:
        return
    for line, row in zip(lines, rows, strict=True):
        for option, name, language in expected:
            label = row.get(name)
            # Most labels are the language itself, which is quick to tell.
            if label != language and isinstance(label, str) and not same_language(label, language):
                raise InputError(
                    f"{name} is {label!r}, expected {language!r}; keep the rows of one language in a file, or set "
                    f"[[{option}={label!r}]]",
                    path=source.path,
                    line=line,
                )
