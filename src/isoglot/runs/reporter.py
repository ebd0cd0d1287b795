"""Reporters, which show what a verb does while it works: lines and bars by a command, bars in notebooks."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError
from isoglot.runs.process_wide import ProcessWide, Restore

Item = TypeVar("Item")


class Reporter(Protocol):
    """Receives the reports of a verb."""

    def note(self, text: str) -> None:
        """Show one line about what was done or is about to be done."""
        ...

    def progress(self, label: str, done: int, total: int) -> None:
        """Show how far the step called ``label`` is: ``done`` of ``total`` in any unit; 0 for an unknown total."""
        ...


def detail(report: Reporter, label: str, text: str) -> None:
    """Show a short text beside a step's bar, such as the loss; a reporter without a method ``detail`` drops it."""
    show = getattr(report, "detail", None)
    if show is not None:
        show(label, text)


class Silent:
    """A reporter that shows nothing."""

    def note(self, text: str) -> None:
        """Ignore a line."""

    def progress(self, label: str, done: int, total: int) -> None:
        """Ignore the progress of a step."""


class ProgressBars(Silent):
    """A reporter that shows a bar for each step of more than a second, and no lines."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}

    def progress(self, label: str, done: int, total: int) -> None:
        """Move the bar of a step. A step that was done, and begins again, gets a new bar."""
        if label not in self._bars:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # without ipywidgets a notebook's bar is one of text
                from tqdm.auto import tqdm  # noqa: PLC0415 - not for those who ask for no bar
            self._bars[label] = tqdm(
                desc=label, total=total or None, delay=_DELAY, unit_scale=total >= _LARGE
            )
        bar = self._bars[label]
        bar.total = total or None
        bar.update(done - bar.n)
        if done >= total > 0:
            self._bars.pop(label).close()

    def detail(self, label: str, text: str) -> None:
        """Show a text behind the bar of a step."""
        if label in self._bars:
            self._bars[label].set_postfix_str(text)


class _LineReporter(Silent):
    """A reporter that calls a function with each line."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def note(self, text: str) -> None:
        """Call the function with a line."""
        self._write(text)


def time_left(seconds: float) -> str:
    """Say how long something still takes, as the end of a line.

    Example:
        >>> time_left(170), time_left(20)
        (', about 3 min left', ', less than a minute left')
    """
    minutes = seconds / 60
    return f", about {minutes:.0f} min left" if minutes >= 1 else ", less than a minute left"


AnyReporter = bool | Reporter | Callable[[str], object]
"""How a verb shows its progress.

``True`` shows bars in notebooks and on terminals, ``False`` nothing; a function such as ``print`` is called with each
line on what was done; an object has the methods of :class:`Reporter`.
"""
_DELAY = 1.0
"""Seconds before a bar is shown."""
_LARGE = 1_000_000
"""Totals from which numbers are shown as 1.2M."""


def reporter_of(progress: AnyReporter | None) -> Reporter:
    """Return the reporter for an argument ``progress``.

    Raises:
        ConfigurationError: The argument is not a boolean, a reporter, a function or None.
    """
    if progress is True and _shows_bars():
        return ProgressBars()
    if progress is None or isinstance(progress, bool):
        return Silent()
    if hasattr(progress, "note") and hasattr(progress, "progress"):
        return progress
    if callable(progress):
        return _LineReporter(progress)
    raise ConfigurationError(
        f"progress: expected True, False, a function of one line of text, such as print, or an object with note(text) "
        f"and progress(label, done, total), got {shortened(progress)}"
    )


def _shows_bars() -> bool:
    """Whether bars can move in place: on a terminal or in a notebook, but not in a log file."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in shell.config


def with_progress(
    items: Iterable[Item], report: Reporter, label: str, *, total: int = 0, every: int = 1
) -> Iterator[Item]:
    """Yield the items unchanged, and report the number so far after every ``every`` items and after the last one.

    Of 10 items with ``every=4``, 4, 8 and 10 are reported.
    """
    done = 0
    for done, item in enumerate(items, 1):
        if done % every == 0:
            report.progress(label, done, total)
        yield item
    if done % every:
        report.progress(label, done, total)


def _hide_bars() -> Restore:
    """Hide the progress bars of `datasets`; the function that is returned shows them again."""
    from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars  # noqa: PLC0415 - slow

    if are_progress_bars_disabled():
        return lambda: None
    disable_progress_bars()
    restore: Restore = enable_progress_bars
    return restore


def _hide_bars_in_files() -> Restore:
    """Hide the progress bars of `datasets`, unless they move on a terminal."""
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return (lambda: None) if on_terminal else _hide_bars()


without_library_bars = ProcessWide(_hide_bars).block
"""A block without the progress bars of `datasets`, such as "Flattening the indices": isoglot has its own."""
bars_on_terminals = ProcessWide(_hide_bars_in_files).block
"""A block that keeps the progress bars of `datasets` out of log files and notebooks."""
