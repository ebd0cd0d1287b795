"""Words that the vocabulary does not know have no vector: no link, whatever the method, unit or batch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from unknown_text import ENGLISH, FAMILIES, KNOWN, SCRIPTS

import isoglot as iso
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.options import METHODS
from isoglot.core.errors import UnknownWordsWarning
from isoglot.formats.words import split_words
from isoglot.testing import tiny_model, tiny_tokenizer

MIXED = "ta 집은 potamo 강 vidas un ከተማ jardeno"
UNKNOWN = {1, 3, 6}
"""Numbers of its words that the tiny tokenizers do not know."""
WAYS = [
    *({"method": method} for method in METHODS if method != "pointer"),
    {"method": "softmax", "compare": "cosine", "temperature": 0.05, "word_weights": True, "adjacent": 2.0},
    {"method": "entmax", "compare": "cosine"},
    {"method": "ot", "links": "itermax"},
    {"method": "ot", "links": "printed"},
    {"method": "itermax", "compare": "dot", "distortion": 0.5},
]


def built(family: str, **options: Any) -> EmbeddingAligner:
    tokenizer = tiny_tokenizer(family)
    model = tiny_model(family, tokenizer=tokenizer)
    return EmbeddingAligner(model, tokenizer=tokenizer, **{"layer": 2, **options})


@pytest.mark.parametrize("words", ["unicode", "whitespace"])
@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_sentence_of_an_unknown_script_gets_no_links(family: str, script: str, words: Any) -> None:
    tokenizer = tiny_tokenizer(family)
    model = tiny_model(family, tokenizer=tokenizer)
    message = rf"get no links: \d+ \({script} \d+\); sentences without a known word: 1; first in pair 1"
    with pytest.warns(UnknownWordsWarning, match=message) as caught:
        pair = iso.align(ENGLISH, SCRIPTS[script], model=model, tokenizer=tokenizer, words=words)
    assert (pair.links, pair.score) == ([], 0.0)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.fast_variants(40)
@pytest.mark.parametrize("encode", ["separate", "joint"])
@pytest.mark.parametrize("level", ["piece", "word"])
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_vector_of_an_unknown_piece_takes_no_part(
    family: str, way: dict[str, Any], level: str, encode: str
) -> None:
    """At layer 0 no piece has read another, so that the unknown piece's vector may be any."""
    aligner = built(family, level=level, encode=encode, **{"layer": 0, **way})
    pair = split_words(ENGLISH), split_words(MIXED)
    before = aligner.align_words(*pair)
    with torch.no_grad():
        table = aligner.model.get_input_embeddings().weight
        table[aligner.tokenizer.unk_token_id] = table[aligner.tokenizer("river")["input_ids"][1]] * 3
    after = aligner.align_words(*pair)
    assert before.links and before == after
    assert not UNKNOWN & {target for _, target in before.links}
    best = [
        max(
            (p for link, p in zip(before.links, before.probabilities, strict=True) if link[side] == word),
            default=0,
        )
        for side in (0, 1)
        for word in range(len(pair[side]))
    ]
    assert before.score == pytest.approx(sum(best) / len(best))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_batch_and_window_gives_the_same(family: str) -> None:
    aligner = built(family, method="softmax", compare="cosine", temperature=0.05)
    long = [*split_words(ENGLISH) * 60], [*split_words(MIXED) * 60]
    pairs = [long, *((split_words(ENGLISH), split_words(text)) for text in (MIXED, KNOWN, SCRIPTS["Hangul"]))]
    whole = list(aligner.align_pairs(pairs))
    alone = [aligner.align_words(*pair) for pair in pairs]
    assert [own.links for own in whole] == [own.links for own in alone]
    assert whole[0].links and not any(target % 8 in UNKNOWN for _, target in whole[0].links)
    for one, other in zip(whole, alone, strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)


def test_an_unknown_word_takes_no_link_of_its_neighbour() -> None:
    pair = ["garden"], ["집", "jardeno"]
    assert built("bert", method="argmax").align_words(*pair).links == [(0, 1)]
    assert built("bert", method="argmax", attach="target_next").align_words(*pair).links == [(0, 1)]


def test_a_word_that_is_known_in_part_is_linked_by_its_known_pieces() -> None:
    aligner = built("xlm-roberta", method="argmax")
    with pytest.warns(UnknownWordsWarning, match=r": 1 \(Hangul 1\); first in pair 1: '집.'"):
        found = aligner.align_words(["river"], ["potamo집", "집."])
    assert found.links == [(0, 0)]


@pytest.mark.parametrize("word", ["집집a집", "a집집집", "집e집"])
@pytest.mark.parametrize("method", ["argmax", "softmax"])
def test_one_known_letter_does_not_stand_for_a_word(word: str, method: str) -> None:
    aligner = built("xlm-roberta", method=method)
    with pytest.warns(UnknownWordsWarning, match=rf": 1 \(.* 1\); first in pair 1: '{word}'"):
        links = aligner.align_words(["river", "garden"], ["potamo", word, "jardeno"]).links
    assert links and 1 not in {target for _, target in links}


@pytest.mark.parametrize("family", ["bert", "xlm-roberta", "roberta", "modernbert"])
def test_known_text_is_linked_without_a_warning(family: str) -> None:
    """Bytes know every script."""
    text = SCRIPTS["Hangul"] if family in ("roberta", "modernbert") else KNOWN
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert built(family).align_words(split_words(ENGLISH), split_words(text)).links


def test_a_run_warns_once_whatever_takes_its_results() -> None:
    tokenizer = tiny_tokenizer("bert")
    encoder: dict[str, Any] = {"model": tiny_model("bert"), "tokenizer": tokenizer}
    pairs = [(ENGLISH, KNOWN), *((ENGLISH, text) for text in SCRIPTS.values())] * 60
    with pytest.warns(
        UnknownWordsWarning, match="without a known word: 300; first in pair 2: '작은'"
    ) as caught:
        assert len(iso.align_many(pairs, **encoder)) == len(pairs)
    assert len(caught) == 1
    with pytest.warns(UnknownWordsWarning, match="first in pair 2") as caught:
        stream = iso.align_many(iter(pairs), **encoder)
        next(stream)
        stream.close()
    assert len(caught) == 1
