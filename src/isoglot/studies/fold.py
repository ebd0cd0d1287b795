"""Language embeddings put into the word embeddings, so that fine-tuning a plain checkpoint still has them."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open
from transformers import AutoModelForMaskedLM

from isoglot.corpus.encode.load_tokenizer import load_tokenizer
from isoglot.derive.vocabulary import VocabularyCopy
from isoglot.errors import ConfigurationError
from isoglot.modules.checkpoint import load_checkpoint
from isoglot.modules.encoder import input_embeddings
from isoglot.training.checkpoints import OBJECTIVES

__all__ = ["fold_language_embeddings"]

_TABLE = "language_embeddings.weight"


def fold_language_embeddings(
    checkpoint: str | Path, out: str | Path, *, vocabulary: str | Path, languages: tuple[int, int]
) -> Path:
    """Write a checkpoint whose word embeddings contain the language embeddings that it was trained with.

    In a derived language with a copied vocabulary every piece belongs to one language, so ``E[i] + L[en]`` and
    ``E[i + V] + L[xx]`` are what the encoder was given while it trained. Pieces of both languages (special tokens, a
    shared part of the vocabulary) get the mean of both. ALIGN-MLM's authors pass language ids while they fine-tune;
    this gives the encoder the same inputs. The masked-LM head of the result is of no use: it is tied to ``E``.

    Args:
        checkpoint: with its objectives' state beside it.
        out: folder to write.
        vocabulary: the tokenizer folder that ``isoglot derive`` wrote.
        languages: ids of the original and of the derived language.

    Raises:
        ConfigurationError: the checkpoint has no language embeddings with these ids.
    """
    source, target = Path(checkpoint), Path(out)
    path = source / OBJECTIVES
    table = None
    if path.is_file():
        with safe_open(path, framework="pt") as tensors:
            table = tensors.get_tensor(_TABLE) if _TABLE in set(tensors.keys()) else None
    if table is None or not all(0 <= i < len(table) for i in languages):
        have = "none" if table is None else f"ids 0 to {len(table) - 1}"
        raise ConfigurationError(
            f"{path}: language embeddings {list(languages)} asked for, there are {have}; leave out fold, or give the "
            "ids of the recipe"
        )
    copy = VocabularyCopy.load(vocabulary)
    model = load_checkpoint(AutoModelForMaskedLM, source)
    first, second = table[languages[0]], table[languages[1]]
    both = sorted({*copy.shared, *copy.unshifted})
    with torch.no_grad():
        weight = input_embeddings(model).weight
        added = torch.cat([first.expand(copy.size, -1), second.expand(copy.size, -1)]).clone()
        added[both] = (first + second) / 2
        weight[: 2 * copy.size] += added.to(weight)
    model.save_pretrained(target)
    load_tokenizer(source).save_pretrained(target)
    return target
