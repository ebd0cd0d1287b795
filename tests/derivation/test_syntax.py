"""Syntax by galactic dependencies."""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from small_trees import SVO

from isoglot.core.errors import ConfigurationError
from isoglot.derivation.base import Sentence, Underivable, with_derived_words
from isoglot.derivation.options import TransformOptions
from isoglot.derivation.order_model import OrderModel
from isoglot.derivation.syntax import Syntax, is_projective, parse_spec, to_ud1
from isoglot.formats.readers import read
from isoglot.formats.sources import Source

NOUN_FIRST = {"BI_@NOUN_ADJ": 30.0, "PRE_DET_@NOUN": 30.0}


VERB_LAST = {"PRE_dobj_@": 30.0, "PRE_nsubj_dobj": 30.0, "PRE_@_punct": 30.0, "PRE_nsubj_@": 30.0}


def test_syntax_with_strong_models_has_their_order() -> None:
    syntax = Syntax({"N": OrderModel(NOUN_FIRST), "V": OrderModel(VERB_LAST)}, TransformOptions())
    derived = syntax(SVO, key=0)
    assert derived.words == ("the", "cat", "old", "mice", "sees", ".")
    assert derived.origin == (0, 2, 1, 4, 3, 5)
    only = Syntax({"N": OrderModel(NOUN_FIRST)}, TransformOptions())(SVO, key=0)
    assert only.words == ("the", "cat", "old", "sees", "mice", ".")
    literal = Syntax({"V": OrderModel(VERB_LAST)}, TransformOptions(ud_labels="literal", best=True))
    assert literal(SVO, key=0).words != derived.words  # `obj` is no feature of a model of version 1


def test_syntax_draws_orders_from_their_distribution() -> None:
    phrase = Sentence(("an", "old", "cat"), ("DET", "ADJ", "NOUN"), (3, 3, 0), ("det", "amod", "root"))
    model = OrderModel({"BI_@NOUN_ADJ": 1.2, "PRE_det_@": 2.0, "PRE_DET&det_ADJ&amod": 0.7})
    syntax = Syntax({"N": model}, TransformOptions(seed=4))
    draws = 4000
    found = Counter(syntax(phrase, key=k).origin for k in range(draws))
    expected = model.distribution(["@NOUN&@", "DET&det", "ADJ&amod"])
    orders = [tuple((2, 0, 1)[i] for i in order) for order in expected.orders]
    for order, probability in zip(orders, expected.probabilities.tolist(), strict=True):
        assert found[order] / draws == pytest.approx(probability, abs=0.03)
    best = Syntax({"N": model}, TransformOptions(best=True))(phrase, key=0)
    assert best.origin == orders[expected.probabilities.argmax()]


def test_syntax_draws_depend_on_seed_and_key_alone() -> None:
    flat = OrderModel({"BI_a_b": 0.0})
    first, second = (Syntax({"V": flat}, TransformOptions(seed=1)) for _ in range(2))
    orders = [first(SVO, key=k).origin for k in range(20)]
    assert orders == [second(SVO, key=k).origin for k in reversed(range(20))][::-1]
    assert len(set(orders)) > 10


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.data())
def test_syntax_keeps_trees_and_makes_them_projective(size: int, data: st.DataObject) -> None:
    heads = tuple(data.draw(st.integers(0, i)) for i in range(size))  # a head before its dependents: a forest
    tags = tuple(data.draw(st.sampled_from(["NOUN", "VERB", "DET"])) for _ in range(size))
    tree = Sentence(tuple(f"w{i}" for i in range(size)), tags, heads, ("dep",) * size)
    flat = OrderModel({"BI_a_b": 0.0})
    try:
        derived = Syntax({"N": flat, "V": flat}, TransformOptions(oversize="keep"))(tree, key=0)
    except Underivable:
        assert not is_projective(heads)
        return
    assert is_projective(heads)
    assert sorted(derived.origin) == list(range(size))
    assert is_projective(with_derived_words(tree, derived).heads or ())


def naive_projective(heads: tuple[int, ...]) -> bool:
    arcs = [(min(i + 1, h), max(i + 1, h)) for i, h in enumerate(heads)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(6)), st.lists(st.integers(0, 5), min_size=6, max_size=6))
def test_is_projective_agrees_with_crossing_arcs(order: list[int], choice: list[int]) -> None:
    heads = [0] * 6
    for rank, node in enumerate(order[1:], 1):
        heads[node] = order[choice[rank] % rank] + 1
    assert is_projective(tuple(heads)) == naive_projective(tuple(heads))


