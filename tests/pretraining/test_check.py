"""All mistakes of a recipe in one list: those of its shape and those that only views and settings can tell."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from recipe_world import complaints
from refusals import refused
from transformers import PreTrainedModel

from isoglot.core.errors import MISSING_FILE, ConfigurationError
from isoglot.modules.load import empty_masked_lm
from isoglot.pretraining import check
from isoglot.pretraining.build import explicit
from isoglot.pretraining.check import load_recipe, load_run_recipe
from isoglot.recipe.document import dump_yaml
from isoglot.recipe.source import builtin_recipes


def test_a_good_recipe_loads_and_its_defaults_can_be_spelt_out(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe)
    view = explicit(recipe)["views"]["pair"]
    assert view["probability"] == 0.3, "given values stay"
    assert view["count"] == "bernoulli" and view["pair_template"] == "hf", (
        "defaults come from the view's signature"
    )


def test_shape_and_options_are_told_together_in_the_order_of_lines(tiny_recipe: Path) -> None:
    text = tiny_recipe.read_text()
    for old, new in (
        ("name: tiny", "nam: tiny"),
        ("batch: {examples: 8}", "batch: {examples: 8}\nparts: {embedings: 0}"),
        ("hidden_size: 32", "hiden_size: 32"),
        ("vocab_size: 150", "vocab: 150"),
        ("kind: bitext, ", "kind: bitext, limt: 3, encode: {max_lenght: 4}, pack: {blocks: 3}, "),
        ("bitext.tsv", "bitext.tvs"),
        ("probability: 0.3", "probabilty: 0.3, order: shuffled"),
        ("type: masked_lm", "type: masked_ml"),
        ("learning_rate: 1e-3", "learning_rat: 1e-3, max_steps: 3"),
    ):
        assert old in text
        text = text.replace(old, new)
    tiny_recipe.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_recipe(tiny_recipe)
    found = "\n".join(map(str, caught.value.problems))
    for expected in (
        ":2: nam: unknown key; did you mean 'name'?",
        ":5: model.hiden_size: bert does not have this setting; did you mean 'hidden_size'?",
        ":10: tokenizer.vocab: unknown key; did you mean 'vocab_size'?",
        ":12: streams.bitext.limt: unknown key; did you mean 'limit'?",
        ":12: streams.bitext.encode.max_lenght: unknown key; did you mean 'max_length'?",
        ":12: streams.bitext.pack.blocks: unknown key; did you mean 'block'?",
        ":14: views.pair.probabilty: unknown key; did you mean 'probability'?",
        ":14: views.pair.order: got 'shuffled'; did you mean 'shuffle'?",
        ":16: objectives.masked_lm.type: unknown objective 'masked_ml'; did you mean 'masked_lm'?",
        ":18: parts.embedings: unknown key; did you mean 'embeddings'?",
        ":20: train.learning_rat: not a setting of TrainingArguments; did you mean 'learning_rate'?",
        ":20: train.max_steps: not a setting of a recipe; write `steps: 1000`",
    ):
        assert f"{tiny_recipe}{expected}" in found, f"{expected}\nnot in\n{found}"
    lines = [p.origin.line or 0 for p in caught.value.problems if p.origin is not None]
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("streams.bitext.path=nowhere/x.tsv", "nowhere/x.tsv: no such file or folder; check the path"),
        ("streams.bitext.target_language=null", "target_language is missing"),
        ("streams.bitext.min_pieces=3", "`min_pieces`: has an effect only with `tokenizer`"),
        ("views.pair.probability=high", "it should be a valid number"),
        ("views.pair.stream=null", "views.pair.stream"),
        ("objectives.masked_lm={type: masked_lm}", "reads view 'pair' by default"),
        ("objectives.masked_lm.type=json:dumps", "json:dumps does not take these options (TypeError"),
        ("objectives.masked_lm.type=nowhere_at_all:Name", "cannot be imported"),
        ("objectives.masked_lm.type=json:nothing", "module 'json' has no 'nothing'"),
        ("objectives.masked_lm.weight={valu: 1}", "weight.valu: unknown key; did you mean 'value'?"),
        ("objectives.masked_lm.weight=-1", "greater than or equal to 0"),
        ("parts={freeze_encoder_steps: 6}", "freeze_encoder_steps: got 6, but the run has 6 steps"),
        ("parts={freeze_encoder_steps: 1.5}", "parts.freeze_encoder_steps: got 1.5"),
        ("parts={heed: 3}", "parts.heed: unknown key; did you mean 'head'?"),
        ("parts={head: -1}", "parts.head: got -1; it should be greater than or equal to 0"),
        ("parts={layer_decay: 0}", "parts.layer_decay: got 0; it should be greater than 0"),
        ("parts={encoder: 0, embeddings: 0, head: 0, objectives: 0}", "every part has rate 0"),
        ("tokenizer=null", "a model from scratch needs a tokenizer"),
        (
            "model={path: encoder}",
            "the encoder of model.path was not trained on the pieces of a new tokenizer",
        ),
        ("model.num_attention_head=3", "did you mean 'num_attention_heads'"),
        ("train.logging_steps=often", "valid number"),
        (
            "train.label_smoothing_factor=0.1",
            "not a setting of a recipe; objectives have their own",
        ),
        ("train.train_sampling_strategy=group_by_length", "write `batch: {bucket: 50}`"),
        ("train.neftune_noise_alpha=5", "views make the inputs"),
        ("objectives={train: {type: masked_lm}}", "'train' is already in use; choose another"),
        ("streams={position: {kind: bitext}}", "'position' is already in use"),
        ("objectives.dict={type: embedding_alignment, lexicon: lex}", "'lex' is not a stream"),
    ],
)
def test_each_kind_of_mistake_is_seen(tiny_recipe: Path, override: str, expected: str) -> None:
    if override.startswith("objectives.masked_lm={"):
        text = tiny_recipe.read_text().replace("  pair:", "  other:")
        tiny_recipe.write_text(text.replace("view: pair", "view: other"))
    assert expected in complaints(tiny_recipe, override)


def test_weights_can_be_schedules(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe, ["objectives.masked_lm.weight={value: 2.0, start_step: 5}"])
    weight = recipe.objectives["masked_lm"].weight
    assert not isinstance(weight, float) and weight.start_step == 5


@pytest.mark.parametrize("name", list(builtin_recipes()))
def test_builtin_recipes_have_no_mistake_but_missing_data(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOGLOT_DATA", str(tmp_path))
    for variable in ("ISOGLOT_CORPORA", "ISOGLOT_ENCODER", "ISOGLOT_ALIGNED"):
        monkeypatch.setenv(variable, str(tmp_path / "missing"))
    monkeypatch.setenv("ISOGLOT_RUNS", str(tmp_path))
    with pytest.raises(ConfigurationError) as caught:
        load_recipe(name)
    others = [p for p in caught.value.problems if p.kind != MISSING_FILE]
    assert not others


def test_a_view_that_nothing_reads_is_a_mistake(tiny_recipe: Path) -> None:
    spare = "views.spare={type: masked_pair, stream: bitext}"
    assert "views.spare: no objective reads this view" in complaints(tiny_recipe, spare)
    load_recipe(tiny_recipe, [spare, "objectives.more={type: masked_lm, view: spare}"])
    load_recipe(tiny_recipe, ["objectives.masked_lm={type: masked_lm}"])  # reads `pair` by default


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            "views.pair.probability=7",
            "views.pair.probability: got 7; it should be less than or equal to 1",
        ),
        ("views.pair.mask_share=0.95", "mask_share 0.95 and random_share 0.1 add up to more than 1"),
        ("views.pair.max_length=65", "views.pair.max_length: got 65, but the encoder has 64 positions"),
        (
            "views.pair.max_length=3",
            "views.pair.max_length: got 3; it should be greater than or equal to 4",
        ),
        ("views.pair.random_pool=[9, 4]", "views.pair.random_pool: got (9, 4)"),
        ("steps=null", "exactly one of `epochs"),
        (
            "objectives.masked_lm.weight=.nan",
            "objectives.masked_lm.weight: got '.nan'; a finite number is needed",
        ),
        ("train.learning_rate=-1", "train.learning_rate: got -1; it must be 0 or more"),
        ("train.learning_rate=.nan", "train.learning_rate: got '.nan'; a finite number is needed"),
        ("train.weight_decay=-0.1", "train.weight_decay: got -0.1; it must be 0 or more"),
        ("train.adam_beta2=1.5", "train.adam_beta2: got 1.5; it must be below 1"),
        ("train.report_to=tensorbord", "train.report_to: got 'tensorbord'; did you mean 'tensorboard'?"),
        (
            "train.eval_strategy=steps",
            "train.eval_strategy: not a setting of a recipe; pre-training does not evaluate",
        ),
    ],
)
def test_values_out_of_range_are_seen_before_any_data_is(
    tiny_recipe: Path, override: str, expected: str
) -> None:
    assert expected in complaints(tiny_recipe, override)
    both = complaints(tiny_recipe, override, "batch={examples: 0}")
    assert expected in both and "batch.examples" in both


@pytest.mark.parametrize(
    "override", ["train.learning_rate=.nan", "objectives.masked_lm.weight=.inf", "steps=-.inf"]
)
def test_a_number_that_is_not_finite_is_one_mistake(tiny_recipe: Path, override: str) -> None:
    (line,) = complaints(tiny_recipe, override).splitlines()
    assert "a finite number is needed" in line


def test_a_range_of_ids_needs_no_tokenizer_yet(tiny_recipe: Path) -> None:
    load_recipe(tiny_recipe, ["views.pair.random_pool=[0, 5]", "views.pair.pair_template=single"])


def test_printed_recipe_is_the_one_used(tiny_recipe: Path) -> None:
    tiny_recipe.write_text(tiny_recipe.read_text().replace("max_length: 64, ", ""))
    pointer = "objectives.pointer={type: denoising_word_alignment, view: pair}"
    recipe = load_recipe(tiny_recipe, [pointer])
    values = explicit(recipe)
    assert values["views"]["pair"]["max_length"] == 64, "what the encoder has positions for"
    assert values["objectives"]["pointer"]["layer"] == 2
    assert "purpose" not in values and "seed" not in values["objectives"]["pointer"]
    text = dump_yaml(values)
    assert "null" not in text
    again = tiny_recipe.parent / "again.yaml"
    again.write_text(text)
    recipe = load_recipe(again)
    assert explicit(recipe) == values


def test_a_recipe_is_checked_once(tiny_recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeping the adapter and printing every value take what the one check has found."""
    checked = []

    def counted(*args: Any) -> PreTrainedModel:
        checked.append(args)
        return empty_masked_lm(*args)

    monkeypatch.setattr(check, "empty_masked_lm", counted)
    recipe = load_run_recipe(tiny_recipe, ["model.adapter={type: lora, rank: 2}"], keep_adapter=True)
    assert explicit(recipe)["model"]["adapter"] == {"type": "lora", "rank": 2, "keep": True}
    assert recipe.changes == {
        "model.adapter.type": "lora",
        "model.adapter.rank": 2,
        "model.adapter.keep": True,
    }
    assert len(checked) == 1
    with refused(ConfigurationError, "`keep_adapter` ", "model.adapter={type: lora, rank: 8}"):
        load_run_recipe(tiny_recipe, keep_adapter=True)


