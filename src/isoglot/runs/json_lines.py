"""Files of JSON lines, each line a record that a model checks."""

import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Mapping
from math import isinf
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from isoglot.core.checks import problems_of, shortened
from isoglot.core.errors import ConfigurationError, InputError, IsoglotError

Record = TypeVar("Record", bound=BaseModel)


def parse_json(text: str, *, path: str | Path | None = None, line: int | None = None) -> Any:
    """A JSON value from a user's file.

    ``line``: Its line; by default the line in ``text`` where it is wrong.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_not_json, parse_float=_number)
        if "\\ud" in text.lower():  # half a surrogate pair, perhaps, which no file can hold
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as error:
        reason = (
            f"{error.msg.removesuffix(' at')} at column {error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else str(error)
        )
        if line is None:
            line = getattr(error, "lineno", None)
        raise InputError(f"is not valid JSON ({reason}); correct it", path=path, line=line) from error


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _number(text: str) -> float:
    """A number with a point or an exponent, which is not beyond what can be written again."""
    number = float(text)
    if isinf(number):
        raise ValueError(f"{shortened(text)} is beyond the largest number, 1.8e308; write it as text")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are all different."""
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name {shortened(twice)} is repeated in one object")
    return members


def parse_object(text: str, *, path: str | Path | None = None, line: int | None = None) -> dict[str, Any]:
    """One line of a file of JSON lines."""
    value = parse_json(text, path=path, line=line)
    if not isinstance(value, dict):
        raise InputError(
            f"is a JSON {type(value).__name__}, but an object with named fields is needed; correct it",
            path=path,
            line=line,
        )
    return value


def json_line(row: Mapping[str, Any], *, allow_null: bool = True) -> str:
    """An object as a line of JSON; a date or the like is written as text, and a number that is not finite as null.

    ``allow_null``: Without it such a number is a ValueError.

    Raises:
        ConfigurationError: A value is bytes that are not text, which JSON does not have.
    """
    try:
        return json.dumps(row, ensure_ascii=False, default=_as_text, allow_nan=False) + "\n"
    except ValueError:
        if not allow_null:
            raise
        finite = json.loads(json.dumps(row, default=_as_text), parse_constant=lambda _: None)
        return json.dumps(finite, ensure_ascii=False) + "\n"


def _as_text(value: Any) -> str:
    """A value that JSON does not have, as text: UTF-8 bytes as what they say, a date as it is printed."""
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"a row has the bytes {shortened(value)}, which are not text, as JSON needs; leave the column out, or "
            "encode it as text (base64)"
        ) from error


def row_id(row: Mapping[str, Any]) -> str | None:
    """What a row's ``id`` calls it; none where it is missing or null. The number 1 and the text "1" are one id.

    Raises:
        InputError: It is something else than a whole number or a text.
    """
    name = row.get("id")
    if name is not None and type(name) not in (int, str):
        raise InputError(f"the id is {shortened(name)}, but a whole number or a text is needed; correct it")
    return None if name is None else str(name)


def read_records(path: Path, model: type[Record], *, what: str, wrong: str) -> list[Record]:
    """The records of a file; blank lines are skipped.

    ``what``: What a line is called (``row``), for the message.
    ``wrong``: What a line that is none is called (``no result row``).
    """
    records = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                records.append(
                    model.model_validate_json(line.removeprefix(BOM_UTF8) if number == 1 else line)
                )
            except (ValidationError, IsoglotError) as error:
                reason = problems_of(error)[0] if isinstance(error, ValidationError) else error
                raise InputError(
                    f"{wrong} ({reason}); a {what} is a JSON object with {', '.join(model.model_fields)}",
                    path=path,
                    line=number,
                ) from error
    return records


def files_named(paths: str | Path | Iterable[str | Path], name: str, *, made_by: str) -> list[Path]:
    """Files as given; of folders every file of this name below them, sorted by path.

    Raises:
        InputError: A file is missing, or a folder has none; ``made_by`` says what to type.
    """
    files: list[Path] = []
    for path in map(Path, [paths] if isinstance(paths, str | Path) else paths):
        matches = sorted(path.rglob(name)) if path.is_dir() else [path] if path.is_file() else []
        if not matches:
            reason = f"holds no {name}" if path.is_dir() else "file not found"
            raise InputError(f"{reason}; type `{made_by}` to make one", path=path)
        files += matches
    return files
