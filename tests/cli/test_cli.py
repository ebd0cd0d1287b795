"""The command line: cheap to start, one clear message for a mistake, exit codes that scripts can rely on."""

from __future__ import annotations

import errno
import inspect
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from cli_outcome import Isoglot, Outcome
from typer.testing import CliRunner

from isoglot import __version__, cli
from isoglot.cli import app, corpora
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.read.sources import Source
from isoglot.errors import ConfigurationError
from isoglot.pretraining.recipe import MADE
from isoglot.recipe.source import builtin_recipes
from isoglot.recipe.spec import spec_of
from isoglot.testing import tiny_bitext

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


def bitext_file(folder: Path, rows: int = 30) -> Path:
    path = folder / "pairs.tsv"
    path.write_text("".join(f"{row['source']}\t{row['target']}\n" for row in tiny_bitext(rows)))
    return path


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


def every_command(group: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Names and commands, those of groups included."""
    yield name, group
    for part, command in getattr(group, "commands", {}).items():
        yield from every_command(command, (*name, part))


COMMANDS = dict(every_command(typer.main.get_command(app)))


@pytest.mark.parametrize("name", COMMANDS, ids="-".join)
def test_help_is_plain_text_of_eighty_columns_with_a_word_on_every_flag(name: tuple[str, ...]) -> None:
    shown = runner.invoke(app, [*name, "--help"], env={"COLUMNS": "80"}).stdout
    assert not [line for line in shown.splitlines() if len(line) > 80]
    paragraphs = (part.strip() for part in shown.split("\n\n"))
    for example in (part for part in paragraphs if part.startswith("isoglot ")):
        words = shlex.split(example)
        path = [word for word in words[1:3] if word in {part for parts in COMMANDS for part in parts}]
        known = {
            flag for option in COMMANDS[tuple(path)].params for flag in (*option.opts, *option.secondary_opts)
        }
        assert {word for word in words if re.match("--?[a-z]", word)} <= known, example
    assert "[bold]" not in shown and "..." not in shown.partition("Commands:")[2], "summaries are whole"
    assert all(getattr(parameter, "help", "") for parameter in COMMANDS[name].params)


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
        "pack",
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


def test_recipes_lists_and_prints() -> None:
    listed = runner.invoke(app, ["recipes"]).stdout
    for name, path in builtin_recipes().items():
        assert re.search(rf"^{re.escape(name)} +\S", listed, re.MULTILINE)
        assert runner.invoke(app, ["recipes", name]).stdout == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("section", ["views", "objectives"])
def test_recipes_lists_what_they_are_made_of(section: str) -> None:
    listed = runner.invoke(app, ["recipes", f"--{section}"]).stdout
    for name, maker in MADE[section].registry.items():
        spec = spec_of(maker)
        assert f"\n{name}: {str(spec.__doc__)[:20]}" in listed
        block = listed.partition(f"\n{name}: ")[2].partition("\n\n")[0]
        for option in spec.model_fields:
            assert re.search(rf"^    {option}=(\S+)(  \S+)?", block, re.MULTILINE), (name, option)


def test_pretrain_has_a_plain_example() -> None:
    shown = " ".join(runner.invoke(app, ["pretrain", "--help"]).stdout.split())
    assert "isoglot pretrain tlm --set streams.bitext.path=en-de.tsv --out runs/tlm" in shown


def test_prepare_offers_every_option_of_the_library() -> None:
    offered = set(inspect.signature(corpora.prepare).parameters)
    positional = {"path", "target_path", "links_path"}
    assert set(Source.model_fields) - positional <= offered
    assert set(PrepareOptions.model_fields) <= offered


def test_prepare_writes_a_corpus_and_counts_what_it_dropped(isoglot: Isoglot, tmp_path: Path) -> None:
    path = bitext_file(tmp_path)
    path.write_text(path.read_text() + "only one side\t\n" + path.read_text().splitlines()[0] + "\n")
    arguments = [
        "prepare",
        path,
        "--source-lang",
        "en",
        "--target-lang",
        "xx",
        "--duplicates",
        "pair",
        "--out",
    ]
    result = isoglot(*arguments, tmp_path / "corpus")
    assert result.returncode == 0, result.stderr
    table = [line.split() for line in result.stdout.splitlines()]
    assert table[0] == ["read", "empty", "duplicates", "kept"]
    assert table[1][:3] == ["en-xx", "32", "1"]
    assert (tmp_path / "corpus" / "manifest.json").is_file()
    assert "nothing to do" in isoglot(*arguments, tmp_path / "corpus").stdout


def test_prepare_mixes_languages_by_their_exponent(isoglot: Isoglot, tmp_path: Path) -> None:
    for name, size in (("de", 40), ("fr", 10)):
        rows = (f"one {name} {i}\tzwei {name} {i}\n" for i in range(size))
        (tmp_path / f"{name}.tsv").write_text("".join(rows))
    files = [tmp_path / "de.tsv", tmp_path / "fr.tsv"]
    shared = ["prepare", *files, "--source-lang", "en", "--out", tmp_path / "mix"]
    done = isoglot(*shared, "--target-lang", "de,fr", "--sampling-exponent", 0)
    assert done.returncode == 0
    table = [line.split() for line in done.stdout.splitlines()]
    assert ["en-de", "40", "25"] in table and ["en-fr", "10", "25"] in table
    wrong = isoglot(*shared, "--target-lang", "de,fr,es")
    assert wrong.returncode == 2 and "en-fr.tsv --source-lang en --target-lang de,fr" in wrong.stderr


def test_prepare_reads_named_columns_flags_and_scripts(isoglot: Isoglot, tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("1\thello there\thallo\t\n2\tgood bye\ttschüss\ttatoeba\n3\tдобрый\tguten Tag\t\n")
    arguments = ["prepare", path, "--source-lang", "en", "--target-lang", "de", "--out", tmp_path / "corpus"]
    for column in ("source=1", "target=2", "flags=3"):
        arguments += ["--column", column]
    arguments += ["--held-out-flag", "tatoeba", "--min-script-share", "0.5", "--script", "en=Latin"]
    result = isoglot(*arguments)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[:8] == ["read", "held_out", "script", "kept", "en-de", "3", "1", "1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--column", "source"], "expected FIELD=COLUMN, for example --column source=0"),
        (["--max-pair-pieces", "0"], "--max-pair-pieces: 0 given; input should be greater"),
        (["--min-pieces", "3"], "min_pieces counts pieces of a tokenizer"),
        (["--format", "tvs"], "did you mean 'tsv'"),
    ],
)
def test_a_mistake_in_an_option_is_one_message(tmp_path: Path, arguments: list[str], message: str) -> None:
    base = ["prepare", str(bitext_file(tmp_path)), "--source-lang", "en", "--target-lang", "de"]
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        runner.invoke(app, [*base, "--out", str(tmp_path / "out"), *arguments], catch_exceptions=False)
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
        (("inspect", tmp_path / "none.yaml"), "no such file"),
        (("prepare", path, "--out", ""), "--out '': an empty value given"),
        (("prepare", path, "--out="), "--out=: an empty value given"),
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
    assert re.search(r"^isoglot: .*: cannot be made, because .*text\.txt is a file", below.stderr)
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


def test_check_prints_the_recipe_with_everything_explicit(tiny_recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = runner.invoke(
        app, ["pretrain", str(tiny_recipe), "--out", str(out), "--check", "--set", "seed=5"]
    )
    assert result.exit_code == 0
    assert "seed: 5" in result.stdout and "count: bernoulli" in result.stdout
    assert not out.exists()


def test_checking_needs_no_folder_and_training_does(isoglot: Isoglot, tiny_recipe: Path) -> None:
    checked = isoglot("pretrain", tiny_recipe, "--check")
    assert checked.returncode == 0 and "pair_template: hf" in checked.stdout
    started = isoglot("pretrain", tiny_recipe)
    assert started.returncode == 2 and "add --out runs/NAME" in started.stderr


def test_paragraphs_of_help_are_not_cut_by_line_ends_of_the_source() -> None:
    shown = runner.invoke(app, ["prepare", "--help"], env={"COLUMNS": "300", "TERMINAL_WIDTH": "300"}).stdout
    plain = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", shown).split())
    assert "is an error that names file and line, and leaves nothing behind." in plain
    assert not re.search(r"is an *\n", shown)


def test_inspect_prints_tables(isoglot: Isoglot, tiny_recipe: Path) -> None:
    result = isoglot("inspect", tiny_recipe, "--count", "1", "--start", "2")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert re.match(
        r"position 2, view pair \(masked_pair\) of stream bitext: \d+ pieces, \d+ to predict", lines[0]
    )
    assert lines[1].split() == ["#", "piece", "input", "predict", "segment", "side"]
    assert "[MASK]" in result.stdout
    assert "bitext: 64 rows of 64" in result.stderr, "notes go to standard error"


def test_pretrain_prints_plain_lines_and_the_checkpoint(
    isoglot: Isoglot, tiny_recipe: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    result = isoglot("pretrain", tiny_recipe, "--out", out)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == str(out / "checkpoint")
    assert re.search(r"step 6/6 loss \d", result.stderr) and "\x1b" not in result.stderr
    assert "masked_lm loss" in result.stderr and "tokens/s" in result.stderr
    quiet = isoglot("pretrain", tiny_recipe, "--out", tmp_path / "quiet", "--quiet")
    assert quiet.returncode == 0 and quiet.stderr == ""
