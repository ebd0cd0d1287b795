"""An encoder as the aligner of a verb: it is loaded once and kept, and text that suits it badly is reported."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from isoglot.aligners.aligner import Aligner, Use
from isoglot.aligners.embedding.options import EmbeddingOptions
from isoglot.aligners.embedding.poor_fit import report_poor_fit
from isoglot.aligners.embedding.running_text import align_running
from isoglot.aligners.lexicon import with_lexicon
from isoglot.aligners.options import Encoder
from isoglot.checkpoints.folder import checkpoint_folder, packed_path
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import WordMode
from isoglot.modules.allocator import keep_few_primitives
from isoglot.runs.fingerprint import FileState, files_of
from isoglot.runs.fingerprint import states as file_states

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from isoglot.aligners.embedding.aligner import EmbeddingAligner

_CAPACITY = 4
"""Encoders that are held in memory."""
_LOADING = threading.Lock()
"""Threads that need the same encoder wait for one of them to load it."""


class EncoderAligner(Aligner):
    """Link pairs by an encoder that is loaded."""

    def __init__(self, encoder: EmbeddingAligner, use: Use, request: Encoder | None = None) -> None:
        self.values = encoder.values
        self.words: WordMode = use.word_mode or use.default_word_mode or "unicode"
        self._encoder, self._use, self._request = encoder, use, request

    def align(self, pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
        """Link the words of each pair; some hundred pairs are read ahead."""
        mode, use = self.words, self._use
        with_words = (pair.cut(mode) for pair in pairs)
        linked = align_running(self._encoder, with_words, mode=mode, unknown=use.unknown)
        return linked if self._request is None else with_reports(linked, self._request, use)


def with_reports(linked: Iterator[SentencePair], request: Encoder, use: Use) -> Iterator[SentencePair]:
    """Pass linked pairs on; report text that suits the encoder badly, and write a lexicon after the last pair."""
    if use.in_files:
        linked = report_poor_fit(linked, request.model, request.options)
    if request.lexicon is not None:
        linked = with_lexicon(
            linked, request, piece_tokenizers=use.piece_tokenizers, unit_tokenizers=use.unit_tokenizers
        )
    return linked


def load_encoder_aligner(
    request: Encoder,
    use: Use,
    model: str | Path | PreTrainedModel | None = None,
    tokenizer: PreTrainedTokenizerBase | None = None,
) -> EncoderAligner:
    """Load the encoder of a request, or take one that is loaded.

    ``model``: An encoder in place of the one that the request names.
    """
    model = request.model if model is None else model
    if use.in_files:
        keep_few_primitives()
    if isinstance(model, str | Path) and tokenizer is None and use.stays_in_memory:
        return EncoderAligner(_from_memory(model, request.options), use, request)
    from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch

    encoder = EmbeddingAligner(model, tokenizer=tokenizer, options=request.options, warn=use.warn)
    return EncoderAligner(encoder, use, request)


def _from_memory(model: str | Path, options: EmbeddingOptions) -> EmbeddingAligner:
    """Return the encoder of a name or folder from memory; load it first if it is missing or its files have changed."""
    path = packed_path(model) or checkpoint_folder(model)
    # Part of the key: another model may have replaced the one that was loaded from the same place.
    identity = tuple(file_states(files_of(path))) if isinstance(path, Path) else ()
    with _LOADING:
        return _with_options(str(model), identity, options)


@lru_cache(_CAPACITY)
def _with_options(name: str, identity: tuple[FileState, ...], options: EmbeddingOptions) -> EmbeddingAligner:
    """Return the aligner with these options, which shares the encoder with others.

    It is kept in memory too: with method ``pointer`` every new one reads the pointer network from the disk.
    """
    from isoglot.modules.devices import compute_dtype, resolve_device  # noqa: PLC0415 - loads torch

    dtype = compute_dtype(options.resolved_dtype(), resolve_device(options.device))
    return _encoder(name, identity, str(dtype).removeprefix("torch."), options.device).with_options(options)


@lru_cache(_CAPACITY)
def _encoder(name: str, identity: tuple[FileState, ...], dtype: str, device: str) -> EmbeddingAligner:
    """Load an encoder; the options of the aligner that is returned are replaced by :func:`_with_options`."""
    del identity
    from isoglot.aligners.embedding.aligner import EmbeddingAligner  # noqa: PLC0415 - loads torch

    any_layer = EmbeddingOptions.build(layer=0, dtype=dtype, device=device)
    return EmbeddingAligner(name, options=any_layer)
