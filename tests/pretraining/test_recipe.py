"""Recipes: YAML 1.2 typing, overrides, inheritance, and every mistake in one list with its line."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from good_recipe import complaints, recipe_file
from plain_recipes import load
from pydantic import ValidationError
from refusals import refused

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.pretraining.recipe import typed_recipe
from isoglot.recipe.document import dump_yaml
from isoglot.recipe.sections import _portable_text
from isoglot.recipe.source import builtin_recipes, read_document


def test_a_good_recipe_keeps_norwegian_and_numbers(good: Path) -> None:
    recipe = load(good)
    assert recipe.streams["bitext"].inputs[0].target_language == "no"
    assert recipe.train == {"learning_rate": 5e-5}
    assert recipe.views["pair"].options.model_dump(exclude_unset=True) == {"probability": 0.15}
    assert recipe.objectives["masked_lm"].weight == 1.0
    assert recipe.seed == 1 and recipe.normalisation == "token"
    with pytest.raises(ValidationError):
        recipe.seed = 2


def test_resolved_yaml_is_the_same_recipe_with_defaults_spelled_out(good: Path, tmp_path: Path) -> None:
    recipe = load(good)
    text = dump_yaml(recipe.model_dump(mode="json"))
    assert "normalisation: token" in text and "weight: 1.0" in text
    again = load(recipe_file(tmp_path, text, "resolved.yaml"))
    assert again == recipe
    assert again.hash == recipe.hash


def test_all_mistakes_are_listed_together_with_their_lines(tmp_path: Path) -> None:
    path = recipe_file(
        tmp_path,
        """\
name: mine
sed: 3
model: {path: a, architecture: bert}
streams:
  bitext: {kind: bitexts, path: 7}
  spare: {kind: text, path: a.txt}
views:
  pair: {type: masked_pair, stream: bittext}
  other: {stream: bitext}
objectives:
  masked_lm: {type: masked_lm, view: pear, weight: heavy}
  masked_lm: {type: masked_lm}
