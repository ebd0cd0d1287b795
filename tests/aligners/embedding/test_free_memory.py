"""What keeps the memory of long runs flat."""

from __future__ import annotations

import os
from itertools import islice

from isoglot.aligners.embedding import aligner as aligner_module
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.modules.allocator import keep_few_primitives, return_free_memory
from isoglot.testing import tiny_model, tiny_tokenizer


def test_free_memory_is_returned_after_each_window(monkeypatch):
    calls = []
    monkeypatch.setattr(aligner_module, "return_free_memory", lambda: calls.append(return_free_memory()))
    own = EmbeddingAligner(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), layer=1)
    pairs = [(["the"], ["ta"])] * 10
    found = own.align_pairs(pairs, window=4)
    assert len(list(islice(found, 5))) == 5
    assert len(calls) == 1
    assert len(list(found)) == 5
    assert len(calls) == 3


def test_a_users_own_number_of_primitives_stands(monkeypatch):
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "77")
    keep_few_primitives()
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "77"
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY")
    keep_few_primitives()
    assert 0 < int(os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"]) < 1024
