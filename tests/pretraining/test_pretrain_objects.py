"""Recipes and streams as Python objects: the run is that of the files."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

import loaded
import pandas as pd
import pytest
import torch
from datasets import Dataset
from refusals import refused
from ruamel.yaml import YAML
from safetensors.torch import load_file
from transformers import TrainerCallback

from isoglot.core.errors import ConfigurationError
from isoglot.pretraining.api import pretrain
from isoglot.pretraining.check import load_recipe
from isoglot.recipe.source import builtin_recipes
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


@pytest.fixture
def values(tiny_recipe: Path) -> dict:
    return YAML(typ="safe").load(tiny_recipe)


def test_a_dictionary_is_the_recipe_of_its_file(tiny_recipe: Path, values: dict) -> None:
    recipe = load_recipe(values)
    assert recipe == load_recipe(tiny_recipe) and recipe.hash == load_recipe(tiny_recipe).hash
    assert load_recipe(values, ["seed=7"]).seed == 7
    values["streams"]["bitext"]["path"] = Path(values["streams"]["bitext"]["path"])
    assert load_recipe({"extends": str(tiny_recipe), "seed": 9}).seed == 9
    assert load_recipe(values).hash == recipe.hash


def test_mistakes_in_a_dictionary_are_named_without_lines(values: dict) -> None:
    values["views"]["pair"]["probabilty"] = 0.5
    said = r"recipe: 1 mistake;(?s:.*)- recipe: views\.pair\.probabilty.*did you mean"
    with pytest.raises(ConfigurationError, match=said):
        load_recipe(values)
    with refused(ConfigurationError, "recipe: ", "a set", "YAML"):
        load_recipe({"streams": {1, 2}})


def test_a_data_set_trains_as_its_file_does(
    tiny_recipe: Path, values: dict, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    draws = torch.get_rng_state()
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):  # a caller's, which change nothing
        expected = pretrain(tiny_recipe, tmp_path / "files")
    assert torch.equal(torch.get_rng_state(), draws)
    corpus = tiny_bitext(64)
    held = Dataset.from_dict({"source": corpus["source"], "target": corpus["target"]})
    values["streams"]["bitext"]["path"] = "not/there.tsv"
    capfd.readouterr()
    checkpoint = pretrain(values, tmp_path / "objects", streams={"bitext": held})
    assert capfd.readouterr() == ("", "")
    one, other = (load_file(folder / "model.safetensors") for folder in (expected, checkpoint))
    assert all(bool((one[name] == other[name]).all()) for name in one) and set(one) == set(other)
    assert pretrain(values, tmp_path / "objects", streams={"bitext": held}) == checkpoint, "nothing to do"
    with refused(ConfigurationError, "/objects: ", "different: streams.bitext.path)"):
        pretrain(values, tmp_path / "objects", streams={"bitext": held.select(range(60))})


def test_streams_that_cannot_be_read_are_refused(values: dict, tiny_recipe: Path, tmp_path: Path) -> None:
    with refused(ConfigurationError, "streams: bitext: got {", "a set", "pyarrow.Table"):
        pretrain(values, tmp_path / "run", streams={"bitext": {("a", "b")}})
    with refused(ConfigurationError, "streams: bitext: ", "'source' has 1, 'target' has 2"):
        pretrain(values, tmp_path / "run", streams={"bitext": {"source": ["a"], "target": ["b", "c"]}})
    with refused(ConfigurationError, "a model ", "checked recipe"):
        pretrain(load_recipe(tiny_recipe), tmp_path / "run", model="encoder")
    with refused(ConfigurationError, "streams ", "checked recipe"):
        pretrain(load_recipe(tiny_recipe), tmp_path / "run", streams={"bitext": tiny_bitext(4)})
    with refused(ConfigurationError, "streams.pairs.kind: ", "streams.pairs: "):
        pretrain(values, tmp_path / "run", streams={"pairs": tiny_bitext(4)})
    assert "tlm" in builtin_recipes() and not (tmp_path / "run").exists()


class Steps(TrainerCallback):
    """Counts what it hears."""

    heard = 0

    def on_step_end(self, *_: Any, **__: Any) -> None:
        type(self).heard += 1


def test_callbacks_hear_of_each_step_and_the_history_is_a_frame(values: dict, tmp_path: Path) -> None:
    values["train"] = {**values["train"], "logging_steps": 1}
    values.pop("epochs", None)
    values["steps"], Steps.heard = 3, 0
    checkpoint = pretrain(values, tmp_path / "run", callbacks=[Steps])
    assert Steps.heard == 3
    history = checkpoint.history
    assert list(history.index) == [1, 2, 3] and history["loss"].notna().all()
    assert {"learning_rate", "epoch"} <= set(history) and any(name.endswith("/loss") for name in history)
    assert pretrain(values, tmp_path / "run").history.equals(history), "a finished run has its history too"
    assert (
        checkpoint == tmp_path / "run" / "checkpoint" and pickle.loads(pickle.dumps(checkpoint)) == checkpoint
    )
    with refused(ConfigurationError, "callbacks: ", "'print'", "transformers.TrainerCallback"):
        pretrain(values, tmp_path / "other", callbacks=["print"])  # type: ignore[list-item]


@pytest.mark.slow
def test_frames_dictionaries_and_pairs_train_as_data_sets_do(values: dict, tmp_path: Path) -> None:
    corpus = tiny_bitext(64)
    table = {side: list(corpus[side]) for side in ("source", "target")}
    pairs = list(zip(table["source"], table["target"], strict=True))
    rows = [{"source": source, "target": target} for source, target in pairs]
    first = pretrain(values, tmp_path / "run", streams={"bitext": Dataset.from_dict(table)})
    for data in (pd.DataFrame(table), table, pairs, rows):
        assert pretrain(values, tmp_path / "run", streams={"bitext": data}) == first, "nothing to do"


def test_a_model_object_begins_a_run_and_stays_as_it_is(values: dict, tmp_path: Path) -> None:
    model, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    values["model"], values["tokenizer"] = {"path": "to be replaced"}, None
    changed = []
    for _ in range(2):
        checkpoint = pretrain(values, tmp_path / "run", model=model, tokenizer=tokenizer)
        changed.append((checkpoint / "model.safetensors").stat().st_mtime_ns)
    assert changed[0] == changed[1], "the same weights are the same run"
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert len(load_file(checkpoint / "model.safetensors")) > 10
    with torch.no_grad():
        model.get_input_embeddings().weight[9] += 1
    with refused(ConfigurationError, "/run: ", "different: model.path)", "overwrite=True"):
        pretrain(values, tmp_path / "run", model=model, tokenizer=tokenizer)
    pretrain(values, tmp_path / "run", model=model, tokenizer=tokenizer, overwrite=True)
    assert (checkpoint / "model.safetensors").stat().st_mtime_ns > changed[0]


def test_a_tokenizer_without_a_model_is_refused(values: dict, tmp_path: Path) -> None:
    for recipe in (values, load_recipe(values)):
        with refused(ConfigurationError, "tokenizer"):
            pretrain(recipe, tmp_path / "run", tokenizer=tiny_tokenizer("bert"))
    assert not (tmp_path / "run").exists()


NOTEBOOK = """
import pickle, sys
import isoglot as iso
from isoglot.objectives import MaskedLMObjective
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer

