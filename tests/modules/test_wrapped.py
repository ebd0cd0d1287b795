"""Models inside a wrapper of peft: every reader has the states of the model inside, with its adapter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from refusals import refused
from torch import nn
from transformers import AutoModelForMaskedLM

import isoglot as iso
from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import base_of, unwrapped
from isoglot.modules.model_folder import model_folder
from isoglot.objectives import (
    AnchorObjective,
    MaskedLMObjective,
    SentenceContrastObjective,
    WordExchangeObjective,
)
from isoglot.testing import FAMILIES, tiny_bitext, tiny_model, tiny_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated")  # peft reads it
IDS = torch.tensor([[2, 9, 11, 3]])
BATCH = {"pair": {"input_ids": IDS, "labels": torch.tensor([[-100, 5, -100, -100]])}}


def wrapped(family: str = "bert", **options: Any) -> Any:
    """A model in ``peft.get_peft_model`` with an adapter that training has moved."""
    torch.manual_seed(1)
    model = peft.get_peft_model(
        tiny_model(family), peft.LoraConfig(r=2, target_modules="all-linear", **options)
    )
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.3)
    return model.eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_states_are_those_of_the_encoder_with_its_adapter(family: str) -> None:
    model = wrapped(family)
    expected = model.get_base_model().base_model(input_ids=IDS).last_hidden_state
    found = iso.Encodings(model, BATCH).last("pair")
    torch.testing.assert_close(found, expected)
    with torch.no_grad(), model.disable_adapter():
        assert not torch.allclose(iso.Encodings(model, BATCH).last("pair"), expected, atol=1e-3)
    found.sum().backward()
    assert any("lora_B" in name and p.grad is not None for name, p in model.named_parameters())


@pytest.mark.parametrize(
    "make",
    [AnchorObjective, MaskedLMObjective, SentenceContrastObjective, WordExchangeObjective],
)
def test_objectives_take_it(make: Callable[..., Any]) -> None:
    model = wrapped()
    objective = make(model)
    objective.after_step(model)
    copied = [
        m for name in ("initial", "momentum_encoder") if (m := getattr(objective, name, None)) is not None
    ]
    assert all(type(getattr(m, "module", m)) is type(base_of(model)) for m in copied)


def test_the_loss_is_the_models_own() -> None:
    model = wrapped()
    found = iso.AlignmentModel(model, {"mlm": MaskedLMObjective(model)})(BATCH)["loss"]
    torch.testing.assert_close(found, model(**BATCH["pair"]).loss)


def test_vectors_and_links_are_those_of_the_model_inside() -> None:
    model, tokenizer = wrapped(), tiny_tokenizer("bert")
    plain = model.get_base_model()
    one, other = (iso.TextEncoder(m, tokenizer=tokenizer).encode(["the river"]) for m in (model, plain))
    assert one.shape == (1, 32) and (one == other).all()
    links = [iso.align("the river", "ta potamo", model=m, tokenizer=tokenizer) for m in (model, plain)]
    assert links[0] == links[1]


def _through_the_library() -> Any:
    model = tiny_model("bert")
    model.add_adapter(peft.LoraConfig(r=2, target_modules=["query"], init_lora_weights=False))
    return model


@pytest.mark.parametrize(
    "make", [wrapped, lambda: wrapped(modules_to_save=["predictions"]), _through_the_library]
)
def test_a_folder_of_it_holds_the_merged_weights(make: Callable[[], Any]) -> None:
    model = make().eval()
    exact = {name: value.clone() for name, value in model.state_dict().items()}
    with model_folder(model, tiny_tokenizer("bert")) as folder:
        read = AutoModelForMaskedLM.from_pretrained(folder).eval()
        assert not (Path(folder) / "adapter_config.json").exists()
    torch.testing.assert_close(read(IDS).logits, model(IDS).logits, atol=1e-4, rtol=1e-4)
    assert all(torch.equal(value, exact[name]) for name, value in model.state_dict().items())


def test_evaluation_takes_it() -> None:
    rows = iso.evaluate(
        wrapped(),
        "tatoeba",
        languages="en-xx",
        data=tiny_bitext(8),
        layer=2,
        tokenizer=tiny_tokenizer("bert"),
    )
    assert rows[0].examples == 8


def test_prompts_and_other_objects_are_refused() -> None:
    config = peft.PromptTuningConfig(
        task_type="FEATURE_EXTRACTION",
        num_virtual_tokens=2,
        token_dim=32,
        num_layers=2,
        num_attention_heads=2,
    )
    with refused(ConfigurationError, "model: ", "PeftModelForFeatureExtraction", "LoRA"):
        iso.Encodings(peft.get_peft_model(tiny_model("bert"), config), BATCH).last("pair")
    tokenizer = tiny_tokenizer("bert")
    for model in (nn.Linear(2, 2), nn.Sequential(tiny_model("bert"))):
        for read in (
            lambda m: iso.align("a", "b", model=m, tokenizer=tokenizer),
            lambda m: iso.align("a", "b", model=m),
            iso.TextEncoder,
            lambda m: iso.EmbeddingAligner(m, tokenizer=tokenizer),
            lambda m: iso.evaluate(m, "tatoeba", languages="en-xx", data=tiny_bitext(8), tokenizer=tokenizer),
            lambda m: iso.AlignmentModel(m, {}),
        ):
            with pytest.raises(
                ConfigurationError, match=r"expected .* a transformers model, got (Linear|Seq)"
            ):
                read(model)
    plain = tiny_model("bert")
    assert unwrapped(plain) is plain and base_of(plain) is plain.bert
