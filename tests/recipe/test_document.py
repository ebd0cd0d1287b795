"""YAML that would break a reader: refused with its line, whatever stands in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from good_recipe import complaints
from hypothesis import given
from hypothesis import strategies as st
from plain_recipes import load

from isoglot.core.errors import InputError, IsoglotError
from isoglot.recipe.document import dump_yaml, parse_value
from isoglot.recipe.source import read_document


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: x\nmodel: &a [*a]\n", ":2: an alias (*) is inside the value that it refers to"),
        ("name: x\nmodel: &a {path: {b: *a}}\n", ":2: an alias (*) is inside the value that it refers to"),
        ("name: x\n\nx: " + "[" * 5000 + "]" * 5000 + "\n", ":3: not valid YAML"),
        ("".join(" " * i + f"k{i}:\n" for i in range(3000)), ":50: not valid YAML"),
    ],
    ids=["itself", "deeper", "brackets", "indentation"],
)
def test_unfinished_document_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_document(path)
    assert str(caught.value).startswith(f"{path}{told}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seed: " + "1" * 6000, ":2: seed: got '11111111111111111111"),
        ("seed: .inf", ":2: seed: got '.inf'; a finite number is needed"),
        ("train: {learning_rate: -.NAN}", None),
        ("train: {learning_rate: .nan}", ":2: train.learning_rate: got '.nan'; a finite number is needed"),
        ("seed: ${SOME_NUMBER}", ":2: seed: got '.inf'; a finite number is needed"),
        ("seed: '${SOME_NUMBER}'", None),
    ],
)
def test_values_that_nothing_can_use_are_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str | None
) -> None:
    monkeypatch.setenv("SOME_NUMBER", ".inf")
    path = tmp_path / "bad.yaml"
    path.write_text(f"# a recipe\n{text}\n")
    found = read_document(path).problems
    assert found == [] if told is None else any(str(p).startswith(f"{path}{told}") for p in found)


def test_a_mistake_in_a_recipe_in_memory_has_no_line() -> None:
    (problem,) = read_document({"name": "run", "train": {"learning_rate": float("nan")}}).problems
    assert str(problem).startswith("recipe: train.learning_rate: got '.nan'")


@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"#%@` \n\t0.$\\u"), max_size=60))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    path.write_text(text, newline="")
    with pytest.raises(IsoglotError):
        load(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("5e-5", 5e-5),
        ("1E+3", 1000.0),
        ("010", 10),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("'5e-5'", "5e-5"),
        ("2024-01-31", "2024-01-31"),
        ("12:30:00", "12:30:00"),
        ("[1, no, 2.5]", [1, "no", 2.5]),
        ("{a: {b: 1}}", {"a": {"b": 1}}),
    ],
)
def test_values_are_typed_as_yaml_1_2_types_them(text: str, value: object) -> None:
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(
        alphabet=st.characters(
            blacklist_categories=("Cs", "Cc"), blacklist_characters="\u2028\u2029\ufeff\x85$"
        )
    )
)


_TREES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(tree=st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), _TREES, min_size=1, max_size=4))
def test_dumped_yaml_reads_back_equal(tree: dict[str, Any]) -> None:
    assert parse_value(dump_yaml(tree)) == tree


@pytest.mark.parametrize("text", ["-", "---", "..."])
def test_a_variable_of_marks_alone_is_text(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SOME_INPUT", text)
    assert parse_value("${SOME_INPUT}") == text


def test_environment_variables_expand_and_an_unset_one_is_named(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_DATA", "/data dir")
    monkeypatch.setenv("SOME_STEPS", "12")
    monkeypatch.delenv("NOT_SET_ANYWHERE", raising=False)
    overrides = ["streams.bitext.path=${SOME_DATA}/x.tsv", "steps=${SOME_STEPS}"]
    recipe = load(good, overrides)
    assert [source.path for source in recipe.streams["bitext"].inputs] == ["/data dir/x.tsv"]
    assert recipe.steps == 12
    (message,) = complaints(good, "streams.bitext.path=${NOT_SET_ANYWHERE}/x")
    assert "NOT_SET_ANYWHERE is not set" in message and "export NOT_SET_ANYWHERE=" in message
