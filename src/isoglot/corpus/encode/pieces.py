"""Sentences to pieces: one call of a fast tokenizer a batch, and the word of every piece."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isoglot.core.errors import ConfigurationError
from isoglot.formats.words import WordMode, locate_words, word_of_piece, word_spans

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_Spans = list[tuple[int, int]]
_LOCK = threading.Lock()


class SidePieces(NamedTuple):
    """One side of a batch, flat."""

    ids: NDArray[np.int32]  # pieces without specials, all sentences after one another
    word_ids: NDArray[np.int32]  # word of each piece, −1 for none
    lengths: NDArray[np.int64]  # pieces of each sentence
    word_counts: NDArray[np.int64]  # words of each sentence, with or without pieces
    not_located: int  # sentences whose given words do not spell their text, encoded from the words


def fast_backend(tokenizer: PreTrainedTokenizerBase, *, shared: bool = False) -> Any:
    """A fast tokenizer's backend without truncation and padding, an independent copy unless it may be ``shared``."""
    backend = getattr(tokenizer, "backend_tokenizer", None) if getattr(tokenizer, "is_fast", False) else None
    if backend is None:
        raise ConfigurationError(
            f"{type(tokenizer).__name__} is a slow tokenizer; load a fast one (tokenizer.json) with AutoTokenizer"
        )
    backend = backend if shared else copy.deepcopy(backend)
    with _LOCK:  # a tokenizer that another thread uses cannot be changed, and need not be: its first user did
        if backend.truncation is not None:
            backend.no_truncation()
        if backend.padding is not None:
            backend.no_padding()
        if backend.encode_special_tokens:
            backend.encode_special_tokens = False
    return backend


