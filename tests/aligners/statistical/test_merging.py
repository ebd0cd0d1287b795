from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from commands import run
from refusals import refused
from repeated_bitext import save_without_list
from safetensors.numpy import load_file, save_file

from isoglot.aligners.statistical import hmm_training
from isoglot.aligners.statistical.merging import merge
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.core.errors import ConfigurationError, InputError

FIRST_UPDATE = {"fast_align": {"iterations": 2}, "hmm": {"iterations": 1}}
"""Options with which a model makes one update: expected counts of a part then do not depend on the other parts."""


def bitext(rows=60, *, seed=0):
    """Sentence pairs with repeated words, new words in each part, and some empty sides."""
    draw = random.Random(seed)
    source, target = [], []
    for row in range(rows):
        words = [draw.choice("abcdefghij") + "xyz"[3 * row // rows] for _ in range(draw.randint(0, 7))]
        source.append(words)
        target.append([word.upper() for word in reversed(words)] + ["."] * draw.randint(0, 2))
    return source, target


def train(method, source, target, **options):
    return StatisticalAligner(method, **options).fit_words(source, target)


def saved_parts(folder, method, source, target, *, cuts=(0, 20, 27, 60), **options):
    places = [folder / f"part-{number}" for number in range(len(cuts) - 1)]
    for place, first, last in zip(places, cuts, cuts[1:], strict=False):
        train(method, source[first:last], target[first:last], **options).save(place)
    return places


@pytest.mark.parametrize("method", FIRST_UPDATE)
def test_merged_model_is_the_joint_one_after_one_update(method, tmp_path, monkeypatch):
    monkeypatch.setattr(hmm_training, "_WARM_UP", 0)  # fast_align's updates before those of the HMM
    source, target = bitext()
    joint = train(method, source, target, **FIRST_UPDATE[method])
    merged = merge(saved_parts(tmp_path, method, source, target, **FIRST_UPDATE[method]))
    assert merged.settings == joint.settings and merged.model.words == joint.model.words
    wanted, found = joint.model._arrays(), merged.model._arrays()
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-6, atol=1e-9, err_msg=name)
    one, other = (aligner.tables(source, target).score for aligner in (joint, merged))
    np.testing.assert_allclose(other, one, rtol=1e-6)


@pytest.mark.parametrize("method", FIRST_UPDATE)
def test_merging_is_associative_and_survives_the_disk(method, tmp_path):
    source, target = bitext()
    parts = saved_parts(tmp_path, method, source, target)
    merge(parts[:2]).save(tmp_path / "two")
    at_once, in_turn = merge(parts), merge([tmp_path / "two", StatisticalAligner.load(parts[2])])
    for name, array in at_once.model._arrays().items():
        np.testing.assert_allclose(in_turn.model._arrays()[name], array, rtol=1e-5, atol=1e-6, err_msg=name)
    at_once.save(tmp_path / "all")
    assert StatisticalAligner.load(tmp_path / "all").model.digest() == at_once.model.digest()


def test_the_tension_is_the_mean_over_generated_words():
    source, target = bitext()
    texts = [(source, target), (source[:20], target[:20])]
    parts = [train("fast_align", *text) for text in texts]
    for part, tension in zip(parts, (3.0, 7.0), strict=True):
        part.model.forward = replace(part.model.forward, tension=tension)
    tokens = [sum(len(t) for s, t in zip(*text, strict=True) if s) for text in texts]
    expected = np.average([3.0, 7.0], weights=tokens)
    assert merge(parts).model.forward.tension == pytest.approx(expected, rel=1e-6)


def test_parts_without_a_pair_change_nothing():
    source, target = bitext()
    one, nothing = train("fast_align", source, target), train("fast_align", [[], ["a"]], [["A"], []])
    merged = merge([nothing, one])
    assert merged.tables(source, target).links.to_pharaoh() == one.tables(source, target).links.to_pharaoh()
    of_none = merge([nothing, train("fast_align", [], [])])
    assert of_none.model.forward.tension == nothing.model.forward.tension
    assert of_none.align_words(["a"], ["A"]).links == nothing.align_words(["a"], ["A"]).links


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"method": "fast_align"}, "method 'fast_align', but 'hmm' in "),
        (
            {"alpha": 0.01, "iterations": 2},
            "options iterations=2, alpha=0.01, but iterations=6, alpha=0.0001 in ",
        ),
        ({"lowercase": True}, "lowercase True, but False"),
        ({"words": "unicode"}, "words 'unicode', but None"),
        ({"symmetrisation": "union"}, "symmetrisation 'union', but 'agreement'"),
        ({"threshold": 0.5}, "threshold 0.5, but 0.3"),
    ],
)
def test_models_that_were_trained_otherwise_are_refused(tmp_path, options, said):
    source, target = bitext(9)
    places = [tmp_path / "one", tmp_path / "other"]
    for place, own in zip(places, ({}, options), strict=True):
        train(
            own.get("method", "hmm"), source, target, **{k: v for k, v in own.items() if k != "method"}
        ).save(place)
    with pytest.raises(ConfigurationError) as error:
        merge(places)
    assert said in str(error.value) and str(error.value).startswith(f"{places[1]}: ")


