from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st
from labelled_files import json_lines
from refusals import refused

from isoglot.core.errors import ConfigurationError, IsoglotError
from isoglot.formats.labelled.tags import read_tags
from isoglot.formats.schema import TAGGED
from isoglot.tasks import build_task
from isoglot.tasks.tagging import TaggingTask, _windows
from isoglot.testing import tiny_model, tiny_tokenizer


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=30),
    st.integers(2, 10),
    st.integers(0, 4),
)
def test_every_word_counts_once_and_rows_fit(lengths: list[int], room: int, overlap: int) -> None:
    windows = _windows(lengths, room, overlap)
    counted = [word for _, kept, last in windows for word in range(kept, last)]
    assert counted == list(range(len(lengths)))
    for first, kept, last in windows:
        assert first <= kept < last
        assert kept - first <= overlap
        assert sum(min(n, room) for n in lengths[first:last]) <= room or last - first == 1


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_no_word_is_lost(family: str) -> None:
    tokenizer = tiny_tokenizer(family)
    words = ["the", "\u200b", "mountain", "library", "questions", "x" * 40] * 5
    tags = ["DET", "X", "NOUN", "NOUN", "VERB", "SYM"] * 5
    data = Dataset.from_dict({"words": [words, ["a"]], "tags": [tags, ["DET"]], "language": ["en", "en"]},
                             features=TAGGED)  # fmt: skip
    task = build_task("pos", [], max_length=12)
    assert isinstance(task, TaggingTask)
    labels = task.labels(data)
    model = tiny_model(family, tokenizer=tokenizer)
    model.config.id2label = dict(enumerate(labels))
    rows = task.encode(data, tokenizer, model, training=True)
    assert max(len(row.inputs["input_ids"]) for row in rows) <= 12
    gold = [np.where(row.inputs["labels"] >= 0, row.inputs["labels"], 0) for row in rows]
    assert task.decode(data, rows, gold) == [tags, ["DET"]]
    assert sum((row.inputs["labels"] >= 0).sum() for row in rows) == len(tags) + 1


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta"])
def test_a_label_may_stand_on_the_first_piece_that_is_no_space(family: str) -> None:
    tokenizer = tiny_tokenizer(family)
    words, tags = ["the", "中国", "\u200b", "library", "中"], ["DET", "PROPN", "X", "NOUN", "PROPN"]
    data = Dataset.from_dict({"words": [words], "tags": [tags], "language": ["zh"]}, features=TAGGED)
    found = {}
    for label_piece in ("first", "text"):
        task = build_task("pos", [], label_piece=label_piece)
        assert isinstance(task, TaggingTask)
        model = tiny_model(family, tokenizer=tokenizer)
        model.config.id2label = dict(enumerate(task.labels(data)))
        (row,) = task.encode(data, tokenizer, model, training=False)
        gold = np.where(row.inputs["labels"] >= 0, row.inputs["labels"], 0)
        assert task.decode(data, [row], [gold]) == [tags]
        places = np.flatnonzero(row.inputs["labels"] >= 0)
        assert [place for _, place in row.detail] == places.tolist()
        found[label_piece] = tokenizer.convert_ids_to_tokens(row.inputs["input_ids"][places])
    lone = [piece in ("▁", "Ġ") for piece in found["first"]]
    assert any(lone) == (family != "bert")
    for was_lone, first, text in zip(lone, found["first"], found["text"], strict=True):
        assert text not in ("▁", "Ġ") and (was_lone or text == first)


@pytest.mark.parametrize(("words", "label_piece", "warns"), [
    (["中国", "中"], "first", True), (["中国", "中"], "text", False), (["the", "library", "中"], "first", False),
])  # fmt: skip
def test_tags_on_bare_spaces_are_warned_of(words, label_piece, warns, caplog) -> None:
    tokenizer = tiny_tokenizer("xlm-roberta")
    data = Dataset.from_dict(
        {"words": [words], "tags": [["NOUN"] * len(words)], "language": ["zh"]}, features=TAGGED
    )
    task = build_task("pos", [], label_piece=label_piece)
    model = tiny_model("xlm-roberta", tokenizer=tokenizer)
    model.config.id2label = dict(enumerate(task.labels(data)))
    task.encode(data, tokenizer, model, training=True)
    assert not caplog.messages
    task.encode(data, tokenizer, model, training=False)
    assert ['label_piece="text"' in message for message in caplog.messages] == [True] * warns


