from __future__ import annotations

import pytest

from isoglot.aligners.embedding.choice import (
    keep_choice,
    kept_choice,
    with_kept,
)
from isoglot.aligners.options import aligner_of, scoring_of
from isoglot.testing import tiny_model, tiny_tokenizer

SOFTMAX = {"method": "softmax", "layer": 1, "compare": "cosine", "temperature": 0.1, "min_probability": 0.3}


@pytest.fixture
def encoder(tmp_path):
    folder = tmp_path / "encoder"
    tiny_model("bert").save_pretrained(folder)
    tiny_tokenizer("bert").save_pretrained(folder)
    return folder


def test_what_is_given_goes_before_what_is_kept(encoder):
    keep_choice(encoder, SOFTMAX)
    assert with_kept(encoder, {}) == SOFTMAX
    assert with_kept(encoder, {"temperature": 0.2}) == {**SOFTMAX, "temperature": 0.2}
    assert with_kept(encoder, {"method": "softmax"}) == SOFTMAX
    assert with_kept(encoder, {"method": "argmax"}) == {"method": "argmax", "layer": 1}
    assert with_kept(encoder, {"method": "pointer"}) == {"method": "pointer"}, "it has a layer of its own"
    assert aligner_of(model=str(encoder), layer=0).options.layer == 0
    layers = scoring_of(layers="all", model=str(encoder)).options
    assert (layers.method, layers.layer) == ("softmax", None)


def test_an_encoder_without_the_file_has_the_usual_options(encoder):
    assert kept_choice(encoder) == {}
    assert kept_choice("some/hub-name") == {}
    assert aligner_of(model=str(encoder)).options.method == "itermax"
