"""Pieces that text does not use can go: the text is cut as before, whatever the algorithm."""

from __future__ import annotations

import itertools
import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.trimming import (
    Usage,
    chosen_pieces,
    count_pieces,
    cut_differences,
    expected_pieces,
    trimmed_tokenizer,
)
from isoglot.formats.line_files import LineFile, decode_lines
from isoglot.formats.words import split_words
from isoglot.testing import tiny_bitext

TEXTS = list(tiny_bitext(300)["source"])
OTHER = list(tiny_bitext(300, seed=7)["target"])
SPECIALS = ["<pad>", "<unk>", "<mask>"]


def unigram() -> Tokenizer:
    return _trained(models.Unigram(), trainers.UnigramTrainer, pre_tokenizers.Metaspace(), unk_token="<unk>")


def word_piece() -> Tokenizer:
    return _trained(
        models.WordPiece(unk_token="<unk>"), trainers.WordPieceTrainer, pre_tokenizers.BertPreTokenizer()
    )


def bpe() -> Tokenizer:
    return _trained(
        models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"),
        trainers.BpeTrainer,
        pre_tokenizers.Whitespace(),
        end_of_word_suffix="</w>",
    )


def prefixed_bpe() -> Tokenizer:
    return _trained(
        models.BPE(unk_token="<unk>", continuing_subword_prefix="##"),
        trainers.BpeTrainer,
        pre_tokenizers.Whitespace(),
        continuing_subword_prefix="##",
    )


def byte_level_bpe() -> Tokenizer:
    return _trained(models.BPE(), trainers.BpeTrainer, pre_tokenizers.ByteLevel(add_prefix_space=False))


def _trained(model: object, trainer: type, step: Any, **options: str) -> Tokenizer:
    core = Tokenizer(model)
    core.normalizer = normalizers.NFKC()
    core.pre_tokenizer = step
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet()) if isinstance(model, models.BPE) else []
    core.train_from_iterator(
        [*TEXTS, *OTHER, *(" ".join(split_words(text)) for text in TEXTS)],
        trainer(
            vocab_size=600, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False, **options
        ),
    )
    return core


KINDS = (unigram, word_piece, bpe, prefixed_bpe, byte_level_bpe)


def trimmed(core: Tokenizer, texts: list[str]) -> tuple[Tokenizer, list[int]]:
    kept = chosen_pieces(core, count_pieces(core, texts))
    return trimmed_tokenizer(core, kept), kept.tolist()


@pytest.mark.parametrize("make", KINDS)
def test_the_text_is_cut_as_before_however_readers_write_it(make) -> None:
    """Words joined by spaces have a mark of their boundary before a full stop; an entry of a dictionary has a space."""
    core, texts = make(), [f"({text[:-1]}); {text}" for text in TEXTS[:20]]
    small, _ = trimmed(core, texts)
    for text in texts:
        for written in (text, " ".join(split_words(text)), f" {text}"):
            assert small.encode(written).tokens == core.encode(written).tokens
    assert small.get_vocab_size() < core.get_vocab_size()


def test_words_without_spaces_are_cut_as_before_by_the_pieces_they_stand_in() -> None:
    pieces = ["▁", "北京", "漢字", "▁北京", "▁漢字", "▁在", "▁字", "北", "京", "在", "漢", "字", "x"]
    core = Tokenizer(models.Unigram([("<unk>", 0.0), *((piece, -1.0) for piece in pieces)], 0))
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    small, _ = trimmed(core, ["北京在漢字"])
    for written in ("北京在漢字", "北京 在 漢字", "北 京 在 漢 字"):
        assert small.encode(written).tokens == core.encode(written).tokens
    assert small.token_to_id("x") is None


@pytest.mark.parametrize("make", KINDS)
def test_the_text_is_cut_as_before_with_ids_in_the_old_order(make) -> None:
    core = make()
    texts = [*TEXTS[:60], "so much <mask> ﬁshing, un brevolo <un", "x 漢字 zz" * 30, ""]
    small, kept = trimmed(core, texts)
    assert kept == sorted(kept)
    assert small.get_vocab_size() == len(kept) < core.get_vocab_size()
    for text in texts:
        for literal in (False, True):
            core.encode_special_tokens = small.encode_special_tokens = literal
            old, new = core.encode(text), small.encode(text)
            assert new.tokens == old.tokens
            assert new.offsets == old.offsets
            assert [kept[i] for i in new.ids] == old.ids


@pytest.mark.parametrize("make", KINDS)
def test_text_of_characters_that_were_seen_is_never_unknown(make) -> None:
    core = make()
    texts = [*TEXTS[:5], "".join(sorted({*"".join(OTHER)}))]
    small, _ = trimmed(core, texts)
    unknown = small.token_to_id("<unk>")
    for text in OTHER:
        assert unknown not in small.encode(text).ids or core.token_to_id("<unk>") in core.encode(text).ids


