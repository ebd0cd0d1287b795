from __future__ import annotations

import pytest

from isoglot.aligners.embedding.choice import (
    keep_choice,
    kept_choice,
    with_kept,
)
from isoglot.aligners.embedding.options import METHODS, EmbeddingOptions, values_of
from isoglot.aligners.load_aligner import aligner_request
from isoglot.aligners.options import scoring_of
from isoglot.core.errors import ConfigurationError
from isoglot.testing import tiny_model, tiny_tokenizer

SOFTMAX = {"method": "softmax", "layer": 1, "compare": "cosine", "temperature": 0.1, "min_probability": 0.3}


@pytest.fixture
def encoder(tmp_path):
    folder = tmp_path / "encoder"
    tiny_model("bert").save_pretrained(folder)
    tiny_tokenizer("bert").save_pretrained(folder)
    return folder


def test_given_options_go_before_saved_ones(encoder):
    keep_choice(encoder, SOFTMAX)
    assert with_kept(encoder, {}) == SOFTMAX
    assert with_kept(encoder, {"temperature": 0.2}) == {**SOFTMAX, "temperature": 0.2}
    assert with_kept(encoder, {"method": "softmax"}) == SOFTMAX
    assert with_kept(encoder, {"method": "argmax"}) == {"method": "argmax", "layer": 1}
    assert with_kept(encoder, {"method": "pointer"}) == {"method": "pointer"}, "it has a layer of its own"
    assert aligner_request(model=str(encoder), layer=0).options.layer == 0
    layers = scoring_of(layers="all", model=str(encoder)).options
    assert (layers.method, layers.layer) == ("softmax", None)


def test_an_encoder_without_the_file_has_the_usual_options(encoder):
    assert kept_choice(encoder) == {}
    assert kept_choice("some/hub-name") == {}
    assert aligner_request(model=str(encoder)).options.method == "itermax"


def test_an_untuned_softmax_has_options_that_suit_any_length_of_states(encoder):
    usual = {"compare": "cosine", "temperature": 0.05, "word_weights": True, "adjacent": 2.0,
             "min_probability": 0.35}  # fmt: skip
    assert with_kept(encoder, {"method": "softmax", "layer": 2}) == {"method": "softmax", "layer": 2, **usual}
    assert with_kept(encoder, {"method": "softmax", "min_probability": 0.1})["min_probability"] == 0.1
    source = {"method": "softmax", "compare": "dot"}
    assert with_kept(encoder, source) == source, "awesome-align's"
    assert with_kept(encoder, {"method": "itermax"}) == {"method": "itermax"}
    keep_choice(encoder, {"method": "argmax", "layer": 1})
    assert with_kept(encoder, {"method": "softmax"}) == {"method": "softmax", "layer": 1, **usual}
    keep_choice(encoder, SOFTMAX)
    assert with_kept(encoder, {"method": "softmax"}) == SOFTMAX
    assert aligner_request(method="softmax", model="some/hub-name").options.temperature == 0.05


@pytest.mark.parametrize("method", METHODS)
def test_values_that_are_no_probabilities_are_called_so(method):
    by_cosine = {"argmax", "itermax", "match", "forward", "backward"}
    wanted = "similarities" if method in by_cosine else "probabilities"
    assert values_of(EmbeddingOptions.build(method=method)) == wanted
    if method != "pointer":
        assert values_of(EmbeddingOptions.build(method=method, compare="dot")) == "probabilities"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "argmx"}, "`method`: got 'argmx'; did you mean 'argmax'?"),
        ({"method": "hmm"}, "`method`: got 'hmm'; known: argmax, backward, "),
        ({"links": "a.txt", "layers": "4"}, "`layers`: scores an encoder, and `links` is a file; leave one "),
        ({"layers": "4", "layer": 3}, "`layer`: `layers` says which layers are scored; leave it out"),
        ({"layers": "4", "base": 1}, "`base`: method softmax does not have this option; "),
    ],
)
def test_a_way_of_scoring_that_is_not_one_is_named_by_its_option(given, message):
    with pytest.raises(ConfigurationError) as caught:
        scoring_of(**given)
    assert str(caught.value).startswith(message)
