"""Turn texts into vectors: the mean or the first position of a layer's hidden states, or static word embeddings.

A text is cut into *pieces* by the tokenizer; a *word* is one or more pieces. An *unknown* word is one that the
vocabulary cannot spell, so that the tokenizer writes its piece for unknown words.
"""

import logging
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from isoglot.aligners.embedding.loading import load_encoder
from isoglot.checkpoints.folder import BOX
from isoglot.core.checks import given_texts
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Dtype, name_of_torch
from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.corpus.encode.unknown import KnownPieces, OnUnknown, counted
from isoglot.modules.contrast import pool
from isoglot.modules.encoder import encode_to_layer, hidden_size, input_embeddings, layer_number
from isoglot.modules.encoder import max_length as encoder_length
from isoglot.modules.finite import require_finite
from isoglot.modules.isolation import isolated_computation
from isoglot.modules.word_vectors import mean_rows
from isoglot.recipe.spec import require_options
from isoglot.tasks.features import RowCollator, StepProgress, device_batches

_LOG = logging.getLogger(__name__)
TextPooling = Literal["mean", "cls"]
LEFT_OUT = "take no part in vectors"
"""What happens to unknown words, as the warning says it."""
_LEAST_LENGTH = 3
"""Minimum of ``max_length`` in tokens: [CLS], one piece, [SEP]."""


