"""Commands run in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from isoglot.cli import app


def run(*arguments, fails=None):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if fails is not None:
        assert isinstance(result.exception, fails)
        return str(result.exception)
    assert result.exception is None, result.output
    return result.stdout
