"""The command line in the tests' own process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli_outcome import Isoglot, Outcome

from isoglot import cli


@pytest.fixture
def isoglot(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Isoglot:
    """Runs the command line in this process (a process of its own takes seconds to import torch)."""

    def run(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["isoglot", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return Outcome(int(caught.value.code or 0), *capsys.readouterr())

    return run
