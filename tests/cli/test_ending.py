from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_outcome import Isoglot
from commands import bitext_file, in_a_process, invoke

from isoglot import cli
from isoglot.core.errors import ConfigurationError


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--column", "source"], "expected FIELD=COLUMN, for example --column source=0"),
        (["--max-pair-pieces", "0"], "--max-pair-pieces: got 0; it should be greater"),
        (["--min-pieces", "3"], "--min-pieces: has an effect only with --tokenizer"),
        (["--format", "tvs"], "did you mean 'tsv'"),
    ],
)
def test_a_mistake_in_an_option_is_one_message(tmp_path: Path, arguments: list[str], message: str) -> None:
    base = ["prepare", str(bitext_file(tmp_path)), "--source-lang", "en", "--target-lang", "de"]
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        invoke(*base, "--out", tmp_path / "out", *arguments, catch_exceptions=False)
    assert not (tmp_path / "out").exists()


def test_a_mistake_exits_with_2_without_traceback_and_output(
    isoglot: Isoglot, tmp_path: Path, tiny_recipe: Path
) -> None:
    path = bitext_file(tmp_path)
    path.write_text(path.read_text() + "one side\n")
    out = tmp_path / "out"
    cases = (
        (("prepare", path, "--source-lang", "en", "--target-lang", "de", "--out", out), r"pairs\.tsv:31: "),
        (("pretrain", tiny_recipe, "--out", out, "--set", "sed=3"), "did you mean 'seed'"),
        (("pretrain", "tlmm", "--out", out), "did you mean 'tlm'"),
        (("inspect", tmp_path / "none.yaml"), "not a file"),
        (("prepare", path, "--out", ""), "--out '': the value is empty"),
        (("prepare", path, "--out="), "--out=: the value is empty"),
    )
    for arguments, message in cases:
        result = isoglot(*arguments)
        assert result.returncode == 2, result.stderr
        assert re.search(message, result.stderr) and result.stderr.startswith("isoglot: ")
        assert "Traceback" not in result.stderr and not result.stdout
        assert not out.exists()
    assert isoglot("pretrain").returncode == 2, "a wrong call is a mistake too"
    alone = in_a_process("recipes", "tlmm")
    assert alone.returncode == 2 and alone.stderr.startswith("isoglot: recipe 'tlmm'")


def test_a_defect_exits_with_1_and_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys, isoglot.recipe.source as r\nfrom isoglot.cli import main\n"
        "def broken(): raise RuntimeError('a defect')\n"
        "r.builtin_recipes = broken\nsys.argv = ['isoglot', 'recipes']\nmain()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "Traceback" in result.stderr and "a defect" in result.stderr


def test_interrupting_exits_with_130(tmp_path: Path) -> None:
    code = (
        "import sys, os, signal, isoglot.recipe.source as r\nfrom isoglot.cli import main\n"
        # A shell starts background jobs with interrupts ignored, which children inherit.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "r.builtin_recipes = lambda: os.kill(os.getpid(), signal.SIGINT) or __import__('time').sleep(5)\n"
        "sys.argv = ['isoglot', 'recipes']\nmain()"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in process.stderr

    assert process.returncode != 130 or "isoglot: interrupted" in process.stderr


def test_a_place_that_cannot_be_written_is_a_mistake(
    isoglot: Isoglot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a line\n", encoding="utf-8")
    made = ("prepare", text, "--kind", "text", "--lang", "en", "--out")
    below = isoglot(*made, text / "out")
    assert below.returncode == 2 and "Traceback" not in below.stderr
    assert re.search(r"^isoglot: .* cannot be created, because .*text\.txt is a file", below.stderr)
    for number, words in ((errno.EACCES, "cannot be read or written"), (errno.ENOSPC, "the disk is full")):

        def refuse(*_: object, number: int = number, **__: object) -> None:
            raise OSError(number, os.strerror(number), "/closed/out")

        monkeypatch.setattr("isoglot.recipe.source.builtin_recipes", refuse)
        result = isoglot("recipes")
        assert result.returncode == 2 and result.stderr.startswith(f"isoglot: /closed/out: {words}")
    assert text.read_text(encoding="utf-8") == "a line\n"


def test_a_system_error_that_names_no_place_is_a_defect(
    isoglot: Isoglot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise OSError(errno.EACCES, "no place")

    monkeypatch.setattr("isoglot.recipe.source.builtin_recipes", broken)
    with pytest.raises(OSError, match="no place"):
        isoglot("recipes")


def test_main_turns_our_errors_into_exit_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["isoglot", "recipes", "tlmm"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    assert "did you mean 'tlm'" in capsys.readouterr().err


def test_temporary_files_that_may_not_grow_end_in_one_line(tmp_path: Path) -> None:
    """Nothing follows when the process ends, where what was buffered cannot be written either."""
    (tmp_path / "en.tsv").write_text("house\tNOUN\n\n" * 4000)
    (tmp_path / "de.txt").write_text("Haus\n" * 4000)
    (tmp_path / "links").write_text("0-0\n" * 4000)
    project = "project en.tsv de.txt --kind pos --links links -o out"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 16; exec {sys.executable} -m isoglot.cli {project}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 2 and not (tmp_path / "out").exists()
    assert re.fullmatch(r"isoglot: .*: a file would be larger .*\(TMPDIR=FOLDER, .*\n", done.stderr), (
        done.stderr
    )
