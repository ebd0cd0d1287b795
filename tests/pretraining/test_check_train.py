from __future__ import annotations

from pathlib import Path

import pytest
from recipe_world import complaints
from transformers.integrations import integration_utils

from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.check_train import ELSEWHERE


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
