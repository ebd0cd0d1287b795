"""What the console shows on a terminal."""

from __future__ import annotations

from isoglot.cli.console import Console


def test_a_detail_that_comes_before_the_first_progress_stands_beside_the_bar() -> None:
    console = Console()
    console.is_terminal = True
    console.detail("train", "loss 0.5000")
    console.progress("train", 1, 4)
    try:
        (bar,) = console._display.tasks
        assert bar.description == "train loss 0.5000"
        console.detail("train", "loss 0.2500")
        assert bar.description == "train loss 0.2500"
    finally:
        console._close()
