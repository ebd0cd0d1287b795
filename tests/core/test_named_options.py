"""Messages name options as data: Python shows arguments, a command its flags, and every named option exists."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import COMMANDS
from pydantic import BaseModel
from typer.testing import CliRunner

import isoglot as iso
from isoglot.cli.flags import with_flags
from isoglot.cli.spelling import FlagSpelling
from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError, InputError, Problem
from isoglot.core.named_options import spelled, spelled_by
from isoglot.core.options import FileName, Options, OutputFile, option
from isoglot.tasks import TASKS, task_options
from isoglot.testing import tiny_model, tiny_tokenizer

ROOT = Path(iso.__file__).parent


@pytest.mark.parametrize(
    ("command", "message", "argument", "flag"),
    [
        ("pretrain", "add [[resume=True]] to go on", "add resume=True to go on", "add --resume to go on"),
        ("pretrain", "choose another [[out]]", "choose another `out`", "choose another --out"),
        (
            "pretrain",
            "lower it: [[train.learning_rate=5e-6]]",
            'lower it: overrides=["train.learning_rate=5e-06"]',
            "lower it: --set train.learning_rate=5e-06",
        ),
        ("pretrain", "remove [[tokenizer]]", "remove `tokenizer`", "remove `tokenizer`"),
        ("pretrain", "or [[tokenizer=None]]", "or tokenizer=None", "or `tokenizer: null`"),
        ("finetune", "use [[precision='float32']]", 'use precision="float32"', "use --set precision=float32"),
        (
            "finetune",
            "give [[data={'dev': PATH}]]",
            'give data={"dev": PATH}',
            "give --data dev=PATH",
        ),
        (
            "finetune",
            "add [[adapter={'type': 'lora', 'rank': 8}]]",
            'add adapter={"type": "lora", "rank": 8}',
            "add --set 'adapter={type: lora, rank: 8}'",
        ),
        (
            "align",
            "name [[languages=('en', 'de')]]",
            'name languages=("en", "de")',
            "name --source-lang en --target-lang de",
        ),
        ("align", "name [[languages]]", "name `languages`", "name --source-lang and --target-lang"),
        ("derive", "name [[languages='en']]", 'name languages="en"', "name --lang en"),
        (
            "evaluate",
            "give [[languages=('de', 'es')]]",
            'give languages=("de", "es")',
            "give --languages de,es",
        ),
        ("align", "a value of [[x]] and [1, 2] and {resume}", "a value of `x` and [1, 2] and {resume}", None),
        ("analyse layers", "give [[layers=[4, 8]]] or", "give layers=[4, 8] or", "give --layers 4,8 or"),
    ],
)
def test_a_message_has_arguments_in_python_and_flags_in_a_command(
    command: str, message: str, argument: str, flag: str | None
) -> None:
    assert spelled(message) == argument
    if flag is not None:
        assert spelled(message, FlagSpelling(COMMANDS[tuple(command.split())])) == flag
    with spelled_by(lambda name, _: name.upper()):
        assert spelled("add [[resume=True]]") == "add RESUME"


class Cut(Options):
    """How text is cut."""

    by: str = option("words", "Unit.")
    longest: int = option(9, "Longest word.", only_with="by=words|pieces")
    folder: str | None = option(None, "Where.", flags=["--folder", "-f"])
    name: str | None = option(None, "Name in the folder.", only_with="folder")
    limits: dict[str, int] = option({}, "Longest word of each language.", flags=None)
    unit: str | None = option(None, "Unit of the limits.", only_with="limits")
    out: OutputFile | None = option(None, "File to write.")
    key: FileName | None = option(None, "Part of a file's name.")


def test_errors_and_their_problems_are_shown_by_the_front_end_that_they_leave() -> None:
    def verb(fails: str) -> None:
        errors = {
            "file": InputError("add [[by='words']]", path="a.txt", line=3),
            "two": ConfigurationError([Problem("add [[by='words']]", ("cut",)), "choose another [[folder]]"]),
        }
        raise errors[fails]

    @with_flags
    def command(options: Cut, fails: str) -> None:
        verb(fails)

    app = typer.Typer()
    app.command()(command)
    for fails, argument, flag in (
        ("file", 'a.txt:3: add by="words"', "a.txt:3: add --by words"),
        (
            "two",
            '2 mistakes:\n  - cut: add by="words"\n  - choose another `folder`',
            "2 mistakes:\n  - cut: add --by words\n  - choose another --folder",
        ),
    ):
        with pytest.raises((InputError, ConfigurationError)) as caught:
            verb(fails)
        assert str(caught.value) == argument
        assert str(pickle.loads(pickle.dumps(ConfigurationError(str(caught.value))))) == argument
        assert str(CliRunner().invoke(app, [fails]).exception) == flag


def test_brackets_of_a_user_stay_as_they_are() -> None:
    inner = ConfigurationError(f"the word {shortened('[[out]]')} is unknown")
    outer = InputError(f"cannot be read ({inner}); choose another [[out]]", path="wiki.tsv", line=3)
    assert str(inner) == "the word '[[out]]' is unknown"
    assert str(InputError(f"{inner.problems[0]}; see [[out]]")) == "the word '[[out]]' is unknown; see `out`"
    assert str(outer) == "wiki.tsv:3: cannot be read (the word '[[out]]' is unknown); choose another `out`"


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"longest": 4}, ""),
        ({"longest": 4, "by": "pieces"}, ""),
        ({"longest": 4, "by": "letters"}, '`longest`: has an effect only with by="words" or by="pieces"'),
        ({"longest": 9, "by": "letters"}, ""),
        ({"name": "x", "folder": "y"}, ""),
        ({"unit": "x"}, "`unit`: has an effect only with `limits`; add that, or leave it out"),
        ({"unit": "x", "limits": {}}, "`unit`: has an effect only with `limits`; add that, or leave it out"),
        ({"unit": "x", "limits": {"de": 3}}, ""),
        ({"limits": {"longest": "x"}}, "`limits`: got 'x'; it should be a valid integer"),
        ({"out": ""}, "`out`: '' names a folder; name a file to write, for example out.txt"),
        ({"out": "runs/"}, "`out`: runs/ names a folder; name a file to write, for example runs/out.txt"),
        ({"out": "[[a]]/"}, "`out`: [[a]]/ names a folder; name a file to write, for example [[a]]/out.txt"),
        ({"out": f"[[a]]{'x' * 255}"}, "`out`: [[a]]xxx"),
        ({"key": "[[a]]/b"}, "`key`: got '[[a]]/b', which names a file or folder"),
        ({"out": 5}, "`out`: got 5; it should be a path"),
        ({"out": ["a"]}, "`out`: got ['a']; it should be a path"),
        (
            {"longest": -(2**70)},
            "`longest`: the number is less than -9,223,372,036,854,775,807; use a greater one",
        ),
        ({"name": "x"}, "`name`: has an effect only with `folder`; add that, or leave it out"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(given: dict[str, object], refused: str) -> None:
    from isoglot.core.checks import validated

    if not refused:
        assert validated(Cut, given)
        return
    with pytest.raises(ConfigurationError, match=re.escape(refused)):
        validated(Cut, given)


def test_a_command_refuses_idle_options_by_their_flags() -> None:
    @with_flags
    def command(options: Cut) -> None: ...

    app = typer.Typer()
    app.command()(command)
    error = CliRunner().invoke(app, ["--name", "x"]).exception
    assert str(error) == "--name: has an effect only with --folder; add that, or leave it out"


def named_in_source() -> Iterator[tuple[Path, int, str]]:
    """Each option that a message of the package names: file, line and name."""
    for path in sorted(ROOT.rglob("*.py")):
        if path.name in ("named_options.py", "spelling.py"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in documentation
            ):
                for found in re.finditer(r"\[\[([A-Za-z_][\w.]*)", node.value):
                    yield path, node.lineno, found[1]


def known_options() -> set[str]:
    """Names of options and arguments that some verb takes, in Python, as flags or as keys of a recipe."""
    names = {str(parameter.name) for command in COMMANDS.values() for parameter in command.params}
    for public in iso.__all__:
        value = getattr(iso, public)
        if inspect.isfunction(value):
            names |= set(inspect.signature(value).parameters)
    subclasses: list[type[BaseModel]] = [Options, *(task_options(name) for name in TASKS)]
    for model in subclasses:
        names |= set(model.model_fields)
        subclasses += model.__subclasses__()
    return names


def test_every_option_that_a_message_names_exists() -> None:
    known = known_options()
    found = list(named_in_source())
    assert len(found) > 100
    unknown = [f"{path}:{line}: {name}" for path, line, name in found if name.partition(".")[0] not in known]
    assert not unknown


def test_no_message_outside_the_command_line_has_flags() -> None:
    """But for commands in backticks, which are typed as they stand."""
    for path in sorted(ROOT.rglob("*.py")):
        room = path.relative_to(ROOT).parts[0]
        if room in ("cli",):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        raised = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith(("Error", "Problem"))
        ]
        for call in raised:
            typed = re.sub(r"`[^`]*`", "", ast.unparse(call))
            assert not re.search(r"(?<![\w-])--[a-z]", typed), f"{path}:{call.lineno}: {typed}"


def test_an_unfinished_run_says_what_to_pass(tmp_path: Path) -> None:
    data = {"text": ["the old river", "a quiet horse"] * 4, "label": ["water", "animals"] * 4}
    frame = pytest.importorskip("pandas").DataFrame(data)
    encoder: dict[str, Any] = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
    with pytest.raises(ConfigurationError) as caught:
        iso.finetune(task="text_classification", data=frame, out=tmp_path / "run", **encoder)
    assert 'data={"dev": PATH}' in str(caught.value) and 'select="last"' in str(caught.value)
    assert "--" not in str(caught.value)
