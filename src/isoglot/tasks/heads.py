"""Encoders with a task head: a new head on a pre-trained checkpoint, or a fine-tuned one as it is."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

from isoglot.errors import ConfigurationError
from isoglot.seeding import seed_for

__all__ = ["load_tokenizer", "model_labels", "new_head", "trained_head"]


def new_head(
    auto: Any,
    checkpoint: str | Path,
    *,
    labels: Sequence[str] | None,
    seed: int,
    dropout: float | None = None,
) -> PreTrainedModel:
    """A pre-trained encoder with a fresh head.

    Args:
        auto: ``AutoModelForTokenClassification`` or one of its kin.
        checkpoint: folder or hub name. Only safetensors are read and no remote code is run.
        labels: of the head, in the order of its outputs.
        seed: of the head's weights (and of a pooler that the checkpoint lacks).
        dropout: of all its layers; ``None``: as the checkpoint says.

    Raises:
        ConfigurationError: nothing can be loaded, or the encoder's own weights are missing there.
    """
    options = {} if labels is None else _label_arguments(labels)
    if dropout is not None:
        options |= dict.fromkeys(_dropout_names(checkpoint), dropout)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "head"))
        model, info = _load(auto, checkpoint, options)
    prefix = f"{model.base_model_prefix}."
    missing = [k for k in info["missing_keys"] if k.startswith(prefix) and ".pooler." not in k]
    if missing:
        raise ConfigurationError(
            f"{checkpoint}: weights of the encoder are missing ({', '.join(missing[:3])}); give a whole checkpoint"
        )
    return model


def trained_head(auto: Any, checkpoint: str | Path, *, task: str) -> PreTrainedModel:
    """A fine-tuned model as it is.

    Raises:
        ConfigurationError: nothing can be loaded, or the checkpoint has no head of this kind.
    """
    model, info = _load(auto, checkpoint, {})
    if info["missing_keys"]:
        raise ConfigurationError(
            f"{checkpoint}: has no head for {task} ({', '.join(list(info['missing_keys'])[:2])} missing); run "
            f"`isoglot finetune {checkpoint} --task {task} ...` first and evaluate what it writes"
        )
    return model


def load_tokenizer(checkpoint: str | Path) -> PreTrainedTokenizerBase:
    """The fast tokenizer beside a model.

    Raises:
        ConfigurationError: there is none.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(checkpoint), use_fast=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ConfigurationError(_unreadable(checkpoint, error)) from error
    if not tokenizer.is_fast:
        raise ConfigurationError(
            f"{checkpoint}: has a slow tokenizer, a fast one (tokenizer.json) is needed; save it with "
            "AutoTokenizer.from_pretrained(..., use_fast=True)"
        )
    return tokenizer


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


def _dropout_names(checkpoint: str | Path) -> list[str]:
    """The settings of an encoder's configuration that are probabilities of dropout, whatever the family calls them."""
    try:
        config = AutoConfig.from_pretrained(str(checkpoint), trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ConfigurationError(_unreadable(checkpoint, error)) from error
    return [k for k, v in config.to_dict().items() if "dropout" in k and isinstance(v, int | float)]


def _load(
    auto: Any, checkpoint: str | Path, options: dict[str, Any]
) -> tuple[PreTrainedModel, dict[str, Any]]:
    try:
        with _quiet():
            loaded: tuple[PreTrainedModel, dict[str, Any]] = auto.from_pretrained(
                str(checkpoint),
                **options,
                dtype=torch.float32,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                ignore_mismatched_sizes=bool(options),
            )
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigurationError(_unreadable(checkpoint, error)) from error
    return loaded


@contextmanager
def _quiet() -> Iterator[None]:
    """Neither the library's bar nor its report on missing weights, which are looked at here."""
    report = logging.getLogger("transformers.modeling_utils")
    level, bars = report.level, is_progress_bar_enabled()
    report.setLevel(logging.ERROR)
    disable_progress_bar()
    try:
        yield
    finally:
        report.setLevel(level)
        if bars:
            enable_progress_bar()


def _unreadable(checkpoint: str | Path, error: Exception) -> str:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return (
        f"{checkpoint}: cannot be loaded ({reason}); a folder with config.json, model.safetensors and tokenizer.json, "
        "or a hub name that this machine can reach, is needed"
    )
