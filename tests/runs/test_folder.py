"""What a run's folder says of itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isoglot.errors import ConfigurationError
from isoglot.recipe.load import load
from isoglot.runs import folder as run_folder


def test_a_folder_is_new_then_unfinished_then_finished(tiny_recipe: Path, tmp_path: Path) -> None:
    recipe, out = load(tiny_recipe), tmp_path / "deep" / "run"
    assert run_folder.state_of(out, recipe, resume=False) == "new"
    out.mkdir(parents=True)
    assert run_folder.state_of(out, recipe, resume=False) == "new", "an empty folder is as good as none"
    run_folder.claim(out, recipe, resolved=recipe.resolved(), inputs={"bitext": "abc"})
    assert load(out / run_folder.RECIPE) == recipe
    with pytest.raises(ConfigurationError, match="add --resume"):
        run_folder.state_of(out, recipe, resume=False)
    assert run_folder.state_of(out, recipe, resume=True) == "unfinished"
    run_folder.finish(out, recipe, {"steps": 3})
    assert run_folder.state_of(out, recipe, resume=False) == "finished"
    manifest = json.loads((out / run_folder.MANIFEST).read_text())
    assert manifest["inputs"] == {"bitext": "abc"} and manifest["steps"] == 3


def test_another_recipe_is_told_by_its_values(tiny_recipe: Path, tmp_path: Path) -> None:
    run_folder.claim(tmp_path / "run", load(tiny_recipe), resolved="", inputs={})
    changed = load(tiny_recipe, ["views.pair.probability=0.2", "train.weight_decay=0.1"])
    with pytest.raises(ConfigurationError, match=r"train\.weight_decay, views\.pair\.probability"):
        run_folder.state_of(tmp_path / "run", changed, resume=True)
    renamed = load(tiny_recipe, ["name=other"])
    assert run_folder.state_of(tmp_path / "run", renamed, resume=True) == "unfinished"


def test_a_cut_off_manifest_is_no_manifest(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    assert run_folder.read_json(path) is None
    path.write_text('{"name": "x')
    assert run_folder.read_json(path) is None
    path.write_text("[1]")
    assert run_folder.read_json(path) is None


def test_clearing_keeps_a_folder_that_was_there(tmp_path: Path) -> None:
    for existed in (False, True):
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / "x").touch()
        run_folder.clear(tmp_path / "run", existed=existed)
        assert (tmp_path / "run").exists() is existed


def test_a_checkpoints_hash_is_that_of_its_weights(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    first = run_folder.hash_checkpoint(tmp_path)
    (tmp_path / "README.md").write_text("a card")
    assert run_folder.hash_checkpoint(tmp_path) == first
    (tmp_path / "model.safetensors").write_bytes(b"Weights")
    assert run_folder.hash_checkpoint(tmp_path) != first


def test_versions_name_what_results_depend_on() -> None:
    assert {"python", "torch", "transformers", "isoglot"} <= set(run_folder.versions())
