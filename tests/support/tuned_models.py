"""Small labelled data, and models that are fine-tuned on them in a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from datasets import Dataset

import isoglot as iso
from isoglot.testing import tiny_model, tiny_tokenizer

TOPICS = {"text": ["the old river", "a quiet horse"] * 8, "label": ["water", "animals"] * 8}
TAGGED = {
    "words": [["the", "old", "river"], ["a", "horse"]] * 8,
    "tags": [["DET", "ADJ", "NOUN"], ["DET", "NOUN"]] * 8,
}
ANSWERED = {
    "id": list(map(str, range(8))),
    "question": ["what runs?"] * 8,
    "context": ["the old river runs"] * 8,
    "answers": [{"text": ["river"], "start": [8]}] * 8,
}


def tuned(task: str, data: dict[str, Any], out: Path) -> Path:
    encoder: dict[str, Any] = {"model": tiny_model("bert"), "tokenizer": tiny_tokenizer("bert")}
    rows = Dataset.from_dict(data)
    made: Path = iso.finetune(
        task=task, **encoder, data=rows, out=out, epochs=2, select="last", learning_rate=1e-3
    )
    return made
