"""Every recipe that comes with isoglot: no mistakes, documented values, and a run of it on made-up data."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
import torch
from recipe_world import RECIPES, smaller
from safetensors.torch import load_file

from isoglot.pretraining.api import pretrain
from isoglot.pretraining.build import build_model, build_trainer, require_columns
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.pretrain import training_arguments
from isoglot.pretraining.streams import encoded, prepared, tokenizer_of_run
from isoglot.recipe.source import builtin_recipes, read_document
from isoglot.runs.cache import cache_folder
from isoglot.runs.reporter import Silent
from isoglot.training.model import AlignmentModel


def model_and_batch(name: str, world: Path, *overrides: str):
    """The model of a recipe and the run's first batch."""
    recipe = load_recipe(name, [*smaller(name, world), *overrides])
    corpora = prepared(recipe, cache_folder(), Silent())
    tokenizer = tokenizer_of_run(recipe, corpora, cache_folder(), Silent())
    built = build_model(recipe, tokenizer, corpora)
    streams = encoded(recipe, corpora, tokenizer, cache_folder(), Silent())
    require_columns(built.views, streams)
    trainer = build_trainer(recipe, built, streams, tokenizer, training_arguments(recipe, world / "unused"))
    return built.model, next(iter(trainer.get_train_dataloader()))


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_trains_and_leaves_a_checkpoint(name: str, world: Path, tmp_path: Path) -> None:
    recipe = load_recipe(name, smaller(name, world))
    checkpoint = pretrain(recipe, tmp_path / "run")
    weights = load_file(checkpoint / "model.safetensors")
    assert all(torch.isfinite(w).all() for w in weights.values())


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_opens_with_its_purpose_and_its_command(name: str) -> None:
    text = builtin_recipes()[name].read_text()
    lines = list(itertools.takewhile(lambda line: line.startswith("#"), text.splitlines()))
    head = "\n".join(lines)
    assert re.match(r"# [A-Z].{20,}[.:]", lines[0]) or lines[0].endswith((".", ":", ",")), lines[0]
    assert f"#   isoglot pretrain {name} --out " in head, "the command that runs it"
    named = re.findall(r"^name: (\S+)$", text, flags=re.M)
    assert named == [name.rpartition("/")[2]]


FORWARDS = {
    # recipe: (full encoder forwards, those that stop early) a step; a momentum encoder's are its own
    "tlm": (1, 0),
    "weam": (1, 0),  # masked_lm and word_exchange share the masked pair
    "mlm": (1, 0),
    "align_mlm": (1, 0),  # the dictionary reads embeddings alone
    "dict_mlm": (1, 0),
    "xlm": (2, 0),
    "xlm_align_no_dwa": (2, 0),
    "xlm_align": (2, 1),  # word alignment adds the labelling forward to layer 10
    "xlm_align_no_tlm": (2, 1),
    "moco": (1, 0),
    "ppa": (2, 0),
    "ppa_mlm": (3, 0),
    "in_batch": (3, 0),
    "xlco": (2, 1),  # text, pair; mixed queries to the layer that is contrasted
    "word_l2": (2, 0),
    "cao2020": (2, 0),
    "align_freeze_front": (2, 0),
    "distil_sentences": (2, 0),  # the teacher has read everything before
    "ppa_no_moco": (1, 0),
    "combined": (3, 1),
    "small/xlm_align_en_de": (2, 0),  # labelled by the corpus at first
}


class Counted:
    """Counts the forwards of the shared encoder's layers."""

    def __init__(self, model: AlignmentModel) -> None:
        layers = model.model.base_model.encoder.layer
        self.first, self.last = 0, 0
        layers[0].register_forward_pre_hook(lambda *_: self.add("first"))
        layers[-1].register_forward_hook(lambda *_: self.add("last"))

    def add(self, which: str) -> None:
        setattr(self, which, getattr(self, which) + 1)


