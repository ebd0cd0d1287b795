"""Words cut into pieces for an embedding aligner, every piece knowing its word."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from transformers import PreTrainedTokenizerBase

from isoglot.align.embedding.piece_states import Pieces
from isoglot.corpus.encode.pieces import PieceEncoder


def cut_words(tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sequence[str]]) -> list[Pieces]:
    """The pieces of sentences that are given as words, without special tokens.

    The words are joined by single spaces and found again by character offsets, so byte-level tokenizers see the
    spaces they were trained with, and a word that vanishes in normalisation (a zero-width space, a control
    character) shifts nothing: it just has no piece.
    """
    encoder = PieceEncoder(tokenizer, shared=True)
    side = encoder.word_lists(sentences, [" ".join(words) for words in sentences])
    bounds = [0, *np.cumsum(side.lengths).tolist()]
    ids, words = side.ids.tolist(), side.word_ids.tolist()
    return [Pieces(ids[a:b], words[a:b]) for a, b in pairwise(bounds)]
