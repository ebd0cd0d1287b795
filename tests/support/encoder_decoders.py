"""Small random encoder-decoders of the families whose encoder half is read, each with its own kind of tokenizer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.testing import tiny_bitext

_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 4}
_BART = {
    "d_model": 32, "encoder_layers": 3, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 40,
}  # fmt: skip
#        name: (configuration, its sizes, tokenizer)
_FAMILIES: dict[str, tuple[str, dict[str, Any], str]] = {
    "T5": ("T5Config", _T5, "T5Tokenizer"),
    "MT5": ("MT5Config", _T5, "T5Tokenizer"),
    "MBart": ("MBartConfig", _BART, "MBartTokenizer"),
    "M2M100": ("M2M100Config", _BART, "NllbTokenizer"),
}
CLASSES = (
    "T5ForConditionalGeneration", "T5EncoderModel", "MT5ForConditionalGeneration", "MT5EncoderModel", "MT5Model",
    "MBartForConditionalGeneration", "MBartModel", "M2M100ForConditionalGeneration", "M2M100Encoder",
)  # fmt: skip
"""Classes that checkpoints of these families are saved from."""


def encoder_decoder(name: str, *, seed: int = 0) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """A model of one of :data:`CLASSES` in evaluation mode, and a tokenizer of its family."""
    family = next(key for key in ("MT5", "T5", "MBart", "M2M100") if name.startswith(key))
    config_class, sizes, tokenizer_class = _FAMILIES[family]
    tokenizer = _tokenizer(tokenizer_class)
    config = getattr(transformers, config_class)(
        vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **sizes
    )
    config.architectures = [name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _class(name)(config).eval(), tokenizer


def saved(name: str, folder: Path) -> tuple[Path, PreTrainedModel, PreTrainedTokenizerFast]:
    """A checkpoint's folder, and the model and tokenizer in it."""
    model, tokenizer = encoder_decoder(name)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder, model, tokenizer


def _class(name: str) -> Any:
    if name == "M2M100Encoder":
        from transformers.models.m2m_100.modeling_m2m_100 import M2M100Encoder

        return M2M100Encoder
    return getattr(transformers, name)


def _tokenizer(kind: str) -> PreTrainedTokenizerFast:
    """The library's tokenizer with pieces that are trained on made-up pairs: BPE for NLLB, Unigram for the others."""
    pairs = tiny_bitext(200)
    texts = [*pairs["source"], *pairs["target"]]
    if kind == "NllbTokenizer":
        trained = Tokenizer(BPE())
        trained.pre_tokenizer = Metaspace()
        trained.train_from_iterator(texts, BpeTrainer(vocab_size=300, show_progress=False))
    else:
        options: dict[str, Any] = {
            "algorithm": "unigram",
            "family": "roberta",
            "vocab_size": 360,
            "min_frequency": 0,
        }
        trained = train_tokenizer(texts, **options).backend_tokenizer
    model = json.loads(trained.to_str())["model"]
    if kind != "NllbTokenizer":
        entries: list[Any] = [tuple(entry) for entry in model["vocab"]]
        tokenizer = getattr(transformers, kind)(vocab=entries)
    else:
        specials = ["<s>", "<pad>", "</s>", "<unk>"]
        vocabulary = {piece: number for number, piece in enumerate([*specials, *model["vocab"]])}
        merges: list[Any] = [tuple(merge) for merge in model["merges"]]
        tokenizer = transformers.NllbTokenizer(vocab=vocabulary, merges=merges)
    return cast("PreTrainedTokenizerFast", tokenizer)
