"""Tokenizers of each algorithm, trained on a few lines."""

from __future__ import annotations

from transformers import PreTrainedTokenizerBase

from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.synthetic.world import World
from isoglot.testing import tiny_bitext

WORLD_LINES: list[str] = World(seed=1).text(30)["text"][:]


LINES = [
    "The quiet teacher's horse, at last, sees 3.5 rivers!",
    "every child (again) opens a small window — slowly",
    "zebra unseen-words café naïve 漢字 don't.",
]


def tokenizer_of(algorithm: str) -> PreTrainedTokenizerBase:
    texts = [str(row["source"]) for row in tiny_bitext(64)] + LINES[:2] + WORLD_LINES
    family = "roberta" if algorithm == "byte_bpe" else "bert"
    return train_tokenizer(texts, algorithm=algorithm, vocab_size=400, family=family, min_frequency=1)
