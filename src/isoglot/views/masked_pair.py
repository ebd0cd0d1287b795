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
"""More than a sentence has words. Words of both sentences count from 0; with this added to the second sentence's words,
they are different numbers."""


@dataclass(eq=False)
class MaskedPair(MaskingOptions):
    """Translation-language-modelling input: a pair as one text, tokens of both sides masked.

    Equation: ``X = [CLS] S [SEP] T [SEP]``, masked as a ``masked_text``: ``P(i ∈ M) = 0.15``

    Args:
        tokenizer: the stream's tokenizer; only its special tokens are read here.
        pair_template: ``hf``: the special tokens that the tokenizer itself puts around a pair (XLM-R has two between
            the sides); ``single``: one separator between the sides, as XLM-Align's code does with XLM-R.
        segment_ids: ``zero``: all 0 (WEAM, PPA); ``pair``: 0 and 1 (BERT's fine-tuning; not for RoBERTa and XLM-R,
            whose models have one segment); ``none``: no segment ids in the batch.
        reset_positions: the second sentence counts its positions from 0 again (XLM; ALIGN-MLM's XLM). Positions
            count from 0 in every view; :func:`~isoglot.modules.encoder.encode` adds the first position of the
            model's family (RoBERTa and XLM-R: padding id + 1).
        language_ids: id of each language, for models with language embeddings; ``None``: no language ids.
        order: ``source_first``, ``target_first``, or ``shuffle`` by the coin (true: target first), which is the
            same for a ``sentence_pair`` view of the example.
        max_length: most tokens with special tokens; the tokenizer's limit by default. A safeguard: the longer side is
            cut first, and links of pieces that were cut off are dropped. Filter long pairs out when preparing the
            corpus.

    The masking options (``probability`` …) are those of :class:`~isoglot.views.masking.MaskingOptions`.

    **Columns**: ``source_ids``, ``target_ids``; with ``whole_word`` their word ids; with ``language_ids`` their
    languages; ``links`` where present. Or a packed block (XLM's 256 + 256 tokens): ``input_ids`` with special tokens,
    ``attention_mask`` with padding inside, ``position_ids`` (counting from 0), and ``side_ids``, which say where its
    second half begins. The source's half stands first in every packed block, and positions are the stream's; so are
    language ids, unless the option ``language_ids`` is set and the stream names its languages.

    **Batch keys**: ``input_ids``, ``attention_mask``, ``labels``, ``original_ids``, ``side_ids`` (1
    source, 2 target, 0 special tokens and padding), ``token_type_ids`` unless ``none``, ``position_ids`` if they
    restart, ``language_ids`` if asked for, and with links ``link_ids``, **Shape** (links, 2): positions of the source
    and the target in the sequence.

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
        names = ["ids"]
        if self.whole_word:
            names.append("word_ids")
        if self.language_ids is not None:
            names.append("language")
        columns: list[str] = []
        for side in ("source", "target"):
            columns += [f"{side}_{name}" for name in names]
        return tuple(columns)

    @property
    def packed_columns(self) -> tuple[str, ...]:
        """The columns that :meth:`build` needs of a packed stream, instead of :attr:`columns`."""
        return ("input_ids", "word_ids") if self.whole_word else ("input_ids",)

    def build(
        self, example: Mapping[str, Any], *, coin: bool, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """Make the tensors of one example."""
        instance = self._packed(example) if is_packed(example) else self._concatenated(example, coin)
        arrays, _ = masked_tensors(instance, self, generator=generator)
        return to_tensors(arrays)

    def _concatenated(self, example: Mapping[str, Any], coin: bool) -> Instance:
        """Both sides of a pair, cut to the limit, as one sequence.

        The example in the comments: source *a b*, target *x y z*, source first, ``[CLS] a b [SEP] x y z [SEP]``.
        """
        template = self._template
        swapped = target_first(self.order, coin)
        sides = ("target", "source") if swapped else ("source", "target")
        first, second = sides
        first_ids, second_ids = (as_array(example[f"{side}_ids"]) for side in sides)
        budget = self._limit - template.size
        first_size, second_size = truncated_lengths(first_ids.size, second_ids.size, budget)
        ids = template.sequence(first_ids[:first_size], second_ids[:second_size])

        # The pieces of each side in the sequence: the source begins at 1 and has 2, the target begins at 4 and has 3.
        first_start = template.prefix.size
        second_start = first_start + first_size + template.middle.size
        start = {first: first_start, second: second_start}
        size = {first: first_size, second: second_size}

        # side_ids 0 1 1 0 2 2 2 0
        side_ids = np.zeros(ids.size, dtype=np.int64)
        for number, side in ((1, "source"), (2, "target")):
            side_ids[start[side] : start[side] + size[side]] = number
        extras = {"side_ids": side_ids}

        # token_type_ids 0 0 0 0 1 1 1 1, position_ids 0 1 2 3 0 1 2 3: the [SEP] of a sentence belongs to it.
        border = template.border(first_size)
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

        # A link of the source's piece 1 (b) and the target's piece 2 (z) is [2, 6]; links stay [source, target].
        if example.get("links") is not None:
            links = as_array(example["links"]).reshape(-1, 2)
            kept = (links[:, 0] < size["source"]) & (links[:, 1] < size["target"])  # others were cut off
            extras["link_ids"] = links[kept] + as_array([start["source"], start["target"]])

        # Where a side has no word ids, `mask_tokens` refuses the example.
        words = None
        if self.whole_word and all(example.get(f"{side}_word_ids") is not None for side in sides):
            first_words, second_words = (as_array(example[f"{side}_word_ids"]) for side in sides)
            second_words = np.where(second_words >= 0, second_words + _SECOND_WORDS, second_words)
            words = template.surround(first_words[:first_size], second_words[:second_size], fill=-1)
        return Instance(ids, words, None, extras)

    def _packed(self, example: Mapping[str, Any]) -> Instance:
        """A packed block of many pairs, with the languages and segments of its halves."""
        instance = packed_instance(example, id_of_language=None, max_length=self._limit)
        extras = instance.extras
        if "side_ids" not in extras:
            raise ConfigurationError(
                "masked_pair: the packed stream has no 'side_ids'; pack it with `pack: {mode: xlm_pairs}`"
            )
        second_half = _second_half(instance)
        # The language ids of the option are written
        # 1. into a block that has none of its own,
        # 2. and in place of a block's own ids if the example names both languages. Other views keep a block's own ids.
        names = [example.get(f"{side}_language") for side in ("source", "target")]
        if self.language_ids is not None and ("language_ids" not in extras or None not in names):
            languages = [language_id(self.language_ids, name) for name in names]
            extras["language_ids"] = as_array(languages)[second_half]
        if self.segment_ids == "pair":
            extras["token_type_ids"] = second_half
        elif self.segment_ids == "zero":
            extras["token_type_ids"] = np.zeros_like(second_half)
        return instance


def _second_half(instance: Instance) -> IntArray:
    """1 for the second half of a packed block, the padding at its end included; 0 for the first half and its padding.

    The source's half stands first in every packed block (``pack: {mode: xlm_pairs}``)::

        tokens         <s>  a  b  </s>  <pad>  <s>  x  y  </s>  <pad>
        side_ids        0   1  1   0      0     0   2  2   0      0
        position_ids    0   1  2   3      0     0   1  2   3      0
        result          0   0  0   0      0     1   1  1   1      1

    1. From the first target piece, *x*, everything is of the second half.
    2. Special tokens before *x* have no side. The second half begins with them at the last position 0 between the last
       source piece, *b*, and *x*: here at the second ``<s>``. Padding has position 0 too, and does not count.
    3. Blocks that isoglot did not pack may have no ``position_ids``, or positions that run through. There the second
       half begins at *x*.
    """
    side_ids = instance.extras["side_ids"]
    # The largest side id so far is 2 from the first target piece on: 0 1 1 0 0 0 2 2 2 2 in the example.
    largest_so_far = np.maximum.accumulate(side_ids)
    second = largest_so_far == 2  # 1
    if "position_ids" in instance.extras and second.any():  # 2
        first_target = int(second.argmax())
        source_pieces = (side_ids[:first_target] == 1).nonzero()[0]
        after_source = source_pieces[-1] + 1 if source_pieces.size else 0
        attention = np.ones_like(instance.ids) if instance.attention is None else instance.attention
        begins_at_0 = (attention > 0) & (instance.extras["position_ids"] == 0)
        beginnings = begins_at_0[after_source : first_target + 1].nonzero()[0]
        # Without a beginning (3), `second` already begins at the first target piece.
        if beginnings.size:
            last_beginning = after_source + beginnings[-1]
            second[last_beginning:] = True
    return as_array(second)
