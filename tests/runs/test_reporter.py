"""Bars of the data-set library are for terminals."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from refusals import refused

from isoglot.cli.console import Console
from isoglot.core.errors import ConfigurationError
from isoglot.runs.reporter import ProgressBars, Silent, bars_on_terminals, detail, reporter_of, with_progress


@pytest.mark.parametrize(("terminal", "off"), [(False, True), (True, False)])
def test_bars_are_shown_on_terminals_alone(
    terminal: bool, off: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    enable_progress_bars()
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    with bars_on_terminals():
        assert are_progress_bars_disabled() == off
    assert not are_progress_bars_disabled()


def test_bars_that_were_off_stay_off() -> None:
    disable_progress_bars()
    try:
        with bars_on_terminals():
            assert are_progress_bars_disabled()
        assert are_progress_bars_disabled()
    finally:
        enable_progress_bars()


def test_a_function_of_one_line_is_a_reporter() -> None:
    lines: list[str] = []
    report = reporter_of(lines.append)
    report.note("done")
    report.progress("step", 1, 2)
    assert lines == ["done"]
    assert reporter_of(report) is report
    reporter_of(None).note("nothing")


@pytest.mark.parametrize("given", ["print", 3])
def test_reporter_refuses_what_is_none(given: Any) -> None:
    with refused(
        ConfigurationError, "progress: ", "note(text)", "progress(label, done, total)", f"got {given!r}"
    ):
        reporter_of(given)


class Kernel:
    """What IPython gives in a notebook."""

    config: ClassVar[dict[str, Any]] = {"IPKernelApp": {}}

    @classmethod
    def get_ipython(cls) -> type[Kernel]:
        return cls


@pytest.mark.parametrize(
    ("terminal", "kernel", "progress", "kind"),
    [
        (True, False, True, ProgressBars),
        (False, True, True, ProgressBars),
        (False, False, True, Silent),
        (True, True, False, Silent),
    ],
)
def test_bars_are_the_default_where_they_can_move(
    terminal: bool, kernel: bool, progress: bool, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    monkeypatch.setitem(
        sys.modules, "IPython", Kernel if kernel else SimpleNamespace(get_ipython=lambda: None)
    )
    assert type(reporter_of(progress)) is kind


def test_a_bar_is_shown_for_a_step_that_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("isoglot.runs.reporter._DELAY", 0)
    bars = ProgressBars()
    for done in (0, 5, 10):
        bars.progress("train", done, 10)
    bars.progress("train", 1, 10)  # the next one of this name
    shown = capsys.readouterr().err
    assert "train: 100%" in shown and "10/10" in shown
    assert shown.count("0/10") == 3, "one at the beginning of each, and the end"
    monkeypatch.setattr("isoglot.runs.reporter._DELAY", 60)
    for done in range(3):
        ProgressBars().progress("short", done, 2)
    assert "short" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("items", "every", "reported"),
    [(10, 4, [4, 8, 10]), (8, 4, [4, 8]), (3, 4, [3]), (2, 1, [1, 2]), (0, 4, [])],
)
def test_the_last_item_is_reported_too(items: int, every: int, reported: list[int]) -> None:
    class Counts(Silent):
        def progress(self, label: str, done: int, total: int) -> None:
            assert (label, total) == ("align", items)
            counts.append(done)

    counts: list[int] = []
    assert list(with_progress(range(items), Counts(), "align", total=items, every=every)) == [*range(items)]
    assert counts == reported


def test_the_loss_stands_beside_the_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bars = ProgressBars()
    bars.progress("train", 1, 4)
    detail(bars, "train", "loss 0.5000")
    assert "loss 0.5000" in str(bars._bars["train"])
    bars.progress("train", 4, 4)
    capsys.readouterr()
    monkeypatch.setattr("isoglot.cli.console._SECONDS_BETWEEN_LINES", 0.0)
    console = Console()
    console.progress("train", 1, 4)
    detail(console, "train", "loss 0.2500")
    console.progress("train", 2, 4)
    assert capsys.readouterr().err.splitlines()[-2:] == ["train: 25%", "train: 50%, loss 0.2500"]
    own = reporter_of(lambda line: None)
    detail(own, "train", "loss 1")  # a reporter without the method drops it
