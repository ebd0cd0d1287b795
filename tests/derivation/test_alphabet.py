"""Transliteration of plain text."""

from __future__ import annotations

import string
import unicodedata

import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.alphabet import ALPHABETS, Transliteration
from isoglot.derivation.base import Sentence
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.sharing import draw_positions
from isoglot.derivation.spec import build

LATIN = [
    chr(c) for c in (*range(0x21, 0x250), *range(0x1E00, 0x1F00)) if unicodedata.category(chr(c))[0] in "LNPS"
]


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_transliteration_keeps_letters_apart_and_their_case(alphabet: str) -> None:
    copy = Transliteration(alphabet)
    for letter in string.ascii_lowercase:
        upper, lower = copy.word(letter.upper()), copy.word(letter)
        assert upper.lower() == lower != letter
    images = [copy.word(c) for c in LATIN]
    assert len(set(images)) == len(images)


def test_transliteration_keeps_marks_and_digits_what_they_are() -> None:
    copy = Transliteration()
    for mark in string.punctuation:
        assert unicodedata.category(copy.word(mark))[0] == "P"
    assert [int(copy.word(d)) for d in string.digits] == list(range(10))


def test_overlap_is_exact_and_literal_draws_share_less() -> None:
    words = [f"w{i}" for i in range(1000)]
    copy = build("trans", TransformOptions(overlap=0.25, seed=3), words=lambda: words)
    assert sum(a == b for a, b in zip(copy(Sentence(tuple(words)), key=0).words, words, strict=True)) == 250
    assert len(draw_positions(100_000, share=0.25, seed=0, with_replacement=True)) / 1e5 == pytest.approx(
        0.2212, abs=0.005
    )
    assert len(draw_positions(100_000, share=0.5, seed=0, with_replacement=True)) / 1e5 == pytest.approx(
        0.3935, abs=0.005
    )
    assert draw_positions(50, share=1, seed=0) == list(range(50))
    assert draw_positions(50, share=0, seed=0) == []
    assert draw_positions(50, share=0.5, seed=0) != draw_positions(50, share=0.5, seed=1)


def test_transliteration_keeps_words_in_place() -> None:
    derived = Transliteration()(Sentence.of("I am Sam . I am"))
    assert derived.origin == (0, 1, 2, 3, 4, 5)
    assert derived.words[0] == derived.words[4]
    assert derived.links() == [(i, i) for i in range(6)]


def test_transliteration_names_mistakes() -> None:
    with refused(ConfigurationError, "'klingon'", "armenian, cherokee"):
        Transliteration("klingon")
