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
    """A query and a key: the two sides of a pair, unmasked, each with its own specials.

    Equation: ``query = [CLS] S [SEP]``, ``key = [CLS] T [SEP]``, or the other way round: each with probability ½

    Args:
        tokenizer: the stream's tokenizer; only its special tokens are read here.
        order: ``shuffle`` by the coin (true: the target is the query; PPA), ``source_is_query`` or
            ``target_is_query``. A masked pair with ``order: shuffle`` puts the query first.
        pivot: the side whose sentences recur over language pairs (English in Europarl): ``source`` or ``target``.
        language_ids: id of each language, for models with language embeddings; ``None``: no language ids.
        max_length: most tokens a side with specials, the rest and its links are dropped; the tokenizer's limit
            by default.

    **Columns**: ``source_ids``, ``target_ids``; with ``language_ids`` the languages; ``links`` and the word ids
    where present.

    **Keys**, the first four with the prefix ``query_`` and ``key_``: ``input_ids``, ``attention_mask``, ``side_ids``
    (1 source, 2 target, 0 specials), ``word_ids`` (the word's number counted from 1, 0 for specials, padding and
    pieces of no word; a word's last piece is the last position of its number),
    ``language_ids`` if asked for. For the pair: ``query_is_source_mask`` (1: the source is the query),
    ``query_is_pivot_mask``, ``source_key_ids`` (:func:`~isoglot.corpus.encode.pieces.piece_key` of the pivot side, to
    mask duplicates in a key queue and to find a teacher's vector), each of **Shape** (1,); with links ``link_ids``,
    **Shape** (links, 2): query and key position.

    Source: Pan et al. 2021 (PPA), §2.1; Cao et al. 2020, §2.2 for the words.
    """

    inputs: ClassVar[int] = 2  # ``max_length`` is of each
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
        names = ["ids", *(["language"] if self.language_ids is not None else [])]
        return tuple(f"{side}_{name}" for side in ("source", "target") for name in names)

    def build(
        self, example: Mapping[str, Any], *, coin: bool, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """One example's tensors; nothing here is random but the coin."""
        swapped = target_first(self.order, coin)
        query, key = ("target", "source") if swapped else ("source", "target")
        arrays: dict[str, IntArray] = {}
        for prefix, side in (("query_", query), ("key_", key)):
            arrays |= {prefix + name: values for name, values in self._side(example, side).items()}
        arrays["query_is_source_mask"] = as_array([not swapped])
        arrays["query_is_pivot_mask"] = as_array([query == self.pivot])
        arrays["source_key_ids"] = as_array([piece_key(example[f"{self.pivot}_ids"])])
        if example.get("links") is not None:
            links = as_array(example["links"]).reshape(-1, 2)
            sizes = [arrays[p + "input_ids"].size - self._template.size for p in ("query_", "key_")]
            links = links[:, ::-1] if swapped else links
            inside = (links[:, 0] < sizes[0]) & (links[:, 1] < sizes[1])
            arrays["link_ids"] = links[inside] + self._template.prefix.size
        return to_tensors(arrays)

    def _side(self, example: Mapping[str, Any], side: str) -> dict[str, IntArray]:
        template = self._template
        room = self._limit - template.size
        pieces = as_array(example[f"{side}_ids"])[:room]
        ids = template.sequence(pieces)
        number = np.full(pieces.size, 1 if side == "source" else 2, dtype=np.int64)
        arrays = {
            "input_ids": ids,
            "attention_mask": np.ones(ids.size, dtype=np.int64),
            "side_ids": template.surround(number, fill=0),
        }
        words = example.get(f"{side}_word_ids")
        if words is not None:
            arrays["word_ids"] = template.surround(as_array(words)[:room] + 1, fill=0)
        if self.language_ids is not None:
            language = language_id(self.language_ids, example.get(f"{side}_language"))
            arrays["language_ids"] = np.full(ids.size, language, dtype=np.int64)
        return arrays
