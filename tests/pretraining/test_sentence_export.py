"""``isoglot export``: other libraries give isoglot's sentence vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import run
from refusals import refused
from transformers import AutoTokenizer

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import encode_to_layer, num_layers
from isoglot.pretraining.options import SentenceExport
from isoglot.pretraining.sentence_export import encoder_up_to, export_sentences
from isoglot.tasks.text_vectors import TextEncoder
from isoglot.testing import FAMILIES, tiny_bitext, tiny_model, tiny_tokenizer

TEXTS = [*tiny_bitext(5)["source"], "the", "the river " * 40]
OTHERS = sorted(set(FAMILIES) - {"bert", "modernbert"})


def saved(folder: Path, family: str) -> Path:
    tokenizer = tiny_tokenizer(family)
    tiny_model(family, tokenizer=tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def vectors_of(folder: Path) -> np.ndarray:
    """What onnxruntime makes of the texts."""
    session = pytest.importorskip("onnxruntime").InferenceSession(folder / "model.onnx")
    given = AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, truncation=True, return_tensors="np")
    return session.run(["sentence_embedding"], {n: given[n] for n in ("input_ids", "attention_mask")})[0]


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", *OTHERS])
def test_vectors_of_both_libraries_are_those_of_isoglot(family: str, tmp_path: Path) -> None:
    library, _ = pytest.importorskip("sentence_transformers"), pytest.importorskip("onnxscript")
    source = saved(tmp_path / "encoder", family)
    own = TextEncoder(source, layer=1, max_length=24)(TEXTS).cpu()
    for form in ("sentence-transformers", "onnx"):
        run("export", source, "--to", form, "--layer", 1, "--max-length", 24, "-o", tmp_path / form, "-q")
    read = library.SentenceTransformer(str(tmp_path / "sentence-transformers"), device="cpu")
    assert read.max_seq_length == 24 and read[0].auto_model.config.num_hidden_layers == 1
    assert getattr(read[0].auto_model, "pooler", None) is None
    unit = torch.nn.functional.normalize(own, dim=-1).numpy()
    np.testing.assert_allclose(read.encode(TEXTS), unit, atol=1e-4)
    np.testing.assert_allclose(vectors_of(tmp_path / "onnx"), unit, atol=1e-4)


@pytest.mark.slow
def test_texts_that_are_empty_or_spell_a_special_token_differ_as_documented(tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    source = saved(tmp_path / "encoder", "xlm-roberta")
    request = SentenceExport(to="sentence-transformers", layer=1, normalize=False)
    export_sentences(source, tmp_path / "out", request)
    texts = ["the river", "the <mask> river", "the </s> river", ""]
    read = library.SentenceTransformer(str(tmp_path / "out"), device="cpu").encode(texts)
    own = TextEncoder(source, layer=1)(texts).cpu().numpy()
    assert [bool(np.allclose(*pair, atol=1e-4)) for pair in zip(read, own, strict=True)] == [
        True,
        True,
        False,
        False,
    ]
    assert not read[3].any()


@pytest.mark.slow
def test_the_first_position_and_any_length(tmp_path: Path) -> None:
    library, _ = pytest.importorskip("sentence_transformers"), pytest.importorskip("onnxscript")
    source = saved(tmp_path / "encoder", "roberta")
    own = TextEncoder(source, pooling="cls")(TEXTS).cpu().numpy()
    for form in ("sentence-transformers", "onnx"):
        request = SentenceExport(to=form, pooling="cls", normalize=False)
        assert export_sentences(source, tmp_path / form, request)
        assert not export_sentences(source, tmp_path / form, request), "it is there already"
    read = library.SentenceTransformer(str(tmp_path / "sentence-transformers"), device="cpu")
    np.testing.assert_allclose(read.encode(TEXTS), own, atol=1e-4)
    np.testing.assert_allclose(vectors_of(tmp_path / "onnx"), own, atol=1e-4)


def test_the_folder_is_what_sentence_transformers_documents(tmp_path: Path) -> None:
    source = saved(tmp_path / "encoder", "roberta")
    assert export_sentences(source, tmp_path / "out", SentenceExport(to="sentence-transformers"))
    listed = json.loads((tmp_path / "out" / "modules.json").read_text())
    kinds = [(m["path"], m["type"].removeprefix("sentence_transformers.models.")) for m in listed]
    assert kinds == [("", "Transformer"), ("1_WordWeights", "WordWeights"), ("2_Pooling", "Pooling"),
                     ("3_Normalize", "Normalize")]  # fmt: skip
    weights = json.loads((tmp_path / "out" / "1_WordWeights" / "config.json").read_text())
    assert weights["word_weights"] == {"<s>": 0, "</s>": 0}


@pytest.mark.parametrize("family", FAMILIES)
def test_an_encoder_ends_in_the_layer_or_says_that_it_cannot(family: str) -> None:
    model = tiny_model(family).base_model.eval()
    last = num_layers(model)
    assert encoder_up_to(model, last) is model
    with refused(ConfigurationError, "layer 0 ", "1 to 3"):
        encoder_up_to(model, 0)
    if family == "modernbert":
        with refused(ConfigurationError, "layer 1: ", "modernbert", "layer 3"):
            encoder_up_to(model, 1)
        return
    ids = torch.arange(7)[None]
    for layer in range(1, last):
        small = encoder_up_to(model, layer)
        inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        states = encode_to_layer(model, inputs, layer, training=False)
        torch.testing.assert_close(small(ids).last_hidden_state, states)
        assert sum(p.numel() for p in small.parameters()) < sum(p.numel() for p in model.parameters())
