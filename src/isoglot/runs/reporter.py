"""What a verb reports while it works: lines and bars on the command line, bars in notebooks and on terminals."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError
from isoglot.runs.process_wide import ProcessWide, Restore

Item = TypeVar("Item")


class Reporter(Protocol):
    """Takes what a verb has to say."""

    def note(self, text: str) -> None:
        """One line on what was done or is about to be."""
        ...

    def progress(self, label: str, done: int, total: int) -> None:
        """How far a step of this name is: ``done`` in any unit, ``total`` 0 where it is unknown."""
        ...


def detail(report: Reporter, label: str, text: str) -> None:
    """Show a short text beside a step's bar, such as the loss; a reporter without a method ``detail`` drops it."""
    show = getattr(report, "detail", None)
    if show is not None:
        show(label, text)


class Silent:
    """Says nothing."""

    def note(self, text: str) -> None:
        """Drop a line."""

    def progress(self, label: str, done: int, total: int) -> None:
        """Drop a step's progress."""


class ProgressBars(Silent):
    """Shows a bar for each step that takes longer than a second; lines are dropped."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}

    def progress(self, label: str, done: int, total: int) -> None:
        """Move the step's bar; a step that is done, and begins anew, gets another."""
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
        """Show a text behind the step's bar."""
        if label in self._bars:
            self._bars[label].set_postfix_str(text)


class _LineReporter(Silent):
    """Hands lines to a function."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def note(self, text: str) -> None:
        """Hand it on."""
        self._write(text)


AnyReporter = bool | Reporter | Callable[[str], object]
"""How a verb shows its progress.

``True`` shows bars in notebooks and on terminals, ``False`` nothing; a function such as ``print`` is called with each
line on what was done; an object has the methods of :class:`Reporter`.
"""
_DELAY = 1.0
"""Seconds without a bar."""
_LARGE = 1_000_000
"""From here on numbers are shown as 1.2M."""


def reporter_of(progress: AnyReporter | None) -> Reporter:
    """What takes a verb's reports; nothing does without one.

    Raises:
        ConfigurationError: It is neither true or false, nor a reporter, nor a function.
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
    """Whether bars move in place here: on a terminal or in a notebook, not in a log file."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in shell.config


def with_progress(
    items: Iterable[Item], report: Reporter, label: str, *, total: int = 0, every: int = 1
) -> Iterator[Item]:
    """Pass items on, and report how many have passed after each, or after ``every`` so many."""
    for done, item in enumerate(items, 1):
        if done % every == 0:
            report.progress(label, done, total)
        yield item


def _hide_bars() -> Restore:
    from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars  # noqa: PLC0415 - slow

    if are_progress_bars_disabled():
        return lambda: None
    disable_progress_bars()
    restore: Restore = enable_progress_bars
    return restore


def _hide_bars_in_files() -> Restore:
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return (lambda: None) if on_terminal else _hide_bars()


without_library_bars = ProcessWide(_hide_bars).block
"""A block without the progress bars of `datasets`, such as "Flattening the indices": isoglot has its own."""
bars_on_terminals = ProcessWide(_hide_bars_in_files).block
"""A block that keeps the progress bars of `datasets` out of log files and notebooks."""
