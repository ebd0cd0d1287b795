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
from typer.testing import CliRunner, Result

from isoglot.cli import app
from isoglot.testing import tiny_bitext


def invoke(*arguments: object, **options: Any) -> Result:
    """Run a command in this process: its exit code, standard output, standard error and exception.

    ``options``: Of the ``invoke`` of Click's test runner, such as ``input`` and ``catch_exceptions``.
    """
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def run(*arguments: object, fails: type[Exception] | None = None) -> str:
    """The standard output of a command that succeeds; with ``fails`` the message of the error that it ends with."""
    result = invoke(*arguments)
    if fails is not None:
        assert isinstance(result.exception, fails), result.output
        return str(result.exception)
    assert result.exception is None, result.output
    return str(result.stdout)


def in_a_process(*arguments: str | Path) -> Outcome:
    """Run a command as users do, in a process of its own."""
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
