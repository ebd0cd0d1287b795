"""How pieces become an encoder input: lengths, order, languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import PreTrainedTokenizerBase

from isoglot.corpus.encode.templates import Template
from isoglot.errors import ConfigurationError


def length_limit(tokenizer: PreTrainedTokenizerBase, max_length: int | None, template: Template) -> int:
    """The most tokens an input may have, specials included: ``max_length``, or the tokenizer's own limit."""
    limit = int(min(tokenizer.model_max_length, 1 << 30)) if max_length is None else max_length
    if limit <= template.size:
        raise ConfigurationError(
            f"max_length: {limit} given, but the special tokens alone are {template.size}; raise it, usually to 128"
        )
    return limit


def truncated_lengths(first: int, second: int, budget: int) -> tuple[int, int]:
    """How much of two sides to keep so that both fit, cutting the longer one first."""
    if first + second <= budget:
        return first, second
    half = budget // 2
    if first <= half:
        return first, budget - first
    if second <= half:
        return budget - second, second
    return budget - half, half


def target_first(order: str, example: Mapping[str, Any]) -> bool:
    """Whether the target side comes first (is the query) under an order option."""
    if order != "shuffle":
        return order.startswith("target")
    if "coin" not in example:
        raise ConfigurationError(
            "order: shuffle reads the example's 'coin', which is missing; take examples from a Mixture, or add "
            "example['coin'] = True or False"
        )
    return bool(example["coin"])


def language_id(language_ids: Mapping[str, int], language: Any) -> int:
    """The id of a language."""
    if language is None:
        raise ConfigurationError(
            f"language_ids: {dict(language_ids)} given, but the stream has no 'language' column; encode it with its "
            "language, or leave language_ids out"
        )
    if language not in language_ids:
        raise ConfigurationError(
            f"language_ids: {dict(language_ids)} given, the stream has language {language!r}; "
            f"add `{language}: {max(language_ids.values(), default=-1) + 1}`"
        )
    return int(language_ids[language])
