"""How pieces become an encoder input: special tokens, sides, segments, positions, languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from isoglot.errors import ConfigurationError

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Template:
    """The special tokens around one sentence (``middle`` empty) or two.

    A sentence owns the specials that close it: the first half of ``middle`` (rounded up) belongs to the first
    sentence, the rest to the second. Segments, languages and restarting positions follow that border.
    """

    prefix: IntArray
    middle: IntArray
    suffix: IntArray

    @property
    def size(self) -> int:
        """Number of special tokens."""
        return self.prefix.size + self.middle.size + self.suffix.size

    def border(self, first: int) -> int:
        """Where the second sentence's part begins, if the first has ``first`` pieces."""
        return self.prefix.size + first + (self.middle.size + 1) // 2

    def place(self, first: IntArray, second: IntArray | None = None) -> IntArray:
        """The sequence of ids with its specials."""
        if second is None:
            return np.concatenate((self.prefix, first, self.suffix))
        return np.concatenate((self.prefix, first, self.middle, second, self.suffix))

    def surround(self, first: IntArray, second: IntArray | None = None, *, fill: int) -> IntArray:
        """Values per piece laid out as :meth:`place` lays out the ids, ``fill`` at the specials."""
        size = self.size + first.size + (0 if second is None else second.size)
        values = np.full(size, fill, dtype=np.int64)
        start = self.prefix.size
        values[start : start + first.size] = first
        if second is not None:
            start += first.size + self.middle.size
            values[start : start + second.size] = second
        return values


def single_template(tokenizer: PreTrainedTokenizerBase) -> Template:
    """The specials that the tokenizer puts around one sentence."""
    ids, sides = _probe(tokenizer, pair=False)
    inside = [i for i, side in enumerate(sides) if side == 0]
    prefix, suffix = ids[: inside[0]], ids[inside[-1] + 1 :]
    if (
        not prefix
        and not suffix
        and tokenizer.cls_token_id is not None
        and tokenizer.sep_token_id is not None
    ):
        prefix, suffix = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
    return Template(as_array(prefix), as_array([]), as_array(suffix))


def pair_template(tokenizer: PreTrainedTokenizerBase, kind: Literal["hf", "single"] = "hf") -> Template:
    """The specials around a sentence pair.

    ``kind``: ``hf``: the tokenizer's own pair (XLM-R: ``<s> S </s></s> T </s>``); ``single``: one separator between
    the sides (``<s> S </s> T </s>``), as XLM-Align's and InfoXLM's code has it. The same for BERT.
    """
    ids, sides = _probe(tokenizer, pair=True)
    first = [i for i, side in enumerate(sides) if side == 0]
    second = [i for i, side in enumerate(sides) if side == 1]
    prefix, middle, suffix = ids[: first[0]], ids[first[-1] + 1 : second[0]], ids[second[-1] + 1 :]
    separator = tokenizer.sep_token_id
    if not middle:
        if separator is None:
            raise ConfigurationError(
                "pair_template: the tokenizer puts nothing between two sentences and has no separator token; "
                "set tokenizer.sep_token or give it a pair template (tokenizers.processors.TemplateProcessing)"
            )
        middle = [separator]
        if not prefix and not suffix and tokenizer.cls_token_id is not None:
            prefix, suffix = [tokenizer.cls_token_id], [separator]
    return Template(as_array(prefix), as_array(middle[:1] if kind == "single" else middle), as_array(suffix))


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


def as_array(values: Any) -> IntArray:
    """A list, array or tensor of integers as an int64 array."""
    return np.asarray(values, dtype=np.int64)


def _texts(tokenizer: PreTrainedTokenizerBase) -> Iterator[str]:
    """Short texts, one of which any tokenizer cuts into at least one piece."""
    yield from ("a", "0", ".")
    special = set(tokenizer.all_special_tokens)
    yield from (token for token in tokenizer.get_vocab() if token not in special)


def _probe(tokenizer: PreTrainedTokenizerBase, *, pair: bool) -> tuple[list[int], list[int | None]]:
    """Ids and sides of a trial input that has at least one piece a side."""
    if not tokenizer.is_fast:
        raise ConfigurationError(
            f"tokenizer: {type(tokenizer).__name__} given, a fast tokenizer is needed; "
            "load it with AutoTokenizer.from_pretrained(path, use_fast=True)"
        )
    for text in islice(_texts(tokenizer), 1000):
        encoding = tokenizer(text, text) if pair else tokenizer(text)
        sides = encoding.sequence_ids(0)
        if 0 in sides and (not pair or 1 in sides):
            return list(encoding["input_ids"]), list(sides)
    raise ConfigurationError(
        "tokenizer: it cuts no text into pieces; check its vocabulary with tokenizer.tokenize('a')"
    )
