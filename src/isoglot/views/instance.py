"""One encoder input before masking, and the tensors it becomes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError, Problem
from isoglot.corpus.encode.templates import IntArray, Template, as_array
from isoglot.corpus.pack.packing import language_id
from isoglot.views.masking import MaskedTokens, MaskingOptions, mask_tokens

_DOCUMENT_STRIDE = 1 << 20
"""Set between the word numbers of packed documents, which count from 0 in each."""


@dataclass
class Instance:
    """One encoder input before masking; every array is as long as ``ids``, but ``link_ids`` (links, 2).

    ``word_ids`` are −1 for no word; ``attention`` is 1 where there is a token, ``None`` where there is one everywhere.
    """

    ids: IntArray
    word_ids: IntArray | None = None
    attention: IntArray | None = None
    extras: dict[str, IntArray] = field(default_factory=dict)


def masked_tensors(
    instance: Instance, masking: MaskingOptions, *, generator: torch.Generator
) -> tuple[dict[str, IntArray], MaskedTokens]:
    """Mask an instance: the arrays of its batch keys, and the selection."""
    special = masking._specials.take(instance.ids, mode="clip")
    present = np.ones(instance.ids.size, dtype=np.int64) if instance.attention is None else instance.attention
    candidates = ~special & (present > 0)
    masked = mask_tokens(instance.ids, candidates, masking, generator=generator, word_ids=instance.word_ids)
    arrays = {
        "input_ids": masked.input_ids,
        "attention_mask": present,
        "labels": masked.labels,
        "original_ids": instance.ids,
        **instance.extras,
    }
    return arrays, masked


def to_tensors(arrays: Mapping[str, IntArray]) -> dict[str, Tensor]:
    """The arrays as int64 tensors that share no memory with the example."""
    return {key: torch.from_numpy(np.array(value, dtype=np.int64)) for key, value in arrays.items()}


def is_packed(example: Mapping[str, Any]) -> bool:
    """Whether an example is a packed block, whose specials are already inside."""
    return "document_ids" in example or "attention_mask" in example


def packed_instance(
    example: Mapping[str, Any],
    *,
    language_ids: Mapping[str, int] | None,
    max_length: int,
) -> Instance:
    """A packed block as an instance: many documents, or XLM's two padded halves, with padding inside.

    ``language_ids``: ids by language, for a block of one ``language``; a stream's own ``language_ids`` column is
    used as it is.
    """
    ids = as_array(example["input_ids"])
    if ids.size > max_length:
        raise ConfigurationError(
            f"max_length: got {max_length}, but the stream is packed into blocks of {ids.size} tokens; raise max_length"
        )
    columns = {
        name: as_array(example[name])
        for name in ("attention_mask", "document_ids", "position_ids", "language_ids", "side_ids", "word_ids")
        if example.get(name) is not None
    }
    wrong = [f"{name} has {values.size}" for name, values in columns.items() if values.size != ids.size]
    if wrong:
        raise ConfigurationError(
            f"packed block: input_ids has {ids.size} tokens, but {', '.join(wrong)}; encode the stream again"
        )
    documents = columns.get("document_ids")
    attention = columns.pop("attention_mask", None)
    if attention is None:
        attention = np.ones(ids.size, dtype=np.int64) if documents is None else as_array(documents > 0)
    words = columns.pop("word_ids", None)
    if words is not None and documents is not None:
        words = np.where(words >= 0, words + documents * _DOCUMENT_STRIDE, words)
    if "position_ids" in columns:
        columns["position_ids"] = np.where(attention > 0, columns["position_ids"], 0)
    if language_ids is not None and "language_ids" not in columns:
        number = language_id(language_ids, example.get("language"))
        columns["language_ids"] = np.full(ids.size, number, dtype=np.int64)
    return Instance(ids, words, attention, columns)


def length_limit(tokenizer: PreTrainedTokenizerBase, max_length: int | None, template: Template) -> int:
    """The most tokens an input may have, specials included: ``max_length``, or the tokenizer's own limit."""
    limit = int(min(tokenizer.model_max_length, 1 << 30)) if max_length is None else max_length
    if limit <= template.size:
        text = f"got {limit}, but the special tokens alone are {template.size}; raise it, usually to 128"
        raise ConfigurationError(Problem(text, ("max_length",)))
    return limit


def truncated_lengths(first: int, second: int, budget: int) -> tuple[int, int]:
    """The lengths to which two sides are cut so that both fit; the longer side is cut first."""
    length = min(first, max(budget - second, budget - budget // 2))
    return length, min(second, budget - length)


def target_first(order: str, coin: bool) -> bool:
    """Whether the target side comes first (is the query) under an order option."""
    return coin if order == "shuffle" else order.startswith("target")
