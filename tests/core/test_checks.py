"""Names that were perhaps meant, names resolved, and a model's errors in words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from isoglot.core.checks import checked, closest, did_you_mean, given_texts, problems_of, resolve, validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options, option


def test_the_closest_name_or_all_of_them() -> None:
    assert closest("mesured", ["measured", "other"]) == "measured"
    assert closest("xyz", ["measured"]) is None
    assert did_you_mean("mesured", ["measured", "other"]) == "did you mean 'measured'?"
    assert did_you_mean("xyz", ["b", "a"]) == "known: a, b"
    assert did_you_mean("xyz", []) == "none is known"


def test_a_name_of_the_registry_or_a_module_s() -> None:
    assert resolve({"path": Path}, "path", kind="thing") is Path
    assert resolve({"path": "pathlib:Path"}, "path", kind="thing") is Path
    assert resolve({}, "pathlib:Path", kind="thing") is Path


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("pth", r"thing 'pth'; did you mean 'path'\?.*package\.module:Name"),
        ("pathlib:Pth", "'pathlib' .*'Pth'"),
        ("sys:path", "'sys:path' .*list"),
        ("nowhere:Name", "No module named 'nowhere'"),
    ],
)
def test_resolve_refuses(name: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        resolve({"path": Path}, name, kind="thing")


def test_a_module_in_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_loss_of_checks.py").write_text("class Mine: pass\n")
    (tmp_path / "my_broken_module.py").write_text("1 / 0\n")
    (tmp_path / "my_old_module.py").write_text("import sys\nsys.float\nclass Mine: pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sys, "path", [entry for entry in sys.path if entry]
    )  # as the installed command has it
    assert resolve({}, "my_loss_of_checks:Mine", kind="objective").__name__ == "Mine"
    with pytest.raises(ConfigurationError, match=r"\(ZeroDivisionError: division by zero\)"):
        resolve({}, "my_broken_module:Mine", kind="objective")
    with pytest.raises(
        ConfigurationError, match=r"\(AttributeError: module 'sys' has no attribute 'float'\)"
    ):
        resolve({}, "my_old_module:Mine", kind="objective")


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    value: int = 1


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    count: Annotated[int, Field(ge=1)] = 1
    kind: Literal["one", "two"] = "one"
    weight: Annotated[float, Field(ge=0)] | Part = 1.0
    path: str | list[str] = ""
    needed: int

    @model_validator(mode="after")
    def whole(self) -> Model:
        if self.count == 7:
            raise ValueError("not 7")
        return self


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"needed": 1, "count": 0}, "count: got 0; it should be greater than or equal to 1"),
        ({"needed": 1, "kind": "tow"}, "kind: got 'tow'; did you mean 'two'?"),
        ({"needed": 1, "cuont": 0}, "cuont: unknown key; did you mean 'count'?"),
        ({"needed": 1, "Count": 0}, "Count: unknown key; did you mean 'count'?"),
        ({}, "needed: missing"),
        ({"needed": 1, "count": 7}, "not 7"),
        ({"needed": 1, "weight": -1.0}, "weight: got -1.0; it should be greater than or equal to 0"),
        ({"needed": 1, "weight": {"value": "x"}}, "weight.value: got 'x'; it should be a valid integer"),
        (
            {"needed": 1, "path": 3},
            "path: got 3; it should be a valid string or it should be a valid list",
        ),
    ],
)
def test_one_mistake_for_each_wrong_value(values: dict[str, object], wanted: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate(values)
    found = problems_of(caught.value, values, Model)
    assert len(found) == 1 and str(found[0]).startswith(wanted)


def test_a_model_that_is_refused_names_every_value_in_the_users_words() -> None:
    class Cut(Options):
        limit: int = option(1, "Rows to keep.", ge=1)

    assert validated(Cut, {"limit": 3}).limit == 3
    with pytest.raises(ConfigurationError) as error:
        validated(Cut, {"limit": 0, "limmit": 3})
    assert "`limit`: got 0; " in str(error.value)
    assert "`limmit`: unknown option; did you mean 'limit'?" in str(error.value)


class Words(Options):
    min_words: int = option(1, "Shortest text.")


class Filtered(Options):
    limit: int = option(1, "Rows to keep.")
    filter: Words = Words()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"min_word": 2}, "`min_word`: unknown option; did you mean 'min_words'?"),
        ({"filtr": {"min_words": 2}}, "`filtr`: unknown option; did you mean 'filter'?"),
        ({"filter": {"min_word": 2}}, "`filter`: unknown key 'min_word'; did you mean 'min_words'?"),
        ({"filter": {"min_words": 2, "zzz": 2}}, "`filter`: unknown key 'zzz'; known: min_words"),
    ],
)
def test_a_model_inside_is_given_by_its_options_or_whole(values: dict[str, object], message: str) -> None:
    assert validated(Filtered, {"min_words": 2}) == validated(Filtered, {"filter": {"min_words": 2}})
    with pytest.raises(ConfigurationError) as error:
        validated(Filtered, values)
    assert str(error.value) == message


class Loss(Options):
    kind: str = "mean"
    weight: float = 1.0


class Losses(Options):
    objectives: dict[str, Loss] | None = option(None, "Losses by name.")
    stages: list[Loss] = option([], "Losses in their order.")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        # The user called a loss `weight`, as one of its options is called.
        (
            {"objectives": {"weight": {"knd": "a"}}},
            "objectives.weight.knd: unknown key; did you mean 'kind'?",
        ),
        ({"objectives": {"first": {"knd": "a"}}}, "objectives.first.knd: unknown key; did you mean 'kind'?"),
        ({"stages": [{}, {"knd": "a"}]}, "stages.1.knd: unknown key; did you mean 'kind'?"),
    ],
)
def test_keys_inside_a_users_own_key_are_suggested(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        checked(Losses, values)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("word", "known", "answer"),
    [
        ("sed", ["seed", "steps"], "did you mean 'seed'?"),
        ("zzz", ["a", "b"], "known: a, b"),
        ("x", [], "none is known"),
    ],
)
def test_did_you_mean(word: str, known: list[str], answer: str) -> None:
    assert did_you_mean(word, known) == answer


@pytest.mark.parametrize("given", ["one text", b"ab", None, 3, Path("texts.txt"), {"a", "b"}, {"a": 1}])
def test_texts_are_listed_in_an_order(given: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^source: .*list of texts"):
        given_texts(given, "source")


@pytest.mark.parametrize("wrong", [None, float("nan"), b"a", ["a"], "\ud800 half a pair"])
def test_texts_of_another_type_are_named_by_their_number(wrong: object) -> None:
    for held in (["a", wrong], ("a", wrong), iter(["a", wrong])):
        with pytest.raises(ConfigurationError, match=r"^text 2: "):
            list(given_texts(held))
    assert list(given_texts(np.array(["a", "ä"]))) == ["a", "ä"]
