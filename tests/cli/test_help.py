from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest
from commands import COMMANDS, in_a_process, invoke

from isoglot.cli.first_options import FIRST_OPTIONS


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom isoglot.cli import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'transformers', 'datasets', 'numpy', 'pyarrow', 'ruamel'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip().endswith("HEAVY []")
    for command in ("prepare", "pretrain", "inspect", "recipes"):
        assert command in result.stdout


@pytest.mark.slow
def test_help_takes_under_half_a_second_of_processor() -> None:
    def seconds() -> float:
        before = os.times()
        in_a_process("--help")
        after = os.times()
        return sum(after[2:4]) - sum(before[2:4])

    assert min(seconds() for _ in range(5)) < 0.5


@pytest.mark.parametrize("name", COMMANDS, ids="-".join)
def test_help_is_plain_text_of_eighty_columns_with_a_word_on_every_flag(name: tuple[str, ...]) -> None:
    shown = invoke(*name, "--help", env={"COLUMNS": "80"}).stdout
    assert not [line for line in shown.splitlines() if len(line) > 80]
    paragraphs = (part.strip() for part in shown.split("\n\n"))
    for example in (part for part in paragraphs if part.startswith("isoglot ")):
        words = shlex.split(example)
        path = [word for word in words[1:3] if word in {part for parts in COMMANDS for part in parts}]
        path += ["page"] if path == ["report"] else []  # its default command
        known = {
            flag for option in COMMANDS[tuple(path)].params for flag in (*option.opts, *option.secondary_opts)
        }
        assert {word for word in words if re.match("--?[a-z]", word)} <= known, example
    assert "[bold]" not in shown and not re.search(r"[a-z]\.\.\.$", shown, re.MULTILINE), (
        "summaries are whole"
    )
    assert all(getattr(parameter, "help", "") for parameter in COMMANDS[name].params)


def test_paragraphs_of_help_are_not_cut_by_line_ends_of_the_source() -> None:
    shown = invoke("prepare", "--help", env={"COLUMNS": "300", "TERMINAL_WIDTH": "300"}).stdout
    plain = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", shown).split())
    assert "is an error that names file and line, and leaves nothing behind." in plain
    assert not re.search(r"is an *\n", shown)


@pytest.mark.parametrize("path", [name for name in COMMANDS if name], ids="-".join)
def test_first_options_exist_and_include_every_required_one(path: tuple[str, ...]) -> None:
    options = [p for p in COMMANDS[path].params if p.param_type_name == "option"]
    flags = FIRST_OPTIONS.get(" ".join(path), ())
    if len(options) > 12:
        assert flags, "a command with many options has first ones"
    assert len(flags) <= 5
    assert set(flags) <= {flag for option in options for flag in option.opts}
    needed = [option for option in options if option.required]
    assert not flags or all(set(flags) & set(option.opts) for option in needed)


def test_first_options_stand_before_their_groups_and_only_once() -> None:
    shown = invoke("align", "--help", env={"COLUMNS": "80"}).stdout
    first, more = shown.partition("Options that most people need:")[2].split("More options:")
    assert re.findall(r"^  (?:-\w, )?(--[a-z]+)", first, re.MULTILINE) == list(FIRST_OPTIONS["align"])
    assert "--model TEXT" not in more and "With an encoder:" in more
    assert more.rstrip().endswith("Show this message and exit.")


def test_every_command_that_runs_shows_an_example() -> None:
    for path, command in COMMANDS.items():
        if not hasattr(command, "commands"):
            assert f"isoglot {' '.join(path).removesuffix(' page')} " in f"{command.help}\n".replace(
                "\n", " "
            ), path
