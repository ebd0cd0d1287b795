"""Rows for people."""

from __future__ import annotations

import inspect

import pytest
import torch

from isoglot.seeding import generator_for
from isoglot.testing import tiny_tokenizer
from isoglot.views import VIEWS, MaskedPair, MaskedText, SentencePair, describe
from isoglot.views.base import View

TOKENIZER = tiny_tokenizer("bert")
EXAMPLE = {
    "source_ids": [10, 11],
    "target_ids": [20],
    "source_language": "en",
    "target_language": "de",
    "links": [[0, 0], [1, 0]],
    "coin": False,
}


def test_masked_pair():
    view = MaskedPair(
        TOKENIZER,
        probability=1.0,
        mask_share=1.0,
        random_share=0.0,
        reset_positions=True,
        segment_ids="pair",
        language_ids={"en": 4, "de": 5},
    )
    rows = describe(view.build(EXAMPLE, generator=generator_for(0)), TOKENIZER)
    names = TOKENIZER.convert_ids_to_tokens([TOKENIZER.cls_token_id, 10, 11, TOKENIZER.sep_token_id, 20])
    assert [r.piece for r in rows] == [*names, TOKENIZER.sep_token]
    assert [r.masked for r in rows] == [False, True, True, False, True, False]
    assert [r.input_piece for r in rows if r.masked] == [TOKENIZER.mask_token] * 3
    assert [r.label for r in rows if r.masked] == [names[1], names[2], names[4]]
    assert [r.position_id for r in rows] == [0, 1, 2, 3, 0, 1]
    assert [r.segment_id for r in rows] == [0, 0, 0, 0, 1, 1]
    assert [r.language_id for r in rows] == [4, 4, 4, 4, 5, 5]
    assert [r.side for r in rows] == [0, 1, 1, 0, 2, 0]
    assert [r.links for r in rows] == [(), (4,), (4,), (), (1, 2), ()]
    assert {r.input for r in rows} == {""}


def test_sentence_pair():
    rows = describe(SentencePair(TOKENIZER).build(EXAMPLE, generator=generator_for(0)), TOKENIZER)
    assert [(r.input, r.position, r.side) for r in rows] == [
        ("query", 0, 0),
        ("query", 1, 1),
        ("query", 2, 1),
        ("query", 3, 0),
        ("key", 0, 0),
        ("key", 1, 2),
        ("key", 2, 0),
    ]
    assert [r.links for r in rows] == [(), (1,), (1,), (), (), (1, 2), ()]
    assert all(r.label is None and r.position_id is None for r in rows)


def test_padding_and_ids_beyond_the_tokenizer():
    block = {"input_ids": [10, 5000, TOKENIZER.pad_token_id], "document_ids": [1, 2, 0]}
    rows = describe(MaskedText(TOKENIZER).build(block, generator=generator_for(0)), TOKENIZER)
    assert rows[1].piece == "<5000>"
    assert [r.attended for r in rows] == [True, True, False]
    assert [r.document for r in rows] == [1, 2, 0]


def test_padded_links_are_no_links():
    tensors = MaskedPair(TOKENIZER).build(EXAMPLE, generator=generator_for(0))
    tensors["link_ids"] = torch.cat([tensors["link_ids"], torch.full((2, 2), -1)])
    assert [r.links for r in describe(tensors, TOKENIZER)] == [(), (4,), (4,), (), (1, 2), ()]


def test_clear_errors():
    with pytest.raises(ValueError, match="a batch given"):
        describe({"input_ids": torch.zeros(2, 3)}, TOKENIZER)
    with pytest.raises(ValueError, match="no input_ids"):
        describe({}, TOKENIZER)


@pytest.mark.parametrize("view", VIEWS.values())
def test_options_can_be_read_off_the_signature(view):
    parameters = inspect.signature(view, eval_str=True).parameters
    assert all(not isinstance(p.annotation, str) for p in parameters.values())
    assert all(p.kind is p.KEYWORD_ONLY for name, p in parameters.items() if name != "tokenizer")


def test_the_names_of_recipes():
    assert set(VIEWS) == {"masked_text", "masked_pair", "sentence_pair", "code_switched_text"}
    options = {"code_switched_text": {"copied_vocabulary": 100}}
    assert all(isinstance(v(TOKENIZER, **options.get(n, {})), View) for n, v in VIEWS.items())
