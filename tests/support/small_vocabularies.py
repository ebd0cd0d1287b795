"""Tokenizers of each algorithm, trained on a few lines."""

from __future__ import annotations

from functools import cache

from transformers import PreTrainedTokenizerBase

from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.synthetic.world import World
from isoglot.testing import tiny_bitext

LINES = [
    "The quiet teacher's horse, at last, sees 3.5 rivers!",
    "every child (again) opens a small window — slowly",
    "zebra unseen-words café naïve 漢字 don't.",
]


@cache
def world_lines() -> list[str]:
    """Thirty sentences of a synthetic world, made when they are first needed: it takes seconds."""
    return list(World(seed=1).text(30)["text"])


def tokenizer_of(algorithm: str) -> PreTrainedTokenizerBase:
    texts = [str(row["source"]) for row in tiny_bitext(64)] + LINES[:2] + world_lines()
    family = "roberta" if algorithm == "byte_bpe" else "bert"
    return train_tokenizer(texts, algorithm=algorithm, vocab_size=400, family=family, min_frequency=1)
