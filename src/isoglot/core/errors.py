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
    """The place where a user wrote a value: a line of a file, or a flag without a line."""

    name: str
    line: int | None = None

    def __str__(self) -> str:
        return self.name if self.line is None else f"{self.name}:{self.line}"


MISSING_FILE, UNSET_VARIABLE, NOT_FINITE = "missing_file", "unset_variable", "not_finite"
"""Kinds of problems that callers treat in their own way: a missing file may be there on another machine."""


@dataclass(frozen=True)
class Problem:
    """One mistake.

    Args:
        text: What is wrong, what is needed and what to do.
        location: Keys and indices of the wrong value inside the checked values; empty if the problem is about all.
        kind: Pydantic's type of the error (``missing``); or ``MISSING_FILE``, ``UNSET_VARIABLE`` or ``NOT_FINITE``;
            empty for most.
        origin: The file and line, or the flag, in which the user wrote the value.
    """

    text: str
    location: Location = ()
    kind: str = ""
    origin: Origin | None = None

    def __str__(self) -> str:
        """Return the line as people read it, with options spelled: ``add --resume`` for ``add [[resume=True]]``."""
        return spelled(self.raw)

    def __format__(self, form: str) -> str:
        """Return the spelled line for use inside another message: ``f"{path}: {problem}"``.

        The other message is spelled again when it is shown. If the line quotes ``[[x]]`` from the user's file, the
        second spelling must not take it for an option, so the line passes through ``literal``.
        """
        return format(literal(str(self)), form)

    @property
    def raw(self) -> str:
        """The line that is not spelled yet: origin, location and text, with options in double brackets."""
        parts = (str(self.origin or ""), ".".join(map(str, self.location)), self.text)
        return ": ".join(part for part in parts if part)

    def below(self, *keys: str | int) -> Problem:
        """Return the same mistake with a longer location, for a caller that checked one value of something larger."""
        return replace(self, location=(*keys, *self.location))


class IsoglotError(Exception):
    """A mistake the user can fix; its message says how.

    The message names options as :mod:`isoglot.core.named_options` has them, and is spelled when it is shown.
    ``spelling`` is the front end's way of writing. The command line (:func:`isoglot.cli.flags.with_flags`) sets it,
    because an error is shown after the block of :func:`isoglot.core.named_options.spelled_by` has ended.
    """

    spelling: WriteOption | None = None

    def __str__(self) -> str:
        return spelled(super().__str__(), self.spelling)

    def __format__(self, form: str) -> str:
        """Return the message for use in another one, ``f"{path}: {error}"``, as :meth:`Problem.__format__` does."""
        return format(literal(str(self)), form)


class UnknownWordsWarning(UserWarning):
    """Text has words that an encoder's vocabulary does not know, and the result leaves them out."""


class InputError(IsoglotError):
    """Bad content in a file, located as ``file:line``.

    Args:
        message: What is wrong, what is needed and what to do.
        path: The file, if the error is in one.
        line: Line number from 1, if known.
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        self.message = message
        self.path = None if path is None else str(path)
        self.line = line
        if path is None:
            prefix = ""
        elif line is None:
            prefix = f"{path}: "
        else:
            prefix = f"{path}:{line}: "
        super().__init__(f"{prefix}{message}")

    def at(self, path: str | Path, line: int | None = None) -> InputError:
        """Return the same mistake with the file and line in which it stands."""
        return InputError(self.message, path=path, line=line)


class ConfigurationError(IsoglotError):
    """All mistakes that were found in a recipe or in arguments, one per line.

    Args:
        problems: One mistake or message, or several that are listed together.
        heading: First line of a list; by default the number of mistakes.
    """

    def __init__(
        self, problems: str | Problem | Iterable[str | Problem], *, heading: str | None = None
    ) -> None:
        several = [problems] if isinstance(problems, str | Problem) else problems
        self.problems = [p if isinstance(p, Problem) else Problem(p) for p in several]
        if len(self.problems) == 1 and heading is None:
            text = self.problems[0].raw
        else:
            listed = [f"  - {problem.raw}" for problem in self.problems]
            text = "\n".join([heading or f"{len(self.problems)} mistakes:", *listed])
        super().__init__(text)


@contextmanager
def collected(problems: list[Problem], *keys: str | int) -> Iterator[None]:
    """Catch a :class:`ConfigurationError` in the block and add its problems to a list, located below ``keys``.

    A check that goes through many values goes on after the first wrong one:

        with collected(problems, "train", "steps"):
            check_steps(values["train"]["steps"])
    """
    try:
        yield
    except ConfigurationError as error:
        problems += [problem.below(*keys) for problem in error.problems]


@contextmanager
def reported_together() -> Iterator[list[Problem]]:
    """Yield a list for problems, and raise all problems in it as one error at the end of the block."""
    problems: list[Problem] = []
    yield problems
    if problems:
        raise ConfigurationError(problems)


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception, the exception that it was raised from, and so on."""
    seen: set[int] = set()  # a chain of causes may be circular
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


_OUT_OF_MEMORY = re.compile(
    r"can't allocate memory|not enough memory|out of memory|Cannot allocate memory|failed to map segment|"
    r"std::bad_alloc",
    re.IGNORECASE,
)
"""Words for lack of memory: of torch on a CPU and on a device, of system calls, of the loader of libraries."""


def memory_problem(error: BaseException) -> str | None:
    """Return one line for the user if an exception, or one of its causes, says that memory ran out.

    Example:
        >>> memory_problem(MemoryError())
        'there is not enough memory; use smaller batches, fewer processes or a smaller file, or raise `ulimit -v`'
    """
    for cause in causes(error):
        number = cause.errno if isinstance(cause, OSError) else None
        # torch raises a plain RuntimeError and a library that cannot be loaded an ImportError; only the text tells.
        worded = isinstance(cause, RuntimeError | ImportError | OSError) and _OUT_OF_MEMORY.search(str(cause))
        if isinstance(cause, MemoryError) or number == errno.ENOMEM or worded:
            return (
                "there is not enough memory; use smaller batches, fewer processes or a smaller file, or raise "
                "`ulimit -v`"
            )
    return None


def reason(error: BaseException) -> str:
    """Return the first line of an exception's message, and the second if the first ends in a colon.

    The message of torch about a pickle that it refuses is replaced: it recommends an option that would run the code
    in the pickle.
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
