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
    """The special tokens around one sentence (``middle`` is empty) or two.

    In ``[CLS] A [SEP] B [SEP]``, ``[CLS]`` is the prefix, the first ``[SEP]`` the middle, the last one the suffix.

    The first half of ``middle`` (rounded up) belongs to the first sentence, the rest to the second: in
    ``<s> A </s></s> B </s>`` the second sentence begins with the second ``</s>``. Segments, languages and restarting
    positions change at that border.
    """

    prefix: IntArray
    middle: IntArray
    suffix: IntArray

    @property
    def size(self) -> int:
        """Number of special tokens."""
        return self.prefix.size + self.middle.size + self.suffix.size

    def border(self, first: int) -> int:
        """The position at which the second sentence begins, with its specials; ``first``: Pieces of the first one."""
        return self.prefix.size + first + (self.middle.size + 1) // 2

    def sequence(self, first: IntArray, second: IntArray | None = None) -> IntArray:
        """Put the special tokens around the ids of one sentence or two."""
        if second is None:
            return np.concatenate((self.prefix, first, self.suffix))
        return np.concatenate((self.prefix, first, self.middle, second, self.suffix))

    def surround(self, first: IntArray, second: IntArray | None = None, *, fill: int) -> IntArray:
        """Put ``fill`` around other values of the pieces, in the place of the special tokens of :meth:`sequence`.

        With ``fill=-1``, the word ids 0 and 1 of a sentence become −1, 0, 1, −1.
        """
        filled = Template(
            np.full_like(self.prefix, fill), np.full_like(self.middle, fill), np.full_like(self.suffix, fill)
        )
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
    """Yield texts that any tokenizer might cut into a piece: usual ones first, then all pieces of its vocabulary."""
    yield from ("a", "0", ".")
    special = set(tokenizer.all_special_tokens)
    yield from (token for token in tokenizer.get_vocab() if token not in special)


def _specials(tokenizer: PreTrainedTokenizerBase, *, sides: int) -> list[list[int]]:
    """Find the ids before, between and behind the sides of an input: ``[[101], [102], [102]]`` for a pair of BERT.

    The tokenizer does not tell them, so it encodes a text, whose pieces are then taken out.
    """
    if not tokenizer.is_fast:
        raise ConfigurationError(
            f"tokenizer: {type(tokenizer).__name__} is a slow tokenizer; load a fast one with AutoTokenizer"
        )
    # One of the first thousand texts is enough: most tokenizers cut "a" into a piece.
    for text in islice(_trial_texts(tokenizer), 1000):
        encoding = tokenizer(text, text if sides == 2 else None, truncation=False, padding=False)
        ids = list(encoding["input_ids"])
        side_of_position = encoding.sequence_ids(0)  # None at special tokens
        if any(side not in side_of_position for side in range(sides)):
            continue  # the text has no piece in this tokenizer
        specials: list[list[int]] = []
        end_of_side = 0  # position behind the side before
        for side in range(sides):
            positions = [position for position, at in enumerate(side_of_position) if at == side]
            specials.append(ids[end_of_side : positions[0]])
            end_of_side = positions[-1] + 1
        return [*specials, ids[end_of_side:]]
    raise ConfigurationError(
        "tokenizer: it produces no pieces; check its vocabulary with tokenizer.tokenize('a')"
    )
