"""The two sentences of a pair as two separate inputs."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from isoglot.corpus.encode.pieces import piece_key
from isoglot.corpus.encode.templates import IntArray, as_array, single_template
from isoglot.corpus.pack.packing import language_id
from isoglot.recipe.spec import require_options
from isoglot.views.instance import length_limit, target_first, to_tensors


@dataclass(eq=False)
class SentencePairView:
    """A query and a key: the two sides of a pair, unmasked, each with its own special tokens.

    Equation: ``query = [CLS] S [SEP]``, ``key = [CLS] T [SEP]``, or the other way round: each with probability ½

    Args:
        tokenizer: the stream's tokenizer; only its special tokens are read here.
        order: ``shuffle`` by the coin (true: the target is the query; PPA), ``source_is_query`` or
            ``target_is_query``. A ``masked_pair`` view of the same example with ``order: shuffle`` has the query's side
            first.
        pivot: the side whose sentences recur over language pairs (English in Europarl): ``source`` or ``target``.
        language_ids: id of each language, for models with language embeddings; ``None``: no language ids.
        max_length: most tokens of a side with special tokens; further pieces and their links are dropped. The
            tokenizer's limit by default.

    **Columns**: ``source_ids``, ``target_ids``; with ``language_ids`` the languages; ``links`` and the word ids
    where present.

    **Batch keys** of each side, with the prefix ``query_`` or ``key_``: ``input_ids``; ``attention_mask``; ``side_ids``
    (1 source, 2 target, 0 special tokens); ``word_ids`` where the stream has them (words counted from 1; 0 for special
    tokens, padding and pieces of no word); ``language_ids`` if asked for.

    **Batch keys** of the pair: ``query_is_source_mask`` (1: the source is the query), ``query_is_pivot_mask`` and
    ``source_key_ids`` (in spite of the name, a hash of the pivot side's pieces, which may be the target's:
    :func:`~isoglot.corpus.encode.pieces.piece_key`; to mask duplicates in a key queue and to find a teacher's vector),
    each of **Shape** (1,); with links ``link_ids``, **Shape** (links, 2): query and key position.

    Source: Pan et al. 2021 (PPA), §2.1; Cao et al. 2020, §2.2 for the words.
    """

    inputs: ClassVar[int] = 2  # the query and the key, each limited by ``max_length``
    tokenizer: InitVar[PreTrainedTokenizerBase]
    _: KW_ONLY
    order: Literal["shuffle", "source_is_query", "target_is_query"] = "shuffle"
    pivot: Literal["source", "target"] = "source"
    language_ids: Mapping[str, int] | None = None
    max_length: Annotated[int, Field(ge=3)] | None = None

    def __post_init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        require_options(self)
        self._template = single_template(tokenizer)
        self._limit = length_limit(tokenizer, self.max_length, self._template)
        self.special_tokens = 2 * self._template.size

    @property
    def columns(self) -> tuple[str, ...]:
        """The stream columns that :meth:`build` needs."""
        columns = ["source_ids", "target_ids"]
        if self.language_ids is not None:
            columns = ["source_ids", "source_language", "target_ids", "target_language"]
        return tuple(columns)

    def build(
        self, example: Mapping[str, Any], *, coin: bool, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """Make the tensors of one example; nothing is random but the coin."""
        swapped = target_first(self.order, coin)
        query, key = ("target", "source") if swapped else ("source", "target")
        arrays: dict[str, IntArray] = {}
        for prefix, side in (("query_", query), ("key_", key)):
            for name, values in self._side(example, side).items():
                arrays[prefix + name] = values
        arrays["query_is_source_mask"] = as_array([not swapped])
        arrays["query_is_pivot_mask"] = as_array([query == self.pivot])
        pivot_hash = piece_key(example[f"{self.pivot}_ids"])
        arrays["source_key_ids"] = as_array([pivot_hash])

        if example.get("links") is not None:
            links = as_array(example["links"]).reshape(-1, 2)  # pieces of the source and the target, from 0
            if swapped:
                links = links[:, ::-1]
            query_pieces = arrays["query_input_ids"].size - self._template.size
            key_pieces = arrays["key_input_ids"].size - self._template.size
            kept = (links[:, 0] < query_pieces) & (links[:, 1] < key_pieces)  # others were cut off
            arrays["link_ids"] = links[kept] + self._template.prefix.size
        return to_tensors(arrays)

    def _side(self, example: Mapping[str, Any], side: str) -> dict[str, IntArray]:
        """The arrays of one side, ``source`` or ``target``, without a prefix."""
        template = self._template
        room = self._limit - template.size
        pieces = as_array(example[f"{side}_ids"])[:room]
        ids = template.sequence(pieces)
        side_ids = np.full(pieces.size, 1 if side == "source" else 2, dtype=np.int64)
        arrays = {
            "input_ids": ids,
            "attention_mask": np.ones(ids.size, dtype=np.int64),
            "side_ids": template.surround(side_ids, fill=0),
        }
        words = example.get(f"{side}_word_ids")
        if words is not None:  # from 0 in the stream, −1 for no word; from 1 in the batch, so that 0 can pad
            arrays["word_ids"] = template.surround(as_array(words)[:room] + 1, fill=0)
        if self.language_ids is not None:
            language = language_id(self.language_ids, example.get(f"{side}_language"))
            arrays["language_ids"] = np.full(ids.size, language, dtype=np.int64)
        return arrays
