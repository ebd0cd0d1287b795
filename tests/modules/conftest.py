"""Tiny encoders of every family, random weights, a few tokens."""

from __future__ import annotations

import pytest
import torch

from isoglot.modules.load import load_masked_lm

SIZES = {"vocab_size": 60, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 24}
FAMILIES = {
    "bert": {},
    "roberta": {},
    "xlm-roberta": {},
    "distilbert": {},
    "deberta-v2": {"position_buckets": 4, "max_relative_positions": 32, "legacy": False},
    "deberta-v2-legacy": {
        "position_buckets": 4,
        "legacy": True,
        "position_biased_input": True,
        "type_vocab_size": 2,
    },
    "modernbert": {"local_attention": 6},
}


def build(family: str, *, layers: int = 4, attention: str = "sdpa", **changes):
    architecture = family.removesuffix("-legacy")
    settings = {
        "architecture": architecture,
        **SIZES,
        "num_hidden_layers": layers,
        **FAMILIES[family],
        **changes,
    }
    if architecture != "deberta-v2":
        settings["attention"] = attention
    model = load_masked_lm(settings, seed=3)
    with torch.no_grad():  # the library starts biases and embeddings at values that would hide mistakes
        for name, parameter in model.named_parameters():
            generator = torch.Generator().manual_seed(len(name))
            scale = 0.5 if "embedding" in name else 0.2
            parameter.add_(torch.randn(parameter.shape, generator=generator) * scale)
    return model


@pytest.fixture(params=list(FAMILIES))
def family(request) -> str:
    return request.param


@pytest.fixture
def build_model():
    return build


@pytest.fixture
def tokens():
    """Ids with suffix padding, as (batch, length)."""

    def make(model, lengths=(9, 12, 5), seed=0):
        generator = torch.Generator().manual_seed(seed)
        pad = model.config.pad_token_id
        ids = torch.full((len(lengths), max(lengths)), pad)
        mask = torch.zeros_like(ids)
        for row, length in enumerate(lengths):
            ids[row, :length] = torch.randint(5, 60, (length,), generator=generator)
            mask[row, :length] = 1
        return {"input_ids": ids, "attention_mask": mask}

    return make
