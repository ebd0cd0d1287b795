"""Progress of commands: bars on a terminal, plain lines elsewhere, all on standard error."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer

from isoglot.core.errors import UnknownWordsWarning

if TYPE_CHECKING:
    from isoglot.results.rows import Result

    _AddRows = Callable[[Sequence[Result]], None]

_SECONDS_BETWEEN_LINES = 10.0
_SILENCING = {
    "TOKENIZERS_PARALLELISM": "true",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}
"""Variables of the environment by which libraries that are imported later show no bars and no advice."""
_UNITS = {"aligning": "pairs", "filtering": "pairs", "projecting": "sentences", "encoding": "sentences"}
"""Steps whose speed is shown, and the unit of their progress."""
_LOGGER = logging.getLogger("isoglot")


class Console:
    """Shows notes and progress on standard error. Use as a context manager.

    A step is known by its label, such as ``aligning``. On a terminal each step has a bar; elsewhere it has a line every
    ten seconds.

    Inside the context, whether ``quiet`` or not, libraries show no bars and no advice, and warnings of isoglot are
    lines such as ``WARNING: ...``. So a command that shows neither notes nor progress enters a console too.

    Args:
        quiet: Show neither notes nor progress; warnings are shown all the same.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.is_terminal = sys.stderr.isatty()
        self._display: Any = None  # rich's display of all bars, while there is one
        # By the label of a step:
        self._bars: dict[str, Any] = {}  # its bar (a task in the words of rich)
        self._last_line: dict[str, float] = {}  # when its last line was written
        self._details: dict[str, str] = {}  # a short text beside its progress
        self._began: dict[str, tuple[float, int]] = {}  # time and progress of its first report
        self._handler = logging.StreamHandler(sys.stderr)
        self._warnings = warnings.catch_warnings()

    def __enter__(self) -> Console:
        _silence_libraries()
        self._handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
        _LOGGER.addHandler(self._handler)
        self._warnings.__enter__()
        warnings.simplefilter("default", UnknownWordsWarning)
        warnings.showwarning = _with_unknown_words_logged(warnings.showwarning)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._warnings.__exit__(kind, error, trace)
        _LOGGER.removeHandler(self._handler)

    def note(self, text: str) -> None:
        """Show one line, above the bars if there are any."""
        if self.quiet:
            return
        is_running = self._display is not None and not self._display.finished
        if is_running:
            self._display.console.print(text, markup=False, highlight=False, soft_wrap=True)
            return
        self._close()  # full bars go away before the line
        typer.echo(text, err=True)

    def progress(self, label: str, done: int, total: int) -> None:
        """Show how far a step is: its bar moves, or a line is due.

        Args:
            label: The step.
            done: Units that are done.
            total: Units in all; 0 if that is not known.
        """
        if self.quiet:
            return
        if self.is_terminal:
            if self._display is None:
                self._display = _new_display()
                self._display.start()
            if label not in self._bars:
                # Of an unknown total rich shows a bar that moves to and fro.
                self._bars[label] = self._display.add_task(
                    self._description(label), total=total or None, rate=""
                )
            rate = self._rate(label, done, total)
            self._display.update(self._bars[label], completed=done, total=total or None, rate=rate)
            return
        # Elsewhere a line is due ten seconds after the first report, and after each line.
        now = time.monotonic()
        rate = self._rate(label, done, total)
        if now - self._last_line.setdefault(label, now) >= _SECONDS_BETWEEN_LINES:
            self._last_line[label] = now
            share = f"{100 * done / total:.0f}%" if total else f"{done:,}"
            parts = [f"{label}: {share}", rate, self._details.get(label)]
            typer.echo(", ".join(filter(None, parts)), err=True)

    def detail(self, label: str, text: str) -> None:
        """Show a short text beside a step's bar, or at the end of its next line."""
        self._details[label] = text
        if label in self._bars:
            self._display.update(self._bars[label], description=self._description(label))

    def _description(self, label: str) -> str:
        """The text before a bar: the label of the step, and the detail if there is one."""
        return " ".join(filter(None, (label, self._details.get(label))))

    def _rate(self, label: str, done: int, total: int) -> str:
        """The rate of a step, and the time left: ``102 pairs/s, 0:12:30 left``.

        Counted from the first report of the step, so that parts of an earlier run do not count as fast work.
        """
        now = time.monotonic()
        began, before = self._began.setdefault(label, (now, done))
        unit = _UNITS.get(label)
        if unit is None or now - began < 1 or done <= before:
            return ""
        speed = (done - before) / (now - began)
        rate = f"{speed:,.0f} {unit}/s" if speed >= 10 else f"{speed:.1f} {unit}/s"
        if not total:
            return rate
        return f"{rate}, {timedelta(seconds=round(max(0, total - done) / speed))} left"

    def _close(self) -> None:
        if self._display is not None:
            self._display.stop()
            self._display, self._bars = None, {}


