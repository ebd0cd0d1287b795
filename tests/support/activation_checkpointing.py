"""Recomputing activations, by the name that the installed transformers has for it (another one since 5.23)."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedModel

_NEW, _OLD = "activation_checkpointing", "gradient_checkpointing"
NAME = _NEW if hasattr(PreTrainedModel, f"{_NEW}_enable") else _OLD
"""The setting of `TrainingArguments`."""


def enable(model: PreTrainedModel, **how: Any) -> None:
    """Recompute activations in the backward pass."""
    getattr(model, f"{NAME}_enable")(**{f"{NAME}_kwargs": how or None})
