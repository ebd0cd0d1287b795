"""Commands run in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from cli_outcome import Outcome
from typer.testing import CliRunner

from isoglot.cli import app
from isoglot.testing import tiny_bitext


def run(*arguments, fails=None):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if fails is not None:
        assert isinstance(result.exception, fails)
        return str(result.exception)
    assert result.exception is None, result.output
    return result.stdout


runner = CliRunner()


def in_a_process(*arguments: str | Path) -> Outcome:
    """Runs the command line as users do."""
    done = subprocess.run(
        [sys.executable, "-m", "isoglot.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=200,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def every_command(group: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Names and commands, those of groups included."""
    yield name, group
    for part, command in getattr(group, "commands", {}).items():
        yield from every_command(command, (*name, part))


COMMANDS = dict(every_command(typer.main.get_command(app)))


def bitext_file(folder: Path, rows: int = 30) -> Path:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{row['source']}\t{row['target']}\n" for row in tiny_bitext(rows)))
    return path
