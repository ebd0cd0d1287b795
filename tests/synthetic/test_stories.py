from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from isoglot.formats.schema import SPAN, require
from isoglot.synthetic.stories import SCENES, Scene, story_patterns
from isoglot.synthetic.world import World
from shallow_readers import span_baselines

WORLD = World(seed=4)


def test_spans_are_where_they_say() -> None:
    rows = require(WORLD.qa(1000), SPAN, role="stories").to_list()
    for row in rows:
        (text,), (start,) = row["answers"]["text"], row["answers"]["start"]
        assert row["context"][start : start + len(text)] == text
        assert start == 0 or row["context"][start - 1] in " "
        assert row["context"][start + len(text)] in " .,"
        assert row["question"].endswith("?")
    assert len({r["id"] for r in rows}) == len(rows)
    assert len({r["id"] for r in rows} & set(WORLD.qa(100, split="dev")["id"])) == 0


@pytest.mark.slow
def test_questions_are_mixed() -> None:
    kinds = Counter(q.split()[0] for q in WORLD.qa(3000)["question"])
    assert set(kinds) >= {"Where", "Who", "What", "How", "On"}
    assert max(kinds.values()) < 0.6 * sum(kinds.values())


def test_every_answer_has_distractors_of_its_type() -> None:
    """A place answers a question in a story with at least two places; likewise people."""
    pools = WORLD.lexicon
    types = [{x.forms["form"] for x in pools[name]} for name in ("name.town", "name.first", "weekday")]
    for row in WORLD.qa(1000):
        answer = row["answers"]["text"][0]
        for names in types:
            if answer in names:
                assert len(set(re.findall(r"\w+", row["context"])) & names) >= 2, row


def test_roles_are_answered_by_reading_them() -> None:
    """A reader of one kind of question: whose verb was it, by whom?"""
    checked = 0
    for row in WORLD.qa(3000):
        found = re.fullmatch(r"Where did (\w+) (\w+) (first|last)\?", row["question"])
        if found:
            who, _, which = found.groups()
            trips = re.findall(rf"\b{who} \w+ to (\w+)\.", row["context"])
            assert row["answers"]["text"] == [trips[0] if which == "first" else trips[-1]], row
            checked += 1
        found = re.fullmatch(r"Who was (\w+er) than (\w+)\?", row["question"])
        if found:
            word, who = found.groups()
            same = re.findall(rf"(\w+) was {word} than {who}\.", row["context"])
            opposite = re.findall(rf"{who} was (\w+er) than (\w+)\.", row["context"])
            options = {*same, *(name for w, name in opposite if w != word)}
            assert row["answers"]["text"][0] in options, row
            checked += 1
    assert checked > 300


@pytest.mark.slow
def test_shallow_readers_do_badly() -> None:
    found = {b.name: b.value for b in span_baselines(WORLD.qa(4000), WORLD.qa(1500, split="test"))}
    assert found["commonest answer"] < 0.4 and found["first of type"] < 0.4
    assert found["most overlap"] < 0.5
    assert found["most overlap"] > 0.1, "the reader itself works"


@pytest.mark.parametrize("scene", SCENES)
def test_scenes_answer_their_questions(scene: Scene) -> None:
    sentences, questions = scene.tell(Random(0))
    assert questions
    for question in questions:
        assert question.answer in sentences[question.sentence]


@pytest.mark.slow
def test_stories_are_reproducible_and_splits_disjoint() -> None:
    assert story_patterns(20, 1) == story_patterns(20, 1) != story_patterns(20, 2)
    one = WORLD.qa(200).to_list()
    assert one == World(seed=4).qa(300).to_list()[:200]
    contexts = {s: set(WORLD.qa(300, split=s)["context"]) for s in ("train", "dev", "test")}
    assert not contexts["train"] & contexts["test"] and not contexts["train"] & contexts["dev"]
