"""One encoder input before masking, and the tensors it becomes."""

from collections.abc import Container, Mapping
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

_TEXT_STRIDE = 1 << 20
"""More than a text has words.

isoglot packs blocks without repeated word ids, but other packed streams may count the words of each text from 0. With
this times the number of the text added, words of different texts have different ids.
"""


@dataclass
class Instance:
    """One encoder input before masking. **Shape**: (length,), ``extras["link_ids"]`` (links, 2)."""

    ids: IntArray  # with special tokens
    word_ids: IntArray | None = None  # the word of each token, −1 for tokens of no word
    attention: IntArray | None = None  # 1 for tokens, 0 for padding; None: no padding
    # Further batch keys, not changed by masking. Of a packed block also its columns: `document_ids`, `side_ids`, ...
    extras: dict[str, IntArray] = field(default_factory=dict)


def masked_tensors(
    instance: Instance, masking: MaskingOptions, *, generator: torch.Generator
) -> tuple[dict[str, IntArray], MaskedTokens]:
    """Mask an instance: the arrays of its batch keys, and which tokens were selected.

    Candidates are the tokens that ``masking.may_be_selected`` allows, without padding.
    """
    present = np.ones(instance.ids.size, dtype=np.int64) if instance.attention is None else instance.attention
    candidates = masking.may_be_selected(instance.ids) & (present > 0)
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


def is_packed(columns: Container[str]) -> bool:
    """Whether examples with these columns are packed blocks, which have their special tokens already.

    A block of isolated texts has ``document_ids``, any other block an ``attention_mask``
    (:func:`~isoglot.corpus.pack.packing.pack_stream`).

    ``columns``: Names of the columns; an example, whose keys are these names, will do too.
    """
    return "document_ids" in columns or "attention_mask" in columns


def packed_instance(
    example: Mapping[str, Any],
    *,
    id_of_language: Mapping[str, int] | None,
    max_length: int,
) -> Instance:
    """A packed block as an instance: several texts, or XLM's two halves with padding inside.

    ``id_of_language``: the option ``language_ids`` of a view. The id of the example's ``language`` is written over the
    whole block, unless the stream has a column ``language_ids``.
    """
    ids = as_array(example["input_ids"])
    if ids.size > max_length:
        raise ConfigurationError(
            f"max_length: got {max_length}, but the stream is packed into blocks of {ids.size} tokens; raise max_length"
        )
    optional = ("attention_mask", "document_ids", "position_ids", "language_ids", "side_ids", "word_ids")
    columns = {name: as_array(example[name]) for name in optional if example.get(name) is not None}
    wrong = [f"{name} has {values.size}" for name, values in columns.items() if values.size != ids.size]
    if wrong:
        raise ConfigurationError(
            f"packed block: input_ids has {ids.size} tokens, but {', '.join(wrong)}; encode the stream again"
        )

    text_ids = columns.get("document_ids")  # counted from 1, 0 for padding
    attention = columns.pop("attention_mask", None)
    if attention is None:
        attention = np.ones(ids.size, dtype=np.int64) if text_ids is None else as_array(text_ids > 0)
    words = columns.pop("word_ids", None)
    if words is not None and text_ids is not None:
        words = np.where(words >= 0, words + text_ids * _TEXT_STRIDE, words)

    # The other columns become batch keys.
    if "position_ids" in columns:
        columns["position_ids"] = np.where(attention > 0, columns["position_ids"], 0)
    if id_of_language is not None and "language_ids" not in columns:
        number = language_id(id_of_language, example.get("language"))
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
    """The lengths to which two sides are cut so that both fit; the longer side is cut first.

    For 10 tokens together, sides of 9 and 3 become 7 and 3, sides of 9 and 8 become 5 and 5. Of an odd budget the first
    side may have the larger half.
    """
    half = budget - budget // 2
    length = min(first, max(half, budget - second))
    return length, min(second, budget - length)


def target_first(order: str, coin: bool) -> bool:
    """Whether the target side comes first (is the query) under an option ``order``."""
    return coin if order == "shuffle" else order.startswith("target")  # target_first, target_is_query
