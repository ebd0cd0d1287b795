"""Which words stand on a map, their vectors, and the projections."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
import torch
from refusals import refused
from tokenizers.pre_tokenizers import ByteLevel

from isoglot.aligners.embedding.piece_states import cut_words
from isoglot.analysis.options import Projection
from isoglot.analysis.vectors import word_vectors
from isoglot.analysis.word_map import (
    contextual_vectors,
    english_stop_words,
    frequent_pairs,
    frequent_words,
    one_piece,
    project,
    static_vectors,
)
from isoglot.core.errors import ConfigurationError
from isoglot.testing import tiny_aligned, tiny_model, tiny_tokenizer

COUNTS = Counter(
    {
        ("the", "der"): 9,
        (".", "."): 8,
        ("house", "Haus"): 5,
        ("The", "Die"): 5,
        ("house", "Hauses"): 4,
        ("1999", "1999"): 4,
        ("tree", "Baum"): 3,
        ("green", "grün"): 3,
        ("of", "Baum"): 2,
    }
)


def test_frequent_pairs_leave_out_stop_words_and_numbers() -> None:
    english = english_stop_words()
    found = frequent_pairs(COUNTS, count=3, stop_words=(english, ()))
    assert found == [("house", "Haus"), ("house", "Hauses"), ("green", "grün")]
    once = frequent_pairs(COUNTS, count=9, stop_words=(english, ()), distinct=True)
    assert once == [("house", "Haus"), ("green", "grün"), ("tree", "Baum")]
    others = {pair: times for pair, times in COUNTS.items() if pair[0] != "house"}
    kept = frequent_pairs(others, stop_words=(english, {"grün"}))
    assert kept == [("tree", "Baum")]
    with refused(ConfigurationError, "0 different word links"):
        frequent_pairs({})


def test_english_stop_words_leave_the_papers_words() -> None:
    shown = {"our", "today", "council", "report", "mr"}  # WEAM, section 4
    assert not shown & english_stop_words()
    assert {"the", "of", "us", "ours"} <= english_stop_words()


def test_frequent_words_as_stop_words() -> None:
    source, target = frequent_words(COUNTS, 2)
    assert source == {"the", "house"}  # 14 and 9; the full stop has no letter
    assert target == {"der", "baum"}  # 9; 5, and so have Haus and Die, later in the alphabet


def test_static_vectors_are_means_of_rows() -> None:
    model, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    names = ["river", "mountain", "ta"]
    table = model.get_input_embeddings().weight
    found = static_vectors(model, tokenizer, names)
    for row, word in enumerate(names):
        ids = tokenizer(word, add_special_tokens=False)["input_ids"]
        torch.testing.assert_close(found[row], torch.stack([table[i] for i in ids]).mean(0))
    single = one_piece([tokenizer, tokenizer], names)
    assert single == {w for w in names if len(tokenizer(w, add_special_tokens=False)["input_ids"]) == 1}
    with refused(ConfigurationError, "'\\u200b'", "stop_words=FILE"):
        static_vectors(model, tokenizer, ["river", "\u200b"])


def test_static_vectors_take_the_pieces_inside_a_sentence() -> None:
    model, tokenizer = tiny_model("roberta"), tiny_tokenizer("roberta")
    tokenizer.backend_tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)  # as RoBERTa's own
    inside, alone = (tokenizer(t, add_special_tokens=False)["input_ids"] for t in ("the river", "the"))
    table = model.get_input_embeddings().weight
    expected = torch.stack([table[k] for k in inside[len(alone) :]]).mean(0)
    torch.testing.assert_close(static_vectors(model, tokenizer, ["river"])[0], expected)
    assert ("river" in one_piece([tokenizer], ["river"])) == (len(inside) - len(alone) == 1)


def test_contextual_vectors_are_means_over_the_first_occurrences(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    corpus = list(tiny_aligned(30))
    words = Counter(
        (row["source_words"][i], row["target_words"][j]) for row in corpus for i, j in row["links"]
    )
    pairs = frequent_pairs(words, count=4)
    monkeypatch.setattr("isoglot.analysis.word_map._OCCURRENCES", 3)
    source, target = contextual_vectors(model, tokenizer, corpus, pairs, layer=2)
    for k, pair in enumerate(pairs):
        found: list[list[torch.Tensor]] = [[], []]
        for row in corpus:
            for i, j in row["links"]:
                if (row["source_words"][i], row["target_words"][j]) == pair:
                    for side, own, at in ((0, row["source_words"], i), (1, row["target_words"], j)):
                        vector, _ = word_vectors(
                            model, tokenizer, cut_words(tokenizer, [own]), [[at]], layers=[2]
                        )
                        found[side].append(vector[2][0])
        assert len(found[0]) >= 3
        for side, vectors in ((0, source), (1, target)):
            expected = torch.stack(found[side][:3]).mean(0)
            torch.testing.assert_close(vectors[k], expected, rtol=1e-4, atol=1e-5)
    with refused(ConfigurationError, "('dog', 'hundo')"):
        contextual_vectors(model, tokenizer, corpus, [*pairs, ("dog", "hundo")], layer=2)
    with refused(ConfigurationError, "('dog', 'hundo')"):
        contextual_vectors(model, tokenizer, corpus, [("dog", "hundo")], layer=2)
    # A linked word that the tokenizer does not know: the message names its pair, not the first one.
    row = {"source_words": ["漢"], "target_words": [pairs[0][1]], "links": [[0, 0]]}
    unknown = ("漢", pairs[0][1])
    with refused(ConfigurationError, str(unknown)):
        contextual_vectors(model, tokenizer, [*corpus, row], [*pairs, unknown], layer=2)


def clusters() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    centres = 20 * torch.randn(4, 10, generator=generator)
    return centres.repeat_interleave(10, 0) + torch.randn(40, 10, generator=generator)


@pytest.mark.parametrize("method", ["tsne", "pca"])
def test_project_is_repeatable_and_keeps_clusters(method: str) -> None:
    points = project(clusters(), Projection(method=method))
    again = project(clusters(), Projection(method=method))
    assert points.shape == (40, 2)
    assert (points == again).all()
    plane = torch.from_numpy(points)
    nearest = torch.cdist(plane, plane).fill_diagonal_(torch.inf).argmin(1)
    assert (nearest // 10 == torch.arange(40) // 10).all()


def test_project_pca_keeps_variance_and_does_not_flip() -> None:
    x = clusters()
    points = torch.from_numpy(project(x, Projection(method="pca")))
    values = torch.linalg.svdvals(x.double() - x.double().mean(0))
    torch.testing.assert_close(points.norm(dim=0), values[:2])
    torch.testing.assert_close(
        torch.from_numpy(project(x + 7, Projection(method="pca"))), points, atol=1e-4, rtol=1e-4
    )


def test_project_refuses_two_points() -> None:
    with refused(ConfigurationError, "3 points", "2", "`count`"):
        project(clusters()[:2], Projection())


def test_project_without_scikit_learn_names_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sklearn.manifold", "sklearn.feature_extraction.text"):
        monkeypatch.setitem(sys.modules, module, None)
    with refused(ConfigurationError, "scikit-learn", 'method="pca"'):
        project(clusters(), Projection())
    with refused(ConfigurationError, "scikit-learn", 'stop_words="frequent:100"'):
        english_stop_words()
    assert project(clusters(), Projection(method="pca")).shape == (40, 2)
