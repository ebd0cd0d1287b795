"""Errors that isoglot raises for a user's mistake.

Each has three parts, in this order: what was given, what is needed, what to type next. The command line prints
the message alone and exits with 2; anything that is not an :class:`IsoglotError` is a defect and keeps its traceback.

A message names options in double brackets (:mod:`isoglot.core.named_options`), so that Python shows arguments and a
command its flags.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from pickle import UnpicklingError
from typing import NamedTuple

from isoglot.core.named_options import WriteOption, literal, spelled

Location = tuple[str | int, ...]
"""Keys and list indices that lead to a value."""


class Origin(NamedTuple):
    """Where a value is written: a line of a file, or a flag that stands alone."""

    name: str
    line: int | None = None

    def __str__(self) -> str:
        return self.name if self.line is None else f"{self.name}:{self.line}"


MISSING_FILE, UNSET_VARIABLE, NOT_FINITE = "missing_file", "unset_variable", "not_finite"
"""Kinds of problems that another machine, or another run, may not have."""


@dataclass(frozen=True)
class Problem:
    """One mistake.

    Args:
        text: what is wrong, what is needed and what to do.
        location: the value it is about, inside what was checked; none where it is about all of it.
        kind: what sort of mistake it is, where code treats that sort specially.
        origin: where the value is written.
    """

    text: str
    location: Location = ()
    kind: str = ""
    origin: Origin | None = None

    def __str__(self) -> str:
        return spelled(self.raw)

    @property
    def raw(self) -> str:
        """The whole line, with options as messages hold them."""
        parts = (str(self.origin or ""), ".".join(map(str, self.location)), self.text)
        return ": ".join(part for part in parts if part)

    def below(self, *keys: str | int) -> Problem:
        """The same mistake, of something larger that holds what was checked under these keys."""
        return replace(self, location=(*keys, *self.location))


class IsoglotError(Exception):
    """A mistake the user can fix; its message says how.

    ``spelling`` is how the front end that the error left writes options; None for the present one.
    """

    spelling: WriteOption | None = None

    def __str__(self) -> str:
        return spelled(super().__str__(), self.spelling)

    def __format__(self, form: str) -> str:
        """The message for another message, ``f"{path}: {error}"``, which shows its own options once more."""
        return format(literal(str(self)), form)


class UnknownWordsWarning(UserWarning):
    """Text has words that an encoder's vocabulary does not know, and the result leaves them out."""


class InputError(IsoglotError):
    """Bad content in a file, located as ``file:line``.

    Args:
        message: what is wrong, what is needed and what to do.
        path: the file, if the error is in one.
        line: 1-based line number, if known.
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.message = message
        self.path = None if path is None else str(path)
        self.line = line
        prefix = "" if path is None else (f"{path}:{line}: " if line is not None else f"{path}: ")
        super().__init__(f"{prefix}{message}")

    def at(self, path: str | Path, line: int | None = None) -> InputError:
        """The same mistake, located."""
        return InputError(self.message, path=path, line=line)


class ConfigurationError(IsoglotError):
    """Mistakes in a recipe or in arguments, all that were found, one a line.

    Args:
        problems: one mistake or message, or several that are listed together.
        heading: first line when there are several.
    """

    def __init__(
        self, problems: str | Problem | Iterable[str | Problem], *, heading: str | None = None
    ) -> None:
        several = [problems] if isinstance(problems, str | Problem) else problems
        self.problems = [p if isinstance(p, Problem) else Problem(p) for p in several]
        if len(self.problems) == 1 and heading is None:
            text = self.problems[0].raw
        else:
            text = "\n".join(
                [heading or f"{len(self.problems)} mistakes:", *(f"  - {p.raw}" for p in self.problems)]
            )
        super().__init__(text)


@contextmanager
def collected(problems: list[Problem], *keys: str | int) -> Iterator[None]:
    """Add the problems of a :class:`ConfigurationError` that is raised inside to a list, below ``keys``, and go on."""
    try:
        yield
    except ConfigurationError as error:
        problems += [problem.below(*keys) for problem in error.problems]


@contextmanager
def reported_together() -> Iterator[list[Problem]]:
    """A list whose problems are raised as one error at the end of the block."""
    problems: list[Problem] = []
    yield problems
    if problems:
        raise ConfigurationError(problems)


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, what it was raised from, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


_OUT_OF_MEMORY = re.compile(
    r"can't allocate memory|not enough memory|out of memory|Cannot allocate memory|failed to map segment|"
    r"std::bad_alloc",
    re.IGNORECASE,
)
"""torch on a CPU, torch on a device, system calls, the loader of libraries."""


def memory_problem(error: BaseException) -> str | None:
    """One line where an exception, or one of its causes, says that memory ran out.

    Example:
        >>> memory_problem(MemoryError())
        'there is not enough memory; use smaller batches, fewer processes or a smaller file, or raise `ulimit -v`'
    """
    for cause in causes(error):
        number = cause.errno if isinstance(cause, OSError) else None
        worded = isinstance(cause, RuntimeError | ImportError | OSError) and _OUT_OF_MEMORY.search(str(cause))
        if isinstance(cause, MemoryError) or number == errno.ENOMEM or worded:
            return (
                "there is not enough memory; use smaller batches, fewer processes or a smaller file, or raise "
                "`ulimit -v`"
            )
    return None


def reason(error: BaseException) -> str:
    """The first line of an exception's message that says something, with the next where it ends in a colon.

    Of a pickle that torch refuses no message is passed on: it recommends what would run the pickle's code.
    """
    if isinstance(error, UnpicklingError):
        return "it holds pickled objects other than tensors, which are never loaded"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[: 2 if lines and lines[0].endswith(":") else 1])
    return text.rstrip(".") or type(error).__name__


class TrainingError(IsoglotError):
    """Training cannot go on (a loss that is not a number, no checkpoint that can be read)."""


class DiskError(IsoglotError):
    """The disk is full or broken; nothing half-written stands under its final name."""
