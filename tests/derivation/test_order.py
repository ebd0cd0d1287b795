"""Inversion and permutation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from references import reference
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.base import Sentence, compose
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.order import END_MARKS, Inversion, Permutation, split_at_marks
from isoglot.testing import tiny_tokenizer

WORDS = st.lists(st.sampled_from(["a", "b", "cat", "mat.", ".", "!", "?", "U.S."]), max_size=12).map(tuple)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat sat on the mat.", "mat the on sat cat The."),
        ("really ?", " really?"),
        ("Hello, world! I am here.", "here am I world! Hello,."),
        ("wait...", "wait..."),
        ("No", " No"),
        ("a dog", "dog a"),
        ("? what is this", "this is what?"),
        ("! ! a", "a !!"),
        ("! ?", " !?"),
        ("", ""),
    ],
)
def test_literal_nli_inversion_has_the_papers_quirks(text: str, expected: str) -> None:
    assert literally(text) == expected


def literally(text: str) -> str:
    return " ".join(Inversion(TransformOptions(literal=True))(Sentence(tuple(text.split(" ")))).words)


def naive_xnli(text: str) -> str:
    """The quirks by plain list surgery."""
    parts = text.split(" ")
    final = parts[-1][-1] if parts[-1][-1] in ".!?" else None
    if final:
        parts[-1] = parts[-1][:-1]
    parts = list(reversed(parts))
    if final:
        return " ".join(parts) + final
    last = parts.pop()
    return " ".join(parts) + ("" if last in (".", "!", "?") else " ") + last


@given(st.lists(st.sampled_from(["a", "mat.", ".", "!", "?", "", "¿qué?", "…", "あ。", "I'm"]), max_size=6))
def test_literal_nli_inversion_equals_a_naive_one(words: list[str]) -> None:
    text = " ".join(words).strip()
    if text:
        assert literally(text) == naive_xnli(text)
    sentence = Sentence(tuple(text.split(" ")))
    derived = Inversion(TransformOptions(literal=True))(sentence)
    assert len(derived.words) == len(derived.origin)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Welcome to ACL", [("Welcome to ACL", "ACL to Welcome")]),
        ("= Title =", [("= Title =", "= Title =")]),
        (". x", [(".", "."), ("x", "x")]),
        ("It rains . Why not ?", [("It rains .", "rains It ."), ("Why not ?", "not Why ?")]),
    ],
)
def test_inversion_splits_pretraining_text(text: str, expected: list[tuple[str, str]]) -> None:
    words = tuple(text.split())
    bounds = list(split_at_marks(words))
    found = [(words[a:b], Inversion(TransformOptions())(Sentence(words[a:b])).words) for a, b in bounds]
    assert [(" ".join(o), " ".join(d)) for o, d in found] == expected
    whole = Inversion(TransformOptions(sentence_by_sentence=True))(Sentence(words))
    assert " ".join(whole.words) == " ".join(d for _, d in expected)


def test_inversion_moves_an_attached_mark_to_the_new_last_word() -> None:
    derived = Inversion(TransformOptions(attached=True))(Sentence.of("The old cat sat on a mat."))
    assert derived.words == ("mat", "a", "on", "sat", "cat", "old", "The.")
    assert derived.origin == (6, 5, 4, 3, 2, 1, 0)
    assert Inversion(TransformOptions(attached=True))(Sentence.of("wait for me...")).words == (
        "me",
        "for",
        "wait...",
    )
    assert Inversion(TransformOptions(attached=True))(Sentence.of("...")).words == ("...",)
    assert Inversion(TransformOptions())(Sentence.of("in the U.S.")).words == ("U.S.", "the", "in")


def test_end_marks_of_the_papers_text_are_the_period_alone() -> None:
    words = ("it", "rains", ".", "why", "?", "no", "idea", ".")
    by_code, by_text = (
        Inversion(TransformOptions(sentence_by_sentence=True, end_marks=marks))(Sentence(words))
        for marks in (".!?", ".")
    )
    assert " ".join(by_code.words) == "rains it . why ? idea no ."
    assert " ".join(by_text.words) == "rains it . idea no ? why ."
    hanging = Sentence.of("is it so?")
    assert Inversion(TransformOptions(attached=True, end_marks="."))(hanging).words == ("so?", "it", "is")


@pytest.mark.parametrize("mark", ["?!", "...", "!!!"])
def test_a_final_word_of_several_marks_stays_last(mark: str) -> None:
    words = ("is", "it", "so", mark)
    for attached in (False, True):
        options = TransformOptions(attached=attached)
        assert Inversion(options)(Sentence(words)).words == ("so", "it", "is", mark)
    permuted = Permutation(TransformOptions(keep_final=True))(Sentence(words), key=1)
    assert permuted.words[-1] == mark
    # Inside a text a word of several marks ends no sentence.
    assert list(split_at_marks([*words, "no", "."])) == [(0, 6)]


def test_sentence_ends_win_over_marks() -> None:
    sentence = Sentence(("a", ".", "b", "c", "."), sentence_ends=frozenset({4}))
    assert Inversion(TransformOptions(sentence_by_sentence=True))(sentence).words == ("c", "b", ".", "a", ".")


@given(WORDS)
def test_inversion_is_its_own_inverse_and_a_permutation(words: tuple[str, ...]) -> None:
    for options in ({}, {"sentence_by_sentence": True}):
        once = Inversion(TransformOptions(**options))(Sentence(words))
        assert sorted(once.origin) == list(range(len(words)))
        assert once.words == tuple(words[o] for o in once.origin)
        if not options and words and words[0] in END_MARKS:
            continue  # it comes to stand last, where a mark stays
        twice = compose(Inversion(TransformOptions(**options)), Inversion(TransformOptions(**options)))(
            Sentence(words), key=0
        )
        assert twice.words == words
        assert twice.origin == tuple(range(len(words)))


@given(WORDS, st.integers(0, 5))
def test_permutations_depend_on_seed_and_key_alone(words: tuple[str, ...], key: int) -> None:
    derived = Permutation(TransformOptions(seed=1))(Sentence(words), key=key)
    assert derived == Permutation(TransformOptions(seed=1))(Sentence(words), key=key)
    assert sorted(derived.origin) == list(range(len(words)))
    assert derived.words == tuple(words[o] for o in derived.origin)
    kept = Permutation(TransformOptions(seed=1, keep_final=True))(Sentence((*words, ".")), key=key)
    assert kept.words[-1:] == (".",)
    assert kept.origin[-1] == len(words)


def test_permutations_of_different_keys_and_seeds_differ() -> None:
    sentence = Sentence(tuple("abcdefghijklmnop"))
    orders = {
        Permutation(TransformOptions(seed=s))(sentence, key=k).origin for s in range(3) for k in range(3)
    }
    assert len(orders) == 9


def test_inversion_of_tokens_keeps_the_final_mark() -> None:
    tokenizer = tiny_tokenizer("bert")
    sentence = Sentence.of("the teacher follows zebra .")
    ids = tokenizer(" ".join(sentence.words), add_special_tokens=False)["input_ids"]
    derived = Inversion(TransformOptions(level="token", tokenizer=tokenizer))(sentence)
    end = tokenizer.convert_tokens_to_ids(".")
    assert tokenizer.convert_tokens_to_ids(list(derived.words)) == [*ids[-2::-1], end]
    assert list(derived.origin[:-1]) == sorted(derived.origin[:-1], reverse=True)
    assert derived.origin[-1] == 4
    assert len(derived.words) > 5  # an unknown word has several pieces


def test_inversion_of_tokens_needs_a_tokenizer() -> None:
    with refused(ConfigurationError, "tokens", "tokenizer=..."):
        Inversion(TransformOptions(level="token"))


def test_inversion_examples() -> None:
    for text, expected in reference("golden")["inversion_xnli"]["cases"]:
        assert (
            " ".join(Inversion(TransformOptions(literal=True))(Sentence(tuple(text.split(" ")))).words)
            == expected
        )
    for text, expected in reference("golden")["inversion_pretrain"]["cases"]:
        words = tuple(text.split())
        parts = [words[start:stop] for start, stop in split_at_marks(words)]
        found = [
            [" ".join(part), " ".join(Inversion(TransformOptions())(Sentence(part)).words)] for part in parts
        ]
        assert found == expected
