"""Bars of the data-set library are for terminals."""

import pytest
from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

from isoglot.runs.reporter import bars_on_terminals


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
