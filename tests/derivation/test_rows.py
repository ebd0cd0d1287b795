"""Rows of every kind."""

from __future__ import annotations

from derived_rows import derived_row

from isoglot.derivation.base import Sentence
from isoglot.derivation.options import DeriverOptions, TransformOptions
from isoglot.derivation.order import Inversion
from isoglot.derivation.rows import Deriver
from isoglot.derivation.spec import build


def test_text_and_its_links() -> None:
    found = derived_row("text", {"text": "It  rains now .", "language": "en"}, "trans+inv")
    (pair,) = found.pairs
    assert found.row == {"text": pair.target, "language": "en-x-trans-inv"}
    assert pair.source == "It rains now ."
    assert pair.links == [(0, 2), (1, 1), (2, 0), (3, 3)]
    word = build("trans")(Sentence(("It",)), key=0).words[0]
    assert pair.target_words[2] == word


def test_text_is_cut_into_sentences_on_request() -> None:
    deriver = Deriver(Inversion(TransformOptions()), "inv", options=DeriverOptions(split=True))
    rows = [{"text": "a b . c d ! e", "language": "en"}, {"text": " ", "language": "en"}]
    assert [row["text"] for row, _ in deriver.rows("text", rows)] == ["b a .", "d c !", "e"]
    assert deriver.counts == {"derived": 3}


def test_labelled_rows_stay_in_their_split() -> None:
    tagged = {"words": ["a"], "tags": ["X"], "language": "en", "partition": "test"}
    pair = {"first": "a", "second": "b", "label": "0", "language": "en", "split": "test"}
    assert derived_row("tagged", tagged).row["partition"] == "test"
    assert derived_row("pair", pair).row["split"] == "test"


def test_bitext_sides() -> None:
    row = {"source": "a b", "target": "c d", "source_language": "en", "target_language": "de"}
    one = derived_row("bitext", row)
    assert (one.row["source"], one.row["target"], one.row["source_language"]) == ("b a", "c d", "en-x-inv")
    both = derived_row("bitext", row, side="both")
    assert (both.row["source"], both.row["target"]) == ("b a", "d c")
    assert [pair.languages[1] for pair in both.pairs] == ["en-x-inv", "de-x-inv"]


def test_links_of_aligned_rows_follow() -> None:
    row = {
        "source": "a b c", "target": "x y", "source_language": "en", "target_language": "de",
        "source_words": ["a", "b", "c"], "target_words": ["x", "y"], "links": [[0, 0], [2, 1]],
    }  # fmt: skip
    assert derived_row("aligned", row).row["links"] == [[0, 1], [2, 0]]
    assert derived_row("aligned", row, side="target").row["links"] == [[0, 1], [2, 0]]
    assert derived_row("aligned", row, side="both").row["links"] == [[0, 0], [2, 1]]


def test_treebanks_keep_their_arcs() -> None:
    row = {"words": ["the", "cat", "sleeps", "."], "upos": ["DET", "NOUN", "VERB", "PUNCT"],
           "heads": [2, 3, 0, 3], "deprels": ["det", "nsubj", "root", "punct"], "language": "en"}  # fmt: skip
    found = derived_row("treebank", row)
    assert found.row["words"] == ["sleeps", "cat", "the", "."]
    assert found.row["heads"] == [0, 1, 2, 1]
    assert found.row["upos"] == ["VERB", "NOUN", "DET", "PUNCT"]


def test_tags_and_their_repair() -> None:
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


def test_pairs_keep_their_label() -> None:
    row = {"first": "A dog barks.", "second": "No", "label": "neutral", "language": "en", "id": "7"}
    found = derived_row("pair", row, transform=TransformOptions(attached=True))
    assert (found.row["first"], found.row["second"]) == ("barks dog A.", "No")
    assert (found.row["label"], found.row["id"], found.row["language"]) == ("neutral", "7", "en-x-inv")
    literal = derived_row("pair", row, transform=TransformOptions(literal=True), single_spaces=True)
    assert (literal.row["first"], literal.row["second"]) == ("barks dog A.", " No")
    assert literal.pairs[1].links == [(0, 0)]


def test_both_sides_of_a_pair_are_permuted_each_for_itself() -> None:
    row = {
        "source": "a b c d e f g h",
        "target": "A B C D E F G H",
        "source_language": "en",
        "target_language": "de",
    }
    found = derived_row("bitext", row, "perm", side="both").row
    assert found["source"].upper() != found["target"]
