"""Words cut into pieces for an embedding aligner, every piece knowing its word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from transformers import PreTrainedTokenizerBase

from isoglot.align.piece_states import Pieces
from isoglot.corpus.words import word_of_piece
from isoglot.errors import ConfigurationError

__all__ = ["cut_words"]


def cut_words(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sequence[str]]) -> list[Pieces]:
    """Tokenise sentences that are given as words, all in one call.

    The words are joined by single spaces and found again by character offsets, so byte-level tokenizers see the
    spaces they were trained with, and a word that vanishes in normalisation (a zero-width space, a control
    character) shifts nothing: it just has no piece. SentencePiece's lone ``▁`` belongs to the word that follows.

    Args:
        tokenizer: a fast tokenizer.
        sentences: words without special tokens.

    Returns:
        The pieces of each sentence; none for a sentence without words.

    Raises:
        ConfigurationError: the tokenizer is not a fast one, which alone knows character offsets.
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
    encoded = tokenizer(
        [" ".join(sentences[s]) for s in filled],
        add_special_tokens=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        return_offsets_mapping=True,
        truncation=False,
        verbose=False,
    )
    for row, s in enumerate(filled):
        ids = encoded["input_ids"][row]
        if not ids:
            continue
        lengths = np.array([len(word) for word in sentences[s]])
        word_starts = np.concatenate([[0], np.cumsum(lengths[:-1] + 1)])
        word_ends = word_starts + lengths
        offsets = np.asarray(encoded["offset_mapping"][row])
        starts, ends = offsets[:, 0], offsets[:, 1]
        words = word_of_piece(starts, ends, word_starts, word_ends)
        alone = (words < 0) & (ends > starts)
        if alone.any():
            words[alone] = word_of_piece(starts[alone], ends[alone] + 1, word_starts, word_ends)
        result[s] = Pieces(ids, words.tolist())
    return result