batch: {example: 32}
epochs: {stream: text, count: 0}
steps: 5
""",
    )
    found = "\n".join(complaints(path))
    for expected in (
        f"{path}:2: sed: unknown key; did you mean 'seed'?",
        f"{path}:3: model: got 'path' and 'architecture'; exactly one",
        f"{path}:5: streams.bitext.kind: got 'bitexts'; did you mean 'bitext'?",
        f"{path}:5: streams.bitext.path: got 7",
        f"{path}:6: streams.spare: no view or objective reads this stream",
        f"{path}:8: views.pair.stream: no stream is named 'bittext'; did you mean 'bitext'?",
        f"{path}:9: views.other.type: missing",
        f"{path}:11: objectives.masked_lm.view: no view is named 'pear'; did you mean 'pair'?",
        f"{path}:11: objectives.masked_lm.weight: got 'heavy'",
        f"{path}:12: objectives.masked_lm: repeated, first in line 11",
        f"{path}:13: batch.example: unknown key; did you mean 'examples'?",
        f"{path}:14: epochs.count: got 0",
        f"{path}:14: epochs.stream: no stream is named 'text'",
    ):
        assert expected in found, f"{expected}\nnot in\n{found}"


def test_length_and_batch_are_each_given_once(good: Path) -> None:
    assert any("exactly one of `epochs" in c for c in complaints(good, "steps=null"))
    assert any(
        "exactly one of examples | tokens" in c for c in complaints(good, "batch={examples: 1, tokens: 9}")
    )
    recipe = load(good, ["steps=null", "epochs={stream: bitext, count: 2}"])
    assert recipe.epochs is not None and recipe.epochs.count == 2 and recipe.steps is None


def test_a_later_choice_replaces_the_other_one(good: Path, tmp_path: Path) -> None:
    recipe = load(good, ["epochs={stream: bitext, count: 2}", "batch.tokens=4096"])
    assert (recipe.steps, recipe.batch.examples, recipe.batch.tokens) == (None, None, 4096)
    recipe = load(good, ["epochs={stream: bitext, count: 2}", "steps=10"])
    assert (recipe.steps, recipe.epochs) == (10, None)
    child = tmp_path / "child.yaml"
    sources = "sources: [{path: a.tsv, target_language: de}, {path: b.tsv, target_language: fr}]"
    child.write_text(
        f"extends: good.yaml\nepochs: {{stream: bitext, count: 3}}\nstreams: {{bitext: {{{sources}}}}}\n"
    )
    recipe = load(child)
    assert recipe.steps is None and recipe.epochs is not None and recipe.epochs.count == 3
    assert recipe.streams["bitext"].path is None and recipe.streams["bitext"].sources is not None
    child.write_text("extends: good.yaml\nsteps: 5\nepochs: {stream: bitext, count: 3}\n")
    assert any("exactly one of `epochs" in c for c in complaints(child))  # both in one file is a mistake


def test_overrides_are_typed_named_and_checked(good: Path) -> None:
    recipe = load(
        good, ["train.learning_rate=1e-4", "train.run_name=no", "views.pair.random_pool=[1, 2]", "seed=7"]
    )
    assert recipe.train == {"learning_rate": 1e-4, "run_name": "no"}
    assert recipe.views["pair"].model_dump()["random_pool"] == [1, 2]
    assert recipe.seed == 7
    assert complaints(good, "sead=7")[0].startswith(
        "overrides=\"sead=7\": sead: unknown key; did you mean 'seed'?"
    )
    assert "type for example" in complaints(good, "seed")[0]
    assert "name is a str, no section" in complaints(good, "name.deep=1")[0]
    with refused(ConfigurationError, "'\"a: b\"'"):
        load(good, ["name=a: [b"])


def test_hash_follows_the_experiment_and_not_the_machine(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest(*overrides: str) -> str:
        return load(good, overrides).hash

    base = digest()
    assert (
        base
        == digest("name=other")
        == digest("normalisation=token")
        == digest("objectives.masked_lm.weight=1.0")
    )
    assert base != digest("seed=2")
    assert base != digest("views.pair.probability=0.3")
    monkeypatch.setenv("SOME_DATA", "/here")
    here = digest("streams.bitext.path=${SOME_DATA}/x")
    monkeypatch.setenv("SOME_DATA", "/there")
    assert here == digest("streams.bitext.path=${SOME_DATA}/x")
    assert here != digest("streams.bitext.path=${SOME_DATA}/y")


def test_a_variable_that_leads_to_no_place_counts_by_its_value(
    good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest(override: str, **environment: str) -> str:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return load(good, [override]).hash

    rate = "train.learning_rate=${RATE}"
    assert digest(rate, RATE="5e-5") == digest("train.learning_rate=5e-5") != digest(rate, RATE="1e-5")
    file = "streams.bitext.path=${SOME_DATA}/en-${OTHER}.tsv"
    german = digest(file, SOME_DATA="/here", OTHER="de")
    assert german == digest(file, SOME_DATA="/there") != digest(file, OTHER="fr")
    assert german != digest("streams.bitext.path=/here/en-de.tsv"), "a place of one machine"
    whole = "streams.bitext.path=[a.tsv, '${SOME_DATA}']"
    assert digest(whole, SOME_DATA="/here") == digest(whole, SOME_DATA="/there")
    name = "streams.bitext.source_language=${OTHER}"
    assert digest(name, OTHER="de") != digest(name, OTHER="fr")


def test_only_a_whole_first_folder_or_a_key_called_path_says_where_files_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTHER", "de")
    assert _portable_text(("streams", "bitext", "path"), "${OTHER}") == "${OTHER}"
    assert _portable_text(("streams", "bitext", "path", 1), "${OTHER}") == "${OTHER}"
    assert _portable_text(("streams", "bitext", "path"), "${OTHER}/${OTHER}.tsv") == "${OTHER}/de.tsv"
    for part_of_folder in ("${OTHER}-v2/a.tsv", "data-${OTHER}/a.tsv", "${OTHER}${OTHER}/a.tsv"):
        assert _portable_text(("streams", "bitext", "path"), part_of_folder) is None
    # The stream is called `path`; its language is no path.
    assert _portable_text(("streams", "path", "source_language"), "${OTHER}") is None


def test_a_secret_is_refused_and_not_shown(good: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "hf_1")
    for setting, place in (
        ("train.hub_token=hf_2", "train.hub_token: is a secret"),
        ("train.run_name=me-${MY_TOKEN}", "train.run_name: ${MY_TOKEN} is a secret"),
        ("train.accelerator_config={auth_token: hf_3}", "train.accelerator_config.auth_token: is a secret"),
        ("streams.bitext.path=/data/${MY_TOKEN}.tsv", "streams.bitext.path: ${MY_TOKEN} is a secret"),
    ):
        with pytest.raises(ConfigurationError) as caught:
            load(good, [setting])
        assert place in str(caught.value) and "HF_TOKEN, WANDB_API_KEY" in str(caught.value)
        assert "hf_1" not in str(caught.value)
    assert "average_tokens_across_devices" in load(good, ["train.average_tokens_across_devices=true"]).train


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: [1\nb: 2\n", r"x\.yaml:2"),
        ("- a\n", r"x\.yaml:1"),
        ("", r"x\.yaml:1"),
        ("a: b: c\n", r"x\.yaml:1"),
    ],
)
def test_a_file_that_is_no_mapping_is_located(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(InputError, match=place):
        load(recipe_file(tmp_path, text))


def test_a_variable_in_braces_is_told_to_want_quotes(good: Path) -> None:
    good.write_text(good.read_text() + "\nx: {path: ${DATA}/a.tsv}\n")
    with refused(InputError, "good.yaml:18: ", '"${NAME}/file"'):
        load(good)


def test_a_binary_file_is_no_recipe(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with refused(InputError, "x.yaml:1: byte 0xff", "UTF-8"):
        load(path)


def test_a_byte_that_is_no_utf8_has_its_line(good: Path) -> None:
    good.write_bytes(good.read_bytes() + b"# caf\xe9\n")
    line = good.read_bytes().count(b"\n")
    with refused(InputError, f":{line}: byte 0xe9", "UTF-8"):
        load(good)


@pytest.mark.parametrize("text", ["name: [1,\n", "name: [1,", "a: {b: ", "'"])
def test_a_bracket_that_is_never_closed_is_told_with_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with refused(InputError, "x.yaml:1: ", "YAML"):
        load(path)


@pytest.mark.slow
def test_builtin_recipes_say_what_they_are_for_and_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOGLOT_DATA", "/data")
    for name in ("ISOGLOT_CORPORA", "ISOGLOT_ENCODER", "ISOGLOT_ALIGNED"):
        monkeypatch.setenv(name, "/corpora")
    monkeypatch.setenv("ISOGLOT_RUNS", "/corpora")
    found = builtin_recipes()
    assert {"tlm", "mlm", "small/tlm_en_de", "small/mlm_en_de"} <= set(found)
    for name, path in found.items():
        lines = path.read_text().splitlines()
        opening = list(itertools.takewhile(lambda line: line.startswith("#"), lines))
        assert any(f"isoglot pretrain {name} " in line for line in opening), name
        assert load(name).name == name.rpartition("/")[2]


def test_an_override_of_null_takes_an_entry_out() -> None:
    words = ["objectives.dictionary=null", "streams.words=null"]
    variables = ["streams.text.sources=[{path: text.txt, language: en}]"]
    recipe = load("align_mlm", [*words, *variables])
    assert set(recipe.objectives) == {"masked_lm"} and set(recipe.streams) == {"text"}


def test_new_keys_leave_the_hash_of_older_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOGLOT_CORPORA", "/tmp")
    recipe, _ = typed_recipe(read_document("tlm"))
    assert recipe is not None and recipe.hash == "7ccab0d2a59a4abc", "finished runs are known by it"
    changed, _ = typed_recipe(read_document("tlm", ["model.adapter={rank: 4}"]))
    frozen, _ = typed_recipe(read_document("tlm", ["parts.freeze_layers=2"]))
    plain, _ = typed_recipe(read_document("tlm", ["parts={}"]))
    assert len({r.hash for r in (recipe, changed, frozen, plain) if r is not None}) == 4