def test_syntax_says_why_a_sentence_cannot_be_derived() -> None:
    syntax = Syntax({"N": OrderModel(NOUN_FIRST)}, TransformOptions())
    with refused(Underivable, "no dependency tree"):
        syntax(Sentence(("a",)))
    crossing = Sentence(("a",) * 4, ("X",) * 4, (3, 4, 0, 3), ("dep",) * 4)
    with refused(Underivable, "projective"):
        syntax(crossing)
    for heads in ((2, 1), (3, 0)):
        with refused(Underivable, "not a tree"):
            syntax(Sentence(("a", "b"), ("X", "X"), heads, ("dep", "dep")))
    wide = Sentence(("n",) * 8, ("NOUN",) * 8, (0, *[1] * 7), ("dep",) * 8)
    with refused(Underivable, "6 dependents"):
        syntax(wide)
    kept = Syntax({"N": OrderModel(NOUN_FIRST)}, TransformOptions(oversize="keep"))(wide)
    assert kept.origin == tuple(range(8))


def test_syntax_load_reads_and_mixes_models(tmp_path: Path) -> None:
    OrderModel({"BI_a_b": 1.0}).save(tmp_path / "fr@N.orm")
    OrderModel({"BI_a_b": 3.0}).save(tmp_path / "en@N.orm")
    syntax = Syntax.load(TransformOptions(syntax="en~fr@N", models=tmp_path, rate=0.25))
    assert syntax.models["N"].weights == {"BI_a_b": 1.5}


def test_ud1_labels_replace_those_of_ud2() -> None:
    cases = [
        ("obj", "NOUN", "x", "dobj"),
        ("nsubj:pass", "NOUN", "x", "nsubjpass"),
        ("aux:pass", "AUX", "was", "auxpass"),
        ("obl:tmod", "NOUN", "x", "nmod"),
        ("nmod:poss", "PRON", "x", "nmod:poss"),
        ("flat", "PROPN", "x", "name"),
        ("flat", "NOUN", "x", "foreign"),
        ("advmod", "PART", "n't", "neg"),
        ("advmod", "ADV", "well", "advmod"),
        ("cc:preconj", "CCONJ", "x", "cc:preconj"),
        ("fixed", "ADP", "x", "mwe"),
        ("nsubj:outer", "NOUN", "x", "nsubj"),
        ("root", "VERB", "x", "root"),
    ]
    for relation, tag, word, expected in cases:
        found = to_ud1(Sentence((word,), (tag,), (0,), (relation,)))
        assert found.deprels == (expected,)
    copula = to_ud1(Sentence(("is", "and"), ("AUX", "CCONJ"), (0, 1), ("cop", "cc")))
    assert copula.upos == ("VERB", "CONJ")


@pytest.mark.slow
def test_syntax_gives_real_trees_french_order() -> None:
    root = os.environ.get("ISOGLOT_DATA")
    if root is None:
        pytest.skip("ISOGLOT_DATA is not set")
    trees = read(Source(path=f"{root}/ud/en_ewt-ud-dev.conllu", language="en"), kind="treebank")
    syntax = Syntax.load(TransformOptions(syntax="en~fr@N~fr@V", models=Path(root) / "galactic", best=True))
    after = before = 0
    for key, row in enumerate(islice(trees, 300)):
        tree = Sentence(*(tuple(row[c]) for c in ("words", "upos", "heads", "deprels")))
        try:
            derived = syntax(tree, key=key)
        except Underivable:
            continue
        heads = with_derived_words(tree, derived).heads or ()
        for i, o in enumerate(derived.origin):
            if row["deprels"][o] == "amod" and row["upos"][row["heads"][o] - 1] == "NOUN":
                after, before = after + (heads[i] - 1 < i), before + (heads[i] - 1 > i)
    assert after > before


def test_parse_spec_examples() -> None:
    assert parse_spec("en~fr@N~hi@V") == ("en", {"N": "fr", "V": "hi"})
    assert parse_spec("en~fr@V") == ("en", {"V": "fr"})
    for bad in ("en", "en~fr", "en~fr@X", "en~fr@N~hi@N", "~fr@N"):
        with refused(ConfigurationError, "syntax: ", "en~fr@N~fr@V", f"'{bad}'"):
            parse_spec(bad)
