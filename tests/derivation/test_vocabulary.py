"""A tokenizer's vocabulary and its copy."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from small_vocabularies import LINES, tokenizer_of, world_lines
from tokenizers import pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.derivation.base import Sentence, compose
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.order import Inversion
from isoglot.derivation.vocabulary import SCRIPTS, TokenTransliteration, VocabularyCopy
from isoglot.testing import tiny_tokenizer


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe", "byte_bpe", "unigram"])
def test_vocabulary_copy_reads_derived_text_as_pieces_plus_v(algorithm: str, tmp_path: Path) -> None:
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
def test_vocabulary_copy_keeps_the_words_of_derived_text(family: str) -> None:
    original = tiny_tokenizer(family)
    copy = VocabularyCopy(original)
    sentence = Sentence.of("the old captain never forgets zebras .")
    derived = compose(TokenTransliteration(copy), Inversion(TransformOptions()))(sentence, key=0)
    side = PieceEncoder(copy.tokenizer, words="whitespace").word_lists(
        [derived.words], [" ".join(derived.words)]
    )
    plain = PieceEncoder(original, words="whitespace").word_lists(
        [[sentence.words[o] for o in derived.origin]], [" ".join(sentence.words[o] for o in derived.origin)]
    )
    assert side.ids.tolist() == copy.shift(plain.ids).tolist()
    assert side.word_ids.tolist() == plain.word_ids.tolist()


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "deberta-v2", "modernbert"])
def test_overlap_with_the_tokenizers_of_known_encoders(family: str, tmp_path: Path) -> None:
    """Their pre-tokenizers differ, and the classes of some build their own when they are loaded."""
    original = tiny_tokenizer(family)
    copy = VocabularyCopy.draw(original, TransformOptions(overlap=0.5, seed=2))
    copy.save(tmp_path)
    doubled = AutoTokenizer.from_pretrained(tmp_path)
    transform = TokenTransliteration(copy)
    for line in [*LINES, "the old captain never forgets zebras .", *world_lines()[:10]]:
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
    copy = VocabularyCopy.draw(tokenizer_of(algorithm), TransformOptions(overlap=0.5, seed=1))
    return copy.original, copy, TokenTransliteration(copy)


def test_vocabulary_copy_frames_both_languages_alike() -> None:
    original = tokenizer_of("byte_bpe")
    copy = VocabularyCopy(original)
    frame = [original.cls_token_id, original.sep_token_id, original.pad_token_id]
    assert copy.shift(frame).tolist() == frame
    others = [original.mask_token_id, original.unk_token_id]
    assert copy.shift(others).tolist() == [i + len(original) for i in others]


@pytest.mark.parametrize("algorithm", ["wordpiece", "unigram"])
def test_token_transliteration_writes_inverted_pieces(algorithm: str) -> None:
    original = tokenizer_of(algorithm)
    copy = VocabularyCopy(original)
    transform = compose(
        TokenTransliteration(copy, pieces=True),
        Inversion(TransformOptions(level="token", tokenizer=original)),
    )
    line = "zebra 漢 forgets ."
    derived = transform(Sentence.of(line), key=0)
    ids = original(line, add_special_tokens=False)["input_ids"]
    assert original.unk_token_id in ids
    written = copy.tokenizer(" ".join(derived.words), add_special_tokens=False)["input_ids"]
    assert written == copy.shift([*ids[-2::-1], ids[-1]]).tolist()
    assert set(derived.origin) == {0, 1, 2, 3}


def test_vocabulary_copy_of_a_large_vocabulary_has_two_characters_a_piece() -> None:
    copy = VocabularyCopy(tokenizer_of("wordpiece"))
    copy.size = 250_000
    codes = {copy.written([i]) for i in range(0, 250_000, 7)}
    assert len(codes) == len(range(0, 250_000, 7))
    assert {len(c) for c in codes} == {2}
    assert not {c[0] for c in codes} & {c[1] for c in codes}


def test_vocabulary_copy_names_mistakes(tmp_path: Path) -> None:
    split = tokenizer_of("bpe")
    split.backend_tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    with refused(ConfigurationError, "BPE", "VocabularyCopy.shift", "overlap"):
        VocabularyCopy.draw(split, TransformOptions(overlap=0.5))
    with refused(ConfigurationError, "'runes'", "tangut, hangul"):
        VocabularyCopy(tokenizer_of("wordpiece"), script="runes")
    korean = train_tokenizer(["가나 다라"], algorithm="wordpiece", vocab_size=40)
    with refused(ConfigurationError, "'가'", "script: tangut"):
        VocabularyCopy(korean, script="hangul")
    with_separator = tokenizer_of("wordpiece")
    with_separator.add_tokens(["\U00016fe0"])
    for script in SCRIPTS:
        with refused(ConfigurationError, "U+16FE0", "a tokenizer without it"):
            VocabularyCopy(with_separator, script=script)
    with refused(InputError, f"{tmp_path.name}: ", "VocabularyCopy.save"):
        VocabularyCopy.load(tmp_path)
