"""Truncation, order and languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.templates import pair_template
from isoglot.corpus.pack.packing import language_id
from isoglot.testing import tiny_tokenizer
from isoglot.views.instance import length_limit, packed_instance, target_first, truncated_lengths


@given(first=st.integers(0, 60), second=st.integers(0, 60), budget=st.integers(0, 80))
def test_longest_first(first, second, budget):
    a, b = first, second
    while a + b > budget:  # one piece at a time off the longer side
        if a > b:
            a -= 1
        else:
            b -= 1
    assert truncated_lengths(first, second, budget) == (a, b)


def test_length_limit():
    tokenizer = tiny_tokenizer()
    template = pair_template(tokenizer)
    assert length_limit(tokenizer, None, template) == 512
    assert length_limit(tokenizer, 64, template) == 64
    with pytest.raises(ConfigurationError, match="special tokens alone are 3"):
        length_limit(tokenizer, 3, template)


def test_order_and_coin():
    assert not target_first("source_first", coin=True)
    assert target_first("target_is_query", coin=False)
    assert target_first("shuffle", coin=True) and not target_first("shuffle", coin=False)


def test_language_id_names_the_missing_language():
    assert language_id({"en": 2}, "en") == 2
    with pytest.raises(ConfigurationError, match="add `de: 3`"):
        language_id({"en": 2}, "de")
    with pytest.raises(ConfigurationError, match="needs a 'language' column"):
        language_id({"en": 2}, None)


def test_a_packed_block_without_a_mask_is_all_tokens():
    found = packed_instance(
        {"input_ids": [1, 2, 3], "attention_mask": None}, id_of_language=None, max_length=8
    )
    assert found.attention is not None and found.attention.tolist() == [1, 1, 1]
