"""Files of JSON lines: each line is an object, which a pydantic model checks."""

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

JSON_LINES = (".jsonl", ".ndjson")
"""Endings of files of JSON lines."""

ModelT = TypeVar("ModelT", bound=BaseModel)


def parse_json(text: str, *, path: str | Path | None = None, line: int | None = None) -> Any:
    """Parse JSON from a user's file, more strictly than Python does.

    Refused are names that an object repeats, NaN and Infinity, numbers too large for a float, and halves of surrogate
    pairs: none of these could be written again as it was.

    ``line``: Line of the file; by default the line in ``text`` where the mistake is.

    Raises:
        InputError: The text is not valid JSON.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_not_json, parse_float=_number)
        if "\\ud" in text.lower():  # perhaps half a surrogate pair, which cannot be encoded
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError):
            reason = f"{error.msg.removesuffix(' at')} at column {error.colno}"
        else:
            reason = str(error)
        if line is None:
            line = getattr(error, "lineno", None)
        raise InputError(f"is not valid JSON ({reason}); correct it", path=path, line=line) from error


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _number(text: str) -> float:
    """Parse a number with a point or an exponent, and refuse one that only infinity could stand for."""
    number = float(text)
    if isinf(number):
        raise ValueError(f"{shortened(text)} is beyond the largest number, 1.8e308; write it as text")
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dictionary of an object's members, and refuse a name that is repeated."""
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the name {shortened(twice)} is repeated in one object")
    return members


def parse_object(text: str, *, path: str | Path | None = None, line: int | None = None) -> dict[str, Any]:
    """Parse one line of a file of JSON lines, which must be an object."""
    value = parse_json(text, path=path, line=line)
    if not isinstance(value, dict):
        raise InputError(
            f"is a JSON {type(value).__name__}, but an object with named fields is needed; correct it",
            path=path,
            line=line,
        )
    return value


def json_line(row: Mapping[str, Any], *, allow_null: bool = True) -> str:
    """Return an object as a line of JSON; a date or the like becomes text, and a number that is not finite ``null``.

    ``allow_null``: Whether such a number becomes ``null``; otherwise it is a ValueError.

    Raises:
        ConfigurationError: A value is bytes that are not UTF-8 text, which JSON does not have.
    """
    try:
        return json.dumps(row, ensure_ascii=False, default=_as_text, allow_nan=False) + "\n"
    except ValueError:
        if not allow_null:
            raise
        # Python writes such numbers as NaN and Infinity; reading them back replaces each by null.
        finite = json.loads(json.dumps(row, default=_as_text), parse_constant=lambda _: None)
        return json.dumps(finite, ensure_ascii=False) + "\n"


def _as_text(value: Any) -> str:
    """Turn a value that JSON does not have into text: bytes are decoded as UTF-8, a date is printed."""
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
    """Return the ``id`` of a row as text, or ``None`` if it is missing or null. The number 1 and "1" are one id.

    Raises:
        InputError: The id is neither a whole number nor a text.
    """
    name = row.get("id")
    if name is not None and type(name) not in (int, str):
        raise InputError(f"the id is {shortened(name)}, but a whole number or a text is needed; correct it")
    return None if name is None else str(name)


def read_objects(path: Path, model: type[ModelT], *, what: str, wrong: str) -> list[ModelT]:
    """Read the objects of a file, one per line, each as a ``model``; blank lines are skipped.

    ``what``: Name of such an object in messages: ``row``.
    ``wrong``: Name in messages of a line that is no such object: ``no result row``.

    Raises:
        InputError: A line does not fit the model.
    """
    objects = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            if number == 1:
                line = line.removeprefix(BOM_UTF8)  # noqa: PLW2901 - Windows editors add the mark
            try:
                objects.append(model.model_validate_json(line))
            except (ValidationError, IsoglotError) as error:
                reason = problems_of(error)[0] if isinstance(error, ValidationError) else error
                raise InputError(
                    f"{wrong} ({reason}); a {what} is a JSON object with {', '.join(model.model_fields)}",
                    path=path,
                    line=number,
                ) from error
    return objects


def files_named(paths: str | Path | Iterable[str | Path], name: str, *, made_by: str) -> list[Path]:
    """Find files: a file stands for itself, a folder for every file of the given name below it, sorted by path.

    ``made_by``: The command that makes such a file, for the message.

    Raises:
        InputError: A file is missing, or a folder has no file of this name.
    """
    files: list[Path] = []
    for path in map(Path, [paths] if isinstance(paths, str | Path) else paths):
        if path.is_dir():
            matches = sorted(path.rglob(name))
        elif path.is_file():
            matches = [path]
        else:
            matches = []
        if not matches:
            reason = f"holds no {name}" if path.is_dir() else "file not found"
            raise InputError(f"{reason}; type `{made_by}` to make one", path=path)
        files += matches
    return files
