"""Cut sentences into pieces, with one call of a fast tokenizer per batch, and find the word of every piece."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isoglot.core.errors import ConfigurationError
from isoglot.formats.words import WordMode, locate_words, word_of_piece, word_spans

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_Spans = list[tuple[int, int]]
"""Start and end (the character behind the last one) of each word or piece of a sentence."""
_LOCK = threading.Lock()


class SidePieces(NamedTuple):
    """The pieces of the sentences of a batch (of its source or target side), all sentences one behind another.

    The sentences "a cat" and "a", cut into ``▁a ▁c at`` and ``▁a``, have four ``ids``, the ``word_ids`` 0 1 1 0, the
    ``lengths`` 3 1 and the ``word_counts`` 2 1.
    """

    ids: NDArray[np.int32]  # pieces without special tokens
    word_ids: NDArray[np.int32]  # word of each piece, numbered in its sentence; −1 for none
    lengths: NDArray[np.int64]  # number of pieces of each sentence
    word_counts: NDArray[np.int64]  # number of words of each sentence, with or without pieces
    # Number of sentences whose given words do not spell their text, so the words were encoded.
    not_located: int


def fast_backend(tokenizer: PreTrainedTokenizerBase, *, shared: bool = False) -> Any:
    """The backend of a fast tokenizer, set to neither truncate nor pad.

    Args:
        tokenizer: A fast tokenizer.
        shared: Use the tokenizer's own backend; by default it is copied, and the tokenizer stays as it was.
    """
    is_fast = getattr(tokenizer, "is_fast", False)
    backend = getattr(tokenizer, "backend_tokenizer", None) if is_fast else None
    if backend is None:
        raise ConfigurationError(
            f"{type(tokenizer).__name__} is a slow tokenizer; load a fast one (tokenizer.json) with AutoTokenizer"
        )
    if not shared:
        backend = copy.deepcopy(backend)
    # A tokenizer that another thread is using cannot be changed. It need not be: the first user of a shared one
    # changed it under this lock, and the others find nothing to change.
    with _LOCK:
        if backend.truncation is not None:
            backend.no_truncation()
        if backend.padding is not None:
            backend.no_padding()
        if backend.encode_special_tokens:
            backend.encode_special_tokens = False
    return backend


def piece_key(ids: Any) -> int:
    """Hash a sentence's pieces to 63 bits, so that equal sentences have equal keys."""
    pieces = np.asarray(ids, dtype="<i8")  # little-endian, for one key on every platform
    digest = hashlib.blake2b(pieces.tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


class PieceEncoder:
    """Encodes batches of sentences, each sentence once, without special tokens.

    - Raw text is encoded unchanged, and its pieces are matched to its words by their characters.
    - Given words are looked up in their text and matched in the same way, so an aligned sentence has the pieces that
      the same raw sentence has.
    - Given words without a text, or with a text that they do not spell, are encoded themselves, in one call that
      reports the word of each piece. Some byte-level tokenizers cut a word differently without the space before it. For
      them, every word but the first is given a space, as in running text.

    Example:
        >>> from isoglot.testing import tiny_tokenizer
        >>> PieceEncoder(tiny_tokenizer("bert")).texts(["the river.", "the"]).word_ids.tolist()
        [0, 1, 1, 2, 0]
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, *, words: WordMode = "unicode", shared: bool = False
    ) -> None:
        self.backend = fast_backend(tokenizer, shared=shared)
        self.word_mode: WordMode = words
        self.space_before_word = self._wants_space_before_word()

    def _wants_space_before_word(self) -> bool:
        """Whether a given word needs a space in front to have the pieces that it has inside a sentence.

        RoBERTa cuts "a a" into ``a Ġa``, but the given words "a", "a" into ``a a``; with "a", " a" it is ``a Ġa``.
        """
        running = self.backend.encode("a a", add_special_tokens=False).ids
        plain = self.backend.encode(["a", "a"], is_pretokenized=True, add_special_tokens=False).ids
        spaced = self.backend.encode(["a", " a"], is_pretokenized=True, add_special_tokens=False).ids
        return bool(running != plain and running == spaced)

    def as_in_sentence(self, texts: Sequence[str]) -> list[str]:
        """Write dictionary entries as they stand in a sentence, with the space in front that some tokenizers want."""
        return [f" {text.lstrip()}" for text in texts] if self.space_before_word else list(texts)

    def entries(self, texts: Sequence[str]) -> SidePieces:
        """Encode dictionary entries as words that stand in a sentence."""
        return self.texts(self.as_in_sentence(texts))

    def texts(self, texts: Sequence[str]) -> SidePieces:
        """Encode raw sentences."""
        word_offsets = [word_spans(text, mode=self.word_mode) for text in texts]
        return _match_by_characters(self._encode(texts), texts, word_offsets)

    def word_lists(self, words: Sequence[Sequence[str]], texts: Sequence[str] | None = None) -> SidePieces:
        """Encode sentences whose words are given; an empty word keeps its number and has no piece.

        Args:
            words: The words of each sentence.
            texts: The text of each sentence; sentences whose words spell their text are encoded as raw text.
        """
        spelt: list[int] = []  # sentences whose words spell their text
        word_offsets: list[_Spans] = []  # of the spelt ones
        unspelt: list[int] = []
        for number, sentence in enumerate(words):
            located = None if texts is None else locate_words(texts[number], sentence)
            if located is None:
                unspelt.append(number)
            else:
                spelt.append(number)
                word_offsets.append(located)

        groups: list[tuple[list[int], SidePieces]] = []
        if spelt and texts is not None:
            spelt_texts = [texts[number] for number in spelt]
            side = _match_by_characters(self._encode(spelt_texts), spelt_texts, word_offsets)
            groups.append((spelt, side))
        if unspelt or not groups:
            groups.append((unspelt, self._words_themselves([words[number] for number in unspelt])))
        side = _in_sentence_order(groups)
        return side._replace(not_located=0 if texts is None else len(unspelt))

    def _words_themselves(self, sentences: Sequence[Sequence[str]]) -> SidePieces:
        """Encode the words of each sentence one by one; the tokenizer reports the word of each piece."""
        written: list[list[str]] = []
        for sentence in sentences:
            given = list(sentence)
            if self.space_before_word:
                # An empty word stays empty: a space would give it a piece.
                given[1:] = [f" {word}" if word else word for word in given[1:]]
            written.append(given)
        encodings = self._encode(written, pretokenized=True)
        word_ids = chain.from_iterable(encoding.word_ids for encoding in encodings)
        return SidePieces(
            ids=_flat_ids(encodings),
            word_ids=np.fromiter((-1 if word is None else word for word in word_ids), dtype=np.int32),
            lengths=_lengths(encodings),
            word_counts=_lengths(sentences),
            not_located=0,
        )

    def _encode(self, texts: Sequence[Any], *, pretokenized: bool = False) -> list[Any]:
        # encode_batch_fast would be quicker by a few percent, but its encodings have no word ids and no offsets.
        encodings: list[Any] = self.backend.encode_batch(
            list(texts), is_pretokenized=pretokenized, add_special_tokens=False
        )
        return encodings


def _lengths(items: Sequence[Any]) -> NDArray[np.int64]:
    return np.array([len(item) for item in items], dtype=np.int64)


def _flat_ids(encodings: Sequence[Any]) -> NDArray[np.int32]:
    return np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), dtype=np.int32)


def _in_sentence_order(groups: Sequence[tuple[list[int], SidePieces]]) -> SidePieces:
    """Join groups of sentences that were encoded apart, in the order of the sentences' numbers.

    Sentences 0 and 2 in one group and sentence 1 in another become 0, 1, 2.
    """
    numbers = np.concatenate([np.asarray(group, dtype=np.int64) for group, _ in groups])
    sides = [side for _, side in groups]
    lengths = np.concatenate([side.lengths for side in sides])
    sentence_order = np.argsort(numbers)
    # Stable: the pieces of one sentence stay in their order.
    piece_order = np.argsort(np.repeat(numbers, lengths), kind="stable")
    return SidePieces(
        ids=np.concatenate([side.ids for side in sides])[piece_order],
        word_ids=np.concatenate([side.word_ids for side in sides])[piece_order],
        lengths=lengths[sentence_order],
        word_counts=np.concatenate([side.word_counts for side in sides])[sentence_order],
        not_located=sum(side.not_located for side in sides),
    )


def _match_by_characters(
    encodings: Sequence[Any], texts: Sequence[str], word_offsets: Sequence[_Spans]
) -> SidePieces:
    """Give each piece the number of the word that it shares characters with.

    The words of "a cat" are characters (0, 1) and (2, 5). Its pieces ``▁a ▁c at`` are at (0, 1), (1, 3) and (3, 5), so
    their words are 0, 1 and 1.

    One call of numpy matches the whole batch. For that, the sentences are put one behind another: characters and words
    are numbered through the batch, and :func:`word_of_piece` runs on these numbers.
    """
    piece_counts, word_counts = _lengths(encodings), _lengths(word_offsets)

    # The number of each sentence's first character in the batch. One number between two sentences stays unused, so
    # that they do not touch.
    text_sizes = _lengths(texts) + 1
    text_starts = np.cumsum(text_sizes) - text_sizes

    # Start and end of each piece and of each word. **Shape**: (pieces, 2) and (words, 2).
    offsets = _start_end_rows(encoding.offsets for encoding in encodings)
    piece_rows = offsets + np.repeat(text_starts, piece_counts)[:, None]
    word_rows = _start_end_rows(word_offsets) + np.repeat(text_starts, word_counts)[:, None]
    batch_words = word_of_piece(piece_rows[:, 0], piece_rows[:, 1], word_rows[:, 0], word_rows[:, 1])

    # From the word's number in the batch back to its number in the sentence.
    first_words = np.cumsum(word_counts) - word_counts
    sentence_words = batch_words - np.repeat(first_words, piece_counts)
    word_ids = np.where(batch_words >= 0, sentence_words, -1).astype(np.int32)
    _give_words_to_spaces(word_ids, offsets, piece_counts, encodings, texts)
    return SidePieces(
        ids=_flat_ids(encodings),
        word_ids=word_ids,
        lengths=piece_counts,
        word_counts=word_counts,
        not_located=0,
    )


def _start_end_rows(spans: Iterable[_Spans]) -> NDArray[np.int64]:
    """All (start, end) of all sentences below one another. **Shape**: (spans, 2)."""
    numbers = chain.from_iterable(chain.from_iterable(spans))
    return np.fromiter(numbers, dtype=np.int64).reshape(-1, 2)


def _give_words_to_spaces(
    word_ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    piece_counts: NDArray[np.int64],
    encodings: Sequence[Any],
    texts: Sequence[str],
) -> None:
    """Give a piece that is only a space (``▁`` or ``Ġ`` alone) the word of the next piece, in place.

    "the old 日" is cut into ``▁the ▁old ▁ 日`` where ``▁日`` is not in the vocabulary: the third piece belongs to 日.
    1. The piece must have no word and cover nothing but white space, and the next piece of the sentence must have a
       word. A control character stays without a word.
    2. If the next piece begins where the space ends, with a character that is not a space, its word is taken.
    3. If not, its word is taken if both pieces are of one pre-token, which is what the tokenizer cuts into pieces at a
       time.

    Rule 2 finds some spaces that rule 3 misses: the space before ``<mask>`` is not in the same pre-token, because a
    special token is a pre-token by itself.

    Args:
        word_ids: Word of each piece of the batch.
        offsets: Start and end of each piece in its own sentence.
        piece_counts: Pieces of each sentence.
        encodings: Encoding of each sentence.
        texts: Text of each sentence.
    """
    ends = np.cumsum(piece_counts)  # number behind each sentence's last piece
    # From the right, so that in a run of spaces each hands the word on to the one before it.
    without_word = np.flatnonzero(word_ids < 0)[::-1]
    sentences = np.searchsorted(ends, without_word, side="right")
    for piece, sentence in zip(without_word.tolist(), sentences.tolist(), strict=True):
        text, (start, end) = texts[sentence], offsets[piece]
        is_last = piece + 1 >= ends[sentence]
        if is_last or word_ids[piece + 1] < 0 or text[start:end].strip():  # 1
            continue
        next_start = offsets[piece + 1, 0]
        touches_next = next_start == end and text[end : end + 1].strip()
        first_piece = ends[sentence] - piece_counts[sentence]
        position = piece - first_piece  # in the sentence
        # The library calls pre-tokens words: its `word_ids` are the number of each piece's pre-token.
        pre_token_ids = encodings[sentence].word_ids
        if touches_next or pre_token_ids[position] == pre_token_ids[position + 1]:  # 2, 3
            word_ids[piece] = word_ids[piece + 1]
