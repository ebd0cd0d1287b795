"""A sentence pair as one masked sequence."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.templates import IntArray, as_array, pair_template
from isoglot.corpus.pack.packing import language_id
from isoglot.views.instance import (
    Instance,
    is_packed,
    length_limit,
    masked_tensors,
    packed_instance,
    target_first,
    to_tensors,
    truncated_lengths,
)
from isoglot.views.masking import MaskingOptions

_SECOND_WORDS = 1 << 20
"""Added to the second sentence's word numbers, which count from 0 again."""


@dataclass(eq=False)
class MaskedPair(MaskingOptions):
    """Translation-language-modelling input: a pair as one text, tokens of both sides masked.

    Equation: ``X = [CLS] S [SEP] T [SEP]``, masked as a ``masked_text``: ``P(i ∈ M) = 0.15``

    Args:
        tokenizer: the stream's tokenizer; only its special tokens are read here.
        pair_template: ``hf``: the tokenizer's own pair; ``single``: one separator between the sides, as XLM-Align
            has on XLM-R.
        segment_ids: ``zero``: all 0 (WEAM, PPA); ``pair``: 0 and 1 (BERT's fine-tuning; not for RoBERTa and XLM-R,
            whose models have one segment); ``none``: no segment ids in the batch.
        reset_positions: the second sentence counts its positions from 0 again (XLM; ALIGN-MLM's XLM). Positions
            count from 0 in every view; :func:`~isoglot.modules.encoder.encode` adds what the family starts from
            (RoBERTa and XLM-R: padding id + 1).
        language_ids: id of each language, for models with language embeddings; ``None``: no language ids.
        order: ``source_first``, ``target_first``, or ``shuffle`` by the coin (true: target first), the
            same coin as the sentence pair's.
        max_length: most tokens with specials; the tokenizer's limit by default. A safeguard: the longer side is
            cut first, and links to what was cut are dropped. Filter long pairs out when preparing the corpus.

    The masking options (``probability`` …) are those of :class:`~isoglot.views.masking.MaskingOptions`.

    **Columns**: ``source_ids``, ``target_ids``; with ``whole_word`` their word ids; with ``language_ids`` their
    languages; ``links`` where present. Or a packed instance (XLM's 256+256): ``input_ids`` with specials,
    ``attention_mask`` with padding inside, ``position_ids`` (counting from 0), and ``side_ids`` to tell its halves
    apart; its order and positions are the stream's, and so are its language ids unless ``language_ids`` is given here
    and the stream names its languages.

    **Keys**: ``input_ids``, ``attention_mask``, ``labels``, ``original_ids``, ``side_ids`` (1
    source, 2 target, 0 specials and padding), ``token_type_ids`` unless ``none``, ``position_ids`` if they restart,
    ``language_ids`` if asked for, and with links ``link_ids``, **Shape** (links, 2): source and target position in
    the sequence.

    Source: Conneau and Lample 2019 (XLM), §3.4; WEAM, Eq. 1; the four papers' variants differ in the options alone.
    """

    tokenizer: InitVar[PreTrainedTokenizerBase]
    _: KW_ONLY
    pair_template: Literal["hf", "single"] = "hf"
    segment_ids: Literal["zero", "pair", "none"] = "zero"
    reset_positions: bool = False
    language_ids: Mapping[str, int] | None = None
    order: Literal["source_first", "target_first", "shuffle"] = "source_first"
    max_length: Annotated[int, Field(ge=4)] | None = None

    def __post_init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.settle(tokenizer)
        self._template = pair_template(tokenizer, self.pair_template)
        self._limit = length_limit(tokenizer, self.max_length, self._template)
        self.special_tokens = self._template.size

    @property
    def columns(self) -> tuple[str, ...]:
        """The stream columns that :meth:`build` needs."""
        names = ["ids", *(["word_ids"] if self.whole_word else [])]
        names += ["language"] if self.language_ids is not None else []
        return tuple(f"{side}_{name}" for side in ("source", "target") for name in names)

    @property
    def packed_columns(self) -> tuple[str, ...]:
        """The columns that it needs of a packed stream instead."""
        return ("input_ids", *(["word_ids"] if self.whole_word else []))

    def build(
        self, example: Mapping[str, Any], *, coin: bool, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """One example's tensors."""
        instance = self._packed(example) if is_packed(example) else self._concatenated(example, coin)
        arrays, _ = masked_tensors(instance, self, generator=generator)
        return to_tensors(arrays)

    def _concatenated(self, example: Mapping[str, Any], coin: bool) -> Instance:
        template = self._template
        swapped = target_first(self.order, coin)
        sides = ("target", "source") if swapped else ("source", "target")
        first, second = (as_array(example[f"{side}_ids"]) for side in sides)
        m, n = truncated_lengths(first.size, second.size, self._limit - template.size)
        first, second = first[:m], second[:n]
        ids = template.sequence(first, second)
        start = template.prefix.size, template.prefix.size + m + template.middle.size
        side_ids = np.zeros(ids.size, dtype=np.int64)
        side_ids[start[0] : start[0] + m] = 2 if swapped else 1
        side_ids[start[1] : start[1] + n] = 1 if swapped else 2
        extras = {"side_ids": side_ids}

        border = template.border(m)
        if self.segment_ids != "none":
            extras["token_type_ids"] = np.zeros(ids.size, dtype=np.int64)
            extras["token_type_ids"][border:] = int(self.segment_ids == "pair")
        if self.reset_positions:
            positions = np.arange(ids.size, dtype=np.int64)
            positions[border:] -= border
            extras["position_ids"] = positions
        if self.language_ids is not None:
            languages = [language_id(self.language_ids, example.get(f"{side}_language")) for side in sides]
            extras["language_ids"] = np.full(ids.size, languages[0], dtype=np.int64)
            extras["language_ids"][border:] = languages[1]
        if example.get("links") is not None:
            links = as_array(example["links"]).reshape(-1, 2)
            sizes, starts = ((n, m), start[::-1]) if swapped else ((m, n), start)
            inside = (links[:, 0] < sizes[0]) & (links[:, 1] < sizes[1])
            extras["link_ids"] = links[inside] + as_array(starts)
        words = None
        if self.whole_word and all(example.get(f"{side}_word_ids") is not None for side in sides):
            first, second = (as_array(example[f"{side}_word_ids"]) for side in sides)
            first, second = first[:m], np.where(second >= 0, second + _SECOND_WORDS, second)[:n]
            words = template.surround(first, second, fill=-1)
        return Instance(ids, words, None, extras)

    def _packed(self, example: Mapping[str, Any]) -> Instance:
        instance = packed_instance(example, language_ids=None, max_length=self._limit)
        extras = instance.extras
        if "side_ids" not in extras:
            raise ConfigurationError(
                "masked_pair: the packed stream has no 'side_ids'; pack it with `pack: {mode: xlm_pairs}`"
            )
        second = _second_half(instance)
        if self.language_ids is not None and example.get("source_language") is not None:
            numbers = as_array(
                [language_id(self.language_ids, example[f"{side}_language"]) for side in ("source", "target")]
            )
            extras["language_ids"] = numbers[second]
        if self.segment_ids != "none":
            extras["token_type_ids"] = second if self.segment_ids == "pair" else np.zeros_like(second)
        return instance


def _second_half(instance: Instance) -> IntArray:
    """1 from where the second half of a packed instance begins, 0 before."""
    second = np.maximum.accumulate(instance.extras["side_ids"]) == 2
    if "position_ids" in instance.extras and second.any():
        # the half begins with its own opening special, where the positions restart
        attention = np.ones_like(instance.ids) if instance.attention is None else instance.attention
        restarts = (attention > 0) & (instance.extras["position_ids"] == 0)
        opens = restarts[: second.argmax() + 1].nonzero()[0]
        second[opens[-1] if opens.size else second.argmax() :] = True
    return as_array(second)
