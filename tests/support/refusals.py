"""Mistakes that are refused, and the names that their messages must have."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Generic, TypeVar

import pytest

E = TypeVar("E", bound=BaseException)


def refused(error: type[E], *named: object) -> Refusal[E]:
    """Expect an error in the block whose message has these names: an option, a file and line, a value given.

    The names must stand in the message in this order; the words between them are free:

        with refused(InputError, "notes.tsv:3: ", "'text'"):
            read(notes)
    """
    assert named, "name what the message must name"
    return Refusal(error, [str(name) for name in named])


class Refusal(AbstractContextManager[pytest.ExceptionInfo[E]], Generic[E]):
    """The block of :func:`refused`; a class because mypy then knows that the block swallows the error."""

    def __init__(self, error: type[E], named: list[str]) -> None:
        self._named = named
        self._raises = pytest.raises(error)

    def __enter__(self) -> pytest.ExceptionInfo[E]:
        self._raised = self._raises.__enter__()
        return self._raised

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        swallowed = self._raises.__exit__(kind, error, traceback)
        if swallowed:
            self._require_names(str(self._raised.value))
        return swallowed

    def _require_names(self, message: str) -> None:
        end = 0
        for name in self._named:
            place = message.find(name, end)
            assert place >= 0, f"{name!r} is not named, or not in this order: {message}"
            end = place + len(name)
