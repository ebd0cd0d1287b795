from __future__ import annotations

import re

import pytest
from commands import COMMANDS, in_a_process, invoke

from isoglot import __version__


def test_isoglot_alone_lists_every_command_once_under_what_it_is_for() -> None:
    shown = invoke(env={"COLUMNS": "80"}).output
    assert shown == invoke("--help", env={"COLUMNS": "80"}).output
    headings = re.findall(r"^(\S.*):$", shown, re.MULTILINE)
    assert [heading.split()[0] for heading in headings] == [
        "Link", "Prepare", "Train", "Measure", "Repeat", "Options",
    ]  # fmt: skip
    rows = re.findall(r"^  ([a-z-]+) +([A-Z].*)$", shown.partition("Options:")[0], re.MULTILINE)
    rows = [(name, sentence) for name, sentence in rows if (name,) in COMMANDS]
    names = [name for name, _ in rows]
    assert sorted(names) == sorted(path[0] for path in COMMANDS if len(path) == 1)
    # One whole line a command: no sentence is wrapped in a terminal of 80 columns.
    assert all(re.search(r"[^.]\.$", sentence) for _, sentence in rows)


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
    done = invoke(env=asked, prog_name="isoglot")
    assert offered in done.stdout.split()


def test_the_script_for_completion_asks_isoglot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1"
    )  # tests need not run below a shell
    assert "_ISOGLOT_COMPLETE=complete_bash" in in_a_process("--show-completion", "bash").stdout


def test_version() -> None:
    assert invoke("--version").stdout.strip() == f"isoglot {__version__}"
