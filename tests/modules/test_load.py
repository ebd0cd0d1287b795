from __future__ import annotations

import json
import re

import pytest
import torch
from refusals import refused
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import (
    AutoConfig,
    AutoModelForMaskedLM,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import input_embeddings, max_length, num_layers
from isoglot.modules.load import ARCHITECTURES, load_masked_lm, longest_input

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
SPEC = {"architecture": "bert", "vocab_size": 60, **SIZES}


@pytest.fixture
def tokenizer():
    words = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(32))]
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]")),
        pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", unk_token="[UNK]",
    )  # fmt: skip


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_model_from_scratch_takes_vocabulary_and_special_ids_from_the_tokenizer(architecture, tokenizer):
    model = load_masked_lm({"architecture": architecture, **SIZES}, tokenizer=tokenizer)
    assert input_embeddings(model).num_embeddings == 37
    assert model.config.vocab_size == 37
    assert model.config.pad_token_id == 1
    assert getattr(model.config, "cls_token_id", 2) == 2
    assert getattr(model.config, "mask_token_id", 4) == 4
    assert num_layers(model) == 2
    assert model.config.hidden_size == 16
    assert max_length(model) in (None, 512)
    assert next(m for n, m in model.named_modules() if (hasattr(m, "out_features") and m.out_features == 24) or
                (hasattr(m, "out_features") and m.out_features == 48))  # fmt: skip
    assert model.training
    assert not any("pooler" in n for n, _ in model.named_parameters())


def test_the_random_numbers_of_gpus_are_left_alone(monkeypatch):
    seeds = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeds.append)
    load_masked_lm(SPEC)
    assert not seeds


def test_weights_depend_on_the_seed_alone():
    state = torch.random.get_rng_state()
    first, same, other = (load_masked_lm(SPEC, seed=s) for s in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    a, b, c = (input_embeddings(m).weight for m in (first, same, other))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)
    assert torch.equal(input_embeddings(load_masked_lm({**SPEC, "seed": 2}, seed=1)).weight, c)


def test_a_saved_folder_loads_again(tmp_path):
    model = load_masked_lm(SPEC)
    model.save_pretrained(tmp_path)
    loaded = load_masked_lm({"path": str(tmp_path), "attention": "eager", "hidden_dropout_prob": 0.3})
    assert loaded.config._attn_implementation == "eager"
    assert loaded.config.hidden_dropout_prob == 0.3
    assert loaded.base_model.embeddings.dropout.p == 0.3
    for (name, a), (_, b) in zip(model.state_dict().items(), loaded.state_dict().items(), strict=True):
        assert torch.equal(a, b), name
    assert torch.equal(input_embeddings(load_masked_lm(tmp_path)).weight, input_embeddings(model).weight)


def test_the_original_deberta_head_is_recognised(tmp_path):
    spec = {"architecture": "deberta-v2", "vocab_size": 60, **SIZES, "legacy": False}
    model = load_masked_lm(spec)
    with torch.no_grad():
        model.lm_predictions.lm_head.bias.add_(torch.arange(60.0))
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    del config["legacy"]  # as microsoft/mdeberta-v3-base is published
    (tmp_path / "config.json").write_text(json.dumps(config))
    loaded = load_masked_lm(tmp_path)
    assert torch.equal(loaded.lm_predictions.lm_head.bias, model.lm_predictions.lm_head.bias)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({}, "exactly one of 'path' and 'architecture'"),
        ({"path": "x", "architecture": "bert"}, "exactly one of"),
        ({"architecture": "brt"}, "unknown architecture 'brt'; did you mean 'bert'"),
        (
            {**SPEC, "hiden_size": 3},
            "model.hiden_size: bert does not have this setting; did you mean 'hidden_size'",
        ),
        ({**SPEC, "attention": "sdp"}, "with attention 'sdp' cannot be built"),
        ({"architecture": "bert", **SIZES}, "a tokenizer or a vocab_size is needed"),
        (
            {**SPEC, "num_attention_heads": 3},
            "not a multiple of the number of attention heads (3)); change them",
        ),
        ({"path": "./nowhere"}, "./nowhere: does not exist"),
    ],
)
def test_mistakes_are_named(spec, text):
    with pytest.raises(ConfigurationError, match=re.escape(text)):
        load_masked_lm(spec)


