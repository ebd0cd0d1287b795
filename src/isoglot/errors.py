"""Errors that isoglot raises for a user's mistake.

Each has three parts, in this order: what was given, what is needed, what to type next. The command line prints
the message alone and exits with 2; anything that is not an :class:`IsoglotError` is a defect and keeps its traceback.
"""

from __future__ import annotations

from pathlib import Path


class IsoglotError(Exception):
    """A mistake the user can fix; its message says how."""


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
        place = "" if path is None else (f"{path}:{line}: " if line is not None else f"{path}: ")
        super().__init__(f"{place}{message}")

    def at(self, path: str | Path, line: int | None = None) -> InputError:
        """The same mistake, located."""
        return InputError(self.message, path=path, line=line)


class ConfigurationError(IsoglotError):
    """Mistakes in a recipe or in arguments, all that were found, one a line.

    Args:
        problems: one message, or several that are listed together.
        heading: first line when there are several.
    """

    def __init__(self, problems: str | list[str], *, heading: str | None = None) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        if len(self.problems) == 1 and heading is None:
            text = self.problems[0]
        else:
            text = "\n".join(
                [heading or f"{len(self.problems)} mistakes:", *(f"  - {p}" for p in self.problems)]
            )
        super().__init__(text)


class TrainingError(IsoglotError):
    """Training cannot go on (a loss that is not a number, no checkpoint that can be read)."""


class DiskError(IsoglotError):
    """The disk is full or broken; nothing half-written stands under its final name."""