def other_sizes(name: str) -> bool:
    """Whether a recipe only changes values of another one."""
    return "/" in name and name not in FORWARDS


@pytest.mark.fast_variants(14)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if other_sizes(name) else []) for name in RECIPES]
)
def test_a_recipe_has_a_finite_loss_with_a_gradient_and_encodes_inputs_once(name: str, world: Path) -> None:
    model, batch = model_and_batch(name, world)
    model.train()
    count = Counted(model)
    outputs = model(batch)
    assert name not in FORWARDS or (count.last, count.first - count.last) == FORWARDS[name]
    assert torch.isfinite(outputs["loss"]), outputs["totals"]
    assert set(outputs["totals"]) == set(model.objectives), "every objective runs"
    assert all(int(n) > 0 for n in outputs["counts"].values()), outputs["counts"]
    outputs["loss"].backward()
    rows = model.model.get_input_embeddings().weight.grad
    assert rows is not None and torch.isfinite(rows).all() and rows.abs().sum() > 0


def test_word_exchange_pointer_and_masked_lm_share_one_forward(world: Path) -> None:
    pointer = "objectives.pointer={type: denoising_word_alignment, view: pair, label_layer: 10}"
    model, batch = model_and_batch("weam", world, pointer)
    count = Counted(model)
    model(batch)
    assert (count.last, count.first - count.last) == (1, 1)


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize(
    ("recipe", "baseline", "off"),
    [
        ("weam", "tlm_weam", "word_exchange"),
        ("align_mlm", "mlm_scratch", "dictionary"),
    ],
)
def test_weight_zero_is_the_baseline_bit_for_bit(
    recipe: str, baseline: str, off: str, world: Path, tmp_path: Path
) -> None:
    """λ = 0 WEAM is TLM, α = 0 ALIGN-MLM is MLM: the same weights after training on the same stream."""
    unused = ["streams.words=null"] if recipe == "align_mlm" else []
    found = []
    for extra in ([f"objectives.{off}.weight=0"], [f"objectives.{off}=null", *unused]):
        changed = load_recipe(recipe, [*smaller(recipe, world), *extra])
        checkpoint = pretrain(changed, tmp_path / f"run{len(found)}")
        found.append(load_file(checkpoint / "model.safetensors"))
    assert all(torch.equal(found[0][k], found[1][k]) for k in found[0])
    one, two = load_recipe(recipe, smaller(recipe, world)), load_recipe(baseline, smaller(baseline, world))
    assert {n: v for n, v in one.views.items() if n in two.views} == two.views
    assert one.objectives["masked_lm"] == two.objectives["masked_lm"] and one.train == two.train
    if baseline == "mlm_scratch":  # the same files, so the runs can be compared as a whole
        checkpoint = pretrain(load_recipe(baseline, smaller(baseline, world)), tmp_path / "baseline")
        weights = load_file(checkpoint / "model.safetensors")
        assert all(torch.equal(found[0][k], weights[k]) for k in weights)


def test_xlm_shuffles_text_and_pairs_together(world: Path) -> None:
    """A batch of the authors' run holds so many instances in all, of each kind by its share of the data."""
    recipe = load_recipe("xlm", [*smaller("xlm", world), "batch={examples: 12}"])
    assert (recipe.mixing, recipe.normalisation) == ("concatenate", "joint_token")
    assert {objective.weight for objective in recipe.objectives.values()} == {1.0}
    _, batch = model_and_batch("xlm", world, "batch={examples: 12}")
    rows = {view: len(tensors["input_ids"]) for view, tensors in batch.items()}
    assert sum(rows.values()) == 12 and 0 < rows["pair"] < 12