class Doubled(MaskedLMObjective):
    def forward(self, encodings, batch):
        output = super().forward(encodings, batch)
        return iso.LossOutput(FACTOR * output.total, output.count, output.metrics)

FACTOR = float(sys.argv[1])
recipe = {
    "name": "mine",
    "model": {"path": "-"},
    "streams": {"pairs": {"kind": "bitext", "path": "-", "source_language": "en", "target_language": "xx"}},
    "views": {"pair": {"type": "masked_pair", "stream": "pairs"}},
    "objectives": {"mlm": {"type": "__main__:Doubled", "view": "pair"}},
    "batch": {"examples": 8},
    "steps": 2,
    "train": {"use_cpu": True, "logging_steps": 1},
}
run = {"streams": {"pairs": tiny_bitext(32)}, "model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
checkpoint = iso.pretrain(recipe, "run", **run, overwrite=True, cache="cache")
pickle.loads(pickle.dumps(iso.load_recipe(str(checkpoint.parent / "recipe.yaml"))))
print(checkpoint.history["loss"].iloc[0], (checkpoint / "config.json").stat().st_mtime_ns)
"""


@pytest.mark.slow
def test_an_objective_of_a_notebook_is_part_of_the_run_and_an_edit_runs_again(tmp_path: Path) -> None:
    def cell(factor: float) -> tuple[float, int]:
        command = [loaded.python(), "-c", NOTEBOOK, str(factor)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        loss, when = done.stdout.split()
        return float(loss), int(when)

    first, again, edited = cell(1.0), cell(1.0), cell(2.0)
    assert first == again, "nothing to do"
    assert edited[1] > first[1] and edited[0] == pytest.approx(2 * first[0], rel=1e-3)
