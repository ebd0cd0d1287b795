"""Errors name flags in commands and arguments in Python."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import isoglot as iso
from isoglot.cli.flags import with_flags
from isoglot.errors import ConfigurationError, InputError
from isoglot.python_messages import in_python, names_arguments
from isoglot.testing import tiny_model, tiny_tokenizer


@pytest.mark.parametrize(
    ("flags", "arguments"),
    [
        ("add --resume to go on", "add resume=True to go on"),
        ("choose another --out, or add --overwrite", "choose another `out`, or add overwrite=True"),
        ("lower it (--set learning_rate=1e-5) or", "lower it (learning_rate=1e-5) or"),
        ("add --data dev=PATH, hold out", 'add data={"dev": PATH}, hold out'),
        ("name them: --source-lang en --target-lang de", 'name them: languages=("en", "de")'),
        ("add --method hmm (the best)", 'add method="hmm" (the best)'),
        ("leave --words out, or train", "leave `words` out, or train"),
        ("name the ids with --set 'language_ids={...}'", "name the ids with language_ids={...}"),
        ("run `isoglot prepare --out DIR` first", "run `isoglot prepare --out DIR` first"),
        ("raise --count; use --text corpus.tsv", 'raise `count`; use text="corpus.tsv"'),
    ],
)
def test_flags_become_arguments(flags: str, arguments: str) -> None:
    assert in_python(flags) == arguments


def test_functions_name_arguments_and_commands_flags() -> None:
    @names_arguments
    def verb(kind: str) -> None:
        """Fail."""
        raise {"file": InputError("add --resume", path="a.txt", line=3)}.get(kind) or ConfigurationError(
            ["add --resume", "choose another --out"]
        )

    with pytest.raises(ConfigurationError, match=r"add resume=True\n  - choose another `out`") as caught:
        verb("settings")
    assert [problem.text for problem in caught.value.problems] == ["add resume=True", "choose another `out`"]
    with pytest.raises(InputError, match=r"^a\.txt:3: add resume=True$"):
        verb("file")

    @with_flags
    def command() -> None:
        verb("file")

    app = typer.Typer()
    app.command()(command)
    error = CliRunner().invoke(app, []).exception
    assert str(error) == "a.txt:3: add --resume"
    assert list(inspect.signature(verb).parameters) == ["kind"]


def test_an_unfinished_run_says_what_to_pass(tmp_path: Path) -> None:
    data = {"text": ["the old river", "a quiet horse"] * 4, "label": ["water", "animals"] * 4}
    frame = pytest.importorskip("pandas").DataFrame(data)
    encoder = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
    with pytest.raises(ConfigurationError) as caught:
        iso.finetune(task="text_classification", data=frame, out=tmp_path / "run", **encoder)
    assert 'data={"dev": PATH}' in str(caught.value) and 'select="last"' in str(caught.value)
    assert "--" not in str(caught.value)
