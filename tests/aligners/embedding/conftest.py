"""An encoder, its tokenizer and pairs of words, for the aligner of encoders."""

from __future__ import annotations

import pytest

from isoglot.testing import tiny_aligned, tiny_model, tiny_tokenizer


@pytest.fixture(scope="module")
def model():
    return tiny_model("bert").eval()


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_tokenizer("bert")


@pytest.fixture(scope="module")
def pairs():
    corpus = tiny_aligned(24, seed=3)
    return list(zip(corpus["source_words"], corpus["target_words"], strict=True))
