"""Recipes with an adapter: checked on the real architecture, trained, exported as plain weights and by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from recipe_world import smaller
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM

from isoglot.core.errors import ConfigurationError
from isoglot.pretraining.api import pretrain
from isoglot.pretraining.check import load_recipe

LORA = "model.adapter={type: lora, rank: 2, keep: true}"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")  # peft reads it
@pytest.mark.parametrize(
    "name",
    [
        "ppa",
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("align_freeze_front", "tlm", "word_l2", "xlm_align")
        ),
    ],
)
def test_an_adapter_trains_with_every_kind_of_objective(name: str, world: Path, tmp_path: Path) -> None:
    from peft import PeftModel

    changes = [*smaller(name, world), LORA, "train.learning_rate=0.1"]
    changes += ["parts.freeze_layers=6"] if name == "align_freeze_front" else []
    checkpoint = pretrain(load_recipe(name, changes), tmp_path / "run")
    source = world / ("xlmr" if name == "xlm_align" else "mbert")
    before, after = (load_file(folder / "model.safetensors") for folder in (source, checkpoint))
    assert set(before) == set(after), "plain weights, under plain names"
    changed = {n for n in before if not torch.equal(before[n], after[n])}
    assert not any("embeddings" in n or ("LayerNorm" in n and "encoder" in n) for n in changed)
    layers = {int(n.split(".layer.")[1].split(".")[0]) for n in changed if ".layer." in n}
    assert layers == set(range(6 if name == "align_freeze_front" else 0, 12))
    assert not (checkpoint / "adapter_config.json").exists(), "AutoModel would put it on top"
    read = AutoModelForMaskedLM.from_pretrained(checkpoint).eval()
    adapter = PeftModel.from_pretrained(
        AutoModelForMaskedLM.from_pretrained(source), str(tmp_path / "run/adapter")
    )
    ids = torch.tensor([[2, 9, 11, 3]])
    with torch.no_grad():
        states = [model.base_model(ids)[0] for model in (read, adapter.eval().get_base_model())]
    torch.testing.assert_close(*states, atol=1e-4, rtol=1e-4)


def test_an_adapter_is_checked_before_anything_is_read(world: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_recipe("tlm", [*smaller("tlm", world), "model.adapter={modules: [q_proj], rank: 0}"])
    assert "model.adapter.rank: got 0" in str(refused.value)
    with pytest.raises(ConfigurationError, match=r"model\.adapter\.modules: no linear layer is named q_proj"):
        load_recipe("tlm", [*smaller("tlm", world), "model.adapter={modules: [q_proj]}"])
    with pytest.raises(ConfigurationError, match="type: got 'lorra'"):
        load_recipe("tlm", [*smaller("tlm", world), "model.adapter={type: lorra}"])
