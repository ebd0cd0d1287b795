"""What must hold of an embedding aligner whatever the pairs: order, determinism, bounded memory, the peers' links."""

from __future__ import annotations

import importlib.util
import itertools
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sentence_pairs import pairs_of

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.options import METHODS, EmbeddingOptions
from isoglot.testing import tiny_aligned, tiny_model, tiny_tokenizer

WITHOUT_POINTER = [method for method in METHODS if method != "pointer"]


SYMMETRIC = ["argmax", "itermax", "softmax", "entmax"]


ROWS = tiny_aligned(60, seed=9)


WORDS = sorted({w for side in ("source_words", "target_words") for words in ROWS[side] for w in words})


sentences = st.lists(st.sampled_from([*WORDS, "\u200b", "naïveté", "漢字"]), max_size=12)


bitexts = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6)


quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def base():
    aligner = EmbeddingAligner(
        tiny_model("bert").double(), tokenizer=tiny_tokenizer("bert"), layer=2, warn=lambda *_: None
    )
    return lambda **options: aligner.with_options(EmbeddingOptions.build(**{"layer": 2, **options}))


@pytest.mark.fast_variants(2)
@pytest.mark.parametrize("method", SYMMETRIC)
@quick
@given(bitext=bitexts)
def test_exchanged_sides_transpose_the_links(base, method, bitext):
    own = base(method=method)
    back = own.align_pairs([(t, s) for s, t in bitext])
    for there, other in zip(own.align_pairs(bitext), back, strict=True):
        assert there.links == sorted((i, j) for j, i in other.links)


@pytest.mark.parametrize("method", ["forward", "backward"])
@quick
@given(bitext=bitexts)
def test_exchanged_sides_exchange_the_directions(base, method, bitext):
    other = {"forward": "backward", "backward": "forward"}[method]
    back = base(method=other).align_pairs([(t, s) for s, t in bitext])
    for there, turned in zip(base(method=method).align_pairs(bitext), back, strict=True):
        assert there.links == sorted((i, j) for j, i in turned.links)


@pytest.mark.fast_variants(2)
@pytest.mark.parametrize("method", ["itermax", "softmax", "match", "ot"])
@quick
@given(bitext=bitexts, data=st.data())
def test_the_batch_changes_no_pair(base, method, bitext, data):
    own = base(method=method)
    order = data.draw(st.permutations(range(len(bitext))))
    whole = list(own.align_pairs([bitext[k] for k in order]))
    for place, k in enumerate(order):
        alone = own.align_words(*bitext[k])
        assert alone.links == whole[place].links
        assert alone.probabilities == pytest.approx(whole[place].probabilities, abs=1e-5)
        assert alone.score == pytest.approx(whole[place].score, abs=1e-5)


@quick
@given(bitext=bitexts)
def test_links_stay_inside_their_sentences_and_have_probabilities(base, bitext):
    for method in ("itermax", "union"):
        options = {"method": "ot", "links": "union"} if method == "union" else {"method": method}
        for (source, target), found in zip(bitext, base(**options).align_pairs(bitext), strict=True):
            assert found.links == sorted(set(found.links))
            assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in found.links)
            assert len(found.probabilities) == len(found.links)
            assert all(0 <= p <= 1 for p in found.probabilities)
            assert 0 <= found.score <= 1


@pytest.mark.fast_variants(6)
@pytest.mark.parametrize("method", WITHOUT_POINTER)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_two_runs_are_the_same_to_the_last_bit(method, dtype):
    pairs = pairs_of(30)

    def run():
        aligner = EmbeddingAligner(
            tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), layer=2, method=method, dtype=dtype
        )
        return list(aligner.align_pairs(pairs))

    assert run() == run()


def test_aligner_with_other_options_shares_the_encoder_and_leaves_the_first_alone():
    pairs = pairs_of(12)
    first = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), layer=2)
    before = list(first.align_pairs(pairs))
    other = first.with_options(EmbeddingOptions.build(method="softmax", layer=1))
    assert other.model is first.model
    fresh = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), layer=1, method="softmax")
    assert list(other.align_pairs(pairs)) == list(fresh.align_pairs(pairs))
    assert list(first.align_pairs(pairs)) == before


@pytest.mark.slow
def test_a_stream_is_read_as_it_is_needed_in_constant_memory():
    pairs = pairs_of(50)
    drawn = 0

    def stream(count):
        nonlocal drawn
        for pair in itertools.islice(itertools.cycle(pairs), count):
            drawn += 1
            yield pair

    own = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), layer=1, method="argmax")
    next(own.align_pairs(stream(10**9), window=64))
    assert drawn == 64

    def peak(count):
        tracemalloc.start()
        total = sum(len(found.links) for found in own.align_pairs(stream(count), window=64))
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return total, highest

    peak(128)
    few, small = peak(256)
    many, large = peak(1280)
    assert many > 4.5 * few
    assert large < 1.2 * small + 100_000


@pytest.mark.parametrize("family", ["xlm-roberta", "distilbert"])
@pytest.mark.parametrize("level", ["piece", "word"])
def test_links_are_simaligns_for_other_tokenizers(tmp_path, family, level):
    simalign = pytest.importorskip("simalign")
    tiny_model(family).base_model.save_pretrained(tmp_path)
    tiny_tokenizer(family).save_pretrained(tmp_path)
    peer = simalign.SentenceAligner(
        model=str(tmp_path), token_type={"piece": "bpe"}.get(level, level), matching_methods="aif", layer=2
    )
    pairs = pairs_of(40, seed=8)
    for method, key in (("argmax", "inter"), ("itermax", "itermax"), ("forward", "fwd")):
        own = EmbeddingAligner(tmp_path, method=method, layer=2, level=level, dtype="float32")
        for (source, target), found in zip(pairs, own.align_pairs(pairs), strict=True):
            assert found.links == sorted(peer.get_word_aligns(source, target)[key]), (method, source, target)


@pytest.mark.slow
def test_links_are_awesome_aligns(tmp_path):
    pytest.importorskip("awesome_align")
    path = Path(__file__).parents[3] / "benchmarks" / "aligners.py"
    spec = importlib.util.spec_from_file_location("aligners_benchmark", path)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    pairs = pairs_of(60, seed=4)
    benchmark.build_encoder(pairs, tmp_path, "quick")
    expected = benchmark.run_awesome(tmp_path, pairs, 3)()
    own = EmbeddingAligner(tmp_path, method="softmax", layer=3, dtype="float32")
    assert [set(found.links) for found in own.align_pairs(pairs)] == expected
    assert sum(map(len, expected)) > len(pairs)
