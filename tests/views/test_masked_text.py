"""Masked text: sentences, packed blocks, one side of a bitext."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for
from isoglot.testing import FAMILIES, tiny_tokenizer
from isoglot.views.base import IGNORE_INDEX, View
from isoglot.views.masked_text import MaskedText

TOKENIZER = tiny_tokenizer("bert")
CLS, SEP, PAD = TOKENIZER.cls_token_id, TOKENIZER.sep_token_id, TOKENIZER.pad_token_id


FAMILY_TOKENIZERS = {family: tiny_tokenizer(family) for family in FAMILIES}
FAMILY_VIEWS = {
    family: MaskedText(tokenizer, probability=0.5, language_ids={"en": 3})
    for family, tokenizer in FAMILY_TOKENIZERS.items()
}


def build(view, example, seed=0, coin=False):
    return view.build(example, coin=coin, generator=generator_for(seed))


def packed():
    return {
        "input_ids": [CLS, 10, 11, SEP, CLS, 12, 13, 14, SEP, PAD],
        "document_ids": [1, 1, 1, 1, 2, 2, 2, 2, 2, 0],
        "position_ids": [0, 1, 2, 3, 0, 1, 2, 3, 4, 0],
        "word_ids": [-1, 0, 0, -1, -1, 0, 0, 1, -1, -1],
        "language": "de",
    }


@pytest.mark.parametrize("family", FAMILIES)
@given(ids=st.lists(st.integers(5, 150), max_size=60), seed=st.integers(0, 2**32))
def test_sentence(family, ids, seed):
    tokenizer = FAMILY_TOKENIZERS[family]
    tensors = build(FAMILY_VIEWS[family], {"input_ids": ids, "language": "en"}, seed)
    expected = [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]
    assert tensors["original_ids"].tolist() == expected
    selected = tensors["labels"] != IGNORE_INDEX
    assert not selected[[0, -1]].any(), "specials"
    assert (tensors["labels"][selected] == tensors["original_ids"][selected]).all()
    assert (tensors["input_ids"][~selected] == tensors["original_ids"][~selected]).all()
    assert tensors["attention_mask"].tolist() == [1] * len(expected)
    assert tensors["language_ids"].tolist() == [3] * len(expected)
    assert all(t.dtype == torch.int64 for t in tensors.values())


def test_a_view_may_spare_further_tokens():
    class Sparing(MaskedText):
        def may_be_selected(self, ids):
            return super().may_be_selected(ids) & (ids != 11)

    tensors = build(Sparing(TOKENIZER, probability=1.0), {"input_ids": [10, 11, 12]})
    assert tensors["labels"].tolist() == [IGNORE_INDEX, 10, IGNORE_INDEX, 12, IGNORE_INDEX]


def test_masked_text_is_a_view():
    assert isinstance(MaskedText(TOKENIZER), View)
    assert MaskedText(TOKENIZER).columns == ("input_ids",)
    view = MaskedText(TOKENIZER, side="first", whole_word=True, language_ids={"en": 0})
    assert view.columns == (
        "source_ids",
        "source_word_ids",
        "source_language",
        "target_ids",
        "target_word_ids",
        "target_language",
    )


def test_the_generator_decides_alone():
    view, example = MaskedText(TOKENIZER, probability=0.5), {"input_ids": list(range(10, 60))}
    first, again, other = build(view, example, 1), build(view, example, 1), build(view, example, 2)
    assert all(torch.equal(first[k], again[k]) for k in first)
    assert not torch.equal(first["labels"], other["labels"])


def test_the_example_is_not_written_to():
    example = {key: np.array(value) for key, value in packed().items() if key != "language"}
    before = {key: value.copy() for key, value in example.items()}
    tensors = build(MaskedText(TOKENIZER, probability=1.0), example)
    for tensor in tensors.values():
        tensor.add_(1)
    assert all((example[key] == before[key]).all() for key in before)


def test_long_text_is_cut():
    tensors = build(MaskedText(TOKENIZER, max_length=8), {"input_ids": list(range(10, 60))})
    assert tensors["original_ids"].tolist() == [CLS, 10, 11, 12, 13, 14, 15, SEP]


def test_packed_block():
    tensors = build(MaskedText(TOKENIZER, probability=1.0, language_ids={"de": 2}), packed())
    assert tensors["original_ids"].tolist() == packed()["input_ids"]
    assert tensors["attention_mask"].tolist() == [1] * 9 + [0]
    assert tensors["document_ids"].tolist() == packed()["document_ids"]
    assert tensors["position_ids"].tolist() == packed()["position_ids"]
    assert tensors["language_ids"].tolist() == [2] * 10
    selected = (tensors["labels"] != IGNORE_INDEX).tolist()
    assert selected == [False, True, True, False, False, True, True, True, False, False]


def test_words_of_different_documents_stay_apart():
    """Two documents without a separator between them, both with a word 0 at the border."""
    block = {
        "input_ids": [10, 11, 12, 13],
        "document_ids": [1, 1, 2, 2],
        "word_ids": [0, 0, 0, 0],
    }
    view = MaskedText(TOKENIZER, probability=0.5, whole_word=True)
    selections = {tuple((build(view, block, seed)["labels"] != IGNORE_INDEX).tolist()) for seed in range(60)}
    assert selections == {
        (False,) * 4,
        (True,) * 4,
        (True, True, False, False),
        (False, False, True, True),
    }


def test_a_side_of_a_bitext():
    example = {
        "source_ids": [10, 11],
        "target_ids": [20, 21, 22],
        "source_language": "en",
        "target_language": "de",
    }
    languages = {"en": 0, "de": 1}
    seen = {
        side: build(MaskedText(TOKENIZER, side=side, language_ids=languages), example, coin=True)
        for side in ("source", "target", "first", "second")
    }
    assert seen["source"]["original_ids"].tolist() == [CLS, 10, 11, SEP]
    assert seen["target"]["original_ids"].tolist() == [CLS, 20, 21, 22, SEP]
    assert seen["first"]["original_ids"].tolist() == [CLS, 20, 21, 22, SEP]
    assert seen["second"]["original_ids"].tolist() == [CLS, 10, 11, SEP]
    assert seen["first"]["language_ids"].tolist() == [1] * 5


def test_clear_errors():
    with pytest.raises(ConfigurationError, match="side: got 'left'"):
        MaskedText(TOKENIZER, side="left")
    with pytest.raises(ConfigurationError, match="blocks of 10 tokens"):
        build(MaskedText(TOKENIZER, max_length=9), packed())
    with pytest.raises(ConfigurationError, match="position_ids has 3"):
        build(MaskedText(TOKENIZER), packed() | {"position_ids": [0, 1, 2]})
    with pytest.raises(ConfigurationError, match="no id for 'de'"):
        build(MaskedText(TOKENIZER, language_ids={"en": 0}), packed())
