"""Encoders of sentences made from options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from isoglot.core.errors import ConfigurationError
from isoglot.mining.options import VectorOptions
from isoglot.mining.vectors import raw_vectors, sentence_encoder, unit_vectors
from isoglot.tasks.text_vectors import TextEncoder
from isoglot.testing import tiny_model, tiny_tokenizer


def test_an_encoder_has_the_options_that_are_given(tmp_path: Path) -> None:
    tiny_model("bert").save_pretrained(tmp_path)
    tiny_tokenizer("bert").save_pretrained(tmp_path)
    options = VectorOptions(layer=1, pooling="cls", max_length=5, dtype="bfloat16")
    encoder = sentence_encoder(tmp_path, options)
    assert isinstance(encoder, TextEncoder) and encoder.model.dtype == torch.bfloat16
    assert (encoder.layer, encoder.pooling, encoder.longest) == (1, "cls", 5)
    own, prefixed = (
        unit_vectors(sentence_encoder(tmp_path, VectorOptions(dtype="float32", prefix=prefix)), ["ta river"])
        for prefix in ("", "the ")
    )
    assert own.dtype == torch.float32 and not torch.allclose(own, prefixed, atol=1e-3)


@pytest.mark.parametrize("rows", [1, 3])
def test_each_text_has_one_vector(rows: int) -> None:
    with pytest.raises(
        ConfigurationError, match=rf"one vector per text, got shape \({rows}, 4\) for 2 texts"
    ):
        raw_vectors(lambda _: torch.ones(rows, 4), ["a", "b"])
    assert not raw_vectors(lambda _: torch.ones(2, 4, requires_grad=True), ["a", "b"]).requires_grad


@pytest.mark.parametrize("model", [tiny_model("bert"), 3, None])
def test_a_model_object_is_no_function_of_texts(model: Any) -> None:
    with pytest.raises(ConfigurationError, match="expected a folder, a hub name or a function of texts"):
        sentence_encoder(model)
