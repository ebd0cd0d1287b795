"""Mistakes that are refused, and the names that their messages must have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

E = TypeVar("E", bound=BaseException)


@contextmanager
def refused(error: type[E], *named: object) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error in the block whose message has these names: an option, a file and line, a value given.

    The names must stand in the message in this order; the words between them are free:

        with refused(InputError, "notes.tsv:3: ", "'text'"):
            read(notes)
    """
    assert named, "name what the message must name"
    with pytest.raises(error) as raised:
        yield raised
    message = str(raised.value)
    end = 0
    for name in map(str, named):
        place = message.find(name, end)
        assert place >= 0, f"{name!r} is not named, or not in this order: {message}"
        end = place + len(name)