def test_models_that_cannot_be_merged_are_refused(tmp_path):
    source, target = bitext(9)
    place = tmp_path / "model"
    aligner = train("fast_align", source, target)
    aligner.save(place)
    for models, said in (
        ([], "two or more .* got 0"),
        ([place], "two or more .* got 1"),
        ([place, tmp_path / "x" / ".." / "model"], "got this model twice"),
        ([aligner, aligner], "model 2: got this model twice"),
        ([aligner, StatisticalAligner()], "must be trained first"),
        ([train("fast_align", source, target, iterations=1)] * 2, "model 1: has no expected counts"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            merge(models)
    with refused(InputError, "/missing: ", "`isoglot align --save`"):
        merge([place, tmp_path / "missing"])


def test_a_model_that_was_saved_without_counts_still_aligns(tmp_path):
    source, target = bitext(9)
    aligner = train("fast_align", source, target)
    save_without_list(aligner, tmp_path)
    arrays = load_file(tmp_path / "tables.safetensors")
    save_file({k: a for k, a in arrays.items() if not k.endswith("counts")}, tmp_path / "tables.safetensors")
    loaded = StatisticalAligner.load(tmp_path)
    assert (
        loaded.tables(source, target).links.to_pharaoh() == aligner.tables(source, target).links.to_pharaoh()
    )
    with refused(ConfigurationError, tmp_path.name, "iterations=1"):
        merge([tmp_path, aligner])


def test_the_command_writes_a_model_that_align_loads(tmp_path):
    source, target = bitext()
    parts = saved_parts(tmp_path, "hmm", source, target)
    text = tmp_path / "text.tsv"
    text.write_text("".join(f"{' '.join(s)}\t{' '.join(t)}\n" for s, t in zip(source, target, strict=True)))
    for _ in range(2):
        run("merge", *parts, "--out", tmp_path / "all")
    found = run("align", text, "--load", tmp_path / "all").splitlines()
    assert found == merge(parts).tables(source, target).links.to_pharaoh()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    (notes := tmp_path / "notes").mkdir()
    (notes / "mine").write_text("kept")
    for out, said in ((parts[0], "is also an input"), (tmp_path, "holds the input"), (notes, "is not empty")):
        assert said in run("merge", *parts, "--out", out, fails=ConfigurationError)
    other = tmp_path / "other"
    saved_parts(tmp_path, "hmm", source[:4], target[:4])[0].rename(other)
    saved_parts(tmp_path, "hmm", source, target)
    refused = run("merge", other, parts[1], "--out", tmp_path / "all", fails=ConfigurationError)
    assert "holds a model of another text or with other options" in refused
    assert {path: path.read_bytes() for path in before} == before
    run("merge", other, parts[1], "--out", tmp_path / "all", "--overwrite")


def test_rounds_over_parts_are_the_updates_of_the_joint_model(tmp_path):
    """With a tension that stays: its gradient steps are taken on each part, and their mean is a little different."""
    source, target = bitext()
    fixed = {"optimise_tension": False, "lowercase": True}
    merged = None
    for updates in (1, 2, 3):
        joint = train("fast_align", source, target, iterations=updates + 1, **fixed)
        parts = [
            StatisticalAligner("fast_align", iterations=2, **fixed).fit_words(
                source[first:last], target[first:last], start=merged
            )
            for first, last in ((0, 20), (20, 27), (27, 60))
        ]
        merged = merge(parts)
        found = merged.model._arrays()
        for name, array in joint.model._arrays().items():
            np.testing.assert_allclose(found[name], array, rtol=1e-6, atol=1e-9, err_msg=f"{updates}: {name}")


def test_a_round_of_the_hmm_is_one_more_iteration_and_adds_up_over_parts():
    source, target = bitext()
    known, more = train("hmm", source, target), train("hmm", source, target, iterations=7)
    once = StatisticalAligner("hmm", iterations=1)
    found = once.fit_words(source, target, start=known).model._arrays()
    for name, array in more.model._arrays().items():
        # what a word contributed itself is left out as the known model has it, not as the iteration before had it
        assert np.abs(found[name] - array).sum() < 0.1, name  # of some 200 words
    assert np.abs(known.model._arrays()["forward.jump_width"] - found["forward.jump_width"]).sum() > 0.1
    parts = [
        StatisticalAligner("hmm", iterations=1).fit_words(source[a:b], target[a:b], start=known)
        for a, b in ((0, 20), (20, 27), (27, 60))
    ]
    for name, array in merge(parts).model._arrays().items():
        np.testing.assert_allclose(array, found[name], rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_round_begins_with_a_model_of_the_same_kind(tmp_path):
    source, target = bitext(9)
    known = train("fast_align", source, target)
    for other in (StatisticalAligner("hmm"), StatisticalAligner(lowercase=True)):
        with refused(
            ConfigurationError,
            "start: ",
            "'fast_align'",
            "lowercase=False",
            f"'{other.method}'",
            "lowercase=",
        ):
            other.fit_words(source, target, start=known)
    text, model = tmp_path / "text.tsv", tmp_path / "model"
    text.write_text("".join(f"{' '.join(s)}\t{' '.join(t)}\n" for s, t in zip(source, target, strict=True)))
    StatisticalAligner(words="unicode").fit_words(source, target).save(model)
    call = ("align", text, "-m", "fast_align", "--start", model)
    told = run(*call, "--words", "whitespace", fails=ConfigurationError)
    assert "was trained on text split with --words unicode; leave --words out" in told
    assert "is also an input" in run(*call, "--words", "unicode", "--save", model, fails=ConfigurationError)
    once = run("align", text, "-m", "fast_align", "--words", "unicode", "--set", "iterations=2")
    more = run(*call, "--words", "unicode", "--set", "iterations=2")
    assert len(more.splitlines()) == 9 and more != once


@pytest.mark.parametrize(
    ("given", "told"), [("a", "got 'a'"), (None, "got None"), ([1, 2], "model 1: expected")]
)
def test_models_are_a_list_of_folders_or_aligners(given, told):
    with pytest.raises(ConfigurationError, match=told):
        merge(given)


def test_tables_of_jumps_of_another_size_are_refused():
    parts = [StatisticalAligner("hmm").fit_words([["a", "b"]], [["x", "y"]]) for _ in range(2)]
    forward = parts[1].trained().forward
    jumps = forward.jumps._replace(
        by_width=forward.jumps.by_width[1:-1], first_link=forward.jumps.first_link[1:]
    )
    object.__setattr__(forward, "jumps", jumps)  # of a model that another version saved
    with refused(ConfigurationError, "model 2: ", " 179 ", "model 1 ", " 182"):
        merge(parts)
