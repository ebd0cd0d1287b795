"""Bars of the data-set library are for terminals."""

from typing import Any

import pytest
from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

from isoglot.errors import ConfigurationError
from isoglot.runs.reporter import bars_on_terminals, reporter_of


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


@pytest.mark.parametrize("given", [True, "print", 3])
def test_what_is_no_reporter_is_refused(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"progress: expected a function .* such as print, .* got "):
        reporter_of(given)
