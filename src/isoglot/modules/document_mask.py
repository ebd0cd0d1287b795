"""Attention confined to documents, for rows that hold several (packed) sequences.

Restarting the position ids does *not* keep packed sequences apart: every encoder of transformers 5 attends
across them unless it is given the mask of this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from isoglot.core.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

PACKABLE = (
    "bert",
    "camembert",
    "deberta-v2",
    "distilbert",
    "electra",
    "modernbert",
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
)
"""Families for which packed rows equal separate rows (tested)."""


def document_mask(document_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
    """Say which position may read which: M[q, k] = (d_q = d_k and k is not padding) or q = k, with d the document ids.

    Every position may read itself, padding too: with nothing to read, a softmax would give NaN.

    **Shape**: document ids (from 1; 0 is padding) (batch, length); result (batch, 1, length, length), bool.
    """
    readable = document_ids > 0
    if attention_mask is not None:
        readable = readable & attention_mask.bool()
    same_document = document_ids[:, :, None] == document_ids[:, None, :]
    diagonal = torch.eye(document_ids.shape[1], dtype=torch.bool, device=document_ids.device)
    return ((same_document & readable[:, None, :]) | diagonal)[:, None]


def restarted_positions(document_ids: Tensor) -> Tensor:
    """Position ids that restart at 0 with each document, a run of equal ids: ``[1, 1, 2, 2, 2]`` → ``[0, 1, 0, 1, 2]``.

    **Shape**: (batch, length) → (batch, length).
    """
    length = document_ids.shape[1]
    index = torch.arange(length, device=document_ids.device).expand_as(document_ids)
    is_start = torch.ones_like(document_ids, dtype=torch.bool)
    is_start[:, 1:] = document_ids[:, 1:] != document_ids[:, :-1]
    start_of_document = torch.where(is_start, index, 0).cummax(dim=1).values
    return index - start_of_document


def require_packable(model: PreTrainedModel) -> None:
    """Refuse an encoder for which packed rows would be wrong: DeBERTa's convolution reads across documents."""
    config = model.config
    if config.model_type not in PACKABLE:
        raise ConfigurationError(
            f"a {config.model_type!r} encoder got document_ids: packed rows are known to be right "
            f"only for {', '.join(PACKABLE)}; set `pack: null` for its streams"
        )
    kernel = getattr(config, "_attn_implementation", "eager") or "eager"
    if kernel not in ("eager", "sdpa"):
        raise ConfigurationError(
            f"attention kernel {kernel!r} got document_ids: packed rows need a dense mask, which only sdpa "
            "and eager accept; set `attention: sdpa` in the model's section, or `pack: null` for its streams"
        )
    if (getattr(config, "conv_kernel_size", 0) or 0) > 0:
        raise ConfigurationError(
            f"got document_ids for a DeBERTa encoder with a convolution layer (conv_kernel_size="
            f"{config.conv_kernel_size}), which reads across documents; set `pack: null` for its streams"
        )


def attention_inputs(model: PreTrainedModel, mask: Tensor, dtype: torch.dtype) -> Any:
    """Bring a boolean mask (batch, 1, length, length) into the form that the encoder's ``attention_mask`` takes.

    ModernBERT gets a mask for each of its two kinds of layers, the local one cut to the window: with a single 4-D mask
    all layers would attend globally, without an error.
    """
    if model.config.model_type != "modernbert":
        return _for_kernel(model, mask, dtype)
    index = torch.arange(mask.shape[-1], device=mask.device)
    near = (index[:, None] - index[None, :]).abs() <= model.config.sliding_window
    return {
        "full_attention": _for_kernel(model, mask, dtype),
        "sliding_attention": _for_kernel(model, mask & near, dtype),
    }


def _for_kernel(model: PreTrainedModel, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask of a kernel: for sdpa the bool itself, for eager numbers to add to the scores, 0 or the lowest."""
    if (getattr(model.config, "_attn_implementation", None) or "eager") == "sdpa":
        return mask
    zeros = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return zeros.masked_fill(~mask, torch.finfo(dtype).min)
