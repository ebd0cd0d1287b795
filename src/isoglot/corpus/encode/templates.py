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

    def sequence(self, first: IntArray, second: IntArray | None = None) -> IntArray:
        """The sequence of ids with its specials."""
        if second is None:
            return np.concatenate((self.prefix, first, self.suffix))
        return np.concatenate((self.prefix, first, self.middle, second, self.suffix))

    def surround(self, first: IntArray, second: IntArray | None = None, *, fill: int) -> IntArray:
        """Values per piece laid out as :meth:`place` lays out the ids, ``fill`` at the specials."""
        special = Template(*(np.full_like(part, fill) for part in (self.prefix, self.middle, self.suffix)))
        return special.sequence(first, second)


def single_template(tokenizer: PreTrainedTokenizerBase) -> Template:
    """The specials that the tokenizer puts around one sentence."""
    prefix, suffix = _specials(tokenizer, sides=1)
    if not prefix and not suffix and None not in (tokenizer.cls_token_id, tokenizer.sep_token_id):
        prefix, suffix = [tokenizer.cls_token_id], [tokenizer.sep_token_id]
    return Template(as_array(prefix), as_array([]), as_array(suffix))


def pair_template(tokenizer: PreTrainedTokenizerBase, kind: Literal["hf", "single"] = "hf") -> Template:
    """The specials around a sentence pair.

    ``kind``: ``hf``: the tokenizer's own pair (XLM-R: ``<s> S </s></s> T </s>``); ``single``: one separator between
    the sides (``<s> S </s> T </s>``), as XLM-Align's and InfoXLM's code has it. The same for BERT.
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
    """A list, array or tensor of integers as an int64 array."""
    return np.asarray(values, dtype=np.int64)


def _trial_texts(tokenizer: PreTrainedTokenizerBase) -> Iterator[str]:
    """Texts that are pieces of most vocabularies, then all pieces of this one, which take a while to list."""
    yield from ("a", "0", ".")
    special = set(tokenizer.all_special_tokens)
    yield from (token for token in tokenizer.get_vocab() if token not in special)


def _specials(tokenizer: PreTrainedTokenizerBase, *, sides: int) -> list[list[int]]:
    """The ids before, between and behind the sides of a trial input that has at least one piece a side."""
    if not tokenizer.is_fast:
        raise ConfigurationError(
            f"tokenizer: {type(tokenizer).__name__} is a slow tokenizer; load a fast one with AutoTokenizer"
        )
    for text in islice(_trial_texts(tokenizer), 1000):  # any tokenizer cuts one of them into a piece
        encoding = tokenizer(text, text if sides == 2 else None, truncation=False, padding=False)
        positions = [
            [i for i, of_side in enumerate(encoding.sequence_ids(0)) if of_side == side]
            for side in range(sides)
        ]
        if all(positions):
            ids = list(encoding["input_ids"])
            starts, stops = (
                [0, *(of_side[-1] + 1 for of_side in positions)],
                [*(of_side[0] for of_side in positions), len(ids)],
            )
            return [ids[a:b] for a, b in zip(starts, stops, strict=True)]
    raise ConfigurationError(
        "tokenizer: it produces no pieces; check its vocabulary with tokenizer.tokenize('a')"
    )
