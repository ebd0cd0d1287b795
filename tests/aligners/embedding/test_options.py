from __future__ import annotations

import pytest
from refusals import refused

from isoglot.aligners.embedding.choice import UNTUNED, keep_choice
from isoglot.aligners.embedding.options import METHODS, EmbeddingOptions
from isoglot.aligners.load_aligner import aligner_request
from isoglot.core.errors import ConfigurationError
from isoglot.testing import tiny_model


def test_adjacent_needs_words():
    with refused(ConfigurationError, "softmax: adjacent ", "word_weights=true"):
        EmbeddingOptions.build(method="softmax", adjacent=2.0)
    assert EmbeddingOptions.build(method="entmax", adjacent=2.0, word_weights=True).adjacent == 2.0


@pytest.mark.parametrize("method", METHODS)
def test_a_method_has_no_options_of_others(method):
    changed = {
        "compare": "dot", "distortion": 0.7, "threshold": 0.4, "iterations": 5, "mu": 0.3, "order": "paper",
        "links": "union", "alpha": 0.3, "passes": 1, "word_weights": True, "alone": 0.6,
    }  # fmt: skip
    refused = []
    for name, value in changed.items():
        try:
            options = EmbeddingOptions.build(method=method, **{name: value})
        except ConfigurationError as error:
            refused.append(name)
            told = (
                "only links=itermax" if method in ("ot", "pointer") and name in ("alpha", "passes") else name
            )
            assert told in str(error)
        else:
            assert getattr(options, name) == value
    known = {"argmax": 2, "match": 2, "forward": 2, "backward": 2, "itermax": 4, "softmax": 5, "entmax": 5}
    assert len(changed) - len(refused) == {**known, "ot": 6, "pointer": 1}[method]
    if method in ("ot", "pointer"):
        assert EmbeddingOptions.build(method=method, links="itermax", alpha=0.3, passes=3).passes == 3
        assert EmbeddingOptions.build(method=method).encode == "joint"


def test_compare_other_than_cosine_takes_nothing_that_was_chosen_for_cosines(tmp_path):
    """Dot products were divided by the temperature of cosines."""
    tiny_model("bert").save_pretrained(tmp_path)
    kept_softmax = {"method": "softmax", "layer": 1, "compare": "cosine", "temperature": 0.1}
    for kept, given, expected in (
        (kept_softmax, {"compare": "dot"}, {"compare": "dot"}),
        (kept_softmax, {"compare": "dot", "temperature": 2.0}, {"compare": "dot", "temperature": 2.0}),
        (kept_softmax, {"compare": "cosine"}, kept_softmax),
        (
            {"method": "softmax", "layer": 1, "threshold": 0.1},
            {"compare": "cosine"},
            UNTUNED["softmax"],
        ),
    ):
        keep_choice(tmp_path, kept)
        for more in ({}, {"method": "softmax"}):
            found = aligner_request(model=str(tmp_path), **given, **more).options
            assert found == EmbeddingOptions.build(**{"method": "softmax", "layer": 1, **expected})
