"""Which pieces count where a vocabulary does not know all of a text, and the one warning of a run."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict

import pytest
from unknown_text import FAMILIES, KNOWN, SCRIPTS

from isoglot.core.errors import UnknownWordsWarning
from isoglot.corpus.encode.unknown import KnownPieces, UnknownWords, piece_spans, script_of
from isoglot.testing import tiny_tokenizer


def counted(tokenizer, text: str) -> tuple[str, list[str], bool] | None:
    """The pieces that count, joined, the unknown words, and whether no word is known."""
    encoding = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
    found = KnownPieces(tokenizer).of_text(text, encoding, 0)
    if found is None:
        return None
    pieces = zip(encoding.tokens, found[0], strict=True)
    return "".join(token for token, counts in pieces if counts).replace("▁", ""), found[1], found[2]


@pytest.mark.parametrize("family", FAMILIES)
def test_known_text_counts_whole(family: str) -> None:
    assert counted(tiny_tokenizer(family), f"{KNOWN}.") is None


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_sentence_of_an_unknown_script_counts_for_nothing(family: str, script: str) -> None:
    text = SCRIPTS[script]
    found = counted(tiny_tokenizer(family), f"{text}.")
    assert found is not None
    pieces, words, whole = found
    assert whole and pieces in ("", "."), "a full stop, or a mark of a boundary, is not a word"
    assert {script_of(word) for word in words} == {script}
    assert "".join(words) == text.replace(" ", "")


def test_a_word_that_is_known_in_part_counts_by_its_known_letters() -> None:
    tokenizer = tiny_tokenizer("xlm-roberta")
    assert counted(tokenizer, "river집 집. 집") == ("river", ["집", "집"], False)
    assert counted(tiny_tokenizer("bert"), "river집 river") == ("r##iver", ["river집"], False)


def test_a_word_of_mostly_unknown_letters_does_not_count() -> None:
    tokenizer = tiny_tokenizer("xlm-roberta")
    assert counted(tokenizer, "river 집집a집.") == ("river", ["집집a집"], False)
    assert counted(tokenizer, "a집집집") == ("", ["a집집집"], True)
    assert counted(tokenizer, "a집 river") == ("ariver", [], False), "half of its letters are known"


def test_prefix_of_a_text_is_none_of_its_words() -> None:
    tokenizer = tiny_tokenizer("bert")
    encoding = tokenizer.backend_tokenizer.encode("river: 집", add_special_tokens=False)
    known = KnownPieces(tokenizer)
    assert [known.of_text("river: 집", encoding, start)[2] for start in (0, len("river: "))] == [False, True]


def test_each_character_of_an_unknown_piece_is_a_word_of_its_own() -> None:
    tokenizer = tiny_tokenizer("xlm-roberta")
    encoding = tokenizer.backend_tokenizer.encode("ta บ้าน", add_special_tokens=False)
    spans = piece_spans(encoding, tokenizer.unk_token_id)
    assert {start for start, _ in spans} >= {3, 4, 5, 6}


def test_scripts_have_their_names() -> None:
    words = ["집", "漢字", "(ከ", "𐎠", "Ω", "ひ", "2", "🙂"]
    names = ["Hangul", "Han", "Ethiopic", "Old Persian", "Greek", "Hiragana", "symbols", "symbols"]
    assert [script_of(word) for word in words] == names


def test_a_run_warns_once_at_the_line_that_called() -> None:
    run, later = UnknownWords("get no links"), UnknownWords("get no links")
    run.add_pair(3, ["집", "강"], True)
    later.add_pair(9, ["แม่", "강"], False)
    run.join(UnknownWords(**json.loads(json.dumps(asdict(later)))))
    with pytest.warns(UnknownWordsWarning) as caught:
        run.warn()
    (warning,) = caught
    assert str(warning.message) == (
        "words unknown to the encoder's vocabulary, which get no links: 4 (Hangul 3, Thai 1); sentences without a "
        "known word: 1; first in pair 3: '집'; choose an encoder that knows them"
    )
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        UnknownWords("get no links").warn()
