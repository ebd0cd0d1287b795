"""A frozen teacher's vectors of a corpus: made once, kept in the cache, found by the pieces of a sentence.

    side of the corpus ──> distinct sentences by key ──teacher──> keys.npy, vectors.npy in the cache ──> TaughtVectors

A key is a hash of a sentence's pieces in the *student's* tokenizer. A batch has no text, but it has this key of each
pair's pivot sentence (``source_key_ids`` of a ``sentence_pair`` view). The teacher itself reads the text, with its own
tokenizer.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from isoglot.aligners.embedding.loading import load_encoder
from isoglot.checkpoints.folder import checkpoint_folder
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.pieces import PieceEncoder, piece_key
from isoglot.corpus.encode.store import content_hash
from isoglot.modules.contrast import pool
from isoglot.modules.encoder import encode_to_layer, max_length, num_layers
from isoglot.modules.finite import require_finite
from isoglot.runs.cache import cache_folder
from isoglot.runs.folder import hash_checkpoint
from isoglot.runs.record import Record

_VECTORS = "vectors.npy"
_KEYS = "keys.npy"
_SENTENCES_IN_MEMORY = 10_000
_BATCH = 64
"""Texts that the teacher encodes at a time."""
Side = Literal["source", "target"]
Pooling = Literal["cls", "mean"]


@dataclass(frozen=True)
class Teacher:
    """An encoder whose sentence vectors the student learns, and the way it makes them.

    Args:
        path: folder or hub name.
        pooling: ``cls``, the first token's state, or ``mean``.
        prefix: text before each sentence, such as "query: ".
        max_length: most tokens of a sentence, special ones included; further tokens are cut off.
    """

    path: str
    pooling: Pooling = "mean"
    prefix: str = ""
    max_length: int = 128

    @torch.inference_mode()
    def vectors(
        self, texts: Sequence[str], model: Any, tokenizer: PreTrainedTokenizerBase
    ) -> NDArray[np.float32]:
        """Encode each text, cut to ``max_length`` tokens, as one vector. **Shape**: (texts, hidden)."""
        longest = self.max_length
        models_limit = max_length(model)
        if models_limit is not None:
            longest = min(longest, models_limit)
        vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
        # Texts of similar length share a batch, so that little of it is padding.
        by_length = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        for start in range(0, len(by_length), _BATCH):
            rows = by_length[start : start + _BATCH]
            inputs = tokenizer(
                [self.prefix + texts[row] for row in rows],
                truncation=True,
                max_length=longest,
                padding=True,
                return_tensors="pt",
            )
            inputs = inputs.to(model.device)
            states = encode_to_layer(model, inputs, num_layers(model), training=False).float()
            pooled = pool(states, inputs["attention_mask"], self.pooling)
            vectors[rows] = require_finite(pooled, f"{self.path}: vectors").cpu().numpy()
        return vectors


class TaughtVectors:
    """The teacher's vectors of a corpus, by the keys of its sentences.

    ``keys`` are sorted; row r of ``vectors`` belongs to ``keys[r]``. The vectors stay on disk and are read when asked
    for.
    """

    def __init__(self, folder: Path) -> None:
        self.keys = np.load(folder / _KEYS)
        self.vectors = np.load(folder / _VECTORS, mmap_mode="r")

    @property
    def size(self) -> int:
        """Width of a vector."""
        return int(self.vectors.shape[1])

    def of(self, keys: Tensor) -> Tensor:
        """Look up the vectors of sentences; they come to the keys' device. **Shape**: (n,) -> (n, hidden).

        Raises:
            ConfigurationError: a sentence is not in the corpus.
        """
        wanted = keys.detach().cpu().numpy()
        # The row where each key would stand among the sorted ones. A key that is there stands in its own row; any other
        # one finds another sentence's key.
        rows = np.searchsorted(self.keys, wanted).clip(max=len(self.keys) - 1)
        if unknown := int((self.keys[rows] != wanted).sum()):
            raise ConfigurationError(
                f"sentence_distillation: the teacher has no vector of {unknown} of {len(wanted)} sentences; let the "
                "objective and the view read the same stream and the same `pivot`, without `overlong: truncate`"
            )
        return torch.from_numpy(self.vectors[rows].copy()).to(keys.device)


def taught_vectors(
    teacher: Teacher, corpus: Dataset, tokenizer: PreTrainedTokenizerBase, *, side: Side
) -> TaughtVectors:
    """Encode each distinct sentence of one side of a corpus with the teacher, unless the cache holds the vectors.

    ``tokenizer``: the student's tokenizer, whose pieces make the key of a sentence.
    """
    columns: list[str] = [side]
    if f"{side}_words" in corpus.column_names:  # the words into which the text was cut already
        columns.append(f"{side}_words")
    piece_encoder = PieceEncoder(tokenizer)
    # The cache's folder is named by a hash of everything that decides a vector or its key.
    made_from = (
        hash_checkpoint(checkpoint_folder(teacher.path)),
        repr(teacher),
        side,
        content_hash(corpus, columns),
        piece_encoder.backend.to_str(),
    )
    name = hashlib.blake2b("|".join(made_from).encode(), digest_size=10).hexdigest()
    folder = cache_folder() / "teachers" / name

    def write(temporary: Path) -> dict[str, Any]:
        """Fill the folder in the cache."""
        model, teachers_tokenizer = load_encoder(teacher.path)
        sentences = distinct_sentences(corpus, columns, piece_encoder)
        keys = np.array(sorted(sentences), np.int64)  # of the sentences; `TaughtVectors` searches them
        vectors = np.lib.format.open_memmap(
            temporary / _VECTORS, mode="w+", dtype=np.float32, shape=(len(keys), model.config.hidden_size)
        )
        for start in range(0, len(keys), _SENTENCES_IN_MEMORY):
            rows = slice(start, start + _SENTENCES_IN_MEMORY)
            texts = [sentences[key] for key in keys[rows].tolist()]
            vectors[rows] = teacher.vectors(texts, model, teachers_tokenizer)
        vectors.flush()
        np.save(temporary / _KEYS, keys)
        return {"teacher": teacher.path, "sentences": len(keys)}

    Record(folder, {}, what="teacher's vectors").make(write, cached=True)
    return TaughtVectors(folder)


def distinct_sentences(
    corpus: Dataset, columns: Sequence[str], piece_encoder: PieceEncoder
) -> dict[int, str]:
    """The distinct sentences of a corpus by the key of their pieces; of texts with equal pieces the first one.

    ``columns``: the column of texts and, where the corpus has one, that of their words.
    """
    sentences: dict[int, str] = {}
    for batch in corpus.select_columns(list(columns)).iter(batch_size=_SENTENCES_IN_MEMORY):
        texts = batch[columns[0]]
        has_words = len(columns) > 1
        encoded = (
            piece_encoder.word_lists(batch[columns[1]], texts) if has_words else piece_encoder.texts(texts)
        )
        # `encoded.ids` has the pieces of all texts in one array.
        pieces_of_texts = np.split(encoded.ids, np.cumsum(encoded.lengths)[:-1])
        for text, ids in zip(texts, pieces_of_texts, strict=True):
            sentences.setdefault(piece_key(ids), text)
    return sentences
