"""Tuning from Python: what the command does, of objects too, and nothing written until it is asked for."""

from __future__ import annotations

import json

import pytest
from commands import run
from refusals import refused

import isoglot as iso
from isoglot.aligners.embedding.choice import ATTACHED, kept_choice
from isoglot.aligners.embedding.score_layers import best_choice
from isoglot.core.errors import ConfigurationError
from isoglot.testing import tiny_aligned, tiny_model, tiny_tokenizer


def pairs(first: int, last: int) -> list[iso.SentencePair]:
    rows = tiny_aligned(24).select(range(first, last))
    columns = zip(rows["source_words"], rows["target_words"], rows["links"], strict=True)
    return [iso.SentencePair.of(source, target, sure=links) for source, target, links in columns]


def write(path, gold: list[iso.SentencePair]) -> str:
    rows = [
        {"src": pair.words[0], "tgt": pair.words[1], "sure": sorted(pair.sure or ()), "possible": []}
        for pair in gold
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


@pytest.fixture
def own(tmp_path):
    """A folder of this test's own, in which a choice may be kept."""
    for part in (tiny_model("bert"), tiny_tokenizer("bert")):
        part.save_pretrained(tmp_path / "encoder")
    return tmp_path / "encoder"


def test_the_choice_has_the_least_error_and_is_kept_when_asked(own, tmp_path):
    sets = {"one": pairs(0, 12), "two": pairs(12, 24)}
    found = iso.tune(own, sets, layers=[1, 2], weights={"two": 3.0})
    assert found.table == best_choice(own, sets, layers=[1, 2], weights={"two": 3.0}, with_best=ATTACHED)
    assert found.best.aer == min(tried.aer for tried in found.table)
    assert not kept_choice(own)
    file = found.keep()
    assert file.parent == own and kept_choice(own) == found.choice
    words = [pair.words for pair in sets["one"]]
    linked = iso.align_many(words, model=own, dtype="float32")
    given = iso.align_many(words, model=own, **{"dtype": "float32", **found.choice})
    assert [pair.links for pair in linked] == [pair.links for pair in given]
    assert iso.score(linked, sets["one"]) == found.best.scores["one"]


@pytest.mark.slow
def test_files_objects_and_models_give_one_table(own, tmp_path):
    gold = pairs(0, 12)
    file = write(tmp_path / "gold.jsonl", gold)
    expected = [(tried.choice, tried.aer) for tried in iso.tune(own, gold, layers=[2]).table]
    several = iso.tune(own, [file, gold], layers=[2])
    assert list(several.best.scores) == [file, "gold 2"]
    for given in (file, {"mine": file}):
        assert [(tried.choice, tried.aer) for tried in iso.tune(own, given, layers=[2]).table] == expected
    model, tokenizer = iso.EmbeddingAligner(own, dtype="float32").model, tiny_tokenizer("bert")
    held = iso.tune(model, gold, tokenizer=tokenizer, layers=[2])
    assert [(tried.choice, tried.aer) for tried in held.table] == expected
    with refused(ConfigurationError, "align(..., **found.choice)"):
        held.keep()


def test_a_generator_of_layers_is_read_once_for_all_sets(own):
    sets = {"one": pairs(0, 6), "two": pairs(6, 12)}
    found = iso.tune(own, sets, layers=(layer for layer in (1, 2)))
    assert found.table == iso.tune(own, sets, layers=[1, 2]).table


@pytest.mark.parametrize(
    ("weights", "named"),
    [
        *(({"two": weight}, f"'two'.*got {weight!r}") for weight in (0, -1, float("nan"), float("inf"), "3")),
        ({"twoo": 2.0}, "'twoo'.* two$"),
    ],
    ids=str,
)
def test_tune_refuses_weights(own, weights, named):
    with pytest.raises(ConfigurationError, match=f"weights: {named}"):
        iso.tune(own, {"two": pairs(0, 2)}, layers=[1], weights=weights)


def test_the_largest_weights_give_a_finite_mean(own):
    sets = {"one": pairs(0, 6), "two": pairs(6, 12)}
    found = iso.tune(own, sets, layers=[1], weights=dict.fromkeys(sets, 1e308))
    assert found.table == iso.tune(own, sets, layers=[1]).table


@pytest.mark.parametrize("layers", [[], 3, [1.5], ["1"]])
def test_layers_are_numbers(own, layers):
    with refused(ConfigurationError, "layers ", f"got {layers!s}"):
        iso.tune(own, pairs(0, 2), layers=layers)


ONE = (["a", "b"], ["c"])


@pytest.mark.parametrize(
    ("gold", "named"),
    [
        ([], "gold links"),
        ([iso.SentencePair.of(*ONE, sure=[])], "gold 1: .*sure link"),
        ([iso.SentencePair.of(*ONE, sure=[(0, 0), (1, 1)])], r"gold 1: pair 1 .*\(1, 1\).* 2 and 1 words"),
        ([iso.SentencePair.of(*ONE, sure=[(-1, 0)])], r"gold 1: pair 1 .*\(-1, 0\)"),
        ([iso.SentencePair(words=("a b", "c"), sure=[(0, 0)])], "got 'a b'"),
        ([iso.SentencePair.of(*ONE)], r"gold 1: pair 1: .*SentencePair.of\(SOURCE, TARGET, sure=LINKS\)"),
        ([iso.SentencePair.of(*ONE, sure=[(0, 0)]), {(0, 0)}], r"gold 1: pair 2: .*got {\(0, 0\)}"),
        (None, "gold: .*None"),
        (5, "gold: .*5"),
        ([{"src": ["a"]}], r"gold: .*\{'src': \['a'\]\}"),
        ({"a": 5}, "gold: .*5"),
    ],
)
def test_tune_refuses_gold(own, gold, named):
    with pytest.raises(ConfigurationError, match=named):
        iso.tune(own, gold, layers=[1])


def test_a_set_given_twice_has_no_clear_weight(own, tmp_path, monkeypatch):
    file = write(tmp_path / "gold.jsonl", pairs(0, 2))
    monkeypatch.chdir(tmp_path)
    with refused(ConfigurationError, "gold.jsonl: ", "twice"):
        iso.tune(own, [file, "./gold.jsonl"], layers=[1])
    told = run("tune", own, "--gold", file, "--gold", f"{file}=3", fails=ConfigurationError)
    assert "twice" in told and not kept_choice(own)


def test_a_file_under_two_names_is_one_set(own, tmp_path):
    """It counted twice in the mean."""
    file = write(tmp_path / "gold.jsonl", pairs(0, 2))
    with refused(ConfigurationError, "gold.jsonl: ", "twice"):
        iso.tune(own, {"one": file, "two": tmp_path / "gold.jsonl"}, layers=[1])


@pytest.mark.parametrize("name", ["with_best", "tokenizer", "how"])
def test_arguments_that_are_no_options_are_refused(own, tmp_path, name):
    """`with_best` ended in a TypeError."""
    file = write(tmp_path / "gold.jsonl", pairs(0, 2))
    said = run("tune", own, "--gold", file, "--set", f"{name}=1", fails=ConfigurationError)
    assert name in said
