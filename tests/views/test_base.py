"""What all views have in common."""

from __future__ import annotations

import inspect

import pytest

from isoglot.testing import tiny_tokenizer
from isoglot.views import VIEWS
from isoglot.views.base import View

TOKENIZER = tiny_tokenizer("bert")


@pytest.mark.parametrize("view", VIEWS.values())
def test_options_can_be_read_off_the_signature(view):
    parameters = inspect.signature(view, eval_str=True).parameters
    assert all(not isinstance(p.annotation, str) for p in parameters.values())
    assert all(p.kind is p.KEYWORD_ONLY for name, p in parameters.items() if name != "tokenizer")


def test_the_names_of_recipes():
    assert set(VIEWS) == {"masked_text", "masked_pair", "sentence_pair", "code_switched_text"}
    options = {"code_switched_text": {"copied_vocabulary": 100}}
    assert all(isinstance(v(TOKENIZER, **options.get(n, {})), View) for n, v in VIEWS.items())
