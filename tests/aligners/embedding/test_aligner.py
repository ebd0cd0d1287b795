"""The embedding aligner against a pair-by-pair version written with loops, and against simalign where installed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.options import METHODS, EmbeddingOptions
from isoglot.core.errors import ConfigurationError, UnknownWordsWarning
from isoglot.testing import FAMILIES, tiny_aligned, tiny_model, tiny_tokenizer


def aligner(model, tokenizer, **options):
    return EmbeddingAligner(model, tokenizer=tokenizer, **{"layer": 2, **options})


@torch.no_grad()
def naive_states(model, tokenizer, words, layer):
    """States and words of the pieces of one sentence, alone and through the whole encoder."""
    pieces, owner = [], []
    for number, word in enumerate(words):
        cut = tokenizer(word, add_special_tokens=False)["input_ids"]
        pieces += cut
        owner += [number] * len(cut)
    ids = torch.tensor([[tokenizer.cls_token_id, *pieces, tokenizer.sep_token_id]])
    hidden = model.base_model(ids, output_hidden_states=True).hidden_states[layer]
    return hidden[0, 1:-1].double().numpy(), owner


def naive_links(model, tokenizer, source, target, method, layer=2):
    x, x_words = naive_states(model, tokenizer, source, layer)
    y, y_words = naive_states(model, tokenizer, target, layer)
    if method == "softmax":
        dot = x @ y.T
        rows = np.exp(dot - dot.max(1, keepdims=True))
        columns = np.exp(dot - dot.max(0, keepdims=True))
        rows, columns = rows / rows.sum(1, keepdims=True), columns / columns.sum(0, keepdims=True)
        chosen = (rows > 0.001) & (columns > 0.001)
    else:
        norm = lambda v: v / np.linalg.norm(v, axis=1, keepdims=True)  # noqa: E731
        similarity = (norm(x) @ norm(y).T + 1) / 2
        forward = np.zeros_like(similarity, bool)
        backward = np.zeros_like(similarity, bool)
        for i in range(len(x)):
            forward[i, similarity[i].argmax()] = True
        for j in range(len(y)):
            backward[similarity[:, j].argmax(), j] = True
        chosen = {"argmax": forward & backward, "forward": forward, "backward": backward}[method]
    return sorted({(x_words[i], y_words[j]) for i, j in zip(*chosen.nonzero(), strict=True)})


@pytest.mark.parametrize("method", ["argmax", "forward", "backward", "softmax"])
def test_batched_links_equal_one_pair_at_a_time(model, tokenizer, pairs, method):
    found = list(aligner(model, tokenizer, method=method, max_tokens=64).align_pairs(pairs, window=7))
    for (source, target), pair in zip(pairs, found, strict=True):
        assert pair.links == naive_links(model, tokenizer, source, target, method)
        assert len(pair.probabilities) == len(pair.links)
        assert all(0 <= p <= 1 for p in pair.probabilities)
        assert 0 <= pair.score <= 1


@pytest.mark.fast_variants(6)
@pytest.mark.parametrize("method", [m for m in METHODS if m != "pointer"])
@pytest.mark.parametrize("level", ["piece", "word"])
def test_windows_batches_and_order_change_nothing(model, tokenizer, pairs, method, level):
    small = aligner(model, tokenizer, method=method, level=level, max_tokens=1)
    large = aligner(model, tokenizer, method=method, level=level)
    one = list(small.align_pairs(pairs, window=1))
    whole = list(large.align_pairs(pairs))
    backwards = list(large.align_pairs(pairs[::-1]))[::-1]
    for a, b, c in zip(one, whole, backwards, strict=True):
        assert a.links == b.links == c.links
        assert a.probabilities == pytest.approx(b.probabilities, abs=1e-4)
        assert a.score == pytest.approx(c.score, abs=1e-4)


@pytest.mark.parametrize("method", ["argmax", "itermax", "softmax", "entmax", "match"])
def test_sides_may_be_exchanged(model, tokenizer, pairs, method):
    own = aligner(model, tokenizer, method=method)
    there = own.align_pairs(pairs)
    back = own.align_pairs([(t, s) for s, t in pairs])
    for a, b in zip(there, back, strict=True):
        assert a.links == sorted((i, j) for j, i in b.links)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("encode", ["separate", "joint"])
def test_every_family_links_words_inside_the_sentences(family, encode, pairs):
    own = EmbeddingAligner(tiny_model(family), tokenizer=tiny_tokenizer(family), layer=2, encode=encode)
    found = list(own.align_pairs(pairs[:6]))
    assert sum(len(f.links) for f in found) > 6
    for (source, target), pair in zip(pairs, found, strict=False):
        assert all(i < len(source) and j < len(target) for i, j in pair.links)


def test_long_sentences_are_windowed_to_the_last_word(tokenizer, model, pairs):
    words = list(itertools.islice(itertools.cycle(w for s, _ in pairs for w in s), 900))
    for encode in ("separate", "joint"):
        found = aligner(model, tokenizer, method="forward", encode=encode).align_words(words, words)
        assert {i for i, _ in found.links} == set(range(900))
    # With windows a word still finds a copy of itself: most links join equal words.
    own = aligner(model, tokenizer, method="argmax", layer=1)
    links = own.align_words(words, words).links
    assert sum(words[i] == words[j] for i, j in links) > 0.9 * len(links)


def test_odd_lines_keep_their_place_and_are_named(model, tokenizer):
    warnings = []
    own = aligner(model, tokenizer, warn=lambda number, message: warnings.append((number, message)))
    odd = [
        ([], ["river"]),
        (["the", "\x00", "river"], ["ta", "potamo"]),
        (["river"], ["potamo"]),
        (["river"], []),
    ]
    with pytest.warns(UnknownWordsWarning, match=r"1 \(symbols 1\); first in pair 2: '\\x00'"):
        found = list(own.align_pairs(odd, window=2))
    assert [bool(f.links) for f in found] == [False, True, True, False]
    assert all(i != 1 for i, _ in found[1].links)
    assert [number for number, _ in warnings] == [1, 4]


@pytest.mark.slow
def test_a_pair_that_is_too_long_is_reported_before_it_is_encoded(model, tokenizer, pairs):
    told = []
    own = EmbeddingAligner(
        model, tokenizer=tokenizer, layer=2, warn=lambda number, message: told.append((number, message))
    )
    long = (["the", "river"] * 100_000, ["ta", "potamo"] * 100_000)
    beside = (["the", "river"] * 5_000, ["ta"])
    found = list(own.align_pairs([pairs[0], long, beside, pairs[1]]))
    assert [bool(links.links) for links in found] == [True, False, True, True]
    assert [number for number, _ in told] == [2]
    assert "too long for one pair" in told[0][1]
    assert found[0].links == own.align_words(*pairs[0]).links


def test_dataset_keeps_columns_rows_and_words(model, tokenizer):
    corpus = tiny_aligned(9).add_column("id", list(range(9)))
    out = aligner(model, tokenizer).align(corpus, batch_size=4)
    assert out["id"] == corpus["id"]
    assert out["source_words"] == corpus["source_words"]
    assert [len(p) for p in out["link_probabilities"]] == [len(links) for links in out["links"]]
    plain = corpus.remove_columns(["source_words", "target_words", "links"])
    again = aligner(model, tokenizer).align(plain)
    assert again["source_words"] == [text.split() for text in plain["source"]]


def test_thresholds_abstain(model, tokenizer, pairs):
    low = list(aligner(model, tokenizer).align_pairs(pairs))
    middle = float(np.median([p for f in low for p in f.probabilities]))
    high = list(aligner(model, tokenizer, min_probability=middle).align_pairs(pairs))
    assert 0 < sum(len(f.links) for f in high) < sum(len(f.links) for f in low)
    assert all(p >= middle for f in high for p in f.probabilities)
    none = list(aligner(model, tokenizer, min_score=1.0).align_pairs(pairs))
    assert not any(f.links for f in none)
    assert [f.score for f in none] == [f.score for f in low]


def test_word_weights_are_those_of_whole_words(model, tokenizer, pairs):
    how = {
        "method": "softmax",
        "threshold": 1e-3,
        "temperature": 0.5,
        "word_weights": True,
        "dtype": "float32",
    }
    of_pieces = 0
    for (source, target), found in zip(
        pairs, aligner(model, tokenizer, **how).align_pairs(pairs), strict=True
    ):
        (x, w), (y, v) = (naive_states(model, tokenizer, words, 2) for words in (source, target))
        weights = np.exp(x @ y.T / 0.5 - (x @ y.T / 0.5).max())
        rows, columns = weights / weights.sum(1, keepdims=True), weights / weights.sum(0, keepdims=True)
        expected = {}
        for i, j in itertools.product(set(w), set(v)):
            cells = [(k, m) for k in range(len(w)) for m in range(len(v)) if (w[k], v[m]) == (i, j)]
            forward = sum(rows[cell] for cell in cells) / w.count(i)
            backward = sum(columns[cell] for cell in cells) / v.count(j)
            if min(forward, backward) > 1e-3:
                expected[i, j] = np.sqrt(forward * backward)
        of_pieces += len(w) > len(set(w))
        assert dict(zip(found.links, found.probabilities, strict=True)) == pytest.approx(expected, rel=1e-3)
    assert of_pieces  # words of several pieces are among them
    vectors = [
        list(aligner(model, tokenizer, level="word", **{**how, "word_weights": w}).align_pairs(pairs))
        for w in (0, 1)
    ]
    assert vectors[0] == vectors[1]  # a mean vector is one piece


@pytest.mark.parametrize("method", ["softmax", "entmax"])
@pytest.mark.parametrize("weights", [False, True])
def test_unlikely_links_stay_beside_kept_ones_only(model, tokenizer, pairs, method, weights):
    how = {
        "method": method,
        "compare": "cosine",
        "temperature": 0.3,
        "word_weights": weights,
        "dtype": "float32",
    }
    how["level"] = "word"  # a piece a word: the links below are the cells of the matrix
    every = list(aligner(model, tokenizer, **how).align_pairs(pairs))
    values = np.concatenate([found.probabilities for found in every])
    least, alone = (float(np.quantile(values, share)) for share in (0.3, 0.8))
    kept = list(aligner(model, tokenizer, **how, min_probability=least, alone=alone).align_pairs(pairs))
    grown = 0
    for all_links, found in zip(every, kept, strict=True):
        weak = {
            pair: p for pair, p in zip(all_links.links, all_links.probabilities, strict=True) if p >= least
        }
        expected = {pair for pair, p in weak.items() if p >= alone}
        grown -= len(expected)
        while beside := {
            (i, j)
            for i, j in weak.keys() - expected
            if any(max(abs(i - k), abs(j - m)) == 1 for k, m in expected)
        }:
            expected |= beside
        grown += len(expected)
        assert found.links == sorted(expected)
        assert found.probabilities == [weak[pair] for pair in found.links]
    assert grown
    assert sum(len(found.links) for found in kept) < (values >= least).sum()


ADJACENT = {
    "method": "softmax", "compare": "cosine", "temperature": 0.3, "word_weights": True, "min_probability": 0.05,
    "dtype": "float32",
}  # fmt: skip


def test_links_beside_others_depend_on_their_pair_alone(model, tokenizer, pairs):
    own = aligner(model, tokenizer, **ADJACENT, adjacent=2.0)
    together = list(own.align_pairs(pairs))
    for number, pair in enumerate(pairs):
        alone = own.align_words(*pair)
        assert alone.links == together[number].links
        assert alone.probabilities == pytest.approx(together[number].probabilities, rel=1e-4)
    assert [f.links for f in own.align_pairs(pairs, window=3)] == [f.links for f in together]
    plain = [f.links for f in aligner(model, tokenizer, **ADJACENT).align_pairs(pairs)]
    assert plain != [f.links for f in together]
    assert all(0 <= p <= 1 for f in together for p in f.probabilities)


def test_links_beside_others_in_long_text(model, tokenizer, pairs):
    """Windows, the path through both texts, and several pairs as one."""
    source, target = ([word for pair in pairs * 2 for word in pair[side]] for side in (0, 1))
    found = aligner(model, tokenizer, **ADJACENT, adjacent=2.0).align_words(source, target)
    assert len(source) > 126
    assert found.links
    assert all(0 < p <= 1 for p in found.probabilities)
    back = aligner(model, tokenizer, **ADJACENT, adjacent=2.0).align_words(target, source)
    assert found.links == sorted((i, j) for j, i in back.links)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda *_: EmbeddingOptions.build(metod="itermax"), "`metod`.*did you mean 'method'"),
        (lambda model, tokenizer: aligner(model, tokenizer, layer=9), "layer: got 9"),
        (lambda model, _: EmbeddingAligner(model), "tokenizer="),
        (lambda *_: EmbeddingAligner("/nowhere/at/all"), "^/nowhere/at/all: "),
    ],
    ids=["option", "layer", "no tokenizer", "no folder"],
)
def test_embedding_aligner_refuses(model, tokenizer, call, named):
    with pytest.raises(ConfigurationError, match=named):
        call(model, tokenizer)


@pytest.mark.parametrize(("method", "letter", "key"), [
    ("argmax", "a", "inter"), ("itermax", "i", "itermax"), ("match", "m", "mwmf"),
    ("forward", "f", "fwd"), ("backward", "r", "rev"),
])  # fmt: skip
@pytest.mark.parametrize("level", ["piece", "word"])
def test_links_are_simaligns(tmp_path, model, tokenizer, pairs, method, letter, key, level):
    simalign = pytest.importorskip("simalign")
    model.base_model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    peer = simalign.SentenceAligner(
        model=str(tmp_path), token_type={"piece": "bpe"}.get(level, level), matching_methods=letter, layer=2
    )
    own = EmbeddingAligner(tmp_path, method=method, layer=2, level=level, dtype="float32")
    for (source, target), found in zip(pairs, own.align_pairs(pairs), strict=True):
        assert found.links == sorted(peer.get_word_aligns(source, target)[key])