def test_a_whole_number_for_a_fraction_is_one_and_a_word_is_refused(tmp_path):
    scratch = {**SPEC, "hidden_dropout_prob": 0}
    load_masked_lm(SPEC).save_pretrained(tmp_path)
    for spec in (scratch, {"path": tmp_path, "hidden_dropout_prob": 0}):
        value = load_masked_lm(spec).config.hidden_dropout_prob
        assert value == 0
        assert isinstance(value, float)
    for spec in (SPEC, {"path": tmp_path}):
        with refused(ConfigurationError, "model", "hidden_dropout_prob", "'many'"):
            load_masked_lm({**spec, "hidden_dropout_prob": "many"})


def test_all_unknown_settings_are_listed_together():
    with pytest.raises(ConfigurationError) as caught:
        load_masked_lm({**SPEC, "hiden_size": 3, "layerz": 2})
    assert len(caught.value.problems) == 2


def test_an_unreachable_hub_is_named(monkeypatch):
    def offline(*args, **kwargs):
        raise OSError("We couldn't connect to 'https://huggingface.co' to load the files.\nmore")

    monkeypatch.setattr("isoglot.modules.checkpoint.AutoConfig.from_pretrained", offline)
    with refused(ConfigurationError, "some/model: config.json ", "huggingface.co"):
        load_masked_lm("some/model")


def test_a_decoder_is_an_error(tmp_path):
    GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=1, vocab_size=20)).save_pretrained(tmp_path)
    with refused(ConfigurationError, "'gpt2'", "masked-LM head"):
        load_masked_lm(tmp_path)


def test_a_checkpoint_without_head_needs_leave(tmp_path):
    model = load_masked_lm(SPEC)
    BertModel(model.config, add_pooling_layer=False).save_pretrained(tmp_path)
    with refused(ConfigurationError, "masked-LM head", "`new_head: true`", "cls.predictions.bias"):
        load_masked_lm(tmp_path)
    first, second = (load_masked_lm({"path": tmp_path, "new_head": True}, seed=4) for _ in range(2))
    assert torch.equal(
        first.cls.predictions.transform.dense.weight, second.cls.predictions.transform.dense.weight
    )


def test_weights_are_read_from_safetensors_alone(tmp_path):
    model = load_masked_lm(SPEC)
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with refused(ConfigurationError, "safetensors", "from_pretrained(...)"):
        load_masked_lm(tmp_path)


def test_a_broken_folder_is_named(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with refused(ConfigurationError, "config.json ("):
        load_masked_lm(tmp_path)


def test_a_tokenizer_larger_than_the_embeddings_is_an_error(tmp_path, tokenizer):
    load_masked_lm({**SPEC, "vocab_size": 30, "pad_token_id": 1}).save_pretrained(tmp_path)
    with refused(
        ConfigurationError, "30 word embeddings", "tokenizer has 37 entries", "`resize_vocabulary: true`"
    ):
        load_masked_lm(tmp_path, tokenizer=tokenizer)
    grown = load_masked_lm({"path": tmp_path, "resize_vocabulary": True}, tokenizer=tokenizer)
    assert input_embeddings(grown).num_embeddings == 37
    with refused(ConfigurationError, "model.vocab_size: got 30, ", "37"):
        load_masked_lm({**SPEC, "vocab_size": 30}, tokenizer=tokenizer)


def test_positions_that_count_from_padding_need_its_id():
    with refused(ConfigurationError, "model.pad_token_id: got null", "roberta counts positions"):
        load_masked_lm({"architecture": "roberta", "vocab_size": 99, "pad_token_id": None})


def test_a_vocabulary_may_grow_but_not_be_another_models(tmp_path, tokenizer):
    load_masked_lm({**SPEC, "vocab_size": 300, "pad_token_id": 0}).save_pretrained(tmp_path)
    with refused(
        ConfigurationError, "another model's", "padding is token 0 in the model and 1 in the tokenizer"
    ):
        load_masked_lm({"path": tmp_path, "resize_vocabulary": True}, tokenizer=tokenizer)


@pytest.mark.parametrize(
    "family", ["bert", "roberta", "camembert", "mpnet", "electra", "data2vec-text", "luke"]
)
def test_the_longest_input_of_a_configuration_is_that_of_its_encoder(family):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = AutoConfig.for_model(family, vocab_size=50, max_position_embeddings=40, pad_token_id=1, **sizes)
    assert longest_input(config) == max_length(AutoModelForMaskedLM.from_config(config))