class TextEncoder:
    """Turn texts into vectors, each from the first ``max_length`` tokens of a text. Threads may share one encoder.

    Words that the vocabulary does not know take no part in the mean. A text of unknown words alone has a null vector,
    which is near to nothing; an empty text has the vector of its special tokens, and with ``static`` a null vector. A
    call that met unknown words ends with one :class:`~isoglot.core.errors.UnknownWordsWarning`.

    Args:
        model: An encoder, or the folder or hub name of one; the one that comes with isoglot by default.
        tokenizer: Its fast tokenizer; by default loaded from the same place.
        layer: Number of a layer, negative from the end, or ``static`` for word embeddings.
        pooling: ``mean`` over the pieces without special tokens, or ``cls`` for the first position.
        max_length: Tokens of a text, special ones included; 512 by default, or what the encoder has positions for.
        entries: Whether texts are entries of a dictionary, which are cut as words inside a sentence.
        prefix: Text before each, if the encoder was trained with one: ``query: `` (E5).
        dtype: What the encoder computes in: ``float32``, ``bfloat16``, or ``auto`` for the latter where the hardware
            computes in it; a vector then depends a little on the texts beside it. A model object of another type is
            copied, not changed.
        device: ``cpu``, ``cuda``, ``cuda:1``, ``mps`` or ``auto``.

    Raises:
        ConfigurationError: A layer that the model does not have, or a model object without its tokenizer.

    Example:
        >>> from isoglot.testing import tiny_model, tiny_tokenizer
        >>> encoder = TextEncoder(tiny_model("bert"), tokenizer=tiny_tokenizer("bert"), layer=2)
        >>> encoder.encode(["the river", "ta potamo"], normalise=True).shape
        (2, 32)
    """

    def __init__(  # noqa: PLR0913 - the face names what users look for
        self,
        model: PreTrainedModel | str | Path = BOX,
        *,
        tokenizer: PreTrainedTokenizerBase | None = None,
        layer: int | str = -1,
        pooling: TextPooling = "mean",
        max_length: int | None = None,
        entries: bool = False,
        prefix: str = "",
        dtype: Dtype = "float32",
        device: str | torch.device = "auto",
    ) -> None:
        require_options(TextEncoder, dtype=dtype, pooling=pooling)
        where = {"dtype": name_of_torch(dtype), "device": name_of_torch(device)}
        self.model, self.tokenizer = load_encoder(model, tokenizer, **where)
        self._known, self.prefix = KnownPieces(self.tokenizer), prefix
        # A call sets the tokenizer's truncation, which fails while another thread uses the tokenizer.
        self._tokenizing = threading.Lock()
        if layer != "static" and not isinstance(layer, int):
            raise ConfigurationError(f"layer must be the number of a layer, or static; got {layer!r}")
        self.layer = layer if isinstance(layer, str) else layer_number(self.model, layer)
        if layer == "static" and pooling != "mean":
            raise ConfigurationError(
                f"got pooling {pooling!r}, but word embeddings have no first position; leave it out, or choose a layer"
            )
        self.pooling = pooling
        # Entries of a dictionary get the space that the tokenizer wants before a word inside a sentence. Other texts
        # stay as they are.
        self._prepared = PieceEncoder(self.tokenizer, shared=True).as_in_sentence if entries else list
        if max_length is not None and max_length < _LEAST_LENGTH:
            raise ConfigurationError(f"max_length must be {_LEAST_LENGTH} tokens or more, got {max_length}")
        self.longest = min(max_length or 512, encoder_length(self.model) or 10**9)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_tokenizing"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _tokenizing=threading.Lock())  # a process has its own

    def encode(
        self, texts: Iterable[str], *, normalise: bool = False, max_tokens: int | None = None
    ) -> NDArray[np.float32]:
        """Return the vectors of texts as an array, on whatever device the encoder runs.

        Args:
            texts: A list, a column of a data set or of a frame.
            normalise: Divide each vector by its length, so that a product of two is their cosine.
            max_tokens: Tokens of one batch, padding included: 1024 on a CPU, 8192 elsewhere. In float32 no result
                depends on it.

        **Shape**: (texts, hidden).
        """
        vectors = self(texts, max_tokens=max_tokens)
        if normalise:
            vectors = torch.nn.functional.normalize(vectors, dim=-1)
        return vectors.cpu().numpy()

    @isolated_computation()
    @torch.inference_mode()
    def __call__(
        self,
        texts: Iterable[str],
        *,
        max_tokens: int | None = None,
        progress: StepProgress | None = None,
        unknown: OnUnknown | None = None,
    ) -> Tensor:
        """Return the vectors of texts. **Shape**: (texts, hidden), float32, on the model's device.

        ``unknown`` receives the words that the vocabulary does not know; by default a warning counts them.
        """
        texts = list(given_texts(texts))
        if not texts:  # a tokenizer refuses an empty list
            is_static = self.layer == "static"
            width = input_embeddings(self.model).weight.shape[1] if is_static else hidden_size(self.model)
            return torch.zeros(0, width, device=self.model.device)
        if self.prefix:
            texts = [self.prefix + text for text in texts]
        texts = self._prepared(texts)
        with self._tokenizing:
            encoded = self.tokenizer(
                texts,
                truncation=True,
                max_length=self.longest,
                return_attention_mask=False,
                return_token_type_ids=False,
                return_special_tokens_mask=True,
            )
        truncated = sum(bool(encoding.overflowing) for encoding in encoded.encodings or ())
        if truncated:
            _LOG.warning(
                "%d of %d texts are longer than %d tokens; only their beginnings count",
                truncated,
                len(texts),
                self.longest,
            )
        ids = [np.array(row, np.int32) for row in encoded["input_ids"]]
        # True for pieces that take part in the mean: no special tokens and, after the next step, no unknown words.
        masks = [~np.array(row, bool) for row in encoded["special_tokens_mask"]]
        with counted(unknown, LEFT_OUT, "text") as on_unknown:
            unknown_texts = self._clear_unknown(masks, encoded.encodings or (), texts, on_unknown)
        if self.layer == "static":
            return require_finite(self._word_embeddings(ids, masks), "word embeddings")

        result = torch.zeros(len(ids), hidden_size(self.model), device=self.model.device)
        collator = RowCollator(self.tokenizer)
        rows = []
        for row, mask in zip(ids, masks, strict=True):
            # A mean over no piece is undefined, so a text without pieces takes the mean of its special tokens. An empty
            # text keeps that mean; a text of unknown words becomes a null vector below.
            rows.append({"input_ids": row, "pooled_mask": mask if mask.any() else ~mask})
        for batch, inputs in device_batches(rows, collator, self.model.device, max_tokens, progress):
            states = encode_to_layer(self.model, inputs, int(self.layer), training=False).float()
            result[batch] = pool(states, inputs["pooled_mask"], self.pooling)
        result[unknown_texts] = 0.0
        return require_finite(result, f"hidden states of layer {self.layer}")

    def _clear_unknown(
        self,
        masks: Sequence[np.ndarray],
        encodings: Sequence[Any],
        texts: Sequence[str],
        on_unknown: OnUnknown,
    ) -> list[int]:
        """Set the masks of pieces of unknown words to false, and report these words to ``on_unknown``.

        Returns the numbers of the texts without a known word; their whole masks are false.
        """
        unknown_texts = []
        for number, (mask, encoding, text) in enumerate(zip(masks, encodings, texts, strict=True)):
            found = self._known.of_text(text, encoding, len(self.prefix))
            if found is None:  # all words are known
                continue
            is_known_piece, unknown_words, is_unknown_text = found
            if is_unknown_text:
                mask[:] = False
                unknown_texts.append(number)
            else:
                mask[~np.array(is_known_piece)] = False
            on_unknown(number + 1, unknown_words, is_unknown_text)
        return unknown_texts

    def _word_embeddings(self, ids: Sequence[np.ndarray], masks: Sequence[np.ndarray]) -> Tensor:
        """Return the mean embedding of the pieces of each text; a null vector for a text without pieces."""
        table = input_embeddings(self.model).weight
        pieces = [row[mask] for row, mask in zip(ids, masks, strict=True)]
        # All pieces of all texts one after another, and the number of pieces of each text.
        all_pieces = torch.from_numpy(np.concatenate(pieces)).to(table.device)
        lengths = torch.tensor([len(row) for row in pieces], device=table.device)
        return mean_rows(table[all_pieces].float(), lengths)