def piece_key(ids: Any) -> int:
    """A 63-bit hash of a sentence's pieces, the same on every platform; equal sentences have equal keys."""
    pieces = np.asarray(ids, dtype="<i8")
    digest = hashlib.blake2b(pieces.tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


class PieceEncoder:
    """Encodes batches of sentences, each sentence once, without specials.

    Raw text is encoded as it stands and its pieces are matched to words by their characters. Given words are looked
    up in their text in the same way, so that an aligned sentence has the pieces that the same raw sentence has; where
    they do not spell the text, the words themselves are encoded in one call that reports the word of each piece. A
    byte-level tokenizer that was not set to put a space before a word gets one with every word but the first, as in
    running text.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, *, words: WordMode = "unicode", shared: bool = False
    ) -> None:
        self.backend = fast_backend(tokenizer, shared=shared)
        self.words: WordMode = words
        # whether a word inside a sentence has other pieces than the same word alone, for want of a space
        running = self.backend.encode("a a", add_special_tokens=False).ids
        alone, spaced = (
            self.backend.encode(["a", word], is_pretokenized=True, add_special_tokens=False).ids
            for word in ("a", " a")
        )
        self.space_before_word = bool(running != alone and running == spaced)

    def inside(self, texts: Sequence[str]) -> list[str]:
        """Dictionary entries as they are written inside a sentence (with the space a tokenizer may want)."""
        return [f" {text.lstrip()}" for text in texts] if self.space_before_word else list(texts)

    def entries(self, texts: Sequence[str]) -> SidePieces:
        """Encode dictionary entries as they are written inside a sentence."""
        return self.texts(self.inside(texts))

    def texts(self, texts: Sequence[str]) -> SidePieces:
        """Encode raw sentences."""
        return _by_offsets(self._encode(texts), texts, [word_spans(text, mode=self.words) for text in texts])

    def word_lists(self, words: Sequence[Sequence[str]], texts: Sequence[str] | None = None) -> SidePieces:
        """Encode sentences whose words are given; word numbers are those of the lists, empty words keep theirs."""
        spans: list[_Spans | None] = [None] * len(words)
        if texts is not None:
            spans = [locate_words(text, sentence) for text, sentence in zip(texts, words, strict=True)]
        raw = [row for row, located in enumerate(spans) if located is not None]
        listed = [row for row, located in enumerate(spans) if located is None]
        counts = np.array([len(sentence) for sentence in words], dtype=np.int64)
        parts = []
        if raw and texts is not None:
            chosen = [texts[row] for row in raw]
            parts.append((raw, _by_offsets(self._encode(chosen), chosen, [spans[row] or [] for row in raw])))
        if listed or not raw:
            space = " " if self.space_before_word else ""
            sentences = [
                [f"{space}{word}" if i and word else word for i, word in enumerate(words[row])]
                for row in listed
            ]
            encodings = self._encode(sentences, pretokenized=True)
            numbers = (-1 if w is None else w for e in encodings for w in e.word_ids)
            word_ids = np.fromiter(numbers, dtype=np.int32)
            lengths = np.array([len(e) for e in encodings], dtype=np.int64)
            parts.append((listed, SidePieces(_ids(encodings), word_ids, lengths, counts[listed], 0)))
        not_located = 0 if texts is None else len(listed)
        # sentences that were encoded apart go back into their order
        rows = np.concatenate([np.asarray(numbers, dtype=np.int64) for numbers, _ in parts])
        lengths = np.concatenate([side.lengths for _, side in parts])
        order = np.argsort(np.repeat(rows, lengths), kind="stable")
        ids, word_ids = (np.concatenate([side[field] for _, side in parts])[order] for field in (0, 1))
        return SidePieces(ids, word_ids, lengths[np.argsort(rows)], counts, not_located)

    def _encode(self, texts: Sequence[Any], *, pretokenized: bool = False) -> list[Any]:
        # encode_batch_fast would be quicker by a few percent, but its encodings have no word ids and no offsets.
        encodings: list[Any] = self.backend.encode_batch(
            list(texts), is_pretokenized=pretokenized, add_special_tokens=False
        )
        return encodings


def _ids(encodings: Sequence[Any]) -> NDArray[np.int32]:
    return np.fromiter(chain.from_iterable(e.ids for e in encodings), dtype=np.int32)


def _by_offsets(encodings: Sequence[Any], texts: Sequence[str], spans: Sequence[_Spans]) -> SidePieces:
    """Match pieces to word spans; every sentence's characters are shifted past those before, to do all at once."""
    lengths = np.array([len(e) for e in encodings], dtype=np.int64)
    counts = np.array([len(words) for words in spans], dtype=np.int64)
    sizes = np.array([len(text) + 1 for text in texts], dtype=np.int64)
    shift = np.cumsum(sizes) - sizes
    flat = chain.from_iterable(chain.from_iterable(e.offsets for e in encodings))
    offsets = np.fromiter(flat, dtype=np.int64).reshape(-1, 2) + np.repeat(shift, lengths)[:, None]
    edges = np.fromiter(chain.from_iterable(chain.from_iterable(spans)), dtype=np.int64).reshape(-1, 2)
    edges = edges + np.repeat(shift, counts)[:, None]
    word = word_of_piece(offsets[:, 0], offsets[:, 1], edges[:, 0], edges[:, 1])
    first = np.cumsum(counts) - counts
    word_ids = np.where(word >= 0, word - np.repeat(first, lengths), -1).astype(np.int32)
    _join_bare_spaces(word_ids, offsets - np.repeat(shift, lengths)[:, None], lengths, encodings, texts)
    return SidePieces(_ids(encodings), word_ids, lengths, counts, 0)


def _join_bare_spaces(
    word_ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    encodings: Sequence[Any],
    texts: Sequence[str],
) -> None:
    """Give a piece that is only a word's leading space (``▁`` or ``Ġ`` alone) the word of the piece it leads, in place.

    Both pieces must be of one pre-token, or stand side by side (special tokens are pre-tokens of their own). Pieces of
    other characters without a word stay so.
    """
    ends = np.cumsum(lengths)
    bare = np.flatnonzero(word_ids < 0)[::-1]  # from the right: a run of spaces hands the word on
    for flat, row in zip(bare.tolist(), np.searchsorted(ends, bare, side="right").tolist(), strict=True):
        start, end = offsets[flat]
        if flat + 1 >= ends[row] or word_ids[flat + 1] < 0 or texts[row][start:end].strip():
            continue
        if offsets[flat + 1, 0] != end or not texts[row][end : end + 1].strip():
            index, pre_tokens = flat - ends[row] + lengths[row], encodings[row].word_ids
            if pre_tokens[index] != pre_tokens[index + 1]:
                continue
        word_ids[flat] = word_ids[flat + 1]