def test_a_no_break_space_is_part_of_a_token(tmp_path: Path) -> None:
    (tmp_path / "fr.txt").write_text("10\u00a0000 CD O\nParis NNP B-LOC\n\u3000 SP O\n")
    assert read_tags(tmp_path / "fr.txt", language="fr")["words"][0] == ["10\u00a0000", "Paris", "\u3000"]


def test_rows_of_a_table_may_name_the_language_by_another_code(tmp_path: Path) -> None:
    rows = [{"words": [code], "tags": ["NOUN"], "language": code} for code in ("deu", "DE", "fr")]
    found = build_task("pos", [json_lines(tmp_path / "a.jsonl", *rows)]).load("de", "test")
    assert (found["words"][:], found["language"][:]) == ([["deu"], ["DE"]], ["de", "de"])


def test_words_without_a_tag_are_neither_learned_from_nor_scored(tmp_path: Path) -> None:
    text = "das\tDET\nneue\t_\nHaus\tNOUN\n\nja\t_\n"
    (tmp_path / "de.tsv").write_text(text)
    task = build_task("pos", [str(tmp_path / "de.tsv")])
    data, tokenizer = task.load("de", "train"), tiny_tokenizer("bert")
    model = tiny_model("bert", tokenizer=tokenizer)
    model.config.id2label = dict(enumerate(task.labels(data)))
    learned = task.encode(data, tokenizer, model, training=True)
    assert [row.example for row in learned] == [0] and sum(
        (row.inputs["labels"] >= 0).sum() for row in learned
    ) == 2
    assert len(task.encode(data, tokenizer, model, training=False)) == 2
    score = task.score(data, [["DET", "VERB", "VERB"], ["INTJ"]], language="de")
    assert score["accuracy"] == 50.0
    with refused(ConfigurationError, "pos ", "de.tsv", "test data", "tag (_)"):
        task.load("de", "test")
    (tmp_path / "de.tsv").write_text("ja\t_\n")
    with refused(ConfigurationError, "pos ", "de.tsv", "train data", "tag (_)", 'split="dev"'):
        task.load("de", "train")
    (tmp_path / "ner.tsv").write_text("Anna\tB-PER\nx\t_\ny\tO\n")
    entities = build_task("ner", [str(tmp_path / "ner.tsv")])
    assert entities.labels(entities.load("de", "train")) == ["O", "B-PER", "I-PER"]


def test_tags_of_another_scheme_are_named_by_the_option_that_the_message_says(tmp_path: Path) -> None:
    path = tmp_path / "en.tsv"
    path.write_text("river\tTHING\nsees\tACT\n\n", encoding="utf-8")
    with refused(IsoglotError, "en.tsv:1: ", "'THING'", "allowed=TAGS"):
        build_task("ner", [str(path)]).load("en", "train")
    task = build_task("ner", [str(path)], allowed=["THING", "ACT"])
    assert task.labels(task.load("en", "train")) == ["THING", "ACT"]


def test_rows_without_room_for_a_word_and_negative_overlaps_are_refused() -> None:
    tokenizer = tiny_tokenizer("bert")
    columns = {"words": [["the", "river"]], "tags": [["DET", "NOUN"]], "language": ["en"]}
    data = Dataset.from_dict(columns, features=TAGGED)
    model = tiny_model("bert", tokenizer=tokenizer)
    with refused(ConfigurationError, "max_length 2 ", "2 special tokens", "raise it to 3"):
        build_task("pos", [], max_length=2).encode(data, tokenizer, model, training=False)
    assert len(build_task("pos", [], max_length=3).encode(data, tokenizer, model, training=False)) == 2
    with refused(ConfigurationError, "overlap must be 0 words or more, got -1"):
        build_task("pos", [], overlap=-1)


@pytest.mark.parametrize("tag", ["U-PER", "L-PER"])
def test_ner_refuses_tags_whose_entities_cannot_be_counted(tag: str) -> None:
    with refused(ConfigurationError, "allowed", f"'{tag}'", "S-"):
        build_task("ner", [], allowed=("O", "B-PER", tag))
    task = build_task("ner", [])
    with refused(ConfigurationError, f"'{tag}'"):
        task.know(["O", "B-PER", tag])
    task.know(["O", "S-PER", "E-PER", "THING"])
