"""Encoders with a task head: a new head on a pre-trained checkpoint, or a fine-tuned one as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from isoglot.modules.checkpoint import load_checkpoint, load_config
from isoglot.seeding import seed_for


def new_head(
    auto: Any,
    checkpoint: str | Path,
    *,
    labels: Sequence[str] | None,
    seed: int,
    dropout: float | None = None,
) -> PreTrainedModel:
    """A pre-trained encoder with a fresh head.

    The seed is of the head's weights, and of a pooler that the checkpoint lacks.
    """
    settings = {} if labels is None else _label_arguments(labels)
    config = load_config(checkpoint, **settings)
    if dropout is not None:
        rates = [k for k, v in config.to_dict().items() if "dropout" in k and isinstance(v, int | float)]
        config.update(dict.fromkeys(rates, dropout))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "head"))
        return load_checkpoint(auto, checkpoint, config=config, new_head=True)


def trained_head(auto: Any, checkpoint: str | Path, *, task: str) -> PreTrainedModel:
    """A fine-tuned model as it is."""
    return load_checkpoint(
        auto,
        checkpoint,
        without_head=f"has no head for {task}; run `isoglot finetune {checkpoint} --task {task} ...` first and "
        "evaluate what it writes",
    )


def model_labels(model: PreTrainedModel) -> list[str]:
    """Names of the head's outputs, in order."""
    names: dict[Any, Any] = dict(model.config.id2label or {})
    return [str(names[i]) for i in sorted(names, key=int)]


def _label_arguments(labels: Sequence[str]) -> dict[str, Any]:
    return {
        "num_labels": len(labels),
        "id2label": dict(enumerate(labels)),
        "label2id": {name: i for i, name in enumerate(labels)},
    }
