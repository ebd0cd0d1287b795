from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
import torch
from recipe_world import complaints
from transformers.integrations import integration_utils

from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.check_train import ELSEWHERE
from isoglot.pretraining.pretrain import training_arguments


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_settings_that_a_recipe_decides_elsewhere_say_where(tiny_recipe: Path, name: str) -> None:
    assert f"train.{name}: not a setting of a recipe" in complaints(tiny_recipe, f"train.{name}=1")


def test_parameters_can_be_shared_out_among_ranks(tiny_recipe: Path) -> None:
    assert load_recipe(tiny_recipe, ["train.fsdp=true"]).train["fsdp"] is True


@pytest.mark.parametrize("given", ["wandb", "[none, wandb]"])
def test_a_reporter_needs_its_package_before_any_work(
    tiny_recipe: Path, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integration_utils, "is_wandb_available", lambda: False)
    told = complaints(tiny_recipe, f"train.report_to={given}")
    assert (
        "train.report_to: 'wandb' needs wandb, which is not installed; type `pip install 'isoglot[wandb]'`"
        in told
    )
    load_recipe(tiny_recipe, ["train.report_to=none"])


def test_batches_of_a_gpu_are_made_by_other_processes(
    tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    explicit = ["train.dataloader_num_workers=1"]
    for there, how, given in (
        (False, "fork", []),
        (True, "fork", []),
        (True, "fork", explicit),
        (True, "spawn", []),
    ):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        monkeypatch.setattr(multiprocessing, "get_start_method", lambda how=how: how)
        recipe = load_recipe(tiny_recipe, [*given, "train.use_cpu=true"])
        found.append(training_arguments(recipe, tiny_recipe.parent / "run").dataloader_num_workers)
    assert found == [0, 2, 1, 0]
