"""Files of JSON lines, each line a record that a model checks."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from isoglot.checks import mistakes_of
from isoglot.errors import InputError, IsoglotError

__all__ = ["read_records"]

Record = TypeVar("Record", bound=BaseModel)


def read_records(path: Path, model: type[Record], *, what: str, wrong: str) -> list[Record]:
    """The records of a file; blank lines are skipped.

    Args:
        path: File of JSON lines.
        model: What each line must be.
        what: What a line is called (``row``), for the message.
        wrong: What a line that is none is called (``no result row``).

    Raises:
        InputError: A line is not such a record (``file:line``).
    """
    records = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                records.append(model.model_validate_json(line))
            except (ValidationError, IsoglotError) as error:
                reason = mistakes_of(error)[0] if isinstance(error, ValidationError) else error
                raise InputError(
                    f"{wrong} ({reason}); a {what} is one JSON object with {', '.join(model.model_fields)}; "
                    "delete or correct the line",
                    path=path,
                    line=number,
                ) from error
    return records
