"""Query and key."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for
from isoglot.corpus.encode.pieces import piece_key
from isoglot.testing import tiny_tokenizer
from isoglot.views.base import View
from isoglot.views.masked_pair import MaskedPair
from isoglot.views.sentence_pair import SentencePairView

BERT = tiny_tokenizer("bert")
CLS, SEP = BERT.cls_token_id, BERT.sep_token_id
EXAMPLE = {
    "source_ids": [10, 11, 12],
    "target_ids": [20, 21],
    "source_word_ids": [0, 0, 1],
    "target_word_ids": [0, -1],
    "source_language": "en",
    "target_language": "de",
    "links": [[0, 1], [2, 0]],
}


def build(view, example=None, coin=False):
    return view.build(EXAMPLE if example is None else example, coin=coin, generator=generator_for(0))


def test_source_is_query():
    tensors = build(SentencePairView(BERT, language_ids={"en": 0, "de": 1}))
    assert isinstance(SentencePairView(BERT), View)
    assert tensors["query_input_ids"].tolist() == [CLS, 10, 11, 12, SEP]
    assert tensors["key_input_ids"].tolist() == [CLS, 20, 21, SEP]
    assert tensors["query_attention_mask"].tolist() == [1] * 5
    assert tensors["query_side_ids"].tolist() == [0, 1, 1, 1, 0]
    assert tensors["key_side_ids"].tolist() == [0, 2, 2, 0]
    assert tensors["query_word_ids"].tolist() == [0, 1, 1, 2, 0]
    assert tensors["key_word_ids"].tolist() == [0, 1, 0, 0]
    assert tensors["key_language_ids"].tolist() == [1] * 4
    assert tensors["link_ids"].tolist() == [[1, 2], [3, 1]]
    assert tensors["query_is_source_mask"].tolist() == [1]


@given(coin=st.booleans())
def test_query_is_the_first_side_of_the_masked_pair(coin):
    pair = build(MaskedPair(BERT, order="shuffle", probability=0.0), coin=coin)["original_ids"].tolist()
    tensors = build(SentencePairView(BERT), coin=coin)
    query, key = tensors["query_input_ids"].tolist(), tensors["key_input_ids"].tolist()
    assert pair == query + key[1:]


def test_the_coin_swaps_everything_but_the_piece_key():
    plain, swapped = build(SentencePairView(BERT)), build(SentencePairView(BERT), coin=True)
    for name in ("input_ids", "attention_mask", "side_ids", "word_ids"):
        assert torch.equal(plain[f"query_{name}"], swapped[f"key_{name}"])
        assert torch.equal(plain[f"key_{name}"], swapped[f"query_{name}"])
    assert torch.equal(plain["link_ids"].flip(1), swapped["link_ids"])
    assert torch.equal(plain["source_key_ids"], swapped["source_key_ids"])
    assert swapped["query_is_source_mask"].tolist() == [0]


@pytest.mark.parametrize("coin", [False, True])
def test_fixed_orders_ignore_the_coin(coin):
    for order, expected in (("source_is_query", 1), ("target_is_query", 0)):
        tensors = build(SentencePairView(BERT, order=order), coin=coin)
        assert tensors["query_is_source_mask"].item() == expected


def test_pivot_side():
    tensors = build(SentencePairView(BERT, pivot="target"))
    assert tensors["source_key_ids"].item() == piece_key([20, 21])
    assert tensors["query_is_pivot_mask"].tolist() == [0]
    assert build(SentencePairView(BERT))["query_is_pivot_mask"].tolist() == [1]


def test_key_of_a_source_sentence_is_one_and_cut_text_does_not_collide():
    view = SentencePairView(BERT, max_length=4)
    other_target = build(view, EXAMPLE | {"target_ids": [33], "links": []})
    longer = build(view, EXAMPLE | {"source_ids": [10, 11, 12, 13], "links": []})
    assert torch.equal(build(view)["query_input_ids"], longer["query_input_ids"])
    assert build(view)["source_key_ids"] == other_target["source_key_ids"]
    assert build(view)["source_key_ids"] != longer["source_key_ids"]


@given(st.lists(st.lists(st.integers(0, 300_000), max_size=8), min_size=2, max_size=2, unique_by=tuple))
def test_piece_keys_tell_sentences_apart(sentences):
    a, b = (piece_key(s) for s in sentences)
    assert a != b
    assert 0 <= a < 2**63


def test_known_key_does_not_depend_on_the_platform():
    assert piece_key([10, 11, 12]) == piece_key(torch.tensor([10, 11, 12], dtype=torch.int32))


def test_links_beyond_the_limit_are_dropped():
    tensors = build(SentencePairView(BERT, max_length=4))
    assert tensors["query_input_ids"].tolist() == [CLS, 10, 11, SEP]
    assert tensors["link_ids"].tolist() == [[1, 2]]


def test_clear_errors():
    with pytest.raises(ConfigurationError) as caught:
        SentencePairView(BERT, order="source_first", pivot="en")
    assert len(caught.value.problems) == 2
