"""An encoder that runs as it is packed: the states of the library's model of the unpacked folder, bit for bit."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from refusals import refused
from transformers import AutoModel

from isoglot.checkpoints.packed import pack, unpack
from isoglot.checkpoints.packed_file import can_run, read_packed
from isoglot.checkpoints.stored_weights import quantised, restored
from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import encode, max_length, num_layers
from isoglot.modules.packed_encoder import PackedEmbedding, PackedEncoder
from isoglot.runs.files import write_json
from isoglot.testing import tiny_model, tiny_tokenizer


@pytest.fixture(params=["bert", "xlm-roberta"])
def packed(request, tmp_path):
    """A packed encoder of two layers."""
    folder = tmp_path / "encoder"
    tiny_model(request.param).save_pretrained(folder)
    tiny_tokenizer(request.param).save_pretrained(folder)
    write_json(folder / "aligner.json", {"method": "argmax", "layer": 2})
    return pack(folder, tmp_path / "packed.safetensors")


def opened(file, dtype=torch.float32):
    return PackedEncoder(read_packed(file), source=file, dtype=dtype)


def inputs(vocabulary: int) -> dict[str, torch.Tensor]:
    """Rows of several lengths, padded with id 1, one of them full."""
    lengths = torch.tensor([9, 4, 1])
    mask = (torch.arange(9)[None] < lengths[:, None]).long()
    ids = torch.randint(2, vocabulary, (3, 9), generator=torch.Generator().manual_seed(0))
    return {"input_ids": torch.where(mask.bool(), ids, 1), "attention_mask": mask}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_packed_encoder_has_the_states_of_the_librarys_model(packed, tmp_path, dtype) -> None:
    own = opened(packed, dtype)
    library = AutoModel.from_pretrained(unpack(packed, tmp_path / "folder"), dtype=dtype).eval()
    assert (num_layers(own), max_length(own)) == (num_layers(library), max_length(library))
    rows = inputs(own.config.vocab_size)
    for given in (rows, {name: values[:1] for name, values in rows.items()}):  # with padding and without
        with torch.no_grad():
            found, wanted = (encode(model, given, layers=(0, 1, 2)) for model in (own, library))
        real = given["attention_mask"].bool()
        assert all(torch.equal(found[layer][real], wanted[layer][real]) for layer in wanted)


def test_several_sequences_in_a_row_are_refused(packed) -> None:
    own = opened(packed)
    rows = inputs(own.config.vocab_size)
    with refused(ConfigurationError, "one sequence per row", "document_ids", "unpack the file"):
        encode(own, {**rows, "document_ids": rows["attention_mask"]}, layers=(2,))


@pytest.mark.parametrize("bits", [4, 8])
def test_rows_of_a_packed_table_are_those_of_the_restored_one(bits) -> None:
    random = np.random.default_rng(bits)
    values = random.integers(-8, 8, (50, 64)).astype(np.float32) * np.float32(0.25)
    values = values if bits == 4 else values + random.normal(size=values.shape).astype(np.float32)
    tensors = quantised("table", values)
    assert f"table.q{bits}" in tensors
    table = PackedEmbedding(tensors[f"table.q{bits}"], tensors["table.scale"], dtype=torch.float32)
    ids = torch.tensor([[3, 49, 3], [0, 7, 12]])
    expected = torch.from_numpy(dict(restored(tensors))["table"])[ids]
    assert torch.equal(table(ids), expected)
    assert torch.equal(table.to(torch.bfloat16)(ids), expected)  # its scales are not rounded with the module


def test_a_configuration_of_another_computation_is_left_to_the_library(packed) -> None:
    file = read_packed(packed)
    assert can_run(file)
    for name, value in (
        ("hidden_act", "relu"),
        ("position_embedding_type", "relative_key"),
        ("is_decoder", True),
    ):
        config = json.loads(file.texts["config.json"]) | {name: value}
        assert not can_run(file._replace(texts={**file.texts, "config.json": json.dumps(config)}))


def test_values_that_are_no_numbers_in_its_dtype_are_refused(packed) -> None:
    content = read_packed(packed)
    content.tensors["embeddings.LayerNorm.bias"][0] = 1e5
    PackedEncoder(content, source=packed, dtype=torch.bfloat16)
    with refused(ConfigurationError, "packed.safetensors: NaN", "embeddings.LayerNorm.bias"):
        PackedEncoder(content, source=packed, dtype=torch.float16)
