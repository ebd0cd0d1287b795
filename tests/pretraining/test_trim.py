"""``isoglot trim``: the same pieces, states and logits with fewer rows."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from commands import invoke
from refusals import refused
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

import isoglot as iso
from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source
from isoglot.formats.words import split_words
from isoglot.pretraining.options import SentenceExport, TrimRequest
from isoglot.pretraining.sentence_export import export_sentences
from isoglot.pretraining.trim import trim
from isoglot.tasks.language_vectors import read_vectors
from isoglot.testing import FAMILIES, tiny_bitext, tiny_model, tiny_tokenizer

TEXTS = list(tiny_bitext(6)["source"])


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return str(path)


def saved(folder: Path, family: str, *, head: bool = True, tied: bool = True) -> Path:
    """A tiny encoder with a head bias that is not zero, and a tokenizer of many pieces."""
    tokenizer = tiny_tokenizer(family, vocab_size=400)
    model = tiny_model(family, tokenizer=tokenizer)
    if not tied:
        model.config.tie_word_embeddings = False
        model = AutoModelForMaskedLM.from_config(model.config)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith("bias"):
                value.normal_()
    (model if head else model.base_model).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_a_sentence_encoder_leaves_out_the_same_pieces(family: str, tmp_path: Path, corpus: str) -> None:
    source, whole = saved(tmp_path / "encoder", family), tmp_path / "sentences"
    export_sentences(source, whole, SentenceExport(to="sentence-transformers"))
    small = trim(whole, tmp_path / "out", TrimRequest(text=(corpus,))).path
    weights = json.loads((small / "1_WordWeights" / "config.json").read_text())
    tokenizer = AutoTokenizer.from_pretrained(small)
    assert weights["vocab"] == tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    assert set(weights["word_weights"]) == {tokenizer.cls_token, tokenizer.sep_token}


def test_links_stay(tmp_path: Path, corpus: str) -> None:
    """Aligners join words by spaces, so that a full stop has a mark of its boundary."""
    joined = [" ".join(split_words(text)) for text in tiny_bitext(200)["source"]]
    tokenizer = train_tokenizer(joined, algorithm="byte_bpe", family="roberta", vocab_size=500)
    assert "Ġ." in tokenizer.get_vocab()
    source = tmp_path / "encoder"
    tiny_model("roberta", tokenizer=tokenizer).save_pretrained(source)
    tokenizer.save_pretrained(source)
    small = trim(source, tmp_path / "out", TrimRequest(text=(corpus,))).path
    pairs = list(itertools.pairwise(TEXTS))
    before, after = (
        iso.align_many(pairs, model=folder, layer=2, dtype="float32") for folder in (source, small)
    )
    assert [pair.links for pair in after] == [pair.links for pair in before]
    assert [pair.score for pair in after] == pytest.approx([pair.score for pair in before], abs=1e-6)


@pytest.mark.fast_variants(4)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_states_and_logits_stay(family: str, tied: bool, tmp_path: Path, corpus: str) -> None:
    source = saved(tmp_path / "encoder", family, tied=tied)
    done = trim(source, tmp_path / "out", TrimRequest(text=(corpus,)))
    old, new = (AutoModelForMaskedLM.from_pretrained(p).eval() for p in (source, done.path))
    before, after = (AutoTokenizer.from_pretrained(p) for p in (source, done.path))
    kept = before.convert_tokens_to_ids(after.convert_ids_to_tokens(list(range(len(after)))))
    assert done.pieces == (len(before), len(after))
    assert len(after) < len(before)
    assert new.config.vocab_size == new.get_input_embeddings().num_embeddings == len(after)
    for name in ("pad_token_id", "cls_token_id", "sep_token_id", "mask_token_id", "unk_token_id"):
        if getattr(after, name) is not None:
            assert kept[getattr(after, name)] == getattr(before, name)
    assert new.config.pad_token_id == after.pad_token_id
    for text in TEXTS:
        ids, small = before(text, return_tensors="pt"), after(text, return_tensors="pt")
        assert [kept[i] for i in small["input_ids"][0]] == ids["input_ids"][0].tolist()
        with torch.no_grad():
            one, other = old(**ids, output_hidden_states=True), new(**small, output_hidden_states=True)
        torch.testing.assert_close(other.hidden_states, one.hidden_states, rtol=0, atol=1e-6)
        torch.testing.assert_close(other.logits, one.logits[..., kept], rtol=0, atol=1e-6)


@pytest.mark.fast_variants(3)
@pytest.mark.parametrize("family", FAMILIES)
def test_tied_tables_stay_tied_and_an_encoder_without_head_stays_without(
    family: str, tmp_path: Path, corpus: str
) -> None:
    with_head, bare = saved(tmp_path / "a", family), saved(tmp_path / "b", family, head=False)
    trim(with_head, tmp_path / "with", TrimRequest(text=(corpus,)))
    done = trim(bare, tmp_path / "bare", TrimRequest(text=(corpus,)))
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "with")
    assert model.get_output_embeddings() is None or (
        model.get_output_embeddings().weight is model.get_input_embeddings().weight
    )
    for folder, out in ((with_head, tmp_path / "with"), (bare, tmp_path / "bare")):
        names = []
        for place in (folder, out):
            with safe_open(place / "model.safetensors", framework="pt") as tensors:
                names.append(sorted(tensors.keys()))
        assert names[0] == names[1]
    assert done.parameters[0] - done.parameters[1] == 32 * (done.pieces[0] - done.pieces[1])


def test_files_beside_the_weights_are_copied_and_those_of_the_old_vocabulary_are_not(
    tmp_path: Path, corpus: str
) -> None:
    source = saved(tmp_path / "encoder", "bert")
    (source / "1_Pooling").mkdir()
    for name in (
        "README.md",
        "1_Pooling/config.json",
        "1_Pooling/model.safetensors",
        "vocab.txt",
        "pytorch_model.bin",
        "sentencepiece.bpe.model",
    ):
        (source / name).write_text("{}", encoding="utf-8")
    out = trim(source, tmp_path / "out", TrimRequest(text=(corpus,))).path
    assert (out / "README.md").read_text(encoding="utf-8") == "{}"
    assert {p.name for p in (out / "1_Pooling").iterdir()} == {"config.json", "model.safetensors"}
    assert not {"vocab.txt", "pytorch_model.bin", "sentencepiece.bpe.model"} & {p.name for p in out.iterdir()}


def test_every_input_format_gives_the_same_encoder(tmp_path: Path, corpus: str) -> None:
    source = saved(tmp_path / "encoder", "bert")
    halves = TEXTS[:3], TEXTS[3:]
    pairs = "".join(f"{a}\t{b}\n" for a, b in zip(*halves, strict=True))
    with gzip.open(tmp_path / "pairs.tsv.gz", "wt", encoding="utf-8") as file:
        file.write(pairs)
    rows = [{"id": 1, "pair": {"a": a, "b": b.split()}} for a, b in zip(*halves, strict=True)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    source_of_pairs = Source(path=str(tmp_path / "pairs.tsv.gz"), source_language="zz", target_language="qq")
    prepare(source_of_pairs, tmp_path / "prepared")
    weights = []
    for number, path in enumerate(
        (corpus, tmp_path / "pairs.tsv.gz", tmp_path / "rows.jsonl", tmp_path / "prepared")
    ):
        out = trim(source, tmp_path / f"out{number}", TrimRequest(text=(str(path),))).path
        weights.append((out / "tokenizer.json").read_bytes() + (out / "model.safetensors").read_bytes())
    assert len(set(weights)) == 1


def test_held_out_text_tells_what_is_lost_and_a_finished_folder_is_left_alone(
    tmp_path: Path, corpus: str
) -> None:
    source = saved(tmp_path / "encoder", "xlm-roberta")
    other = tmp_path / "other.txt"
    other.write_text("\n".join(tiny_bitext(40)["target"]), encoding="utf-8")
    request = TrimRequest(text=(corpus,), held_out=(str(other),))
    done = trim(source, tmp_path / "out", request)
    assert done.held_out is not None
    assert 0 < done.held_out[1] < done.held_out[0]
    assert trim(source, tmp_path / "out", TrimRequest(text=(corpus,), held_out=(corpus,)), overwrite=True).held_out == (
        sum(len(tiny_tokenizer("xlm-roberta", vocab_size=400).tokenize(t)) for t in TEXTS),
        0,
    )  # fmt: skip
    again = trim(source, tmp_path / "out", request, overwrite=True)
    assert not again.skipped
    assert trim(source, tmp_path / "out", request).skipped
    with refused(ConfigurationError, "/out: ", "different: ", "options.held_out", "overwrite=True"):
        trim(source, tmp_path / "out", TrimRequest(text=(corpus,)))


def test_mistakes_are_told_and_leave_nothing_behind(tmp_path: Path, corpus: str) -> None:
    source, out = saved(tmp_path / "encoder", "bert"), tmp_path / "out"
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"text": "a"}\n{"text": \n', encoding="utf-8")
    with refused(InputError, "broken.jsonl:2: ", "JSON"):
        trim(source, out, TrimRequest(text=(str(broken),)))
    with refused(InputError, "missing.txt: ", "opened"):
        trim(source, out, TrimRequest(text=(str(tmp_path / "missing.txt"),)))
    with refused(ConfigurationError, 'text="corpus.tsv"'):
        trim(source, out, TrimRequest())
    with refused(ConfigurationError, "/encoder: ", "input"):
        trim(source, source, TrimRequest(text=(corpus,)))
    (source / "model.safetensors").unlink()
    with refused(ConfigurationError, "/encoder: ", "model.safetensors"):
        trim(source, out, TrimRequest(text=(corpus,)))
    assert not out.exists()


def test_the_command_prints_what_was_saved(tmp_path: Path, corpus: str) -> None:
    source = saved(tmp_path / "encoder", "xlm-roberta")
    second = tmp_path / "second.txt"
    second.write_text("un brevolo\n", encoding="utf-8")
    options = ["--held-out", corpus, "--out", str(tmp_path / "out")]
    ran = invoke("trim", source, "--text", corpus, second, *options)
    size = len(AutoTokenizer.from_pretrained(tmp_path / "out"))
    lines = ran.stdout.splitlines()
    assert lines[0] == f"pieces: {len(AutoTokenizer.from_pretrained(source))} -> {size}"
    assert re.fullmatch(
        r"estimate: ten times as much text of this kind would keep about \d+0 pieces", lines[1]
    )
    assert re.fullmatch(r"parameters: [\d,]+ -> [\d,]+", lines[2])
    assert re.fullmatch(r"held-out text: 0 of \d+ tokens cut differently \(0.00%\)", lines[3])
    done = trim(source, tmp_path / "out", TrimRequest(text=(corpus, str(second)), held_out=(corpus,)))
    assert done.skipped and done.tenfold > size


@pytest.mark.slow
@pytest.mark.skipif("ISOGLOT_ENCODER" not in os.environ, reason="needs a real encoder in ISOGLOT_ENCODER")
def test_a_real_encoder_keeps_its_states(tmp_path: Path) -> None:
    source = Path(os.environ["ISOGLOT_ENCODER"])
    texts = ["Das Haus ist groß.", "मैं घर जा रहा हूँ।", "The house is big.", "房子很大。"]
    (tmp_path / "text.txt").write_text("\n".join(texts), encoding="utf-8")
    done = trim(source, tmp_path / "out", TrimRequest(text=(str(tmp_path / "text.txt"),)))
    assert done.parameters[1] < done.parameters[0]
    old, new = (AutoModel.from_pretrained(p).eval() for p in (source, done.path))
    before, after = (AutoTokenizer.from_pretrained(p) for p in (source, done.path))
    for text in texts:
        ids, small = before(text, return_tensors="pt"), after(text, return_tensors="pt")
        assert after.convert_ids_to_tokens(small["input_ids"][0]) == before.convert_ids_to_tokens(
            ids["input_ids"][0]
        )
        with torch.no_grad():
            one, other = old(**ids).last_hidden_state, new(**small).last_hidden_state
        torch.testing.assert_close(other, one, rtol=0, atol=1e-6)


def test_pointer_and_language_embeddings_stay_and_numbers_of_pieces_do_not(
    tmp_path: Path, corpus: str
) -> None:
    source = saved(tmp_path / "run" / "checkpoint", "bert")
    kept = {
        "objectives.words.pointer.query.weight": torch.ones(2, 2),
        "objectives.words.pointer_layer": torch.tensor(3),
        "language_embeddings.weight": torch.arange(64.0).reshape(2, 32),
    }
    save_file(
        {**kept, "objectives.dictionary.source_pieces": torch.ones(4, 1)}, source / "objectives.safetensors"
    )
    recipe = "views: {pair: {type: masked_pair, stream: bitext, language_ids: {en: 0, xx: 1}}}\n"
    (tmp_path / "run" / "recipe.yaml").write_text(recipe, encoding="utf-8")
    out = trim(source, tmp_path / "out", TrimRequest(text=(corpus,))).path
    vectors = read_vectors(out)
    assert vectors is not None and vectors.ids == {"en": 0, "xx": 1}
    torch.testing.assert_close(vectors.weight, kept.pop("language_embeddings.weight"))
    found = load_file(out / "objectives.safetensors")
    assert found.keys() == kept.keys() and all(torch.equal(found[name], kept[name]) for name in kept)
    # And of a fine-tuned one, which has them in a file of their own.
    again = trim(out, tmp_path / "again", TrimRequest(text=(corpus,))).path
    assert read_vectors(again) is not None


def test_texts_in_memory_are_trimmed_to_as_files_are(tmp_path: Path, corpus: str) -> None:
    source = saved(tmp_path / "encoder", "bert")
    read = trim(source, tmp_path / "read", TrimRequest(text=corpus))
    assert TrimRequest(text=Path(corpus)) == TrimRequest(text=(corpus,))
    held = trim(source, tmp_path / "held", texts=tiny_bitext(6)["source"])
    one, other = ((done.path / "tokenizer.json").read_bytes() for done in (read, held))
    assert one == other and replace(held, path=read.path) == read
    assert trim(source, tmp_path / "held", texts=iter(TEXTS)).skipped
    with refused(ConfigurationError, "/held: ", "different: texts)"):
        trim(source, tmp_path / "held", texts=TEXTS[:3])
    both = trim(source, tmp_path / "both", TrimRequest(text=(corpus,)), texts=["ta potamo"])
    assert both.pieces[1] > read.pieces[1]
    for nothing in (None, []):
        with refused(ConfigurationError, 'text="corpus.tsv"'):
            trim(source, tmp_path / "nothing", texts=nothing)
    with refused(ConfigurationError, "texts: text 2: ", "None"):
        trim(source, tmp_path / "nothing", texts=["a", None])  # type: ignore[list-item]
    with refused(ConfigurationError, "texts ", "text.txt", "text=FILE"):
        trim(source, tmp_path / "nothing", texts=corpus)


def test_trim_refuses_what_is_not_text_in_one_line(tmp_path):
    with refused(ConfigurationError, "texts: ", "5"):
        trim("encoder", tmp_path / "out", texts=5)
    with refused(ConfigurationError, "`request`: ", "TrimRequest(...)", "'a.txt'"):
        trim("encoder", tmp_path / "out", "a.txt")
