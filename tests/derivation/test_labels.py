"""Labels and answers that follow their words."""

from __future__ import annotations

from derived_rows import derived_row
from hypothesis import given
from hypothesis import strategies as st
from references import reference

from isoglot.derivation.base import Sentence, compose, with_derived_words
from isoglot.derivation.labels import (
    carry_entities,
    flip_reversed_entities,
    make_tags_consistent,
)
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.order import Inversion, Permutation
from isoglot.derivation.rows import Deriver
from isoglot.derivation.spec import build

TAGS = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), max_size=10).map(
    lambda tags: [
        f"B-{t[2:]}" if t[0] == "I" and (i == 0 or tags[i - 1][2:] != t[2:]) else t
        for i, t in enumerate(tags)
    ]
)
"""Valid IOB2."""

GOLDEN = [
    (
        ["John", "Smith", "lives", "in", "New", "York", "City", "."],
        ["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "I-LOC", "O"],
        ["City", "York", "New", "in", "lives", "Smith", "John", "."],
        ["B-LOC", "I-LOC", "I-LOC", "O", "O", "B-PER", "I-PER", "O"],
    ),
    (
        ["A", "B", "C", "D"],
        ["B-PER", "I-PER", "B-ORG", "I-ORG"],
        ["D", "C", "B", "A"],
        ["B-ORG", "I-ORG", "B-PER", "I-PER"],
    ),
]


def test_flip_reversed_entities_of_inverted_entities() -> None:
    for words, tags, inverted, expected in GOLDEN:
        derived = Inversion(TransformOptions())(Sentence(tuple(words)))
        assert list(derived.words) == inverted
        assert flip_reversed_entities([tags[o] for o in derived.origin]) == expected
        assert carry_entities(tags, derived.origin) == expected


def test_make_tags_consistent_examples() -> None:
    cases = [
        (["I-ORG", "B-ORG", "O"], ["B-ORG", "I-ORG", "O"]),
        (["B-PER", "B-PER", "O"], ["B-PER", "I-PER", "O"]),
        (["I-PER", "O", "I-PER"], ["B-PER", "O", "B-PER"]),
        (["O", "O"], ["O", "O"]),
    ]
    for tags, expected in cases:
        assert make_tags_consistent(tags) == expected


def flagged(tags: list[str]) -> list[str]:
    """The repair as a machine of two states: inside an entity or not."""
    out, inside, kind = [], False, ""
    for tag in tags:
        own = tag.rpartition("-")[2]
        if tag == "O":
            inside = False
            out.append(tag)
            continue
        if not inside or own != kind:
            out.append(f"B-{own}")
        else:
            out.append(f"I-{own}")
        inside, kind = True, own
    return out


@given(st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG"]), max_size=12))
def test_make_tags_consistent_of_any_tags(tags: list[str]) -> None:
    assert make_tags_consistent(tags) == flagged(tags)


@given(TAGS)
def test_flip_reversed_entities_and_carry_entities_agree_under_inversion(tags: list[str]) -> None:
    origin = list(range(len(tags)))[::-1]
    assert carry_entities(tags, origin) == flip_reversed_entities([tags[o] for o in origin])
    assert carry_entities(tags, range(len(tags))) == tags


@given(TAGS, st.integers(0, 9))
def test_carry_entities_gives_valid_iob2_in_every_order(tags: list[str], key: int) -> None:
    origin = Permutation(TransformOptions())(Sentence(("w",) * len(tags)), key=key).origin
    for out in (carry_entities(tags, origin), make_tags_consistent([tags[o] for o in origin])):
        assert [t[2:] for t in out] == [tags[o][2:] for o in origin]
        for before, tag in zip(["O", *out], out, strict=False):
            assert tag[0] != "I" or before[2:] == tag[2:]


def test_carry_entities_keeps_neighbours_apart() -> None:
    assert carry_entities(["B-PER", "B-PER"], [1, 0]) == ["B-PER", "B-PER"]
    assert carry_entities(["I-PER", "O", "I-LOC"], [0, 1, 2]) == ["B-PER", "O", "B-LOC"]


@given(st.integers(1, 8), st.integers(0, 9), st.data())
def test_moved_heads_point_to_the_same_words(size: int, key: int, data: st.DataObject) -> None:
    heads = data.draw(st.lists(st.integers(0, size), min_size=size, max_size=size))
    words = tuple(f"w{i}" for i in range(size))
    sentence = Sentence(words, ("X",) * size, tuple(heads), ("dep",) * size)
    derived = compose(Inversion(TransformOptions()), Permutation(TransformOptions()))(sentence, key=key)
    out = with_derived_words(sentence, derived).heads or ()
    for new, old in enumerate(derived.origin):
        assert derived.words[new] == words[old]
        assert (out[new] == 0) == (heads[old] == 0)
        if heads[old]:
            assert derived.words[out[new] - 1] == words[heads[old] - 1]


def test_deriver_moves_labels() -> None:
    for tags, expected in reference("golden")["ner_consistency"]["cases"]:
        assert make_tags_consistent(tags) == expected
    for words, tags, derived_words, derived_tags in reference("golden")["inversion_ner"]["cases"]:
        derived = Inversion(TransformOptions())(Sentence(tuple(words)))
        assert list(derived.words) == derived_words
        assert flip_reversed_entities([tags[o] for o in derived.origin]) == derived_tags


def test_moved_answers_follow_their_words() -> None:
    row = {
        "id": "q", "question": "Who won?", "language": "en",
        "context": "The U.S. team, led by Ann Lee, won. It cost $3.5 million.",
        "answers": {"text": ["Ann Lee", "$3.5 million"], "start": [22, 44]},
    }  # fmt: skip
    found = derived_row("span", row, transform=TransformOptions(sentence_by_sentence=True))
    context, answers = found.row["context"], found.row["answers"]
    assert answers["text"] == ["Lee Ann", "million 3.5 $"]
    for text, start in zip(answers["text"], answers["start"], strict=True):
        assert context[start : start + len(text)] == text
    assert context.endswith("million 3.5 $ cost It .")
    assert found.row["question"] == "won Who ?"


def test_moved_answers_drops_and_counts_answers_that_fall_apart() -> None:
    row = {"id": "q", "question": "Who ?", "context": "a b c d e f g h", "language": "en",
           "answers": {"text": ["b c d"], "start": [2]}}  # fmt: skip
    deriver = Deriver(build("perm", TransformOptions(seed=1)), "perm")
    assert not list(deriver.rows("span", [row]))
    assert deriver.counts == {"answer dropped: in several pieces": 1, "no answer left in one piece": 1}
    inside = {**row, "context": "one twothree", "answers": {"text": ["three"], "start": [7]}}
    again = Deriver(Inversion(TransformOptions()), "inv")
    assert not list(again.rows("span", [inside]))
    assert again.counts["answer dropped: not at the bounds of words"] == 1
    elsewhere = {**row, "answers": {"text": ["d  e", "b"], "start": [6, 4]}}
    third = Deriver(Inversion(TransformOptions()), "inv")
    ((kept, _),) = third.rows("span", [{**elsewhere, "context": "a b c d  e f g h"}])
    assert kept["answers"] == {"text": ["e d"], "start": [6]}
    assert third.counts["answer dropped: not in the context as recorded"] == 1
    none = {**row, "answers": {"text": [], "start": []}}
    assert len(list(Deriver(Inversion(TransformOptions()), "inv").rows("span", [none]))) == 1
