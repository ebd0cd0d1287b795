"""Vectors of texts: how entries are cut, what is left out, and what is said of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from refusals import refused
from tokenizers.pre_tokenizers import ByteLevel

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import encode_to_layer, input_embeddings
from isoglot.tasks.text_vectors import TextEncoder
from isoglot.testing import tiny_model, tiny_tokenizer


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    tiny_model("roberta").save_pretrained(tmp_path / "encoder")
    tokenizer = tiny_tokenizer("roberta")
    tokenizer.backend_tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)  # as RoBERTa's own
    tokenizer.save_pretrained(tmp_path / "encoder")
    return tmp_path / "encoder"


def test_entries_are_cut_as_words_inside_a_sentence(encoder: Path) -> None:
    texts, entries = (TextEncoder(encoder, layer="static", entries=own) for own in (False, True))
    table = input_embeddings(entries.model).weight
    inside = entries.tokenizer("the river", add_special_tokens=False)["input_ids"]
    alone = entries.tokenizer("the", add_special_tokens=False)["input_ids"]
    river = torch.stack([table[k] for k in inside[len(alone) :]]).mean(0)
    torch.testing.assert_close(entries(["river"])[0], river)
    assert not torch.allclose(texts(["river"])[0], river)


def test_texts_that_are_cut_short_are_counted(encoder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for length in (0, 2, -3):
        with refused(ConfigurationError, "max_length ", "3 tokens", f"got {length}"):
            TextEncoder(encoder, max_length=length)
    short = TextEncoder(encoder, max_length=8)
    short(["the river"])
    assert not caplog.messages
    short(["the river", "the river is deep " * 9])
    assert caplog.messages == ["1 of 2 texts are longer than 8 tokens; only their beginnings count"]


def test_word_embeddings_have_no_first_position(encoder: Path) -> None:
    with refused(ConfigurationError, "pooling 'cls'"):
        TextEncoder(encoder, layer="static", pooling="cls")


def test_threads_share_one_and_a_model_brings_its_tokenizer(encoder: Path) -> None:
    texts = [[f"the river sees {'ta ' * n}", "vidas"] for n in range(12)]
    shared = TextEncoder(encoder, layer=1)
    expected = [TextEncoder(shared.model, tokenizer=shared.tokenizer, layer=1)(some) for some in texts]
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(shared, texts))
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    with refused(ConfigurationError, "tokenizer=..."):
        TextEncoder(shared.model)


def test_vectors_as_an_array_from_any_list_of_texts(encoder: Path) -> None:
    texts = ["the river", "ta potamo sees", "vidas"]
    own = TextEncoder(encoder, layer=1)
    found = own.encode(texts)
    assert found.dtype == np.float32 and np.array_equal(found, own(texts).cpu().numpy())
    unit = own.encode(iter(texts), normalise=True)
    np.testing.assert_allclose(unit, found / np.linalg.norm(found, axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(own.encode(texts, max_tokens=8), found, atol=1e-5)
    assert np.array_equal(own.encode(Dataset.from_dict({"text": texts})["text"]), found)
    assert own.encode([]).shape == (0, 32)
    for wrong, message in (
        ("the river", r"\['the river'\]"),
        (["the", None], "text 2: expected a text, got None"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            own.encode(wrong)


def test_a_loaded_encoder_computes_in_another_dtype(encoder: Path) -> None:
    texts = ["the river", "ta potamo sees", "vidas"]
    whole, half = (TextEncoder(encoder, dtype=dtype)(texts) for dtype in ("float32", "bfloat16"))
    assert half.dtype == torch.float32 and not torch.equal(whole, half)
    torch.testing.assert_close(half, whole, atol=0.05, rtol=0.05)
    with refused(ConfigurationError, "dtype: ", "'float8'", "'float32'"):
        TextEncoder(encoder, dtype="float8")


def test_batches_on_a_cpu_hold_1024_tokens(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(model: Any, inputs: dict[str, torch.Tensor], *args: Any, **options: Any) -> torch.Tensor:
        seen.append(inputs["input_ids"].numel())
        return encode_to_layer(model, inputs, *args, **options)

    monkeypatch.setattr("isoglot.tasks.text_vectors.encode_to_layer", watched)
    TextEncoder(encoder, layer=1)(["the river sees the old garden"] * 300)
    assert len(seen) > 1 and 900 < max(seen) <= 1024
