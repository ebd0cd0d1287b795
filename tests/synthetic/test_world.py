from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from isoglot.core.errors import ConfigurationError
from isoglot.formats.schema import TAGGED, TEXT, require
from isoglot.synthetic.lexicon import CLOSED, build_lexicon
from isoglot.synthetic.world import World

WORLD, SAME, OTHER = World(seed=5), World(seed=5), World(seed=6)
SPLITS = ("train", "dev", "test")


def test_lexicon_has_a_few_thousand_words() -> None:
    lexicon = build_lexicon(0)
    lexemes = [lexeme for pool in lexicon.values() for lexeme in pool]
    assert len(lexemes) > 3000 and len({form for x in lexemes for form in x.forms.values()}) > 4000
    small = build_lexicon(0, size=600)
    assert 500 < sum(len(p) for name, p in small.items() if name not in CLOSED) < 800


def test_world_rows_have_their_schemas() -> None:
    require(WORLD.text(5), TEXT, role="text")
    for made in (WORLD.pos(5), WORLD.ner(5)):
        require(made, TAGGED, role="tags")
    assert set(WORLD.text(5)["language"]) == {"en"}


@pytest.mark.parametrize("method", ["text", "treebank", "pos", "ner"])
def test_world_of_one_seed_has_the_same_rows_and_prefixes(method: str) -> None:
    long = getattr(WORLD, method)(400).to_list()
    assert getattr(SAME, method)(400).to_list() == long
    assert getattr(WORLD, method)(100).to_list() == long[:100]
    assert getattr(OTHER, method)(100).to_list() != long[:100]


def test_splits_share_no_sentence_across_tasks() -> None:
    found: dict[str, set[str]] = {}
    for split in SPLITS:
        texts = set(WORLD.text(1000, split=split)["text"])
        found[split] = texts
    for one, other in combinations(SPLITS, 2):
        assert not found[one] & found[other]


@pytest.mark.slow
def test_word_frequencies_are_zipfian() -> None:
    counts = Counter(w.lower() for words in WORLD.pos(20000)["words"] for w in words if w.isalpha())
    frequencies = np.array([c for _, c in counts.most_common(2000)], dtype=float)
    ranks = np.arange(1, len(frequencies) + 1)
    chosen = slice(9, 1000)
    slope = np.polyfit(np.log(ranks[chosen]), np.log(frequencies[chosen]), 1)[0]
    assert -1.35 < slope < -0.75
    assert counts.most_common(1)[0][0] == "the"


@pytest.mark.slow
def test_topics_make_words_keep_company() -> None:
    """Ships are found near water more often than chance has it: there is something to learn beside syntax."""

    def of(pool: str, hypernym: str) -> set[str]:
        lexemes = WORLD.lexicon[pool]
        return {f for x in lexemes if x.forms["hyper.sg"] == hypernym for f in (x.forms["sg"], x.forms["pl"])}

    vessels, water = of("noun.thing", "vessel"), of("noun.place", "waterway")
    words = [set(w) for w in WORLD.pos(10000)["words"]]
    ships, rivers = [bool(w & vessels) for w in words], [bool(w & water) for w in words]
    both = np.mean([a and b for a, b in zip(ships, rivers, strict=True)])
    assert both > 2 * np.mean(ships) * np.mean(rivers) > 0


@pytest.mark.parametrize("bad", [{"n": 0}, {"n": 3, "split": "validation"}])
def test_world_refuses_bad_arguments(bad: dict) -> None:
    with pytest.raises(ConfigurationError, match=r"use|known: train, dev, test"):
        WORLD.text(**bad)


@pytest.mark.parametrize("task", ["pos", "ner"])
def test_trees_of_tagged_sentences(task: str) -> None:
    tagged, trees = getattr(WORLD, task)(50), WORLD.treebank(50, of=task)
    assert tagged["words"] == trees["words"]
    assert tagged["tags"] == trees[{"pos": "upos", "ner": "entities"}[task]]
    with pytest.raises(ConfigurationError, match="text, pos, ner"):
        WORLD.treebank(5, of="poems")


@pytest.mark.slow
def test_trees_of_pairs_and_stories() -> None:
    """One tree a sentence, in their order; first names are persons, marks are punctuation."""
    for task in ("nli", "paws"):
        pairs, trees = getattr(WORLD, task)(300, split="test"), WORLD.treebank(300, split="test", of=task)
        assert trees["text"][:] == [s for row in pairs for s in (row["first"], row["second"])]
    stories, trees = WORLD.qa(40), WORLD.treebank(40, of="qa")
    told = " ".join(f"{row['context']} {row['question']}" for row in stories)
    assert " ".join(trees["text"]) == told
    first = {x.forms["form"] for x in WORLD.lexicon["name.first"]}
    for row in trees:
        assert len({len(row[c]) for c in ("words", "upos", "heads", "deprels", "entities")}) == 1
        assert row["heads"].count(0) == 1
        for word, tag, entity in zip(row["words"], row["upos"], row["entities"], strict=True):
            assert (entity == "B-PER") == (word in first and tag == "PROPN" and entity != "B-LOC")
            assert (tag == "PUNCT") == (word in ".,?")
