"""DICT-MLM in its two modes."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for
from isoglot.testing import tiny_lexicon, tiny_tokenizer
from isoglot.views.base import IGNORE_INDEX, View
from isoglot.views.code_switched_text import CodeSwitchedText
from isoglot.views.lexicon import SynonymTable, TokenLexicon
from isoglot.views.masked_text import MaskedText

TOKENIZER = tiny_tokenizer("bert")
V = 200
LANGUAGES = {"en": 2, "xx": 3}
MODES = ("tang2022_input", "chaudhary_label")


def lexicon(pairs):
    return TokenLexicon({None: SynonymTable.from_entries((a, b, -1) for a, b in pairs)})


def view(mode="tang2022_input", **options):
    options = {
        "lexicon": lexicon((i, i + V) for i in range(10, 60)),
        "language_ids": LANGUAGES,
        "max_length": 10**6,
    } | options
    return CodeSwitchedText(TOKENIZER, mode=mode, **options)


def build(a_view, ids, seed=0, language="en"):
    return a_view.build({"input_ids": ids, "language": language}, coin=False, generator=generator_for(seed))


def close(count, total, share):
    return abs(count - total * share) <= 5 * math.sqrt(total * share * (1 - share)) + 1


def test_synonyms_as_input():
    tensors = build(view(probability=0.3), [30] * 20_000)
    chosen = tensors["labels"] != IGNORE_INDEX
    swapped = tensors["input_ids"] == 30 + V
    number = int(chosen.sum())
    assert (tensors["labels"][chosen] == 30).all()
    assert not (swapped & ~chosen).any()
    assert close(int(swapped.sum()), number, 0.5)
    assert close(int((tensors["input_ids"] == TOKENIZER.mask_token_id).sum()), number, 0.4)
    assert torch.equal(tensors["language_ids"] == 3, swapped)


def test_tokens_without_synonym_stay_as_they_are():
    tensors = build(view(probability=0.3), [90] * 20_000)
    chosen = tensors["labels"] != IGNORE_INDEX
    number = int(chosen.sum())
    assert (tensors["labels"][chosen] == 90).all()
    assert (tensors["language_ids"] == 2).all()
    seen = tensors["input_ids"][chosen]
    assert close(int((seen == TOKENIZER.mask_token_id).sum()), number, 0.4)
    assert close(int((seen == 90).sum()), number, 0.5 + 0.5 * (0.1 + 0.1 / 155))


def test_synonyms_as_label():
    tensors = build(view("chaudhary_label", probability=0.3), [30, 90] * 10_000)
    chosen = tensors["labels"] != IGNORE_INDEX
    has = chosen & (tensors["original_ids"] == 30)
    lacks = chosen & (tensors["original_ids"] == 90)
    assert set(tensors["labels"][has].tolist()) == {30, 30 + V}
    assert close(int((tensors["labels"] == 30 + V).sum()), int(has.sum()), 0.5)
    assert (tensors["labels"][lacks] == 90).all()
    assert not (tensors["input_ids"] == 30 + V).any()
    translated = tensors["labels"] == 30 + V
    seen = tensors["input_ids"][translated]
    assert close(int((seen == TOKENIZER.mask_token_id).sum()), int(translated.sum()), 0.8)
    assert (tensors["language_ids"] == 2).all()


@pytest.mark.parametrize("mode", MODES)
@given(ids=st.lists(st.integers(5, 150), max_size=40), seed=st.integers(0, 2**32))
def test_no_synonyms_is_masked_text(mode, ids, seed):
    never = CodeSwitchedText(TOKENIZER, lexicon=lexicon([(30, 31)]), mode=mode, synonym_probability=0.0)
    plain = build(MaskedText(TOKENIZER), ids, seed)
    switched = build(never, ids, seed)
    assert plain.keys() == switched.keys()
    assert all(torch.equal(plain[key], switched[key]) for key in plain)


@pytest.mark.parametrize("mode", MODES)
@given(ids=st.lists(st.integers(5, 150), max_size=40), seed=st.integers(0, 2**32))
def test_code_switched_text_changes_selected_tokens_alone(mode, ids, seed):
    tensors = build(view(mode, probability=0.5), ids, seed)
    chosen = tensors["labels"] != IGNORE_INDEX
    assert not chosen[[0, -1]].any(), "specials"
    assert torch.equal(tensors["input_ids"][~chosen], tensors["original_ids"][~chosen])
    plain = build(MaskedText(TOKENIZER, probability=0.5), ids, seed)
    assert torch.equal(chosen, plain["labels"] != IGNORE_INDEX)


def test_copied_vocabulary_goes_both_ways():
    copied = view(lexicon=None, copied_vocabulary=V, share=1.0, probability=1.0, synonym_probability=1.0)
    forward = build(copied, [30, 31], language="en")
    back = build(copied, [30 + V, 31 + V], language="xx")
    assert forward["input_ids"].tolist()[1:3] == [30 + V, 31 + V]
    assert forward["language_ids"].tolist() == [2, 3, 3, 2]
    assert back["input_ids"].tolist()[1:3] == [30, 31]
    assert back["language_ids"].tolist() == [3, 2, 2, 3]


def test_a_data_set_names_its_languages():
    tokenizer = tiny_tokenizer("bert", vocab_size=600)
    river, potamo = (tokenizer.convert_tokens_to_ids(w) for w in ("river", "potamo"))
    a_view = CodeSwitchedText(
        tokenizer,
        lexicon=tiny_lexicon(),
        share=1.0,
        probability=1.0,
        synonym_probability=1.0,
        language_ids={"en": 0, "fr": 1, "xx": 2},
    )
    tensors = build(a_view, [river, potamo], language="en")
    assert tensors["input_ids"].tolist()[1:3] == [potamo, potamo]
    assert tensors["language_ids"].tolist() == [0, 2, 0, 0]
    assert build(a_view, [river], language="fr")["input_ids"].tolist()[1] == river
    assert a_view.columns == ("input_ids", "language")
    assert a_view.lexicon is None
    with pytest.raises(ConfigurationError, match="needs a 'language' column"):
        a_view.build({"input_ids": [river]}, coin=False, generator=generator_for(0))


def test_packed_blocks():
    block = {
        "input_ids": [TOKENIZER.cls_token_id, 30, TOKENIZER.sep_token_id, TOKENIZER.pad_token_id],
        "document_ids": [1, 1, 1, 0],
        "language_ids": [2, 2, 2, 0],
    }
    tensors = view(probability=1.0, synonym_probability=1.0).build(
        block, coin=False, generator=generator_for(0)
    )
    assert tensors["input_ids"].tolist()[1] == 30 + V
    assert tensors["language_ids"].tolist() == [2, 3, 2, 0]
    assert tensors["document_ids"].tolist() == [1, 1, 1, 0]


def test_clear_errors():
    assert isinstance(view(), View)
    with pytest.raises(ConfigurationError, match="exactly one of"):
        CodeSwitchedText(TOKENIZER)
    with pytest.raises(ConfigurationError, match="exactly one of"):
        CodeSwitchedText(TOKENIZER, lexicon=lexicon([(1, 2)]), copied_vocabulary=10)
    with pytest.raises(ConfigurationError, match="mode: got 'x'"):
        view("x")
    with pytest.raises(ConfigurationError, match="synonym_probability"):
        view(synonym_probability=2)
    three = view(probability=1.0, synonym_probability=1.0, language_ids={"en": 0, "de": 1, "fr": 2})
    with pytest.raises(ConfigurationError, match="exactly two"):
        build(three, [30])


def test_a_side_of_a_pair_equals_its_text_alone():
    pair = {
        "source_ids": list(range(20, 60)),
        "target_ids": list(range(60, 90)),
        "source_language": "en",
        "target_language": "xx",
    }
    for side, coin, expected in (
        ("source", False, "source"),
        ("target", False, "target"),
        ("first", True, "target"),
        ("second", True, "source"),
    ):
        options = {"probability": 0.5}
        got = view(side=side, **options).build(pair, coin=coin, generator=generator_for(3))
        alone = build(view(**options), pair[f"{expected}_ids"], seed=3, language=pair[f"{expected}_language"])
        assert got.keys() == alone.keys()
        assert all(torch.equal(got[k], alone[k]) for k in got), side
    assert set(view(side="first").columns) == {
        "source_ids",
        "target_ids",
        "source_language",
        "target_language",
    }
    with pytest.raises(ConfigurationError, match="side: got 'left'"):
        view(side="left")
