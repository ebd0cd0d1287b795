"""Words cut into pieces for an embedding aligner, every piece knowing its word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
from transformers import PreTrainedTokenizerBase

from isoglot.align.embedding.piece_states import Pieces
from isoglot.corpus.encode.words import word_of_piece
from isoglot.errors import ConfigurationError

__all__ = ["cut_words"]


def cut_words(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sequence[str]]) -> list[Pieces]:
    """Tokenise sentences that are given as words, all in one call.

    The words are joined by single spaces and found again by character offsets, so byte-level tokenizers see the
    spaces they were trained with, and a word that vanishes in normalisation (a zero-width space, a control
    character) shifts nothing: it just has no piece. A piece that is only a
    word's space (a lone ``▁``; a byte-level lone ``Ġ``, which may have no characters) belongs to the word that follows.
    """
    if not tokenizer.is_fast:
        raise ConfigurationError(
            f"{type(tokenizer).__name__} is not a fast tokenizer, which alone gives character offsets; "
            "load the model's fast tokenizer (AutoTokenizer does by default)"
        )
    filled = [s for s, words in enumerate(sentences) if any(words)]
    result = [Pieces([], []) for _ in sentences]
    if not filled:
        return result
    texts = [" ".join(sentences[s]) for s in filled]
    encoded = tokenizer(
        texts,
        add_special_tokens=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        return_offsets_mapping=True,
        truncation=False,
        verbose=False,
    )
    ids: list[list[int]] = encoded["input_ids"]
    counts = np.array([len(row) for row in ids])
    words = _words(
        np.fromiter(chain.from_iterable(chain.from_iterable(encoded["offset_mapping"])), np.int64).reshape(
            -1, 2
        ),
        counts,
        [sentences[s] for s in filled],
        np.array([len(text) for text in texts]),
    )
    bounds = [0, *np.cumsum(counts).tolist()]
    for row, s in enumerate(filled):
        result[s] = Pieces(ids[row], words[bounds[row] : bounds[row + 1]])
    return result


def _words(
    offsets: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    sentences: Sequence[Sequence[str]],
    lengths: npt.NDArray[np.int64],
) -> list[int]:
    """The word of each piece of all sentences, which are laid end to end so that one search finds them all."""
    numbers = np.array([len(words) for words in sentences])
    word_lengths = np.fromiter((len(word) for words in sentences for word in words), np.int64)
    # Three characters between two sentences: a piece may be widened by one below, and words stand one apart.
    shifts = np.concatenate([[0], np.cumsum(lengths[:-1] + 3)])
    first_word = np.concatenate([[0], np.cumsum(numbers[:-1])])
    ends_before = np.concatenate([[0], np.cumsum(word_lengths[:-1] + 1)])
    word_starts = ends_before + np.repeat(shifts - ends_before[first_word], numbers)
    word_ends = word_starts + word_lengths
    shift = np.repeat(shifts, counts)
    starts, ends = offsets[:, 0] + shift, offsets[:, 1] + shift
    words = word_of_piece(starts, ends, word_starts, word_ends)
    alone = words < 0
    if alone.any():
        words[alone] = word_of_piece(starts[alone], ends[alone] + 1, word_starts, word_ends)
    local: list[int] = np.where(words < 0, -1, words - np.repeat(first_word, counts)).tolist()
    return local
