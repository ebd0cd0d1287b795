"""The models of word order that need no file."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.alphabet import Transliteration
from isoglot.derivation.base import Sentence, Underivable, compose
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.order_model import BUILT_IN, BUILT_IN_MODELS, built_in_model
from isoglot.derivation.spec import build
from isoglot.derivation.syntax import HEAD_CLASSES, Syntax, to_ud1
from isoglot.synthetic.world import World

SPEC = "en~head-final@N~head-final@V"
TREE = Sentence(
    ["the", "old", "cat", "in", "the", "house", "has", "not", "seen", "mice", "."],
    ("DET", "ADJ", "NOUN", "ADP", "DET", "NOUN", "AUX", "PART", "VERB", "NOUN", "PUNCT"),
    (3, 3, 9, 6, 6, 3, 9, 9, 0, 9, 9),
    ("det", "amod", "nsubj", "case", "det", "nmod", "aux", "advmod", "root", "obj", "punct"),
)


def tree_of(row: dict[str, Any]) -> Sentence:
    return Sentence(tuple(row["words"]), tuple(row["upos"]), tuple(row["heads"]), tuple(row["deprels"]))


def test_built_in_head_final_has_its_usual_order() -> None:
    derived = Syntax.load(TransformOptions(syntax=SPEC, models=BUILT_IN, best=True))(TREE)
    assert " ".join(derived.words) == "house the in cat old the mice seen not has ."


def test_built_in_english_keeps_english_order() -> None:
    assert Syntax.load(TransformOptions(syntax="en~en@N~en@V", models=BUILT_IN, best=True))(
        TREE
    ).origin == tuple(range(11))


def test_built_in_draws_are_mostly_usual_orders() -> None:
    syntax = Syntax.load(TransformOptions(syntax=SPEC, models=BUILT_IN, seed=3))
    usual = Syntax.load(TransformOptions(syntax=SPEC, models=BUILT_IN, best=True))(TREE).origin
    drawn = [syntax(TREE, key=k).origin for k in range(400)]
    assert 0.35 < drawn.count(usual) / 400 < 0.9
    assert len(set(drawn)) > 10


@pytest.mark.parametrize("language", BUILT_IN_MODELS)
@pytest.mark.parametrize("kind", ["N", "V"])
def test_built_in_lists_have_each_relation_once(language: str, kind: str) -> None:
    tiers = [tier.split() for tier in BUILT_IN_MODELS[language][kind]]
    named = [name for tier in tiers for name in tier]
    assert len(set(named)) == len(named)
    assert "@" in named
    weights = built_in_model(language, kind).weights
    assert len(weights) == sum(len(a) * len(b) for a, b in combinations(tiers, 2))
    assert not any(f"PRE_{b}_{a}" in weights for _, a, b in (name.split("_") for name in weights))


@pytest.mark.slow
def test_built_in_models_know_every_relation_of_the_world() -> None:
    known = {
        kind: {name for tier in BUILT_IN_MODELS["head-final"][kind] for name in tier.split()} for kind in "NV"
    }
    for row in World(seed=2).treebank(1500):
        tree = to_ud1(tree_of(row))
        for head, relation in zip(tree.heads or (), tree.deprels or (), strict=True):
            kind = HEAD_CLASSES.get((tree.upos or ())[head - 1]) if head else None
            assert kind is None or relation in known[kind]


@pytest.mark.slow
def test_derive_transliterates_and_reorders_a_treebank_of_the_world() -> None:
    """Verbs go to the end, articles behind their nouns, and nothing is lost."""
    options = TransformOptions(syntax=SPEC, models=BUILT_IN, seed=1)
    both, order = build("trans+syn", options), build("syn", options)
    spelled = Transliteration()
    after = before = derived = 0
    rows = World(seed=2).treebank(800)
    for key, row in enumerate(rows):
        tree = tree_of(row)
        try:
            image = both(tree, key=key)
        except Underivable as reason:
            assert str(reason) == "a head with over 6 dependents"
            continue
        assert image == compose(spelled, order)(tree, key=key)
        assert sorted(image.origin) == list(range(len(tree.words)))
        place = {old: new for new, old in enumerate(image.origin)}
        derived += 1
        for i, relation in enumerate(tree.deprels or ()):
            head = (tree.heads or ())[i] - 1
            if relation == "det" and (tree.upos or ())[head] == "NOUN":
                after, before = after + (place[i] > place[head]), before + (place[i] < place[head])
    assert 750 < derived < 800
    assert after > 10 * before > 0


def test_built_in_model_that_is_unknown_names_the_known_ones() -> None:
    with refused(ConfigurationError, "fr@N", "en, head-final", "models=FOLDER"):
        Syntax.load(TransformOptions(syntax="en~fr@N", models=BUILT_IN))
