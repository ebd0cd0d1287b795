from __future__ import annotations

from pathlib import Path

import pytest
from good_recipe import GOOD, complaints, recipe_file
from plain_recipes import load

from isoglot.core.errors import ConfigurationError
from isoglot.recipe.source import read_document


def test_extends_merges_sections_replaces_values_and_deletes_by_null(good: Path, tmp_path: Path) -> None:
    child = recipe_file(
        tmp_path,
        "extends: good.yaml\nname: child\nviews:\n  pair: {probability: 0.3}\nsteps: null\n"
        "epochs: {stream: bitext, count: 1}\n",
        "child.yaml",
    )
    recipe = load(child)
    assert recipe.name == "child"
    assert recipe.views["pair"].model_dump() == {
        "type": "masked_pair",
        "stream": "bitext",
        "probability": 0.3,
    }
    assert recipe.steps is None and recipe.epochs is not None
    broken = recipe_file(
        tmp_path, "extends: good.yaml\nviews:\n  pair: {stream: nowhere}\nbtach: 1\n", "b.yaml"
    )
    found = "\n".join(complaints(broken))
    assert f"{broken}:3: views.pair.stream: no stream is named 'nowhere'" in found
    assert f"{broken}:4: btach: unknown key; did you mean 'batch'?" in found
    wrong_base = recipe_file(
        tmp_path, GOOD.replace("seed", "seed").replace("steps: 100", "steps: many"), "base.yaml"
    )
    over = recipe_file(tmp_path, "extends: base.yaml\nname: c\n", "c.yaml")
    assert f"{wrong_base}:14: steps: got 'many'" in complaints(over)[0]


def test_an_override_fills_a_section_that_is_null() -> None:
    for values in ({"parts": None}, {}):
        document = read_document({"name": "run", **values}, ["parts.head=2", "parts.layers.low=0"])
        assert not document.problems
        assert document.values["parts"] == {"head": 2, "layers": {"low": 0}}
    document = read_document({"parts": {"layers": None}}, ["parts.layers.low=0"])
    assert document.values == {"parts": {"layers": {"low": 0}}}
    document = read_document({"parts": 5}, ["parts.head=2"])
    assert "parts is a int, no section" in document.problems[0].text


def test_extends_in_a_circle_or_nowhere_is_a_mistake(good: Path, tmp_path: Path) -> None:
    recipe_file(tmp_path, "extends: b.yaml\n", "a.yaml")
    assert "extends itself" in complaints(recipe_file(tmp_path, "extends: a.yaml\n", "b.yaml"))[0]
    assert (
        "no recipe file of this name beside this one"
        in complaints(recipe_file(tmp_path, "extends: gone.yaml\n"))[0]
    )


def test_an_unknown_name_lists_the_closest_recipe() -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean 'tlm'\?"):
        load("tlmm")
