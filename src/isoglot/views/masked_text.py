"""Monolingual text with masked tokens."""

from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from isoglot.corpus.encode.templates import as_array, single_template
from isoglot.corpus.pack.packing import language_id
from isoglot.views.instance import (
    Instance,
    is_packed,
    length_limit,
    masked_tensors,
    packed_instance,
    to_tensors,
)
from isoglot.views.masking import MaskingOptions


# kw_only: as in `MaskingOptions`.
@dataclass(kw_only=True, eq=False)
class TextOptions(MaskingOptions):
    """The options that every masked view of one text takes.

    Args:
        language_ids: id of each language, for models with language embeddings; ``None``: no language ids.
        side: ``None`` for a text stream; for a bitext stream the side that is read: ``source``, ``target``, or by the
            coin ``first`` or ``second`` (true: the target is first).
        max_length: most tokens with special tokens; longer inputs are truncated. The tokenizer's limit by default.
            Packed blocks are never truncated.
    """

    language_ids: Mapping[str, int] | None = None
    side: Literal["source", "target", "first", "second"] | None = None
    max_length: Annotated[int, Field(ge=3)] | None = None

    def settle(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Check the options, and keep the special tokens of a tokenizer and the limit of an input."""
        super().settle(tokenizer)
        self._template = single_template(tokenizer)
        self._limit = length_limit(tokenizer, self.max_length, self._template)
        # The number that `View` asks for.
        self.special_tokens = self._template.size

    @property
    def columns(self) -> tuple[str, ...]:
        """The stream columns that ``build`` needs."""
        names = []
        if self.whole_word:
            names.append("word_ids")
        if self.needs_language:
            names.append("language")
        if self.side is None:
            return ("input_ids", *names)
        # With `first` and `second` the coin decides, so both sides have to be there.
        sides = (self.side,) if self.side in ("source", "target") else ("source", "target")
        columns: list[str] = []
        for side in sides:
            columns += [f"{side}_{name}" for name in ("ids", *names)]
        return tuple(columns)

    @property
    def needs_language(self) -> bool:
        """Whether an example has to say its language."""
        return self.language_ids is not None

    def prefix(self, coin: bool) -> str:
        """Prefix of the columns that are read: ``source_``, ``target_``, or nothing for a text stream."""
        if self.side == "first":
            return "target_" if coin else "source_"
        if self.side == "second":
            return "source_" if coin else "target_"
        return f"{self.side}_" if self.side else ""

    def instance(self, example: Mapping[str, Any], coin: bool) -> Instance:
        """The text with its special tokens, cut to the limit, or a packed block; nothing is masked yet."""
        if is_packed(example):
            return packed_instance(example, id_of_language=self.language_ids, max_length=self._limit)
        prefix = self.prefix(coin)
        room = self._limit - self._template.size
        ids = as_array(example[f"{prefix}ids" if prefix else "input_ids"])[:room]
        instance = Instance(self._template.sequence(ids))
        words = example.get(f"{prefix}word_ids")
        if words is not None:
            instance.word_ids = self._template.surround(as_array(words)[:room], fill=-1)
        if self.language_ids is not None:
            number = language_id(self.language_ids, example.get(f"{prefix}language"))
            instance.extras["language_ids"] = np.full(instance.ids.size, number, dtype=np.int64)
        return instance


@dataclass(eq=False)
class MaskedText(TextOptions):
    """Masked-language-modelling input from a text stream, packed or not, or from one side of a bitext stream.

    Equation: ``x̃_i = [MASK], random or x_i (80, 10 or 10 %) for i ∈ M``, ``P(i ∈ M) = 0.15``, with labels ``y_i = x_i``

    Two views of a bitext stream, ``side: source`` and ``side: target``, are PPA's "replace TLM with MLM" ablation.

    Args:
        tokenizer: the stream's tokenizer; only its special tokens are read here.

    The other options are those of :class:`TextOptions` and :class:`~isoglot.views.masking.MaskingOptions`.

    **Columns**: ``input_ids``, or ``<side>_ids``; with ``whole_word`` the word ids; with ``language_ids`` the
    language. A packed block (it has ``document_ids`` or ``attention_mask``) has its special tokens already.

    **Batch keys**: ``input_ids``, ``attention_mask``, ``labels``, ``original_ids``, ``language_ids`` if
    asked for; of a packed block also ``document_ids`` and ``position_ids`` where the stream has them.

    Source: Devlin et al. 2019 (BERT), §3.1.
    """

    tokenizer: InitVar[PreTrainedTokenizerBase]

    def __post_init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.settle(tokenizer)

    def build(
        self, example: Mapping[str, Any], *, coin: bool, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """Make the tensors of one example."""
        arrays, _ = masked_tensors(self.instance(example, coin), self, generator=generator)
        return to_tensors(arrays)
