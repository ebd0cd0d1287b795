"""Rows of every kind."""

from __future__ import annotations

import os
from typing import Any

import pytest
from derived_rows import derived_row

from isoglot.derivation.base import Sentence
from isoglot.derivation.input import read_rows
from isoglot.derivation.labels import tags_by_form
from isoglot.derivation.options import DeriverOptions, TransformOptions
from isoglot.derivation.order import Inversion
from isoglot.derivation.rows import Deriver
from isoglot.derivation.spec import build


def test_deriver_text_and_its_links() -> None:
    found = derived_row("text", {"text": "It  rains now .", "language": "en"}, "trans+inv")
    (pair,) = found.pairs
    assert found.row == {"text": pair.target, "language": "en-x-trans-inv"}
    assert pair.source == "It rains now ."
    assert pair.links == [(0, 2), (1, 1), (2, 0), (3, 3)]
    word = build("trans")(Sentence(("It",)), key=0).words[0]
    assert pair.target_words[2] == word


def test_deriver_cuts_text_into_sentences_on_request() -> None:
    deriver = Deriver(Inversion(TransformOptions()), "inv", options=DeriverOptions(split_sentences=True))
    rows = [{"text": "a b . c d ! e", "language": "en"}, {"text": " ", "language": "en"}]
    assert [row["text"] for row, _ in deriver.rows("text", rows)] == ["b a .", "d c !", "e"]
    assert deriver.counts == {"derived": 3}


def test_deriver_keeps_labelled_rows_in_their_split() -> None:
    tagged = {"words": ["a"], "tags": ["X"], "language": "en", "partition": "test"}
    pair = {"first": "a", "second": "b", "label": "0", "language": "en", "split": "test"}
    assert derived_row("tagged", tagged).row["partition"] == "test"
    assert derived_row("pair", pair).row["split"] == "test"


def test_deriver_bitext_sides() -> None:
    row = {"source": "a b", "target": "c d", "source_language": "en", "target_language": "de"}
    one = derived_row("bitext", row)
    assert (one.row["source"], one.row["target"], one.row["source_language"]) == ("b a", "c d", "en-x-inv")
    both = derived_row("bitext", row, side="both")
    assert (both.row["source"], both.row["target"]) == ("b a", "d c")
    assert [pair.languages[1] for pair in both.pairs] == ["en-x-inv", "de-x-inv"]


def test_deriver_moves_links_of_aligned_rows() -> None:
    row = {
        "source": "a b c", "target": "x y", "source_language": "en", "target_language": "de",
        "source_words": ["a", "b", "c"], "target_words": ["x", "y"], "links": [[0, 0], [2, 1]],
    }  # fmt: skip
    assert derived_row("aligned", row).row["links"] == [[0, 1], [2, 0]]
    assert derived_row("aligned", row, side="target").row["links"] == [[0, 1], [2, 0]]
    assert derived_row("aligned", row, side="both").row["links"] == [[0, 0], [2, 1]]


def test_deriver_treebanks_keep_their_arcs() -> None:
    row = {"words": ["the", "cat", "sleeps", "."], "upos": ["DET", "NOUN", "VERB", "PUNCT"],
           "heads": [2, 3, 0, 3], "deprels": ["det", "nsubj", "root", "punct"], "language": "en"}  # fmt: skip
    found = derived_row("treebank", row)
    assert found.row["words"] == ["sleeps", "cat", "the", "."]
    assert found.row["heads"] == [0, 1, 2, 1]
    assert found.row["upos"] == ["VERB", "NOUN", "DET", "PUNCT"]


def test_deriver_repairs_tags() -> None:
    tags = ["B-PER", "I-PER", "O", "B-PER", "B-PER"]
    row = {"words": ["A", "B", "met", "C", "D"], "tags": tags, "language": "en"}
    assert derived_row("tagged", row).row["tags"] == ["B-PER", "B-PER", "O", "B-PER", "I-PER"]
    assert derived_row("tagged", row, repair="flip").row["tags"] == ["B-PER", "B-PER", "O", "B-PER", "I-PER"]
    assert derived_row("tagged", row, repair="consistent").row["tags"] == [
        "B-PER",
        "I-PER",
        "O",
        "B-PER",
        "I-PER",
    ]
    assert derived_row("tagged", row, repair="none").row["tags"] == ["B-PER", "B-PER", "O", "I-PER", "B-PER"]
    pos = {"words": ["can", "he", "can"], "tags": ["AUX", "PRON", "NOUN"], "language": "en"}
    assert derived_row("tagged", pos).row["tags"] == ["NOUN", "PRON", "AUX"]
    assert derived_row("tagged", pos, labels="first_match").row["tags"] == ["AUX", "PRON", "AUX"]


CAN = {
    "words": ["I", "can", "see", "the", "can"], "upos": ["PRON", "AUX", "VERB", "DET", "NOUN"],
    "heads": [3, 3, 0, 5, 3], "deprels": ["nsubj", "aux", "root", "det", "obj"], "language": "en",
}  # fmt: skip


