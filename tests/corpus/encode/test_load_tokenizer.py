"""A tokenizer without transformers: the pieces and special tokens of the library's."""

from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from isoglot.corpus.encode.load_tokenizer import PlainTokenizer
from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.testing import tiny_tokenizer

SENTENCES = [["the", "river"], ["ta", "potamo", "."], []]


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_plain_tokenizer_equals_the_librarys(family, tmp_path) -> None:
    tiny_tokenizer(family).save_pretrained(tmp_path)
    library = AutoTokenizer.from_pretrained(tmp_path)
    backend, config = (
        Tokenizer.from_file(str(tmp_path / "tokenizer.json")),
        tmp_path / "tokenizer_config.json",
    )
    plain = PlainTokenizer.read(backend, config.read_text())
    assert plain is not None and len(plain) == len(library)
    for name in ("cls_token_id", "sep_token_id", "pad_token_id", "unk_token_id"):
        assert getattr(plain, name) == getattr(library, name)
    texts = [" ".join(words) for words in SENTENCES]
    found, wanted = (PieceEncoder(own).word_lists(SENTENCES, texts) for own in (plain, library))
    assert found.ids.tolist() == wanted.ids.tolist() and found.word_ids.tolist() == wanted.word_ids.tolist()


def test_plain_tokenizer_is_none_where_the_library_makes_more_of_the_files(tmp_path) -> None:
    tiny_tokenizer("bert").save_pretrained(tmp_path)
    backend = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    for other in ({"tokenizer_class": "BertTokenizer"}, {"cls_token": None}, {"cls_token": 5}):
        assert PlainTokenizer.read(backend, json.dumps({**settings, **other})) is None
    named = {**settings, "cls_token": {"content": settings["cls_token"], "lstrip": False}}
    assert PlainTokenizer.read(backend, json.dumps(named)) is not None