def test_limits_of_a_stream_are_printed(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe, ["streams.bitext.limit=7"])
    stream = explicit(recipe)["streams"]["bitext"]
    assert stream["encode"]["max_length"] == 64 and stream["encode"]["overlong"] == "drop"
    assert (stream["limit"], stream["duplicates"], stream["clean_whitespace"]) == (7, "keep", True)


OWN = """
from isoglot.objectives.base import Objective


class View:
    columns = ("source_ids",)
    def __init__(self, tokenizer, *, size: int = 1):
        self.size = size + 1
    def build(self, example, *, coin, generator):
        return {}

class Loss(Objective):
    def __init__(self, model, *, view="pair", layers=2):
        super().__init__()
        self.layers = range(layers)

    def forward(self, encodings, batch):
        return None
"""


def test_a_constructor_s_own_error_is_seen_before_any_data_is(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_of_check.py").write_text(OWN)
    wrong = [
        "views.pair={type: own_of_check:View, stream: bitext, size: big}",
        "objectives.masked_lm={type: own_of_check:Loss, view: pair, layers: many}",
    ]
    told = complaints(tiny_recipe, *wrong)
    assert "views.pair.size: got 'big'; it should be a valid integer" in told
    assert "objectives.masked_lm: own_of_check:Loss does not take these options (TypeError: " in told
    load_recipe(tiny_recipe, [text.replace("big", "3").replace("many", "3") for text in wrong])


@pytest.mark.parametrize("key", ["views.pair.options", "streams.bitext.inputs", "streams.bitext.prepare"])
def test_fields_that_a_section_is_made_into_are_no_keys(tiny_recipe: Path, key: str) -> None:
    with refused(ConfigurationError, f"{key}: unknown key"):
        load_recipe(tiny_recipe, [f"{key}=3"])


def test_a_recipe_is_pickled_with_all_that_it_is_made_of(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe, ["objectives.masked_lm.weight=0.5"])
    again = pickle.loads(pickle.dumps(recipe))
    assert again == recipe and again.hash == recipe.hash
    options = again.views["pair"].options
    assert type(options) is type(recipe.views["pair"].options)
    assert options.model_fields_set == recipe.views["pair"].options.model_fields_set


def test_one_text_is_no_list_of_overrides(tiny_recipe: Path) -> None:
    with refused(ConfigurationError, "overrides: ", "'steps=3'", "['steps=3']"):
        load_recipe(tiny_recipe, "steps=3")


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("objectives.masked_lm={type: 'isoglot.views:MaskedPair'}", "MaskedPair is not an objective"),
        ("objectives.masked_lm={type: 'torch.nn:Linear'}", "Linear is not an objective"),
        ("views.pair={type: 'isoglot.objectives:MaskedLMObjective', stream: bitext}", "is not a view"),
    ],
)
def test_value_of_another_kind_is_a_mistake(tiny_recipe: Path, override: str, expected: str) -> None:
    found = complaints(tiny_recipe, override)
    assert ".type: " in found and expected in found