@pytest.mark.parametrize("name", ["dict_mlm", "dict_mlm_label"])
def test_dict_mlm_packs_whole_sentences_padded(name: str, world: Path) -> None:
    _, batch = model_and_batch(name, world)
    text = batch["text"]
    ids, present, languages = text["original_ids"], text["attention_mask"], text["language_ids"]
    ends = present.sum(1) - 1
    assert ids.shape[1] == 64 and int(ends.min()) < 63  # a last sentence that does not fit leaves room
    assert (ids[:, 0] == ids[0, 0]).all() and len(set(ids[torch.arange(len(ids)), ends].tolist())) == 1
    assert (languages[present == 0] == 1).all() and set(languages[present == 1].tolist()) <= {2, 3}


ROWS = {
    # a row of a paper's table: the recipe it varies, and what it sets or leaves out
    "ppa_no_moco": ("ppa", {"views.sentences", "objectives.contrast"}),
    "moco": ("ppa", {"views.pair", "objectives.masked_lm"}),
    "variants/ppa_600k": ("ppa", {"streams.bitext.limit"}),
    "variants/ppa_2m": ("ppa", {"streams.bitext.limit", "epochs.count"}),
    "variants/xlm_align_no_dwa": ("variants/xlm_align", {"objectives.word_alignment"}),
    "variants/xlm_align_no_tlm": ("variants/xlm_align", {"objectives.translation_lm"}),
    "variants/xlm_align_label_layer_8": ("variants/xlm_align", {"objectives.word_alignment.label_layer"}),
    "variants/xlm_align_label_layer_12": ("variants/xlm_align", {"objectives.word_alignment.label_layer"}),
    "variants/xlm_align_layer_8": ("variants/xlm_align_label_layer_12", {"objectives.word_alignment.layer"}),
    "variants/xlm_align_layer_10": ("variants/xlm_align_label_layer_12", {"objectives.word_alignment.layer"}),
    "variants/xlm_align_no_filtering": ("variants/xlm_align", {"objectives.word_alignment.filtering"}),
    "variants/xlm_align_unmasked": ("variants/xlm_align", {"objectives.word_alignment.queries"}),
    "variants/xlm_align_all_aligned": ("variants/xlm_align", {"objectives.word_alignment.queries"}),
    "variants/xlm_parallel_1": ("xlm", {"streams.pairs.path"}),
    "variants/xlm_parallel_10": ("xlm", {"streams.pairs.path"}),
    "variants/xlm_parallel_100": ("xlm", {"streams.pairs.path"}),
    "variants/dict_mlm_dictionary_50": ("dict_mlm", {"views.text.share"}),
    "variants/align_mlm_dictionary_50": ("align_mlm", {"objectives.dictionary.share"}),
    "variants/align_mlm_alpha_1": ("align_mlm", {"objectives.dictionary.weight"}),
    "variants/align_mlm_alpha_100": ("align_mlm", {"objectives.dictionary.weight"}),
}


def differences(one: object, two: object, place: str = "") -> set[str]:
    """Where two trees differ; a section that only one of them has counts as one place."""
    if not isinstance(one, dict) or not isinstance(two, dict):
        return set() if one == two else {place}
    found = {f"{place}.{key}".strip(".") for key in one.keys() ^ two.keys()}
    return found.union(
        *(differences(one[k], two[k], f"{place}.{k}".strip(".")) for k in one.keys() & two.keys())
    )


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_a_table_differs_from_its_system_in_that_alone(name: str) -> None:
    system, changed = ROWS[name]
    assert differences(read_document(name).values, read_document(system).values) - {"name"} == changed


@pytest.mark.parametrize("name", ["mlm_scratch", "xlm", "dict_mlm", "align_mlm"])
def test_values_that_align_mlm_does_not_list_are_robertas(name: str) -> None:
    """Its Table 10: "any unlisted parameters use the same values as in RoBERTa"."""
    train = read_document(name).values["train"]
    wanted = {"adam_beta2": 0.98, "adam_epsilon": 1e-6, "weight_decay": 0.01, "lr_scheduler_type": "linear"}
    assert {key: train[key] for key in wanted} == wanted
