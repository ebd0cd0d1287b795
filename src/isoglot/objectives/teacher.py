"""A frozen teacher's vectors of a corpus: made once, kept in the cache, found by the pieces of a sentence."""

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

_ROWS, _VECTORS, _KEYS = 10_000, "vectors.npy", "keys.npy"
_BATCH = 64
Side = Literal["source", "target"]
Pooling = Literal["cls", "mean"]


@dataclass(frozen=True)
class Teacher:
    """An encoder whose sentence vectors are learnt, as it is written in a recipe.

    Args:
        path: folder or hub name.
        pooling: ``cls`` or ``mean``.
        prefix: put before each sentence, such as "query: ".
        max_length: tokens of a sentence, special ones included.
    """

    path: str
    pooling: Pooling = "mean"
    prefix: str = ""
    max_length: int = 128

    @torch.inference_mode()
    def vectors(
        self, texts: Sequence[str], model: Any, tokenizer: PreTrainedTokenizerBase
    ) -> NDArray[np.float32]:
        """One vector a text, of its first ``max_length`` tokens. **Shape**: (texts, hidden)."""
        longest = min(self.max_length, max_length(model) or self.max_length)
        vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            prefixed = [self.prefix + texts[row] for row in rows]
            inputs = tokenizer(
                prefixed, truncation=True, max_length=longest, padding=True, return_tensors="pt"
            )
            inputs = inputs.to(model.device)
            states = encode_to_layer(model, inputs, num_layers(model), training=False).float()
            pooled = require_finite(
                pool(states, inputs["attention_mask"], self.pooling), f"{self.path}: vectors"
            )
            vectors[rows] = pooled.cpu().numpy()
        return vectors


class TaughtVectors:
    """The vectors of a corpus's sentences by the key of their pieces; on disk, read as they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.keys = np.load(folder / _KEYS)
        self.vectors = np.load(folder / _VECTORS, mmap_mode="r")

    @property
    def size(self) -> int:
        """Width of a vector."""
        return int(self.vectors.shape[1])

    def of(self, keys: Tensor) -> Tensor:
        """The vectors of sentences, on the keys' device. **Shape**: (n,) -> (n, hidden).

        Raises:
            ConfigurationError: A sentence that is not in the corpus.
        """
        numbers = keys.detach().cpu().numpy()
        rows = np.searchsorted(self.keys, numbers).clip(max=len(self.keys) - 1)
        if unknown := int((self.keys[rows] != numbers).sum()):
            raise ConfigurationError(
                f"sentence_distillation: the teacher has no vector of {unknown} of {len(numbers)} sentences; let the "
                "objective and the view read the same stream and the same `pivot`, without `overlong: truncate`"
            )
        return torch.from_numpy(self.vectors[rows].copy()).to(keys.device)


def taught_vectors(
    teacher: Teacher, corpus: Dataset, tokenizer: PreTrainedTokenizerBase, *, side: Side
) -> TaughtVectors:
    """The teacher's vectors of one side of a corpus, each sentence once; made now unless the cache holds them.

    ``tokenizer``: The student's, whose pieces a sentence is found by.
    """
    columns = [side, *(c for c in (f"{side}_words",) if c in corpus.column_names)]
    pieces = PieceEncoder(tokenizer)
    made_from = (
        hash_checkpoint(checkpoint_folder(teacher.path)),
        repr(teacher),
        side,
        content_hash(corpus, columns),
        pieces.backend.to_str(),
    )
    key = hashlib.blake2b("|".join(made_from).encode(), digest_size=10).hexdigest()
    folder = cache_folder() / "teachers" / key

    def make(folder: Path) -> dict[str, Any]:
        model, tokenizer = load_encoder(teacher.path)
        texts = _sentences(corpus, columns, pieces)
        keys = np.array(sorted(texts), np.int64)
        vectors = np.lib.format.open_memmap(
            folder / _VECTORS, mode="w+", dtype=np.float32, shape=(len(keys), model.config.hidden_size)
        )
        for start in range(0, len(keys), _ROWS):
            chosen = [texts[k] for k in keys[start : start + _ROWS].tolist()]
            vectors[start : start + _ROWS] = teacher.vectors(chosen, model, tokenizer)
        vectors.flush()
        np.save(folder / _KEYS, keys)
        return {"teacher": teacher.path, "sentences": len(keys)}

    Record(folder, {}, what="teacher's vectors").make(make, cached=True)
    return TaughtVectors(folder)


def _sentences(corpus: Dataset, columns: Sequence[str], pieces: PieceEncoder) -> dict[int, str]:
    """The distinct sentences of a corpus by the key of their pieces."""
    sentences: dict[int, str] = {}
    for batch in corpus.select_columns(list(columns)).iter(batch_size=_ROWS):
        texts = batch[columns[0]]
        cut = pieces.word_lists(batch[columns[1]], texts) if len(columns) > 1 else pieces.texts(texts)
        for text, ids in zip(texts, np.split(cut.ids, np.cumsum(cut.lengths)[:-1]), strict=True):
            sentences.setdefault(piece_key(ids), text)
    return sentences
