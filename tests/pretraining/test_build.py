"""From sections to objects: seeds, limits, costs and language tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset
from refusals import refused
from transformers import PreTrainedConfig

from isoglot.core.errors import ConfigurationError
from isoglot.modules.load import longest_input
from isoglot.pretraining.build import batch_options, build_model
from isoglot.pretraining.check import load_recipe, try_encoder
from isoglot.pretraining.recipe import ObjectiveSection, ViewSection
from isoglot.pretraining.streams import prepared, tokenizer_of_run
from isoglot.runs.cache import cache_folder
from isoglot.runs.reporter import Silent
from isoglot.testing import FAMILIES, tiny_model, tiny_tokenizer
from isoglot.training.checkpoints import save_objectives
from isoglot.training.export import export_encoder
from isoglot.views import VIEWS


def built(recipe_file: Path, *overrides: str):
    recipe = load_recipe(recipe_file, overrides)
    corpora = prepared(recipe, cache_folder(), Silent())
    tokenizer = tokenizer_of_run(recipe, corpora, cache_folder(), Silent())
    return build_model(recipe, tokenizer, corpora), recipe, tokenizer


@pytest.mark.parametrize("family", FAMILIES)
def test_the_longest_input_is_what_the_encoder_takes(family: str) -> None:
    model = tiny_model(family).eval()
    limit = longest_input(model.config)
    if limit is None:
        return
    ids = torch.full((1, limit), 7)
    model(input_ids=ids)
    if family in ("bert", "roberta", "xlm-roberta", "distilbert"):
        with pytest.raises((IndexError, RuntimeError)):
            model(input_ids=torch.full((1, limit + 1), 7))


def test_a_models_limit_is_its_views_default(tiny_recipe: Path) -> None:
    tiny_recipe.write_text(tiny_recipe.read_text().replace("max_length: 64, ", ""))
    result, recipe, tokenizer = built(tiny_recipe)
    assert result.views["pair"][1].max_length == 64
    config = recipe.model.config(tokenizer)
    assert config is not None and config.max_position_embeddings == 64
    assert longest_input(PreTrainedConfig()) is None


def test_a_new_masked_lm_head_starts_at_the_frequencies_of_the_corpus(
    tiny_recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _, tokenizer = built(tiny_recipe)
    whole.model.model.bert.save_pretrained(tmp_path / "encoder")
    tokenizer.save_pretrained(tmp_path / "encoder")
    text = tiny_recipe.read_text()
    start, end = text.index("model:"), text.index("streams:")
    tiny_recipe.write_text(f"{text[:start]}model: {{path: {tmp_path}/encoder, new_head: true}}\n{text[end:]}")
    for rows in (10_000, 64, 10):  # the corpus has 64 rows
        monkeypatch.setattr("isoglot.pretraining.build._COUNTED", rows)
        result, recipe, tokenizer = built(tiny_recipe)
        pairs = prepared(recipe, cache_folder(), Silent())["bitext"]
        counts = [0.1] * result.model.model.config.vocab_size
        assert len(pairs) == 64
        for pair in list(pairs)[:: {10_000: 1, 64: 1, 10: 7}[rows]]:
            for side in ("source", "target"):
                for piece in tokenizer(pair[side], add_special_tokens=False)["input_ids"]:
                    counts[piece] += 1
        expected = torch.tensor(counts) / sum(counts)
        torch.testing.assert_close(result.model.model.cls.predictions.bias.exp(), expected)


def test_a_new_head_counts_pieces_whose_ids_have_gaps(tiny_recipe: Path, tmp_path: Path) -> None:
    whole, _, tokenizer = built(tiny_recipe)
    folder, gap = tmp_path / "encoder", len(tokenizer) + 3
    encoder = whole.model.model.bert
    encoder.resize_token_embeddings(gap + 2)
    encoder.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    # The piece "the" gets an id far behind all others.
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"]["the"] = gap
    (folder / "tokenizer.json").write_text(json.dumps(content))
    text = tiny_recipe.read_text()
    start, end = text.index("model:"), text.index("streams:")
    tiny_recipe.write_text(f"{text[:start]}model: {{path: {folder}, new_head: true}}\n{text[end:]}")
    bias = built(tiny_recipe)[0].model.model.cls.predictions.bias
    assert len(bias) == gap + 2 and bias[gap] > bias[gap + 1] + 1


def test_new_heads_follow_from_seed_and_name_alone(tiny_recipe: Path) -> None:
    contrast = "objectives.sentence={type: sentence_contrast, view: both, queue_size: 16}"
    view = "views.both={type: sentence_pair, stream: bitext, max_length: 64}"
    other = "objectives.another={type: sentence_contrast, view: both, queue_size: 16}"
    alone = built(tiny_recipe, view, contrast)[0].model.objectives["sentence"].state_dict()
    torch.manual_seed(123)
    beside = built(tiny_recipe, view, other, contrast)[0].model.objectives
    again = beside["sentence"].state_dict()
    assert alone.keys() == again.keys()
    assert all(torch.equal(alone[k], again[k]) for k in alone)
    assert any(not torch.equal(again[k], beside["another"].state_dict()[k]) for k in again)


def test_language_tables_cover_the_highest_number(tiny_recipe: Path) -> None:
    assert built(tiny_recipe)[0].model.language_embeddings is None
    ids = "views.pair.language_ids={en: 2, xx: 3}"
    table, again, other = (
        built(tiny_recipe, ids, f"seed={seed}")[0].model.language_embeddings for seed in (1, 1, 2)
    )
    assert table.num_embeddings == 4 and table.embedding_dim == 32
    assert torch.equal(table.weight, again.weight) and not torch.equal(table.weight, other.weight)


def test_language_embeddings_of_the_run_that_is_continued_are_its_own(
    tiny_recipe: Path, tmp_path: Path
) -> None:
    first, _, tokenizer = built(tiny_recipe, "views.pair.language_ids={en: 2, xx: 3}")
    old = first.model.language_embeddings.weight.detach()
    checkpoint = tmp_path / "run" / "checkpoint"
    export_encoder(first.model, checkpoint, card={}, tokenizer=tokenizer)
    save_objectives(first.model, checkpoint)
    (tmp_path / "run" / "recipe.yaml").write_text("views: {pair: {language_ids: {en: 2, xx: 3}}}\n")
    continued = [
        f"model={{path: {checkpoint}}}",
        "tokenizer=null",
        "views.pair.language_ids={xx: 0, zz: 1, en: 2}",
    ]
    new, fresh = (
        built(tiny_recipe, *given)[0].model.language_embeddings.weight for given in (continued, continued[2:])
    )
    torch.testing.assert_close(new, torch.stack([old[3], fresh[1], old[2]]))


def test_weights_and_costs(tiny_recipe: Path) -> None:
    both = "views.both={type: sentence_pair, stream: bitext, max_length: 40}"
    reader = "objectives.near={type: sentence_contrast, view: both, queue_size: 16}"
    weight = "objectives.masked_lm.weight={value: 2.0, start_step: 3}"
    result, recipe, _ = built(tiny_recipe, both, reader, weight)
    result.model.step = 2
    assert result.model.weight("masked_lm") == 0.0
    result.model.step = 3
    assert result.model.weight("masked_lm") == 2.0
    stream = Dataset.from_dict({"source_ids": [[1]], "target_ids": [[1]], "length": [2]})
    cost = batch_options(recipe, result.views, {"bitext": stream}).costs["bitext"]
    assert (cost.views, cost.limit, cost.specials) == (2, 2 * 40, 3 + 4), (
        "[CLS] S [SEP] T [SEP], and each side alone"
    )
    packed = stream.add_column("attention_mask", [[1, 1]])
    assert batch_options(recipe, result.views, {"bitext": packed}).costs["bitext"].specials == 0


def test_sides_of_a_sentence_pair_are_cut_each_by_itself(tiny_recipe: Path) -> None:
    view = "views.sentences={type: sentence_pair, stream: bitext, max_length: 20}"
    contrast = "objectives={contrast: {type: in_batch_contrast, view: sentences}}"
    result, recipe, _ = built(tiny_recipe, view, contrast, "views.pair=null")
    stream = Dataset.from_dict({"length": [60]})
    cost = batch_options(recipe, result.views, {"bitext": stream}).costs["bitext"]
    assert cost.tokens(np.array([30, 60], np.int32)).tolist() == [34, 44], (
        "of 30 pieces and of 40, with specials"
    )


@pytest.mark.parametrize(("family", "pair"), [("bert", 3), ("xlm-roberta", 4)])
def test_views_say_how_many_special_tokens_they_add(family: str, pair: int) -> None:
    tokenizer = tiny_tokenizer(family)
    example = {"source_ids": [7, 8], "target_ids": [9], "input_ids": [7, 8, 9]}
    for name, expected in (("masked_pair", pair), ("masked_text", 2), ("sentence_pair", 4)):
        view = VIEWS[name](tokenizer)
        tensors = view.build(example, coin=False, generator=torch.Generator())
        inputs = sum(v.numel() for k, v in tensors.items() if k.endswith("input_ids"))
        assert view.special_tokens == expected == inputs - 3


def test_build_tells_together_what_views_refuse(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe)
    corpora = prepared(recipe, cache_folder(), Silent())
    tokenizer = tokenizer_of_run(recipe, corpora, cache_folder(), Silent())
    views = {
        "pair": ViewSection.of({"type": "masked_pair", "stream": "bitext", "max_length": 65}),
        "long": ViewSection.of({"type": "masked_text", "stream": "bitext", "max_length": 640}),
    }
    with pytest.raises(ConfigurationError) as caught:
        build_model(recipe.model_copy(update={"views": views}), tokenizer, corpora)
    assert [str(problem) for problem in caught.value.problems] == [
        "views.pair.max_length: got 65, but the encoder has 64 positions; lower it",
        "views.long.max_length: got 640, but the encoder has 64 positions; lower it",
    ]


def test_objectives_meet_the_real_architecture_before_its_weights(tiny_recipe: Path) -> None:
    recipe = load_recipe(tiny_recipe)
    sections = {
        ("model",): recipe.model,
        ("objectives", "near"): ObjectiveSection.of({"type": "denoising_word_alignment", "view": "pair"}),
        ("objectives", "far"): ObjectiveSection.of({"type": "in_batch_contrast", "view": "pair", "layer": 3}),
        ("objectives", "words"): ObjectiveSection.of({"type": "embedding_alignment", "copied_vocabulary": 9}),
    }
    made, problems = try_encoder(sections)
    assert set(made) == {("objectives", "near")}, "one that takes a tokenizer waits for it"
    assert made["objectives", "near"].layer == 2
    assert [problem.location for problem in problems] == [("objectives", "far", "layer")]
    assert "layers 0 (embeddings) to 2" in problems[0].text


def test_sizes_that_a_family_does_not_take_are_seen_in_its_own_words(tiny_recipe: Path) -> None:
    with refused(ConfigurationError, "tiny.yaml:3: model: ", "(33)", "(2)"):
        load_recipe(tiny_recipe, ["model.hidden_size=33"])
