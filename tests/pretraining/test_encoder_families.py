"""Encoders of the last years, small and random, through every verb: trim, pretrain, align, fine-tune, evaluate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer
from transformers import (
    AutoModelForMaskedLM,
    DebertaV2Config,
    EuroBertConfig,
    ModernBertConfig,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    XLMRobertaConfig,
)

from isoglot.aligners.embedding.aligner import EmbeddingAligner
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.evaluation.evaluate import evaluate_checkpoint
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.api import finetune
from isoglot.finetuning.options import FinetuneOptions
from isoglot.modules.encoder import encode
from isoglot.modules.load import load_masked_lm, longest_input
from isoglot.pretraining.api import pretrain
from isoglot.pretraining.check import load_recipe
from isoglot.pretraining.options import TrimRequest
from isoglot.pretraining.trim import trim
from isoglot.tasks import build_task
from isoglot.testing import tiny_bitext

_SIZES = {"hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 48}
_DEBERTA = {"relative_attention": True, "position_buckets": 32, "norm_rel_ebd": "layer_norm", "share_att_key": True,
            "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "type_vocab_size": 0,
            "legacy": False}  # fmt: skip
#   encoder: its configuration, its own settings, algorithm and special tokens of its tokenizer, longest input
ENCODERS: dict[str, tuple[Any, dict[str, Any], tuple[str, str], int | None]] = {
    "mmBERT": (ModernBertConfig, {"local_attention": 16}, ("bpe_bytes", "bert"), 8192),
    "ModernBERT": (ModernBertConfig, {"local_attention": 16}, ("byte_bpe", "bert"), 8192),
    "EuroBERT": (EuroBertConfig, {"num_key_value_heads": 2}, ("byte_bpe", "roberta"), 8192),
    "mDeBERTa-v3": (DebertaV2Config, _DEBERTA, ("unigram", "bert"), None),
    "XLM-V": (XLMRobertaConfig, {"max_position_embeddings": 514, "type_vocab_size": 1}, ("unigram", "roberta"), 512),
    "Glot500": (XLMRobertaConfig, {"max_position_embeddings": 514, "type_vocab_size": 1}, ("unigram", "roberta"), 512),
}  # fmt: skip
LONG = [name for name, (*_, longest) in ENCODERS.items() if longest != 512]


def tokenizer_of(name: str) -> PreTrainedTokenizerFast:
    """A tokenizer of the encoder's kind; mmBERT's pieces are characters, with bytes for what it has not seen."""
    algorithm, family = ENCODERS[name][2]
    pairs = tiny_bitext(80)
    texts = [*pairs["source"], *pairs["target"]]
    plain = "bpe" if algorithm == "bpe_bytes" else algorithm
    found = train_tokenizer(
        texts, algorithm=plain, family=family, vocab_size=520 if plain == "byte_bpe" else 180, min_frequency=1
    )
    if algorithm == "bpe_bytes":
        values = json.loads(found.backend_tokenizer.to_str())
        vocabulary = values["model"]["vocab"]
        vocabulary |= {f"<0x{byte:02X}>": len(vocabulary) + byte for byte in range(256)}
        values["model"]["byte_fallback"] = True
        names = {
            k: getattr(found, k) for k in ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
        }
        found = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(values)), **names)
    found.model_input_names = ["input_ids", "attention_mask"]
    return found


def config_of(name: str, tokenizer: PreTrainedTokenizerFast) -> PreTrainedConfig:
    kind, own, *_ = ENCODERS[name]
    ids = {
        f"{s}_token_id": getattr(tokenizer, f"{s}_token_id")
        for s in ("pad", "bos", "eos", "cls", "sep", "mask")
    }
    config: PreTrainedConfig = kind(**_SIZES, **own, **ids, vocab_size=len(tokenizer))
    return config


def saved(name: str, folder: Path) -> Path:
    """An encoder with random weights as its authors publish theirs."""
    tokenizer = tokenizer_of(name)
    torch.manual_seed(0)
    AutoModelForMaskedLM.from_config(config_of(name, tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_goes_through_every_verb(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ISOGLOT_CACHE", str(tmp_path / "cache"))
    encoder, pairs = saved(name, tmp_path / "encoder"), tiny_bitext(24, seed=2)
    bitext = tmp_path / "en-xx.tsv"
    bitext.write_text("".join(f"{p['source']}\t{p['target']}\n" for p in pairs))

    trimmed = trim(encoder, tmp_path / "trimmed", TrimRequest(text=(str(bitext),), held_out=(str(bitext),)))
    assert trimmed.held_out[1] == 0
    if "byte" not in ENCODERS[name][2][0]:  # all bytes stay
        assert trimmed.pieces[1] < trimmed.pieces[0]

    changes = [
        f"model.path={trimmed.path}", f"streams.bitext.path={bitext}", "streams.bitext.target_language=xx",
        "views.sentences={type: sentence_pair, stream: bitext}", "steps=4", "epochs=null", "batch={examples: 4}",
        "objectives.contrast={type: in_batch_contrast, view: sentences}", "train.use_cpu=true", "train.bf16=false",
        "train.fp16=false", "train.warmup_steps=0", "train.learning_rate=1e-3", "train.gradient_accumulation_steps=1",
        "streams.bitext.tokenizer=null", "streams.bitext.min_pieces=null", "streams.bitext.max_pair_pieces=null",
    ]  # fmt: skip
    checkpoint = pretrain(load_recipe("tlm", changes), tmp_path / "run")
    AutoModelForMaskedLM.from_pretrained(checkpoint)

    links = EmbeddingAligner(checkpoint, layer=2).align(pairs, batch_size=8)
    assert len(links) == 24 and any(links["links"])

    tagged = tmp_path / "en.tsv"
    tags = {"the": "DET", "a": "DET", "every": "DET", "this": "DET"}
    tagged.write_text(
        "\n".join("".join(f"{w}\t{tags.get(w, 'NOUN')}\n" for w in s.split()) for s in pairs["source"])
    )
    pos = build_task("pos", [f"train={tagged}", f"test={tagged}"])
    options = FinetuneOptions.build(epochs=40, select="last", learning_rate=5e-3, batch_size=8)
    tagger = finetune(checkpoint, pos, language="en", train=options, out=tmp_path / "pos")
    measuring = EvaluateOptions(out=tmp_path / "results.jsonl")
    found = {r.metric: r.value for r in evaluate_checkpoint(tagger, pos, languages=["en"], options=measuring)}
    assert found[pos.primary_metric] > 95

    pairs.to_parquet(tmp_path / "pairs.parquet")
    retrieval = build_task("tatoeba", [str(tmp_path / "pairs.parquet")])
    scores = evaluate_checkpoint(checkpoint, retrieval, languages=["xx"], options=measuring)
    assert all(0 <= r.value <= 100 for r in scores) and len(scores) > 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.slow] if name in ("mDeBERTa-v3", "ModernBERT", "mmBERT") else []
        )
        for name in LONG
    ],
)  # five seconds and more each
def test_eight_thousand_tokens_go_through(name: str, tmp_path: Path) -> None:
    model = load_masked_lm(saved(name, tmp_path)).eval()
    assert longest_input(model.config) == ENCODERS[name][3]
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, model.config.vocab_size, (1, 8192), generator=generator)
    with torch.no_grad():
        states = encode(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, layers=(4,))[4]
    assert states.shape == (1, 8192, 32) and torch.isfinite(states).all()