def test_the_pieces_of_more_text_are_estimated_from_those_that_occur_once() -> None:
    usage = Usage(np.array([0, 5, 1, 1, 3, 0, 0, 0]))
    assert [expected_pieces(usage, times) for times in (1, 4, 100)] == [4, 8, 8], (
        "half once: the square root; at most all"
    )
    assert (
        expected_pieces(Usage(np.array([3, 2, 0])), 10) == 2
        and expected_pieces(Usage(np.zeros(4, np.int64)), 10) == 0
    )
    shares = 1 / np.arange(10, 20_010)
    draws = np.random.default_rng(1).choice(20_000, size=200_000, p=shares / shares.sum())
    few, many = (Usage(np.bincount(d, minlength=20_000)) for d in (draws[:20_000], draws))
    assert 0.7 < expected_pieces(few, 10) / expected_pieces(many, 1) < 1.5


@pytest.mark.slow
@pytest.mark.skipif(
    not {"ISOGLOT_DATA", "ISOGLOT_ENCODER"} <= os.environ.keys(),
    reason="needs real text and a real tokenizer",
)
@pytest.mark.parametrize("name", ["parallel/en-hi.tsv.gz", "multi30k/train.de.gz"])
def test_a_tenth_of_real_text_foretells_the_pieces_of_the_whole(name: str) -> None:
    backend = Tokenizer.from_file(str(Path(os.environ["ISOGLOT_ENCODER"]) / "tokenizer.json"))
    path = Path(os.environ["ISOGLOT_DATA"]) / name
    with LineFile(path) as file:
        lines = [line for first, data in file.chunks() for line in decode_lines(data, path, first)][:9_600]
    few, many = (count_pieces(backend, lines[:n]) for n in (len(lines) // 10, len(lines)))
    assert 0.7 < expected_pieces(few, 10) / expected_pieces(many, 1) < 1.5


def test_a_word_that_wordpiece_cannot_cut_stays_unknown() -> None:
    """Without `abc`, which leads nowhere, `ab` and `##cd` would make the word."""
    pieces = ["[UNK]", "a", "##b", "##c", "##x", "ab", "abc", "##cd", "cd"]
    core = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    texts = ["abcd", "ab", "abx", "acd"]
    small, kept = trimmed(core, texts)
    assert [small.encode(t).tokens for t in texts] == [["[UNK]"], ["ab"], ["ab", "##x"], ["a", "##cd"]]
    assert "cd" not in {pieces[i] for i in kept}


def test_the_lowest_score_stays_because_unknown_characters_are_rated_by_it() -> None:
    """The unknown `x` costs 10 more than the lowest score; at −30 `a` and an unknown `x` would win against `ax`."""
    core = Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0), ("ax", -35.0), ("rare", -40.0)], 0))
    small, kept = trimmed(core, ["ax a"])
    assert 3 in kept
    assert small.encode("ax a").tokens == core.encode("ax a").tokens == ["ax", " ", "a"]


def test_every_set_of_texts_keeps_its_cut_in_a_random_bpe() -> None:
    """Merges in any order, several of which make one piece."""
    rng = random.Random(3)
    alphabet = "abcd"
    pieces, merges = list(alphabet), []
    while len(merges) < 60:
        left, right = rng.choice(pieces), rng.choice(pieces)
        if len(left + right) <= 6 and (left, right) not in merges:
            merges.append((left, right))
            pieces = list(dict.fromkeys([*pieces, left + right]))
    core = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, merges))
    words = ["".join(w) for n in range(1, 7) for w in itertools.product(alphabet, repeat=n)]
    for _ in range(30):
        texts = rng.sample(words, 5)
        small, _ = trimmed(core, texts)
        assert [small.encode(t).tokens for t in texts] == [core.encode(t).tokens for t in texts]
        assert small.get_vocab_size() < core.get_vocab_size()


def test_differences_are_counted_in_pieces_of_the_first_cut() -> None:
    core = word_piece()
    small, _ = trimmed(core, TEXTS[:1])
    total, changed = cut_differences(core, small, TEXTS)
    assert total == sum(len(core.encode(t).tokens) for t in TEXTS)
    same = sum(
        len({*zip(a.tokens, a.offsets, strict=True)} & {*zip(b.tokens, b.offsets, strict=True)})
        for a, b in ((core.encode(t), small.encode(t)) for t in TEXTS)
    )
    assert 0 < changed == total - same
    assert cut_differences(core, core, TEXTS) == (total, 0)


def test_trimming_refuses_other_algorithms() -> None:
    core = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>"))
    with refused(ConfigurationError, "WordLevel", "Unigram, WordPiece or BPE"):
        trimmed(core, ["a"])


def test_special_ids_of_every_post_processor_follow() -> None:
    core = unigram()
    values = json.loads(core.to_str())
    mask = core.token_to_id("<mask>")
    single = [{"SpecialToken": {"id": "<mask>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    special = {"<mask>": {"id": "<mask>", "ids": [mask], "tokens": ["<mask>"]}}
    template = {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": special,
    }
    bert = {"type": "BertProcessing", "sep": ["<mask>", mask], "cls": ["<mask>", mask]}
    for processor in (template, bert, {"type": "Sequence", "processors": [template]}):
        values["post_processor"] = processor
        old = Tokenizer.from_str(json.dumps(values))
        small, kept = trimmed(old, TEXTS[:3])
        assert [kept[i] for i in small.encode(TEXTS[0]).ids] == old.encode(TEXTS[0]).ids
