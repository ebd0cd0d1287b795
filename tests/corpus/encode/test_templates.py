"""Templates read off the tokenizer."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refused
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.templates import pair_template, single_template
from isoglot.testing import FAMILIES, tiny_tokenizer


@pytest.mark.parametrize("family", FAMILIES)
def test_templates_are_the_tokenizers_own(family):
    tokenizer = tiny_tokenizer(family)
    first, second = "the old river sees", "every quiet garden again."
    plain = [np.array(tokenizer(t, add_special_tokens=False)["input_ids"]) for t in (first, second)]
    assert single_template(tokenizer).sequence(plain[0]).tolist() == tokenizer(first)["input_ids"]
    assert pair_template(tokenizer).sequence(*plain).tolist() == tokenizer(first, second)["input_ids"]


@pytest.mark.parametrize("family", FAMILIES)
def test_single_separator(family):
    tokenizer = tiny_tokenizer(family)
    placed = pair_template(tokenizer, "single").sequence(np.array([9]), np.array([10, 11]))
    cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
    assert placed.tolist() == [cls, 9, sep, 10, 11, sep]


def test_border_gives_each_sentence_its_closing_separator():
    assert pair_template(tiny_tokenizer("bert")).border(3) == 5
    assert pair_template(tiny_tokenizer("roberta")).border(3) == 5
    assert pair_template(tiny_tokenizer("roberta"), "single").border(3) == 5


def bare_tokenizer(**names):
    vocabulary = {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "[MASK]": 3, "word": 4}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="[UNK]", mask_token="[MASK]", **names)


def test_a_tokenizer_without_template_gets_cls_and_sep():
    tokenizer = bare_tokenizer(cls_token="[CLS]", sep_token="[SEP]")
    assert single_template(tokenizer).sequence(np.array([4])).tolist() == [0, 4, 1]
    assert pair_template(tokenizer).sequence(np.array([4]), np.array([4])).tolist() == [0, 4, 1, 4, 1]


def test_a_tokenizer_without_separator_has_no_pairs():
    tokenizer = bare_tokenizer()
    assert single_template(tokenizer).size == 0
    with refused(ConfigurationError, "pair_template: ", "sep_token"):
        pair_template(tokenizer)


def test_earlier_truncation_does_not_matter():
    tokenizer, words = tiny_tokenizer("bert"), np.array([4])
    expected = pair_template(tokenizer).sequence(words, words).tolist()
    tokenizer("the river", truncation=True, max_length=3, padding="max_length")
    assert pair_template(tokenizer).sequence(words, words).tolist() == expected
