"""A pre-training run, and what it says."""

from __future__ import annotations

import sys
from pathlib import Path

from isoglot.pretraining.api import pretrain
from isoglot.pretraining.check import load_recipe

__all__ = ["Notes", "command", "run"]


class Notes:
    """Keeps what a verb says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)

    def progress(self, label: str, done: int, total: int) -> None:
        assert 0 <= done <= max(total, done)


def run(recipe: Path, out: Path, *overrides: str, resume: bool = False) -> tuple[Path, list[str]]:
    """The checkpoint and the notes of a run."""
    notes = Notes()
    return pretrain(load_recipe(recipe, overrides), out, resume=resume, progress=notes), notes.lines


def command(recipe: Path, out: Path, *more: str) -> list[str]:
    """The same on the command line."""
    return [sys.executable, "-m", "isoglot.cli", "pretrain", str(recipe), "--out", str(out), *more]
