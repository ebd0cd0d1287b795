"""Every weight comes from the file, or it is an error that names what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from own_pickle import Touch
from refusals import refused
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForTokenClassification,
    AutoTokenizer,
    PreTrainedTokenizerFast,
)

from isoglot.core.errors import ConfigurationError
from isoglot.modules.checkpoint import load_checkpoint, load_config, require_fitting
from isoglot.testing import FAMILIES, tiny_model, tiny_tokenizer

Tensors = dict[str, torch.Tensor]


def rewrite(folder: Path, change: Callable[[Tensors], Tensors]) -> None:
    path = folder / "model.safetensors"
    save_file({n: t.clone() for n, t in change(load_file(path)).items()}, path, {"format": "pt"})


def configure(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.fixture(params=FAMILIES)
def checkpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    tiny_model(request.param).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    tiny_model("bert").save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.fast_variants(6)
@pytest.mark.parametrize("auto", [AutoModel, AutoModelForMaskedLM])
def test_a_whole_checkpoint_is_loaded_as_it_is(checkpoint: Path, auto: Any) -> None:
    ours, theirs = load_checkpoint(auto, checkpoint, new_head=True), auto.from_pretrained(checkpoint)
    one, other = ours.state_dict(), theirs.state_dict()
    assert sorted(one) == sorted(other)
    assert all(torch.equal(one[name], other[name]) for name in one if "pooler" not in name)
    assert not ours.training


@pytest.mark.fast_variants(9)
@pytest.mark.parametrize("auto", [AutoModel, AutoModelForMaskedLM, AutoModelForTokenClassification])
def test_renamed_tensors_are_missing_ones(checkpoint: Path, auto: Any) -> None:
    rewrite(checkpoint, lambda tensors: {f"other.{name}": t for name, t in tensors.items()})
    with refused(ConfigurationError, "config.json (", "embeddings.", " is missing", " more)"):
        load_checkpoint(auto, checkpoint, new_head=True)


@pytest.mark.parametrize("auto", [AutoModel, AutoModelForMaskedLM, AutoModelForTokenClassification])
def test_one_missing_tensor_is_named(checkpoint: Path, auto: Any) -> None:
    victim = next(
        n for n in sorted(load_file(checkpoint / "model.safetensors")) if ".2." in n and "weight" in n
    )
    rewrite(checkpoint, lambda tensors: {n: t for n, t in tensors.items() if n != victim})
    with refused(ConfigurationError, "config.json (", "is missing") as caught:
        load_checkpoint(auto, checkpoint, new_head=True)
    assert victim.split(".", 1)[1] in str(caught.value)


@pytest.mark.parametrize("auto", [AutoModel, AutoModelForMaskedLM, AutoModelForTokenClassification])
def test_layers_that_the_configuration_does_not_count_are_named(checkpoint: Path, auto: Any) -> None:
    for name in ("num_hidden_layers", "n_layers"):
        if name in json.loads((checkpoint / "config.json").read_text()):
            configure(checkpoint, **{name: 2, "layer_types": None})
    with refused(ConfigurationError, "config.json (", ".2.", "no place"):
        load_checkpoint(auto, checkpoint, new_head=True)


@pytest.mark.parametrize("auto", [AutoModel, AutoModelForMaskedLM, AutoModelForTokenClassification])
def test_weights_of_another_shape_are_named(bert: Path, auto: type) -> None:
    configure(bert, intermediate_size=10)
    with refused(ConfigurationError, "config.json (", "has shape (64,)", "(10,)"):
        load_checkpoint(auto, bert, new_head=True)


def test_a_head_is_new_only_where_one_is_asked_for(bert: Path) -> None:
    with refused(ConfigurationError, "missing: classifier.bias, classifier.weight"):
        load_checkpoint(AutoModelForTokenClassification, bert)
    config = load_config(bert, num_labels=3)
    load_checkpoint(AutoModelForTokenClassification, bert, config=config, new_head=True).save_pretrained(bert)
    assert load_checkpoint(AutoModelForTokenClassification, bert).num_labels == 3
    config = load_config(bert, num_labels=5)
    with refused(ConfigurationError, "config.json (classifier.bias ", "(3,)", "(5,)"):
        load_checkpoint(AutoModelForTokenClassification, bert, config=config)
    assert (
        load_checkpoint(AutoModelForTokenClassification, bert, config=config, new_head=True).num_labels == 5
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_no_numbers_are_named(bert: Path, value: float) -> None:
    name = "bert.encoder.layer.1.output.dense.weight"

    def spoil(tensors: Tensors) -> Tensors:
        tensors[name][3, 4] = value
        return tensors

    rewrite(bert, spoil)
    with refused(ConfigurationError, "NaN", "encoder.layer.1.output.dense.weight"):
        load_checkpoint(AutoModel, bert, new_head=True)


def test_weights_beyond_half_precision_are_named(bert: Path) -> None:
    rewrite(bert, lambda tensors: {n: t * 1e8 for n, t in tensors.items()})
    assert load_checkpoint(AutoModel, bert, new_head=True).dtype == torch.float32
    with refused(ConfigurationError, "NaN", "embeddings.word_embeddings.weight", "25 more"):
        load_checkpoint(AutoModel, bert, new_head=True, dtype=torch.float16)


def test_a_pooler_that_is_left_out_must_be_finite_too(bert: Path) -> None:
    pooler = {"bert.pooler.dense.weight": torch.full((32, 32), torch.nan)}
    rewrite(bert, lambda tensors: tensors | pooler)
    with refused(ConfigurationError, "NaN", "bert.pooler.dense.weight"):
        load_checkpoint(AutoModelForMaskedLM, bert, keep_left_out=True)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", b"{"),
        ("config.json", b'{"model_type": "bert", "hidden_size": "abc"}'),
        ("config.json", b'{"model_type": "bret"}'),
        ("config.json", b"[1]"),
        ("config.json", b"\xff\xfe"),
        ("model.safetensors", b""),
        ("model.safetensors", b"\x10\x00\x00\x00\x00\x00\x00\x00garbage, no header"),
    ],
)
def test_a_broken_checkpoint_is_named(bert: Path, file: str, content: bytes) -> None:
    (bert / file).write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        load_checkpoint(AutoModel, bert, new_head=True)
    assert str(caught.value).startswith(f"{bert}: cannot be loaded while reading ")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("where", ["weights", "index", "beside"])
def test_pickles_are_never_loaded(bert: Path, tmp_path: Path, where: str) -> None:
    path, left = bert / "model.safetensors", tmp_path / "left"
    names = list(load_file(path))
    if where == "index":
        path.unlink()
        index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(names, "weights.bin")}
        (bert / "model.safetensors.index.json").write_text(json.dumps(index))
    torch.save(
        Touch(left), {"weights": path, "index": bert / "weights.bin"}.get(where, bert / "pytorch_model.bin")
    )
    if where == "beside":
        load_checkpoint(AutoModel, bert, new_head=True)
    else:
        with refused(ConfigurationError, "model.safetensors (") as caught:
            load_checkpoint(AutoModel, bert, new_head=True)
        assert "weights_only" not in str(caught.value), "no advice that would run the pickle"
    assert not left.exists()


@pytest.mark.parametrize("name", ["num_hidden_layers", "num_hidden_groups"])
def test_more_layers_than_tensors_are_refused_before_they_are_built(bert: Path, name: str) -> None:
    configure(bert, **{name: 2_000_000_000})
    for read in (load_config, lambda path: load_checkpoint(AutoModel, path, new_head=True)):
        with pytest.raises(
            ConfigurationError, match=rf"{name}: 2,000,000,000, but the weights are \d+ tensors"
        ):
            read(bert)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_cut_weights_are_named(bert: Path, share: float) -> None:
    path = bert / "model.safetensors"
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with refused(ConfigurationError, "model.safetensors ("):
        load_checkpoint(AutoModelForMaskedLM, bert)


def test_a_tokenizer_larger_than_the_model_is_an_error(bert: Path) -> None:
    with refused(ConfigurationError, "160 word embeddings", "tokenizer", "190 entries"):
        tokenizer = tiny_tokenizer("bert")
        tokenizer.add_tokens([f"new{i}" for i in range(30)])
        require_fitting(tokenizer, load_checkpoint(AutoModel, bert, new_head=True), bert)


def test_the_folder_of_a_run_will_do(bert: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    bert.rename(tmp_path / "run" / "checkpoint")
    assert load_checkpoint(AutoModelForMaskedLM, tmp_path / "run").config.model_type == "bert"


def test_a_tokenizer_of_another_model_is_refused(bert: Path) -> None:
    tiny_tokenizer("bert").save_pretrained(bert)
    own, model = AutoTokenizer.from_pretrained(bert), load_checkpoint(AutoModel, bert, new_head=True)
    require_fitting(own, model)
    pieces = sorted(own.get_vocab(), key=own.get_vocab().__getitem__)
    order = [*pieces[:5], *reversed(pieces[5:100])]
    words = models.WordPiece({piece: number for number, piece in enumerate(order)}, unk_token="[UNK]")
    other = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(words), pad_token="[PAD]")
    with refused(ConfigurationError, "model: ", " is token ", "tokenizer.json and "):
        require_fitting(other, model)
    model.name_or_path = ""  # of one that was made here there is nothing to compare with
    model.config.pad_token_id = 1
    with refused(ConfigurationError, "padding", "token 1 ", "0 in the tokenizer"):
        require_fitting(other, model)
    model.config.pad_token_id = 0
    model.resize_token_embeddings(160 + 64)
    require_fitting(own, model)
    model.resize_token_embeddings(160 + 65)
    with refused(ConfigurationError, "225 word embeddings", "tokenizer 160 entries"):
        require_fitting(tiny_tokenizer("bert"), model)
