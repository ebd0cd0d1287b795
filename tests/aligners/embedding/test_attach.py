"""Unlinked words with their neighbour's links, beside a naive version and by symmetry."""

from __future__ import annotations

import random

import pytest
from refusals import refused

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.attach import attach
from isoglot.aligners.embedding.choice import ATTACHED
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.score_layers import best_choice
from isoglot.core.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.testing import tiny_model, tiny_tokenizer

WORDS = ["a", "of", "the", "houses", ",", "«", "größere", "के", "x1"]


def naive(links, target):
    """``target_next`` word by word."""
    found = dict(links)
    for j, word in enumerate(target[:-1]):
        behind = target[j + 1]
        if not any(t == j for _, t in links) and word[0].isalnum() and len(word) < len(behind):
            found.update({(s, j): p for (s, t), p in links.items() if t == j + 1})
    return found


def random_pair(seed):
    pick = random.Random(seed)
    source, target = (pick.choices(WORDS, k=pick.randrange(1, 9)) for _ in range(2))
    cells = [(i, j) for i in range(len(source)) for j in range(len(target))]
    links = sorted(pick.sample(cells, pick.randrange(len(cells) + 1) // 2))
    return source, target, {link: round(pick.random(), 3) for link in links}


@pytest.mark.parametrize("seed", range(60))
def test_all_four_are_one_rule_seen_from_each_end(seed):
    source, target, links = random_pair(seed)
    wanted = naive(links, target)

    def found(links, source, target, how):
        values = [links[link] for link in sorted(links)]
        got = attach(SentencePair(("", ""), (source, target), sorted(links), values, 0.5), how)
        assert got.links == sorted(got.links)
        assert got.score == 0.5
        return dict(zip(got.links, got.probabilities, strict=True))

    assert found(links, source, target, "target_next") == wanted
    turned = found({(j, i): p for (i, j), p in links.items()}, target, source, "source_next")
    assert {(i, j): p for (j, i), p in turned.items()} == wanted
    last = len(target) - 1
    mirrored = found(
        {(i, last - j): p for (i, j), p in links.items()}, source, target[::-1], "target_previous"
    )
    assert {(i, last - j): p for (i, j), p in mirrored.items()} == wanted
    both = found({(last - j, i): p for (i, j), p in links.items()}, target[::-1], source, "source_previous")
    assert {(i, last - j): p for (j, i), p in both.items()} == wanted


def test_attach_gives_links_to_an_unlinked_shorter_word_alone():
    english, spanish = ["teams", "of", "Madrid"], ["los", "equipos", ",", "de", "la", "capital"]
    pair = SentencePair.of(english, spanish, links=[(0, 1), (2, 5)], probabilities=[0.9, 0.8])
    found = attach(pair, "target_next")
    assert found.links == [(0, 0), (0, 1), (2, 4), (2, 5)], "and de, whose neighbour la had no link"
    assert found.probabilities == [0.9, 0.9, 0.8, 0.8]


@pytest.fixture(scope="module")
def aligner():
    return EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), **HOW)


PAIRS = [(["a", "the", "river", "bridges"], [word]) for word in ("potamo", "ponte", "o", "a", "ta", "velha")]
HOW = {"method": "argmax", "layer": 2, "level": "word", "dtype": "float32"}


def test_the_aligner_attaches_what_it_left(aligner):
    options = EmbeddingOptions.build(**HOW, attach="source_next")
    plain = list(aligner.align_pairs(PAIRS))
    attached = list(aligner.with_options(options).align_pairs(PAIRS))
    assert sum(map(len, attached)) > sum(map(len, plain))
    for before, after in zip(plain, attached, strict=True):
        assert after.links == attach(before, "source_next").links
        assert after.score == before.score


def test_an_unknown_neighbour_is_named():
    with refused(ConfigurationError, "`attach`: ", "'target'", "'target_next'"):
        EmbeddingOptions.build(method="argmax", attach="target")


def test_tuning_finds_where_an_annotator_puts_the_words_that_are_left(aligner):
    def tuned(like, **how):
        gold = [SentencePair.of(*pair.words, sure=pair.links) for pair in like.align_pairs(PAIRS)]
        how = {"with_best": ATTACHED, "candidates": [{"method": "argmax"}], **how}
        sets = {"dev": gold}
        return best_choice(aligner.model, sets, tokenizer=aligner.tokenizer, layers=[2], level="word", **how)

    chosen = {"method": "argmax", "level": "word", "layer": 2}
    attaching = aligner.with_options(EmbeddingOptions.build(**HOW, attach="source_next"))
    table = tuned(attaching)
    assert table[0].choice == {**chosen, "attach": "source_next"}
    assert [one.aer == 0.0 for one in table] == [True, False, False, False, False]
    assert [one.choice for one in tuned(attaching, attach="source_next")] == [table[0].choice]
    assert tuned(aligner)[0].choice == chosen, "nothing is attached for nothing"
    assert [one.choice for one in tuned(attaching, with_best=())] == [chosen], (
        "a study's own candidates stay alone"
    )
