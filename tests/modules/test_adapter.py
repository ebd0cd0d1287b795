"""Adapters: merged weights are the adapted model, only the adapter is trained, peft reads what is written."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import refused
from torch import nn
from transformers import AutoModelForMaskedLM, PreTrainedModel

from isoglot.core import checks
from isoglot.core.errors import ConfigurationError
from isoglot.modules.adapter import (
    add_adapter,
    load_plain_state,
    own_size,
    plain_state,
    write_adapter,
)
from isoglot.modules.adapter_options import AdapterOptions
from isoglot.modules.encoder import encode
from isoglot.testing import FAMILIES, tiny_model

INPUTS = {"input_ids": torch.tensor([[2, 9, 11, 3]]), "attention_mask": torch.ones(1, 4, dtype=torch.long)}
TYPES = ("lora", "rslora", "dora", "loha", "lokr", "ia3")


def adapted(family: str = "bert", **options: Any) -> tuple[PreTrainedModel, PreTrainedModel]:
    """A model as it was, and with an adapter that training has moved."""
    model = tiny_model(family)
    before = deepcopy(model)
    add_adapter(model, AdapterOptions(**options), seed=1)
    with torch.no_grad():
        for parameter in model.base_model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)))
    return before, model


def states(model: PreTrainedModel) -> list[torch.Tensor]:
    with torch.no_grad():
        return list(encode(model.eval(), INPUTS, layers=(1, 2, 3)).values())


@pytest.mark.fast_variants(6)
@pytest.mark.parametrize(
    ("family", "kind"), [*((f, "lora") for f in FAMILIES), *(("bert", kind) for kind in TYPES)]
)
def test_merged_weights_are_the_adapted_model(family: str, kind: str) -> None:
    before, model = adapted(family, type=kind, rank=2)
    exact = {name: value.clone() for name, value in model.state_dict().items()}
    plain = deepcopy(before)
    plain.load_state_dict(plain_state(model))
    for one, other, first in zip(states(plain), states(model), states(before), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)
        assert not torch.allclose(one, first, atol=1e-3), "the adapter does something"
    assert all(torch.equal(value, exact[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_new_adapter_changes_nothing_and_nothing_else_of_the_encoder_is_trained(family: str) -> None:
    before = tiny_model(family)
    model = deepcopy(before)
    add_adapter(model, AdapterOptions(), seed=1)
    for one, other in zip(states(model), states(before), strict=True):
        torch.testing.assert_close(one, other)
    trained = {n for n, p in model.named_parameters() if p.requires_grad}
    base = f"{model.base_model_prefix}."
    assert {n for n in trained if n.startswith(base)} == {
        n for n, _ in model.named_parameters() if ".lora_" in n
    }
    encoder = set(before.base_model.parameters())
    heads = {n for n, p in before.named_parameters() if p not in encoder}
    assert {n for n in trained if not n.startswith(base)} == heads
    assert own_size(model) == sum(p.numel() for p in before.parameters())
    assert {n.split(".lora_")[0].rpartition(".")[2] for n in trained if ".lora_" in n} >= (
        {"query", "key", "value", "dense"} if family == "bert" else set()
    )


def test_embeddings_may_be_trained_and_layers_chosen() -> None:
    model = tiny_model("bert")
    add_adapter(model, AdapterOptions(embeddings=True, modules=("query", "value")))
    assert model.get_input_embeddings().weight.requires_grad
    with_adapter = {n.split(".lora_")[0] for n, _ in model.named_parameters() if ".lora_A" in n}
    assert {n.rpartition(".")[2] for n in with_adapter} == {"query", "value"} and len(with_adapter) == 6
    with refused(ConfigurationError, "modules: ", "q_proj", "bert", "dense, key, query, value"):
        add_adapter(tiny_model("bert"), AdapterOptions(modules=("q_proj",)))


def test_the_random_numbers_of_gpus_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model("bert")
    seeds: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    add_adapter(model, AdapterOptions())
    assert not seeds


def test_weights_depend_on_the_seed_alone() -> None:
    torch.manual_seed(5)
    second, other = tiny_model("bert"), tiny_model("bert")
    add_adapter(second, AdapterOptions(), seed=1)
    add_adapter(other, AdapterOptions(), seed=2)
    name = next(n for n in second.state_dict() if ".lora_A" in n)
    assert not torch.equal(second.state_dict()[name], other.state_dict()[name])
    torch.manual_seed(6)
    third = tiny_model("bert")
    add_adapter(third, AdapterOptions(), seed=1)
    assert torch.equal(second.state_dict()[name], third.state_dict()[name])


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")  # peft reads it
@pytest.mark.parametrize("kind", TYPES)
def test_peft_reads_what_is_written(tmp_path: Path, kind: str) -> None:
    from peft import PeftModel

    before, model = adapted(type=kind, rank=2)
    before.save_pretrained(tmp_path / "base")
    write_adapter(model, tmp_path / "adapter", base=str(tmp_path / "base"))
    read = PeftModel.from_pretrained(
        AutoModelForMaskedLM.from_pretrained(tmp_path / "base"), str(tmp_path / "adapter")
    )
    with torch.no_grad():
        logits = [m.eval()(**INPUTS).logits for m in (model, read)]
    torch.testing.assert_close(*logits)


@pytest.mark.parametrize("kind", TYPES)
def test_saved_adapter_is_read_bit_for_bit(tmp_path: Path, kind: str) -> None:
    _, model = adapted(type=kind, rank=2)
    write_adapter(model, tmp_path)
    other = tiny_model("bert")
    add_adapter(other, AdapterOptions(type=kind, rank=2), seed=9)
    load_plain_state(other, plain_state(model), tmp_path)
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in model.state_dict().items())
    fewer = tiny_model("bert")
    add_adapter(fewer, AdapterOptions(type=kind, rank=2, modules=("query",)))
    with pytest.raises(RuntimeError):
        load_plain_state(fewer, plain_state(model), tmp_path)
    with pytest.raises(FileNotFoundError):
        load_plain_state(other, plain_state(model), tmp_path / "none")


def test_adapter_without_peft_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "peft", None)
    with refused(ConfigurationError, "adapter", "pip install 'isoglot[adapters]'"):
        add_adapter(tiny_model("bert"), AdapterOptions())
    assert checks.EXTRAS["peft"] == "adapters"


def test_a_copy_of_an_adapted_encoder_is_independent() -> None:
    _, model = adapted()
    copied = deepcopy(model.base_model)
    assert isinstance(copied, nn.Module)
    assert not {id(p) for p in copied.parameters()} & {id(p) for p in model.parameters()}
