"""AER by layer against one aligner a layer."""

from __future__ import annotations

import pytest
from refusals import refused

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.score_layers import layer_error, layer_errors, wanted_layers
from isoglot.aligners.scoring import score
from isoglot.core.errors import ConfigurationError
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair
from isoglot.testing import tiny_aligned, tiny_model, tiny_tokenizer


def gold_pairs(size: int = 12) -> list[SentencePair]:
    corpus = tiny_aligned(size)
    rows = zip(corpus["source_words"], corpus["target_words"], corpus["links"], strict=True)
    return [SentencePair.of(s, t, sure=links[1:], possible=links) for s, t, links in rows]


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("bert", {"method": "itermax"}),
        ("xlm-roberta", {"method": "ot"}),
        ("modernbert", {"method": "argmax", "level": "word"}),
        ("deberta-v2", {"method": "argmax", "min_score": 0.5}),
    ],
)
def test_one_run_of_the_encoder_scores_as_an_aligner_a_layer(family: str, options: dict[str, object]) -> None:
    model, tokenizer = tiny_model(family), tiny_tokenizer(family)
    aligner = EmbeddingAligner(model, tokenizer=tokenizer, layer=1, **options)
    pairs = gold_pairs()
    found = layer_error(aligner, pairs, window=5)
    assert list(found) == [0, 1, 2, 3]
    for layer, total in found.items():
        own = EmbeddingAligner(model, tokenizer=tokenizer, layer=layer, **options)
        links = [Alignment(frozenset(own.align_words(s, t).links)) for s, t in (pair.words for pair in pairs)]
        assert total == score(links, pairs)
    assert sum(total.links for total in found.values()) > 0


def test_layers_come_in_the_order_asked_for_and_progress_is_told() -> None:
    aligner = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"))
    steps: list[tuple[int, int]] = []
    found = layer_error(
        aligner, gold_pairs(), layers=[3, 1, 3], window=8, progress=lambda *step: steps.append(step)
    )
    assert list(found) == [3, 1]
    assert steps == [(8, 12), (12, 12)]


@pytest.mark.parametrize(("layers", "tried"), [([3, -1, 1], [3, 1]), ([-1, 3], [-1])])
def test_two_numbers_of_one_layer_are_one_layer(layers: list[int], tried: list[int]) -> None:
    assert wanted_layers(tiny_model("bert"), layers) == tried


def test_mistakes_are_told() -> None:
    aligner = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"))
    pairs = gold_pairs(3)
    with refused(ConfigurationError, "layers: got 4, ", "0 (embeddings) to 3"):
        layer_error(aligner, pairs, layers=[4])


def test_long_sentences_are_read_by_each_method_in_its_own_windows() -> None:
    pairs = gold_pairs()
    words = [[word for pair in pairs for word in pair.words[side]] * 3 for side in (0, 1)]
    long = [*pairs, SentencePair.of(*words, sure=pairs[0].sure, possible=pairs[0].possible)]
    encoder = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"))
    ways = ({"method": "argmax"}, {"method": "softmax", "compare": "cosine", "temperature": 0.1})
    aligners = [encoder.with_options(EmbeddingOptions.build(**way)) for way in ways]
    together = layer_errors(aligners, long, layers=[2])
    assert together == [layer_errors([own], long, layers=[2])[0] for own in aligners]
    assert max(map(len, aligners[0].encode([pair.words for pair in long], (2,))[1])) > 126
