"""What a verb tells while it works; the command line shows it, the library stays silent."""

import sys
from collections.abc import Callable
from typing import Protocol

from isoglot.checks import shortened
from isoglot.errors import ConfigurationError
from isoglot.runs.process_wide import ProcessWide, Restore


class Reporter(Protocol):
    """Takes what a verb has to say."""

    def note(self, text: str) -> None:
        """One line on what was done or is about to be."""
        ...

    def progress(self, label: str, done: int, total: int) -> None:
        """How far a step of this name is: ``done`` in any unit, ``total`` 0 where it is unknown."""
        ...


class Silent:
    """Says nothing."""

    def note(self, text: str) -> None:
        """Drop a line."""

    def progress(self, label: str, done: int, total: int) -> None:
        """Drop a step's progress."""


class _LineReporter(Silent):
    """Hands lines to a function."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def note(self, text: str) -> None:
        """Hand it on."""
        self._write(text)


AnyReporter = Reporter | Callable[[str], object]
"""A reporter, or a function that is called with each line on what was done, such as ``print``."""


def reporter_of(progress: AnyReporter | None) -> Reporter:
    """What takes a verb's reports; nothing does without one.

    Raises:
        ConfigurationError: It is neither a reporter nor a function.
    """
    if progress is None:
        return Silent()
    if hasattr(progress, "note") and hasattr(progress, "progress"):
        return progress
    if callable(progress):
        return _LineReporter(progress)
    raise ConfigurationError(
        f"progress: expected a function of one line of text, such as print, or an object with note(text) and "
        f"progress(label, done, total), got {shortened(progress)}"
    )


def _hide_bars() -> Restore:
    from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars  # noqa: PLC0415 - slow

    if are_progress_bars_disabled() or (sys.stderr is not None and sys.stderr.isatty()):
        return lambda: None
    disable_progress_bars()
    restore: Restore = enable_progress_bars
    return restore


bars_on_terminals = ProcessWide(_hide_bars).block
"""A block that keeps the progress bars of `datasets` out of log files and notebooks."""
