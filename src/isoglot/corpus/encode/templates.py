"""The special tokens that a tokenizer puts around a text and around a pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from isoglot.core.errors import ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Template:
    """The special tokens around one sentence (``middle`` empty) or two: ``[CLS] A [SEP] B [SEP]``.

    A sentence owns the specials that close it: the first half of ``middle`` (rounded up) belongs to the first
    sentence, the rest to the second. In ``<s> A </s></s> B </s>`` the second sentence begins with a ``</s>``. Segments,
    languages and restarting positions follow that border.
    """

    prefix: IntArray
    middle: IntArray
    suffix: IntArray

    @property
    def size(self) -> int:
        """Number of special tokens."""
        return self.prefix.size + self.middle.size + self.suffix.size

    def border(self, first: int) -> int:
        """The position at which the second sentence's part begins, if the first has so many pieces."""
        return self.prefix.size + first + (self.middle.size + 1) // 2

    def sequence(self, first: IntArray, second: IntArray | None = None) -> IntArray:
        """Put the specials around the ids of one sentence or two."""
        if second is None:
            return np.concatenate((self.prefix, first, self.suffix))
        return np.concatenate((self.prefix, first, self.middle, second, self.suffix))

    def surround(self, first: IntArray, second: IntArray | None = None, *, fill: int) -> IntArray:
        """Lay out other values of the pieces as :meth:`sequence` lays out their ids, with ``fill`` at the specials.

        The word ids 0 and 1 of a sentence become −1, 0, 1, −1.
        """
        filled = Template(*(np.full_like(part, fill) for part in (self.prefix, self.middle, self.suffix)))
        return filled.sequence(first, second)


def single_template(tokenizer: PreTrainedTokenizerBase) -> Template:
    """Find the specials that the tokenizer puts around one sentence.

    A tokenizer that puts none, and has the tokens ``cls`` and ``sep``, gets these around the sentence.
    """
    prefix, suffix = _specials(tokenizer, sides=1)
    if not prefix and not suffix and None not in (tokenizer.cls_token_id, tokenizer.sep_token_id):
        prefix, suffix = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
    return Template(as_array(prefix), as_array([]), as_array(suffix))


def pair_template(tokenizer: PreTrainedTokenizerBase, kind: Literal["hf", "single"] = "hf") -> Template:
    """Find the specials around a sentence pair.

    Args:
        tokenizer: A fast tokenizer.
        kind: ``hf``: the tokenizer's own pair (XLM-R: ``<s> S </s></s> T </s>``); ``single``: one separator between the
            sides (``<s> S </s> T </s>``), as XLM-Align's and InfoXLM's code has it. For BERT both are the same.
    """
    prefix, middle, suffix = _specials(tokenizer, sides=2)
    separator = tokenizer.sep_token_id
    if not middle:
        if separator is None:
            raise ConfigurationError(
                "pair_template: the tokenizer has no separator token; set tokenizer.sep_token"
            )
        middle = [separator]
        if not prefix and not suffix and tokenizer.cls_token_id is not None:
            prefix, suffix = [tokenizer.cls_token_id], [separator]
    return Template(as_array(prefix), as_array(middle[:1] if kind == "single" else middle), as_array(suffix))


def as_array(values: Any) -> IntArray:
    """Turn a list, array or tensor of integers into an int64 array."""
    return np.asarray(values, dtype=np.int64)


def _trial_texts(tokenizer: PreTrainedTokenizerBase) -> Iterator[str]:
    """Yield texts that are pieces of most vocabularies, then all pieces of this one, which take a while to list."""
    yield from ("a", "0", ".")
    special = set(tokenizer.all_special_tokens)
    yield from (token for token in tokenizer.get_vocab() if token not in special)


def _specials(tokenizer: PreTrainedTokenizerBase, *, sides: int) -> list[list[int]]:
    """Find the ids before, between and behind the sides of an input, by a trial: ``[[101], [102], [102]]`` for BERT."""
    if not tokenizer.is_fast:
        raise ConfigurationError(
            f"tokenizer: {type(tokenizer).__name__} is a slow tokenizer; load a fast one with AutoTokenizer"
        )
    for text in islice(_trial_texts(tokenizer), 1000):  # any tokenizer cuts one of them into a piece
        encoding = tokenizer(text, text if sides == 2 else None, truncation=False, padding=False)
        ids = list(encoding["input_ids"])
        side_of_position = encoding.sequence_ids(0)  # None for specials
        specials: list[list[int]] = []
        behind_side = 0  # position behind the side before
        for side in range(sides):
            positions = [at for at, of_side in enumerate(side_of_position) if of_side == side]
            if not positions:
                break
            specials.append(ids[behind_side : positions[0]])
            behind_side = positions[-1] + 1
        else:
            return [*specials, ids[behind_side:]]
    raise ConfigurationError(
        "tokenizer: it produces no pieces; check its vocabulary with tokenizer.tokenize('a')"
    )
