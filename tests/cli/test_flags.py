"""Flags made from option models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from commands import COMMANDS
from commands import run as in_process
from typer.testing import CliRunner

from isoglot.cli.flags import parse_settings, with_flags
from isoglot.cli.help import GroupedCommand
from isoglot.core.checks import validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Label, Options, extra_of, given_fields, option
from isoglot.finetuning.options import FinetuneOptions


class Inner(Options):
    depth: int = option(3, "Depth.", ge=1, group="Inner")


class Part(Options):
    share: float = option(..., "A part.", flags=["--part"])
    start: int = option(0, "Where it starts.")


class Everything(Options):
    """One field of each kind."""

    name: str = option(..., "A name.", flags=["--name", "-n"])
    ratio: float | None = option(None, "A ratio.", flags=["--share"], gt=0, le=1)
    unit: Literal["words", "pieces"] = option("words", "A unit.")
    files: tuple[str, ...] = option((), "Files.", flags=["--file"])
    labels: tuple[Label, ...] = option((), "Labels.", flags=["--label"])
    columns: dict[str, int | str] = option({}, "Columns.", flags=["--column"])
    tags: dict[str, str] = option({}, "Tags.", flags=["--tag"])
    keep: bool = option(True, "Keep.")
    drop: bool = option(False, "Drop.")
    seeds: tuple[int, ...] = option((1,), "Seeds.", flags=["--seed"], commas=True, min_length=1)
    level: Literal["sentence", "paragraph", "chapter", "document"] = option(
        "sentence", "A level.", needs="trees"
    )
    loaded: Any = option(None, "An object, from Python alone.", flags=None)
    inner: Inner = Inner()
    part: Part | None = None


def test_verify_trusts_no_remembered_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("isoglot.runs.fingerprint._SMALL", 0)
    monkeypatch.setattr("isoglot.runs.fingerprint._SETTLED", -1e9)
    (tmp_path / "a.tsv").write_text("one\teins\n")
    asked = (
        "prepare",
        tmp_path / "a.tsv",
        "--source-lang",
        "en",
        "--target-lang",
        "de",
        "-o",
        tmp_path / "out",
    )
    in_process(*asked)
    for entry in (
        tmp_path / "cache" / "hashes"
    ).iterdir():  # as if a change had left no trace in size and times
        entry.write_text(json.dumps(json.loads(entry.read_text()) | {"hash": "of what was there before"}))
    assert "add --overwrite" in in_process(*asked, fails=ConfigurationError)
    in_process(*asked, "--verify")
    in_process(*asked)


def run(*arguments: str, catch: bool = False) -> Any:
    got: list[Any] = []
    app = typer.Typer(rich_markup_mode=None)

    @app.command(cls=GroupedCommand)
    @with_flags
    def command(options: Everything, quiet: bool = typer.Option(False, "--quiet")) -> None:
        got.append((options, quiet))

    result = CliRunner().invoke(app, list(arguments), catch_exceptions=catch, env={"COLUMNS": "80"})
    return got[0] if got else result


def test_defaults_are_the_models() -> None:
    assert run("--name", "x") == (Everything(name="x"), False)


def test_each_kind_of_field_is_read() -> None:
    options, quiet = run(
        *("-n", "x", "--share", "0.5", "--unit", "pieces", "--file", "a", "--file", "b"),
        *("--column", "source=0", "--column", "text=body", "--tag", "year=2020"),
        *("--no-keep", "--drop", "--depth", "7", "--quiet"),
    )
    assert quiet
    assert options == Everything(
        name="x", ratio=0.5, unit="pieces", files=("a", "b"), columns={"source": 0, "text": "body"},
        tags={"year": "2020"}, keep=False, drop=True, inner=Inner(depth=7),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--share", "2"], r"--share: got 2.0; it should be less than or equal to 1"),
        (["--depth", "0"], r"--depth: got 0; it should be greater"),
        (["--column", "source"], r"--column source: expected NAME=VALUE"),
        (["--unit", "word"], r"--unit: got 'word'; did you mean 'words'\?"),
        (["--label", "one", "--label", ""], r"--label: got ''; .*at least 1 character"),
        (["--seed", "1,two"], r"--seed: got 'two'; it should be a valid integer"),
        (["--seed", "two"], r"^--seed: got 'two'"),
        (["--seed", ","], r"--seed: .*at least 1 item"),
        (["--share", "nan"], r"--share: got nan; it should be"),
    ],
)
def test_flag_is_named_by_what_a_model_refuses(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run("--name", "x", *arguments)


def test_a_required_field_is_a_required_flag() -> None:
    result = run(catch=True)
    assert result.exit_code == 2 and "--name" in result.output


def test_help_lists_groups_defaults_and_fits_eighty_columns() -> None:
    shown = run("--help").output
    assert "Inner:" in shown and "--keep / --no-keep" in shown and "[default: words]" in shown
    assert "--drop / " not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "--seed VALUE,..." in shown and "[words|pieces]" in shown and "[default: 1]" in shown
    assert "[sentence, paragraph, chapter, document]" in " ".join(shown.split()), (
        "long choices do not widen the column"
    )
    assert "--loaded" not in shown


def test_several_values_with_commas() -> None:
    assert run("--name", "x", "--seed", "1, 2,3")[0].seeds == (1, 2, 3)


def test_a_model_that_may_be_none_is_made_of_its_flags_or_not_at_all() -> None:
    assert run("--name", "x")[0].part is None
    assert run("--name", "x", "--part", "0.5")[0].part == Part(share=0.5)
    with pytest.raises(ConfigurationError, match="part: missing"):
        run("--name", "x", "--start", "3")


def test_the_model_knows_what_was_given() -> None:
    options, _ = run("--name", "x", "--level", "sentence", "--depth", "4")
    given = {name: extra_of(field).get("needs") for name, field in given_fields(options)}
    assert given == {"name": None, "level": "trees", "depth": None}, "a default that was typed is given too"


class Square(Options):
    kind: Literal["square"] = option("square", flags=None)
    side: float = option(..., "Length of a side.", gt=0)
    colour: str = option("red", "A colour.")


class Circle(Options):
    kind: Literal["circle"] = option("circle", flags=None)
    radius: float = option(1.0, "The radius.")
    colour: str = option("blue", "A colour.")
    inner: Inner = Inner()


def test_a_command_builds_one_of_several_models() -> None:
    got: list[Any] = []
    app = typer.Typer(rich_markup_mode=None)

    @app.command(cls=GroupedCommand)
    @with_flags
    def command(shape: Annotated[dict[str, Any], Square, Circle]) -> None:
        kind = Square if "side" in shape else Circle
        of = "a square" if kind is Square else "a circle"
        got.append(validated(kind, shape, owner=of))

    for arguments in (["--side", "2"], ["--depth", "5", "--colour", "green"]):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert got == [Square(side=2), Circle(colour="green", inner=Inner(depth=5))]
    result = CliRunner().invoke(app, ["--side", "-1", "--radius", "2"])
    assert isinstance(result.exception, ConfigurationError)
    assert "--radius: a square does not have this option; known: " in str(result.exception)
    assert "--side: got -1.0; it should be greater" in str(result.exception)
    assert CliRunner().invoke(app, ["--help"]).output.count("--colour") == 1


def test_values_are_typed_as_in_a_recipe() -> None:
    given = ["a=5e-5", "b=no", "c=null", "d=[1, 2]", "f=true", "g=0:0", "h=x=y"]
    assert parse_settings(given, example="--set a=1") == {
        "a": 5e-5, "b": "no", "c": None, "d": (1, 2), "f": True, "g": "0:0", "h": "x=y"
    }  # fmt: skip
    assert parse_settings(["e=3,4e-1", "d=[1, 2]"], example="--set a=1") == {"e": (3, 0.4), "d": (1, 2)}
    assert parse_settings(["language_ids={en: 2, xx: 3}"], example="") == {"language_ids": {"en": 2, "xx": 3}}
    chosen = FinetuneOptions.build(select="joint", **parse_settings(["select_languages=de"], example=""))
    assert chosen.select_languages == ("de",), "one language is several too"


@pytest.mark.parametrize(
    ("text", "value"),
    [('"a,b"', "a,b"), ("'a,b'", "a,b"), ('"a,b",c', ("a,b", "c")), ('c, "a,b"', ("c", "a,b")), ('"a",b', ("a", "b")),
     ("it's,b", ("it's", "b")), ("a[1],b", ("a[1]", "b")), ('"1",2', ("1", 2))],
)  # fmt: skip
def test_a_comma_in_quotes_is_text(text: str, value: Any) -> None:
    assert parse_settings([f"x={text}"], example="") == {"x": value}


@pytest.mark.parametrize(
    ("given", "message"),
    [(["a"], "for example --set level=word"), (["=1"], "expects KEY=VALUE"), (["a=1", "a=2"], "is repeated"),
     (["a=[1"], "is not YAML")],
)  # fmt: skip
def test_mistakes_in_settings(given: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_settings(given, example="--set level=word")


COMMAND_ONLY = {
    "settings": "each key of --set is an argument of its own in Python",
    "overrides": "Python takes a list of what --set takes",
    "output": "Python returns links, which have a method for each format",
    "form": "how tables are printed; Python has them as frames",
    "as_json": "prints; Python has the numbers",
    "listed": "prints; Python has a list",
}
"""Options whose flag has another name, and why."""


def test_a_flag_has_the_name_of_its_argument() -> None:
    """Users' other spellings stand beside it: ``--source-lang``, ``--column``."""
    renamed = {
        parameter.name
        for command in COMMANDS.values()
        for parameter in command.params
        if parameter.param_type_name == "option"
        and "--" + parameter.name.replace("_", "-") not in parameter.opts
    }
    assert renamed == COMMAND_ONLY.keys()
