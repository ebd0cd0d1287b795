"""Rows of every kind."""

from __future__ import annotations

from typing import Any

import pytest
from datasets import Dataset
from pydantic import ValidationError

from isoglot.derive.base import Sentence
from isoglot.derive.options import DeriverOptions, TransformOptions
from isoglot.derive.order import Inversion
from isoglot.derive.rows import Deriver
from isoglot.derive.sharing import gold_lexicon, word_pairs
from isoglot.derive.spec import build
from isoglot.errors import ConfigurationError
from isoglot.schema import ALIGNED, SCHEMAS, require

TRANS = build("trans")


def image(kind: str, row: dict[str, Any], spec: str = "inv", **options: Any) -> Any:
    transform = build(spec, options.pop("transform", None))
    deriver = Deriver(transform, spec.replace("+", "-"), options=DeriverOptions(**options))
    (found,) = deriver.rows(kind, [row])
    require(Dataset.from_list([found.row]), SCHEMAS[kind], role="derived")
    for pair in found.pairs:
        require(Dataset.from_list([pair]), ALIGNED, role="pairs")
        for i, j in pair["links"]:
            assert 0 <= i < len(pair["source_words"]) and 0 <= j < len(pair["target_words"])
    return found


def test_text_and_its_links() -> None:
    found = image("text", {"text": "It  rains now .", "language": "en"}, "trans+inv")
    (pair,) = found.pairs
    assert found.row == {"text": pair["target"], "language": "en-x-trans-inv"}
    assert pair["source"] == "It rains now ."
    assert pair["links"] == [[0, 2], [1, 1], [2, 0], [3, 3]]
    word = build("trans")(Sentence(("It",)), key=0).words[0]
    assert pair["target_words"][2] == word


def test_text_is_cut_into_sentences_on_request() -> None:
    deriver = Deriver(Inversion(), "inv", options=DeriverOptions(split=True))
    rows = [{"text": "a b . c d ! e", "language": "en"}, {"text": " ", "language": "en"}]
    assert [i.row["text"] for i in deriver.rows("text", rows)] == ["b a .", "d c !", "e"]
    assert deriver.counts == {"derived": 3}


def test_bitext_sides() -> None:
    row = {"source": "a b", "target": "c d", "source_language": "en", "target_language": "de"}
    one = image("bitext", row)
    assert (one.row["source"], one.row["target"], one.row["source_language"]) == ("b a", "c d", "en-x-inv")
    both = image("bitext", row, side="both")
    assert (both.row["source"], both.row["target"]) == ("b a", "d c")
    assert [p["target_language"] for p in both.pairs] == ["en-x-inv", "de-x-inv"]


def test_links_of_aligned_rows_follow() -> None:
    row = {
        "source": "a b c", "target": "x y", "source_language": "en", "target_language": "de",
        "source_words": ["a", "b", "c"], "target_words": ["x", "y"], "links": [[0, 0], [2, 1]],
    }  # fmt: skip
    assert image("aligned", row).row["links"] == [[0, 1], [2, 0]]
    assert image("aligned", row, side="target").row["links"] == [[0, 1], [2, 0]]
    assert image("aligned", row, side="both").row["links"] == [[0, 0], [2, 1]]


def test_treebanks_keep_their_arcs() -> None:
    row = {"words": ["the", "cat", "sleeps", "."], "upos": ["DET", "NOUN", "VERB", "PUNCT"],
           "heads": [2, 3, 0, 3], "deprels": ["det", "nsubj", "root", "punct"], "language": "en"}  # fmt: skip
    found = image("treebank", row)
    assert found.row["words"] == ["sleeps", "cat", "the", "."]
    assert found.row["heads"] == [0, 1, 2, 1]
    assert found.row["upos"] == ["VERB", "NOUN", "DET", "PUNCT"]


def test_tags_and_their_repair() -> None:
    row = {"words": ["A", "B", "met", "C", "D"], "tags": ["B-PER", "I-PER", "O", "B-PER", "B-PER"]}
    row |= {"language": "en"}
    assert image("tagged", row).row["tags"] == ["B-PER", "B-PER", "O", "B-PER", "I-PER"]
    assert image("tagged", row, repair="flip").row["tags"] == ["B-PER", "B-PER", "O", "B-PER", "I-PER"]
    assert image("tagged", row, repair="consistent").row["tags"] == ["B-PER", "I-PER", "O", "B-PER", "I-PER"]
    assert image("tagged", row, repair="none").row["tags"] == ["B-PER", "B-PER", "O", "I-PER", "B-PER"]
    pos = {"words": ["can", "he", "can"], "tags": ["AUX", "PRON", "NOUN"], "language": "en"}
    assert image("tagged", pos).row["tags"] == ["NOUN", "PRON", "AUX"]
    assert image("tagged", pos, labels="first_match").row["tags"] == ["AUX", "PRON", "AUX"]


