"""A tokenizer and an encoder that cost nothing, to make views and objectives with before anything is read."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedModel, PreTrainedTokenizerFast

__all__ = ["stand_in_encoder", "stand_in_tokenizer"]

_FIRST_SPECIAL = 1 << 20
"""Special ids of the stand-in, beyond any vocabulary that ``random_pool`` may name a part of."""


@cache
def stand_in_tokenizer() -> Any:
    """A tokenizer of one word."""
    specials = {t: _FIRST_SPECIAL + i for i, t in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))}
    core = Tokenizer(models.WordLevel({"a": 0, **specials}, unk_token="[UNK]"))  # noqa: S106 - a token of text
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, specials[token]) for token in ("[CLS]", "[SEP]")],
    )
    names = {f"{token[1:-1].lower()}_token": token for token in specials}
    return PreTrainedTokenizerFast(tokenizer_object=core, **names)


def stand_in_encoder(layers: int) -> PreTrainedModel:
    """An encoder of so many tiny layers, and of more word embeddings than any vocabulary needs."""
    config = BertConfig(
        vocab_size=1 << 18,
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
    )
    with torch.random.fork_rng(devices=[]):
        return BertForMaskedLM(config)
