"""YAML that would break a reader: refused with its line, whatever stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_recipes import load

from isoglot.errors import InputError, IsoglotError
from isoglot.recipe.source import read_document


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: x\nmodel: &a [*a]\n", ":2: an alias (*) stands inside what it refers to"),
        ("name: x\nmodel: &a {path: {b: *a}}\n", ":2: an alias (*) stands inside what it refers to"),
        ("name: x\n\nx: " + "[" * 5000 + "]" * 5000 + "\n", ":3: not valid YAML"),
        ("".join(" " * i + f"k{i}:\n" for i in range(3000)), ":50: not valid YAML"),
    ],
    ids=["itself", "deeper", "brackets", "indentation"],
)
def test_what_never_ends_is_refused_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_document(path)
    assert str(caught.value).startswith(f"{path}{told}")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seed: " + "1" * 6000, ":2: seed: '11111111111111111111"),
        ("seed: .inf", ":2: seed: '.inf' given; a finite number is needed"),
        ("train: {learning_rate: -.NAN}", None),
        ("train: {learning_rate: .nan}", ":2: train.learning_rate: '.nan' given; a finite number is needed"),
    ],
)
def test_values_that_nothing_can_use_are_mistakes(tmp_path: Path, text: str, told: str | None) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(f"# a recipe\n{text}\n")
    found = read_document(path).problems
    assert found == [] if told is None else any(str(p).startswith(f"{path}{told}") for p in found)


@given(st.text(st.sampled_from("ab:-[]{}&*!|>'\"#%@` \n\t0.$\\u"), max_size=60))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    path.write_text(text, newline="")
    with pytest.raises(IsoglotError):
        load(path)
