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
    """Which position may read which: M[q, k] = (d_q = d_k and k is not padding) or q = k.

    The diagonal stays allowed, because a query with nothing to read would turn into NaN.

    **Shape**: document ids (1-based; 0 is padding) (batch, length); result (batch, 1, length, length), bool.
    """
    keys = document_ids > 0
    if attention_mask is not None:
        keys = keys & attention_mask.bool()
    together = document_ids[:, :, None] == document_ids[:, None, :]
    diagonal = torch.eye(document_ids.shape[1], dtype=torch.bool, device=document_ids.device)
    return ((together & keys[:, None, :]) | diagonal)[:, None]


def restarted_positions(document_ids: Tensor) -> Tensor:
    """Position ids that restart at 0 with each document, a run of equal ids: (batch, length) → (batch, length)."""
    length = document_ids.shape[1]
    index = torch.arange(length, device=document_ids.device).expand_as(document_ids)
    starts = torch.ones_like(document_ids, dtype=torch.bool)
    starts[:, 1:] = document_ids[:, 1:] != document_ids[:, :-1]
    return index - torch.where(starts, index, 0).cummax(dim=1).values


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
    """A boolean (batch, 1, length, length) mask in the form that the encoder's ``attention_mask`` takes.

    ModernBERT gets one mask a layer type, the local one cut to its window: given a single 4-D mask it would
    silently lose its local attention.
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
    """Bool as it is for sdpa; zeros and the lowest number, to be added, for eager."""
    if (getattr(model.config, "_attn_implementation", None) or "eager") == "sdpa":
        return mask
    zeros = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return zeros.masked_fill(~mask, torch.finfo(dtype).min)
