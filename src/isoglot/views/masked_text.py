"""Monolingual text with masked tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from isoglot.recipe.signatures import require_choices
from isoglot.views.instance import (
    instance_of,
    masked_tensors,
    side_columns,
    to_tensors,
)
from isoglot.views.layout import (
    Template,
    length_limit,
    single_template,
)
from isoglot.views.masking import MaskingOptions


@dataclass(eq=False)
class MaskedText(MaskingOptions):
    """Masked-language-modelling input from a text stream, packed or not, or from one side of a bitext stream.

    Two views of a bitext stream, ``side: source`` and ``side: target``, are PPA's "replace TLM with MLM" ablation.

    Args:
        tokenizer: the stream's tokenizer; only its special tokens are read here.
        language_ids: id of each language, for models with language embeddings; ``None``: no language ids.
        side: ``None`` for a text stream; of a bitext stream ``source``, ``target``, or by the example's coin
            ``first`` or ``second`` (true: the target is first).
        max_length: most tokens with specials, the rest is cut off; the tokenizer's limit where not given. Packed
            blocks are never cut.

    The masking options (``probability`` …) are those of :class:`~isoglot.views.masking.MaskingOptions`.

    **Columns**: ``input_ids``, or ``<side>_ids``; with ``whole_word`` the word ids; with ``language_ids`` the
    language. A packed block (it has ``document_ids`` or ``attention_mask``) holds its specials already.

    **Keys**: ``input_ids``, ``attention_mask``, ``labels``, ``original_ids``, ``special_mask``, ``language_ids`` if
    asked for; of a packed block also ``document_ids`` and ``position_ids`` where the stream has them.

    Raises:
        ConfigurationError: an option that is out of range.

    Source: Devlin et al. 2019, §3.1.
    """

    tokenizer: InitVar[PreTrainedTokenizerBase]
    language_ids: Mapping[str, int] | None = field(default=None, kw_only=True)
    side: Literal["source", "target", "first", "second"] | None = field(default=None, kw_only=True)
    max_length: int | None = field(default=None, kw_only=True)
    _template: Template = field(init=False, repr=False)
    _limit: int = field(init=False, repr=False)

    def __post_init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        require_choices(MaskedText, side=self.side)
        self.settle(tokenizer)
        self._template = single_template(tokenizer)
        self._limit = length_limit(tokenizer, self.max_length, self._template)

    @property
    def columns(self) -> tuple[str, ...]:
        """The stream columns that :meth:`build` needs."""
        names = ["word_ids"] if self.whole_word else []
        names += ["language"] if self.language_ids is not None else []
        return side_columns(self.side, names)

    @property
    def special_tokens(self) -> int:
        """Number of special tokens that an input has."""
        return self._template.size

    def build(self, example: Mapping[str, Any], *, generator: torch.Generator) -> dict[str, Tensor]:
        """One example's tensors."""
        instance = instance_of(
            example,
            template=self._template,
            language_ids=self.language_ids,
            max_length=self._limit,
            side=self.side,
        )
        arrays, _ = masked_tensors(instance, self, generator=generator)
        return to_tensors(arrays)
