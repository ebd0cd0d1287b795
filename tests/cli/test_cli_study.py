from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from isoglot.cli import app
from isoglot.errors import ConfigurationError


def test_studies_are_listed_with_their_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ISOGLOT_DATA", "ISOGLOT_CORPORA"):
        monkeypatch.delenv(name, raising=False)
    done = CliRunner().invoke(app, ["study", "align_mlm/table3", "--list"])
    assert done.exit_code == 0, done.output
    assert "align_mlm:Table3" in done.output
    assert "tiny: 12 x 3 -> 36" in done.output
    assert "small needs ${ISOGLOT_DATA}" in done.output


def test_the_papers_scale_resolves_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ISOGLOT_CORPORA", raising=False)
    given = ["study", "align_mlm/table7", "--scale", "paper", "--out", str(tmp_path / "o"), "--dry-run"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert "3 pretrain" in done.output
    assert "not here: ${ISOGLOT_CORPORA}" in done.output
    assert not (tmp_path / "o").exists()


def test_tables_of_an_empty_folder_say_that_nothing_is_measured(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["study", "align_mlm/table2", "--out", str(tmp_path), "--tables-only", "-f", "markdown"]
    )
    assert done.exit_code == 0, done.output
    assert "| **25%** | … |" in done.output
    assert "6.7" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no study given"),
        (["align_mlm/table3"], "--out is not given"),
        (["align_mlm/table3", "--scale", "huge", "--out", "x"], "tiny, small, paper"),
        (["align_mlm/table3", "--only", "3/2", "--out", "x"], "K/N"),
        (["align_mlm/table3", "--seeds", "a", "--out", "x"], "--seeds 'a'"),
        (["align_mlm/tble3", "--out", "x"], "did you mean"),
        (["align_mlm/table3", "--out", "x", "--set", "values"], "key=value"),
    ],
)
def test_mistakes_are_told(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["study", *arguments])
    assert isinstance(done.exception, ConfigurationError)
    assert message in str(done.exception)
