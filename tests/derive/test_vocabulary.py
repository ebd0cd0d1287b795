"""A tokenizer's vocabulary and its copy."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.derive.base import Sentence, compose
from isoglot.derive.order import Inversion
from isoglot.derive.sharing import draw_shared
from isoglot.derive.vocabulary import TokenTransliteration, VocabularyCopy
from isoglot.errors import ConfigurationError, InputError
from isoglot.synthetic import World
from isoglot.testing import tiny_bitext, tiny_tokenizer

WORLD_LINES: list[str] = World(seed=1).text(30)["text"][:]
LINES = [
    "The quiet teacher's horse, at last, sees 3.5 rivers!",
    "every child (again) opens a small window — slowly",
    "zebra unseen-words café naïve 漢字 don't.",
]


def tokenizer_of(algorithm: str) -> PreTrainedTokenizerBase:
    texts = [str(row["source"]) for row in tiny_bitext(64)] + LINES[:2] + WORLD_LINES
    family = "roberta" if algorithm == "byte_bpe" else "bert"
    return train_tokenizer(texts, algorithm=algorithm, vocab_size=400, family=family, min_frequency=1)


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe", "byte_bpe", "unigram"])
def test_derived_text_is_the_originals_pieces_plus_v(algorithm: str, tmp_path: Path) -> None:
    original = tokenizer_of(algorithm)
    copy = VocabularyCopy(original)
    copy.save(tmp_path)
    doubled = AutoTokenizer.from_pretrained(tmp_path)
    size = len(original)
    assert len(doubled) == 2 * size
    transform = TokenTransliteration(copy)
    for line in LINES:
        sentence = Sentence.of(line)
        text = " ".join(transform(sentence).words)
        ids = original(line)["input_ids"]
        assert doubled(line)["input_ids"] == ids
        assert doubled(text)["input_ids"] == copy.shift(ids).tolist()
        inner = [i for i in ids if i not in copy.unshifted]
        assert set(copy.shift(inner)) == {i + size for i in inner}
        assert copy.unshift(copy.shift(ids)).tolist() == ids
        assert copy.decode(doubled(text)["input_ids"]) == original.decode(ids, skip_special_tokens=True)
    again = VocabularyCopy.load(tmp_path)
    assert again.shift(np.arange(size)).tolist() == copy.shift(np.arange(size)).tolist()


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta", "deberta-v2", "modernbert"])
def test_encoding_sees_the_words_of_derived_text(family: str) -> None:
    original = tiny_tokenizer(family)
    copy = VocabularyCopy(original)
    sentence = Sentence.of("the old captain never forgets zebras .")
    derived = compose(TokenTransliteration(copy), Inversion())(sentence, key=0)
    side = PieceEncoder(copy.tokenizer, words="whitespace").word_lists(
        [derived.words], [" ".join(derived.words)]
    )
    plain = PieceEncoder(original, words="whitespace").word_lists(
        [[sentence.words[o] for o in derived.origin]], [" ".join(sentence.words[o] for o in derived.origin)]
    )
    assert side.ids.tolist() == copy.shift(plain.ids).tolist()
    assert side.word_ids.tolist() == plain.word_ids.tolist()


def unwritable(tokenizer: PreTrainedTokenizerBase) -> int:
    """Pieces, special ones aside, that are no text: fragments of characters and the bare space."""
    marked = {"byte_bpe": "Ġ", "metaspace": "▁"}
    kind = "byte_bpe" if "Ġ" in tokenizer.get_vocab() else "metaspace"
    count = 0
    for piece, i in tokenizer.get_vocab().items():
        if i in tokenizer.all_special_ids:
            continue
        text = str(tokenizer.decode([i])) if kind == "byte_bpe" else piece.replace("▁", " ")
        count += "\ufffd" in text or not text.strip() or piece == marked[kind]
    return count


@pytest.mark.parametrize("overlap", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe", "byte_bpe", "unigram"])
def test_shared_ids_stay_and_are_an_exact_part(algorithm: str, overlap: float, tmp_path: Path) -> None:
    original = tokenizer_of(algorithm)
    copy = VocabularyCopy.draw(original, overlap=overlap, seed=5)
    eligible = len(original) - len(original.all_special_ids)
    most = eligible - (0 if algorithm == "wordpiece" else unwritable(original))
    if algorithm == "unigram" and overlap == 1.0:  # some pieces never win over others with the same letters
        assert 0.95 * most < len(copy.shared) <= most
    else:
        assert len(copy.shared) == min(round(overlap * eligible), most)
    assert not set(copy.shared) & set(original.all_special_ids)
    copy.save(tmp_path)
    doubled = AutoTokenizer.from_pretrained(tmp_path)
    assert len(doubled) == 2 * len(original)
    transform = TokenTransliteration(copy)
    shared_seen = 0
    for line in LINES + WORLD_LINES:
        ids = original(line)["input_ids"]
        assert doubled(line)["input_ids"] == ids
        found = doubled(" ".join(transform(Sentence.of(line)).words))["input_ids"]
        assert found == copy.shift(ids).tolist()
        assert copy.decode(found) == original.decode(ids, skip_special_tokens=True)
        shared_seen += len(set(found) & set(copy.shared))
    assert shared_seen > 10
    assert VocabularyCopy.load(tmp_path).shared == copy.shared


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "deberta-v2", "modernbert"])
def test_overlap_with_the_tokenizers_of_known_encoders(family: str, tmp_path: Path) -> None:
    """Their pre-tokenizers differ, and the classes of some build their own when they are loaded."""
    original = tiny_tokenizer(family)
    copy = VocabularyCopy.draw(original, overlap=0.5, seed=2)
    copy.save(tmp_path)
    doubled = AutoTokenizer.from_pretrained(tmp_path)
    transform = TokenTransliteration(copy)
    for line in [*LINES, "the old captain never forgets zebras .", *WORLD_LINES[:10]]:
        derived = transform(Sentence.of(line))
        ids = original(line)["input_ids"]
        assert doubled(" ".join(derived.words))["input_ids"] == copy.shift(ids).tolist()
        given = PieceEncoder(doubled, words="whitespace").word_lists(
            [derived.words], [" ".join(derived.words)]
        )
        plain = PieceEncoder(original, words="whitespace").word_lists([line.split()], [line])
        assert given.ids.tolist() == copy.shift(plain.ids).tolist()
        assert given.word_ids.tolist() == plain.word_ids.tolist()


@settings(max_examples=60, deadline=None)
@given(
    st.text("abe '.ing3é漢-\u0301´", max_size=30),
    st.sampled_from(["bpe", "byte_bpe", "unigram", "wordpiece"]),
)
def test_overlap_on_any_text(text: str, algorithm: str) -> None:
    original, copy, transform = half_shared(algorithm)
    line = " ".join(text.split())
    ids = original(line)["input_ids"]
    derived = transform(Sentence.of(line))
    assert copy.tokenizer(" ".join(derived.words))["input_ids"] == copy.shift(ids).tolist()


@cache
def half_shared(algorithm: str) -> tuple[PreTrainedTokenizerBase, VocabularyCopy, TokenTransliteration]:
    copy = VocabularyCopy.draw(tokenizer_of(algorithm), overlap=0.5, seed=1)
    return copy.original, copy, TokenTransliteration(copy)


def test_a_word_of_shared_pieces_is_the_same_word() -> None:
    copy = VocabularyCopy.draw(tokenizer_of("byte_bpe"), overlap=1.0)
    assert TokenTransliteration(copy)(Sentence.of("every quiet child")).words == ("every", "quiet", "child")


def test_shared_ids_that_are_no_text_are_refused() -> None:
    original = tokenizer_of("byte_bpe")
    with pytest.raises(ConfigurationError, match=r"'Ġ' \(a part of a character"):
        TokenTransliteration(VocabularyCopy(original, shared=[original.get_vocab()["Ġ"]]))


@pytest.mark.parametrize(("overlap", "real"), [(0.25, 0.221), (0.5, 0.394)])
def test_the_literal_draw_repeats_ids(overlap: float, real: float) -> None:
    """40,000 draws with replacement share 22.1 % and 39.4 %, and a small vocabulary shares less than the exact draw."""
    drawn = draw_shared(40_000, overlap=overlap, seed=3, with_replacement=True)
    assert len(drawn) / 40_000 == pytest.approx(real, abs=0.003)
    assert len(draw_shared(40_000, overlap=overlap, seed=3)) == overlap * 40_000
    original = tokenizer_of("wordpiece")
    literal = VocabularyCopy.draw(original, overlap=overlap, seed=5, with_replacement=True)
    assert len(literal.shared) < len(VocabularyCopy.draw(original, overlap=overlap, seed=5).shared)


def test_specials_frame_both_languages_alike() -> None:
    original = tokenizer_of("byte_bpe")
    copy = VocabularyCopy(original)
    frame = [original.cls_token_id, original.sep_token_id, original.pad_token_id]
    assert copy.shift(frame).tolist() == frame
    others = [original.mask_token_id, original.unk_token_id]
    assert copy.shift(others).tolist() == [i + len(original) for i in others]


@pytest.mark.parametrize("algorithm", ["wordpiece", "unigram"])
def test_inverted_pieces_can_be_written(algorithm: str) -> None:
    original = tokenizer_of(algorithm)
    copy = VocabularyCopy(original)
    transform = compose(TokenTransliteration(copy, pieces=True), Inversion(level="token", tokenizer=original))
    line = "zebra 漢 forgets ."
    derived = transform(Sentence.of(line), key=0)
    ids = original(line, add_special_tokens=False)["input_ids"]
    assert original.unk_token_id in ids
    written = copy.tokenizer(" ".join(derived.words), add_special_tokens=False)["input_ids"]
    assert written == copy.shift([*ids[-2::-1], ids[-1]]).tolist()
    assert set(derived.origin) == {0, 1, 2, 3}


def test_large_vocabularies_have_two_characters_a_piece() -> None:
    copy = VocabularyCopy(tokenizer_of("wordpiece"))
    copy.size = 250_000
    codes = {copy.written([i]) for i in range(0, 250_000, 7)}
    assert len(codes) == len(range(0, 250_000, 7))
    assert {len(c) for c in codes} == {2}
    assert not {c[0] for c in codes} & {c[1] for c in codes}


def test_mistakes_are_named(tmp_path: Path) -> None:
    split = tokenizer_of("bpe")
    split.backend_tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    with pytest.raises(ConfigurationError, match="do not tell where a word begins"):
        VocabularyCopy.draw(split, overlap=0.5)
    with pytest.raises(ConfigurationError, match="hangul"):
        VocabularyCopy(tokenizer_of("wordpiece"), script="runes")
    korean = train_tokenizer(["가나 다라"], algorithm="wordpiece", vocab_size=40)
    with pytest.raises(ConfigurationError, match="script: tangut"):
        VocabularyCopy(korean, script="hangul")
    with pytest.raises(InputError, match=r"VocabularyCopy\.save"):
        VocabularyCopy.load(tmp_path)