def test_deriver_tags_of_a_treebank_by_word_form() -> None:
    """The authors' code reads POS labels so; heads and relations stay with their words."""
    exact = derived_row("treebank", CAN).row
    found = derived_row("treebank", CAN, labels="first_match").row
    assert exact["words"] == found["words"] == ["can", "the", "see", "can", "I"]
    assert exact["upos"] == ["NOUN", "DET", "VERB", "AUX", "PRON"]
    assert found["upos"] == ["AUX", "DET", "VERB", "AUX", "PRON"]
    assert (found["heads"], found["deprels"]) == (exact["heads"], exact["deprels"])


@pytest.mark.skipif("ISOGLOT_DATA" not in os.environ, reason="needs ISOGLOT_DATA")
def test_tags_by_form_of_a_real_treebank_differ_by_so_many() -> None:
    path = f"{os.environ['ISOGLOT_DATA']}/ud/en_ewt-ud-dev.conllu"
    rows = list(read_rows([path], "treebank", languages=("en",), options={}))
    tags = []
    for labels in ("exact", "first_match"):
        deriver = Deriver(Inversion(TransformOptions()), "inv", options=DeriverOptions(labels=labels))
        derived = [row["upos"] for row, _ in deriver.rows("treebank", rows)]
        tags.append([tag for sentence in derived for tag in sentence])
    assert len(tags[0]) == 25_147
    assert sum(exact != by_form for exact, by_form in zip(*tags, strict=True)) == 130


SINGING = ["Otto", "sings", "and", "dances", "a", "lot"]


@pytest.mark.parametrize(
    ("words", "parsed", "labels", "expected"),
    [
        # the first parse alone: the labelled words behind it are lost, up to five
        (["Anna", "sleeps", ".", "Otto"], ["Anna", "sleeps", "."], "exact", ["O", "B-PER", "O"]),
        (["Anna", "sleeps", ".", "Otto"], ["Anna", "sleeps", "."], "first_match", ["O", "B-PER", "O"]),
        (["Anna", *SINGING[:5]], ["Anna"], "exact", ["B-PER"]),
        (["Anna", *SINGING], ["Anna"], "exact", "over 5 words more or fewer"),
        (["Anna", *SINGING], ["Anna"], "first_match", "over 5 words more or fewer"),
        # words that are cut in another way
        (["Anna", "can't"], ["Anna", "ca", "n't"], "exact", "other words than those that are labelled"),
        (["Anna", "can't"], ["Anna", "ca", "n't"], "first_match", ["O", "O", "B-PER"]),
        (["Anna", "ab", "cd", "ef"], [*"Anna", *"ab"], "first_match", "over 5 words that are not labelled"),
    ],
)
def test_tags_of_parse_for_labelled_words(
    words: list[str], parsed: list[str], labels: Any, expected: list[str] | str
) -> None:
    row = {
        "words": words,
        "tags": ["B-PER" if word in ("Anna", "Otto") else "O" for word in words],
        "language": "en",
    }
    size = len(parsed)
    tree = Sentence(tuple(parsed), ("NOUN",) * size, (0,) * size, ("root",) * size)
    options = DeriverOptions(labels=labels)
    deriver = Deriver(Inversion(TransformOptions()), "inv", options=options, parse=lambda text: tree)
    derived = [row for row, _ in deriver.rows("tagged", [row])]
    if isinstance(expected, str):
        assert not derived and any(expected in reason for reason in deriver.counts)
    else:
        assert [row["tags"] for row in derived] == [expected]


def test_tags_of_parse_without_a_label_are_unknown() -> None:
    assert tags_by_form(["ca", "n't", "he"], ["he", "can't"], ["PRON", "AUX"]) == ("X", "X", "PRON")


def test_deriver_pairs_keep_their_label() -> None:
    row = {"first": "A dog barks.", "second": "No", "label": "neutral", "language": "en", "id": "7"}
    found = derived_row("pair", row, transform=TransformOptions(attached=True))
    assert (found.row["first"], found.row["second"]) == ("barks dog A.", "No")
    assert (found.row["label"], found.row["id"], found.row["language"]) == ("neutral", "7", "en-x-inv")
    literal = derived_row("pair", row, transform=TransformOptions(literal=True), single_spaces=True)
    assert (literal.row["first"], literal.row["second"]) == ("barks dog A.", " No")
    assert literal.pairs[1].links == [(0, 0)]


def test_deriver_permutes_each_side_of_a_pair_for_itself() -> None:
    row = {
        "source": "a b c d e f g h",
        "target": "A B C D E F G H",
        "source_language": "en",
        "target_language": "de",
    }
    found = derived_row("bitext", row, "perm", side="both").row
    assert found["source"].upper() != found["target"]
