from __future__ import annotations

import re

import pytest
from commands import COMMANDS, in_a_process, runner

from isoglot import __version__
from isoglot.cli import app


def test_isoglot_alone_is_the_map_in_the_order_of_the_work() -> None:
    done = runner.invoke(app, [])
    assert done.exit_code == 0 and len(done.output.splitlines()) <= 30
    assert max(map(len, done.output.splitlines())) <= 80
    rows = re.findall(r"^  ([a-z-]+) +(.*) ?-> \S", done.output, re.MULTILINE)
    names = [name for name, _ in rows]
    work = [
        "prepare",
        "trim",
        "align",
        "score",
        "tune",
        "filter",
        "align-sentences",
        "mine",
        "pack",
        "merge",
        "export",
        "init",
        "inspect",
        "pretrain",
        "project",
        "finetune",
        "evaluate",
    ]
    assert names[: len(work)] == work and names[-1] == "demo"
    assert set(names) == {name[0] for name in COMMANDS if name}
    listed = runner.invoke(app, ["--help"]).output.partition("Commands:\n")[2]
    assert re.findall(r"^  ([a-z-]+)  ", listed, re.MULTILINE) == names


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("isoglot pret", "pretrain"),
        ("isoglot prepare --du", "--duplicates"),
        ("isoglot prepare --kind bi", "bitext"),
    ],
)
def test_the_shell_completes_commands_flags_and_values(typed: str, offered: str) -> None:
    words = typed.split()
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1), "_ISOGLOT_COMPLETE": "complete_bash"}
    done = runner.invoke(app, [], env=asked, prog_name="isoglot")
    assert offered in done.stdout.split()


def test_the_script_for_completion_asks_isoglot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1"
    )  # tests need not run below a shell
    assert "_ISOGLOT_COMPLETE=complete_bash" in in_a_process("--show-completion", "bash").stdout


def test_version() -> None:
    assert runner.invoke(app, ["--version"]).stdout.strip() == f"isoglot {__version__}"