def _new_display() -> Any:
    """Make a display of bars, each with its number of units and their rate."""
    from rich.console import Console as Rich
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
    )
    return Progress(*columns, console=Rich(stderr=True), transient=True)


def _with_unknown_words_logged(show: Callable[..., None]) -> Callable[..., None]:
    """Return a function that logs warnings about unknown words as one line, and leaves other warnings to ``show``."""

    def showwarning(message: Warning | str, category: type[Warning], *location: Any, **more: Any) -> None:
        if issubclass(category, UnknownWordsWarning):
            _LOGGER.warning("%s", message)
        else:
            show(message, category, *location, **more)

    return showwarning


def _silence_libraries() -> None:
    """Silence the libraries' bars and advice, whether they are imported already or later, if at all."""
    import os

    for name, value in _SILENCING.items():
        os.environ.setdefault(name, value)
    # accelerate warns of a setting that transformers passes to it; buffers must not be synchronised at the start.
    warnings.filterwarnings("ignore", message="`broadcast_buffers` is deprecated", category=FutureWarning)
    if "datasets" in sys.modules:
        sys.modules["datasets"].disable_progress_bars()
    if "transformers" in sys.modules:
        sys.modules["transformers"].utils.logging.disable_progress_bar()
        sys.modules["transformers"].utils.logging.set_verbosity_error()


def print_table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of left-aligned columns; a wide character (of Chinese) counts as two."""
    from isoglot.reports.export import aligned

    typer.echo("\n".join(aligned([heading, *rows])))


class MeasuredRows:
    """Rows of results, collected for a table at the end; each with the checkpoint or folder that was measured."""

    def __init__(self) -> None:
        self.rows: list[tuple[Result, Path]] = []
        self.recipes: dict[str, dict[str, Any]] = {}  # values of the checkpoints' recipes, by their hash

    def adder(
        self, place: str | Path, read_recipe: Callable[[], dict[str, dict[str, Any]]] | None = None
    ) -> _AddRows:
        """Return a function that adds rows measured at one place: functions that measure call it with their rows.

            evaluate("runs/a", ..., on_measured=rows.adder("runs/a"))

        ``place``: The checkpoint or folder.
        ``read_recipe``: Reads the values of the checkpoint's recipe, by their hash. Called when there are rows; by
        default no recipe is read.
        """

        def add(rows: Sequence[Result]) -> None:
            if read_recipe is not None:
                self.recipes |= read_recipe()
            self.rows.extend((row, Path(place)) for row in rows)

        return add


@contextmanager
def printed_at_end() -> Iterator[MeasuredRows]:
    """Print the rows that the ``with`` block adds, at its end; also if it fails, so that no figure is lost."""
    measured = MeasuredRows()
    try:
        yield measured
    finally:
        if measured.rows:
            print_results(measured.rows, measured.recipes)


def print_results(
    measured: Sequence[tuple[Result, Path]], recipes: dict[str, dict[str, Any]] | None = None
) -> None:
    """Print results as the tables of a report, in which runs that differ have different names."""
    from isoglot.reports.export import to_text
    from isoglot.reports.grid import result_tables
    from isoglot.reports.labels import distinct_rows
    from isoglot.reports.scores import collect

    scores = collect(distinct_rows(measured, recipes or {}))
    typer.echo("\n".join([*map(to_text, result_tables(scores, "")), *scores.warnings()]))