def test_pairs_keep_their_label() -> None:
    row = {"first": "A dog barks.", "second": "No", "label": "neutral", "language": "en", "id": "7"}
    found = image("pair", row, transform=TransformOptions(attached=True))
    assert (found.row["first"], found.row["second"]) == ("barks dog A.", "No")
    assert (found.row["label"], found.row["id"], found.row["language"]) == ("neutral", "7", "en-x-inv")
    literal = image("pair", row, transform=TransformOptions(literal=True), single_spaces=True)
    assert (literal.row["first"], literal.row["second"]) == ("barks dog A.", " No")
    assert literal.pairs[1]["links"] == [[0, 0]]


def test_answers_follow_their_words() -> None:
    row = {
        "id": "q", "question": "Who won?", "language": "en",
        "context": "The U.S. team, led by Ann Lee, won. It cost $3.5 million.",
        "answers": {"text": ["Ann Lee", "$3.5 million"], "start": [22, 44]},
    }  # fmt: skip
    found = image("span", row, transform=TransformOptions(split=True))
    context, answers = found.row["context"], found.row["answers"]
    assert answers["text"] == ["Lee Ann", "million 3.5 $"]
    for text, start in zip(answers["text"], answers["start"], strict=True):
        assert context[start : start + len(text)] == text
    assert context.endswith("million 3.5 $ cost It .")
    assert found.row["question"] == "won Who ?"


def test_answers_that_fall_apart_are_dropped_and_counted() -> None:
    row = {"id": "q", "question": "Who ?", "context": "a b c d e f g h", "language": "en",
           "answers": {"text": ["b c d"], "start": [2]}}  # fmt: skip
    deriver = Deriver(build("perm", TransformOptions(seed=1)), "perm")
    assert not list(deriver.rows("span", [row]))
    assert deriver.counts == {"answer dropped: in several pieces": 1, "no answer left in one piece": 1}
    inside = {**row, "context": "one twothree", "answers": {"text": ["three"], "start": [7]}}
    again = Deriver(Inversion(), "inv")
    assert not list(again.rows("span", [inside]))
    assert again.counts["answer dropped: not at the bounds of words"] == 1
    elsewhere = {**row, "answers": {"text": ["d  e", "b"], "start": [6, 4]}}
    third = Deriver(Inversion(), "inv")
    (kept,) = third.rows("span", [{**elsewhere, "context": "a b c d  e f g h"}])
    assert kept.row["answers"] == {"text": ["e d"], "start": [6]}
    assert third.counts["answer dropped: not in the context as told"] == 1
    none = {**row, "answers": {"text": [], "start": []}}
    assert len(list(Deriver(Inversion(), "inv").rows("span", [none]))) == 1


def test_gold_lexicon_parts_are_exact_and_seeded() -> None:
    rows = [{"text": " ".join(f"w{'x' * i}" for i in range(40)), "language": "en"}] * 2
    deriver = Deriver(TRANS, "trans")
    pairs = word_pairs(p for i in deriver.rows("text", rows) for p in i.pairs)
    whole = gold_lexicon(pairs)
    assert len(whole) == 40
    for share in (0.25, 0.5):
        part = gold_lexicon(pairs, share=share, seed=3)
        assert len(part) == 40 * share
        assert part == gold_lexicon(pairs, share=share, seed=3)
        assert part != gold_lexicon(pairs, share=share, seed=4)
        assert set(part) <= set(whole)
    for source, target in whole:
        assert build("trans")(Sentence((source,)), key=0).words == (target,)
    assert len(gold_lexicon({("a", "a"): 3})) == 0


def test_mistakes_are_named() -> None:
    with pytest.raises(ValidationError, match="'entities', 'consistent'"):
        DeriverOptions(repair="all")  # type: ignore[arg-type]
    for bad in ("rot13", "trans+trans", "inv+", ""):
        with pytest.raises(ConfigurationError, match=r"trans\+inv"):
            build(bad)
    with pytest.raises(ConfigurationError, match="--models"):
        build("syn")
    with pytest.raises(ConfigurationError, match="words="):
        build("trans", TransformOptions(overlap=0.5))


def test_order_of_composition() -> None:
    sentence = Sentence.of("b a c .")
    assert build("trans∘inv")(sentence, key=0) == build("trans+inv")(sentence, key=0)
    expected = build("trans")(Sentence(Inversion()(sentence).words), key=0).words
    assert build("trans+inv")(sentence, key=0).words == expected
    # The other way round the final mark is in the new script, which inversion does not know.
    assert build("inv+trans")(sentence, key=0).words != expected


def test_both_sides_of_a_pair_are_permuted_each_for_itself() -> None:
    row = {
        "source": "a b c d e f g h",
        "target": "A B C D E F G H",
        "source_language": "en",
        "target_language": "de",
    }
    found = image("bitext", row, "perm", side="both").row
    assert found["source"].upper() != found["target"]
