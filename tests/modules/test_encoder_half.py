"""The encoder of an encoder-decoder, from an object and from a folder, in every verb that reads an encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from encoder_decoders import CLASSES, encoder_decoder, saved
from refusals import refused
from transformers import ByT5Tokenizer, WhisperConfig

import isoglot as iso
from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.aligners.embedding.loading import load_encoder
from isoglot.aligners.embedding.piece_states import cut_words, layer_states
from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import encode, layer_modules, max_length, num_layers
from isoglot.tasks.text_vectors import TextEncoder

WORDS = [["the", "river", "sees", "a", "horse"], ["ta", "potamo", "vidas"]]
TEXTS = ["the river sees a horse", "ta potamo vidas"]


@pytest.mark.fast_variants(4)
@pytest.mark.parametrize("name", CLASSES)
def test_states_are_those_of_the_librarys_encoder(name: str, tmp_path: Path) -> None:
    folder, model, tokenizer = saved(name, tmp_path)
    given = tokenizer(TEXTS, padding=True, return_tensors="pt")
    inputs = {key: given[key] for key in ("input_ids", "attention_mask")}
    with torch.no_grad():
        expected = model.get_encoder()(**inputs, output_hidden_states=True)
    for source, own in ((model, tokenizer), (folder, None)):
        encoder, _ = load_encoder(source, own)
        assert num_layers(encoder) == 3 and len(layer_modules(encoder) or ()) == 3
        with torch.no_grad():
            states = encode(encoder, inputs, layers=(1, 2, 3))
        real = inputs["attention_mask"].bool()
        for layer in (1, 2):
            torch.testing.assert_close(states[layer][real], expected.hidden_states[layer][real])
        torch.testing.assert_close(states[3][real], expected.last_hidden_state[real])


@pytest.mark.parametrize("name", CLASSES)
def test_a_sentence_stands_between_the_specials_that_its_tokenizer_puts_there(name: str) -> None:
    """T5 has one behind the sentence, mBART two, NLLB one on each side."""
    model, tokenizer = encoder_decoder(name)
    encoder, _ = load_encoder(model, tokenizer)
    states = layer_states(encoder, tokenizer, cut_words(tokenizer, WORDS), layers=[2])[2]
    rows = []
    for text in TEXTS:
        given = tokenizer(text, return_special_tokens_mask=True)
        with torch.no_grad():
            hidden = encode(encoder, {"input_ids": torch.tensor([given["input_ids"]])}, layers=(2,))[2][0]
        rows.append(hidden[~torch.tensor(given["special_tokens_mask"], dtype=torch.bool)])
    torch.testing.assert_close(states.table, torch.cat(rows))


@pytest.mark.fast_variants(4)
@pytest.mark.parametrize("name", CLASSES)
def test_links_and_vectors_of_a_folder_are_those_of_the_object(name: str, tmp_path: Path) -> None:
    folder, model, tokenizer = saved(name, tmp_path)
    source, target = WORDS
    links = [
        EmbeddingAligner(given, tokenizer=own, layer=2).align_words(source, target).links
        for given, own in ((model, tokenizer), (folder, None))
    ]
    assert links[0] == links[1] != []
    vectors = [
        TextEncoder(given, tokenizer=own).encode(TEXTS) for given, own in ((model, tokenizer), (folder, None))
    ]
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)


@pytest.mark.parametrize("method", ["itermax", "softmax", "ot"])
def test_long_sentences_are_cut_at_the_positions_that_there_are(method: str) -> None:
    """mBART has 40 positions here, and three of them hold specials."""
    model, tokenizer = encoder_decoder("MBartModel")
    encoder, _ = load_encoder(model, tokenizer)
    assert max_length(encoder) == 40
    aligner = EmbeddingAligner(model, tokenizer=tokenizer, layer=2, method=method)
    source, target = WORDS[0] * 20, WORDS[1] * 20
    links = aligner.align_words(source, target).links
    assert all(0 <= i < 100 and 0 <= j < 60 for i, j in links) and links


@pytest.mark.parametrize("name", ["MT5ForConditionalGeneration", "M2M100ForConditionalGeneration"])
def test_mining_and_tatoeba_read_the_encoder(name: str, tmp_path: Path) -> None:
    folder, _, _ = saved(name, tmp_path / "model")
    sides = [[f"{text} {text[: 3 * number]}" for number in range(1, 6)] for text in TEXTS]
    assert list(iso.mine(*sides, model=str(folder), min_score=0))
    for language, lines in zip(("eng", "deu"), sides, strict=True):
        (tmp_path / f"tatoeba.deu-eng.{language}").write_text("".join(f"{line}\n" for line in lines))
    rows = iso.evaluate(str(folder), "tatoeba", languages="de", data=tmp_path)
    assert rows


@pytest.mark.slow
@pytest.mark.parametrize("name", ["T5ForConditionalGeneration", "MT5EncoderModel"])
def test_an_export_is_what_sentence_transformers_loads(name: str, tmp_path: Path) -> None:
    library = pytest.importorskip("sentence_transformers")
    folder, _, _ = saved(name, tmp_path / "model")
    iso.export(str(folder), tmp_path / "out", normalize=False)
    vectors = library.SentenceTransformer(str(tmp_path / "out"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(vectors, TextEncoder(str(folder)).encode(TEXTS), atol=1e-5)


def test_an_export_that_no_library_could_load_is_refused(tmp_path: Path) -> None:
    folder, _, _ = saved("MBartModel", tmp_path / "model")
    with refused(ConfigurationError, "sentence-transformers", "mbart", "onnx"):
        iso.export(str(folder), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_encoder_decoders_other_than_t5_are_refused(tmp_path: Path) -> None:
    _, tokenizer = encoder_decoder("T5EncoderModel")
    tokenizer.save_pretrained(tmp_path)
    WhisperConfig().save_pretrained(tmp_path)
    with refused(ConfigurationError, "'whisper'", "bart, m2m_100, mbart, mt5, t5, umt5"):
        EmbeddingAligner(tmp_path)


def test_a_tokenizer_without_offsets_is_refused_in_every_way() -> None:
    model, _ = encoder_decoder("T5EncoderModel")
    for verb in (EmbeddingAligner, TextEncoder):
        with refused(
            ConfigurationError, "tokenizer: ByT5Tokenizer ", "tokenizer.json", "mT5 in place of ByT5"
        ):
            verb(model, tokenizer=ByT5Tokenizer())
