"""Vectors of sentences, a batch at a time, from an encoder or any function from texts to vectors."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.unknown import UnknownWords
from isoglot.mining.options import VectorOptions
from isoglot.modules.finite import require_finite
from isoglot.modules.neighbours import unit
from isoglot.runs.disk import full_disk_named
from isoglot.runs.parts import BlockResult, Parts, content_of
from isoglot.runs.pool import WorkPool
from isoglot.tasks.text_vectors import TextEncoder

SentenceEncoder = Callable[[Sequence[str]], Any]
"""Texts in, one vector per text out (a tensor or an array): a :class:`isoglot.tasks.text_vectors.TextEncoder`."""
OnUnknownText = Callable[[str, Sequence[str], bool], None]
"""Receives a text, its unknown words, and whether it has no known word."""
Progress = Callable[[int, int], None]
"""Receives how many texts are encoded, and how many there are."""

_BATCH = 4096
"""Texts whose vectors are in memory at a time, and that a worker of a cluster receives at a time."""


def sentence_encoder(
    model: str | Path | SentenceEncoder, options: VectorOptions | None = None
) -> SentenceEncoder:
    """Load the encoder of a folder or hub name, with options; return a function unchanged."""
    if isinstance(model, torch.nn.Module) or not (isinstance(model, str | Path) or callable(model)):
        raise ConfigurationError(
            f"model: expected a folder, a hub name or a function of texts, got {type(model).__name__}; a model object "
            "becomes one as isoglot.TextEncoder(model, tokenizer=...), a SentenceTransformer as model.encode"
        )
    if not isinstance(model, str | Path):
        return model
    options = options or VectorOptions()
    return TextEncoder(model, **options.model_dump(include=set(VectorOptions.model_fields)))


def unknown_word_counter(unknown: UnknownWords, side: str, lines: Mapping[str, int]) -> OnUnknownText:
    """Make the function that counts the unknown words of texts that are lines of a side.

    A text that is several lines joined is not in ``lines``: its words were counted line by line.

    ``lines``: The number of each line by its text.
    """

    def count(text: str, words: Sequence[str], is_unknown: bool) -> None:
        if text in lines:
            unknown.add(f"line {lines[text]} of the {side}", words, is_unknown)

    return count


def raw_vectors(
    encoder: SentenceEncoder, texts: Sequence[str], on_unknown: OnUnknownText | None = None
) -> Tensor:
    """Encode texts; the vector of a text without a known word is null.

    ``on_unknown`` receives unknown words; by default the encoder warns of them.

    **Shape**: (texts, hidden), float32, on the CPU.
    """
    batches = [_encoded(encoder, batch, on_unknown) for batch in _batches(texts)]
    return torch.cat(batches) if batches else torch.zeros(0, 1)


def _batches(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]


def _encoded(encoder: SentenceEncoder, batch: Sequence[str], on_unknown: OnUnknownText | None) -> Tensor:
    """Encode the texts of a batch, and check what the encoder returns."""
    if on_unknown is None or not isinstance(encoder, TextEncoder):
        vectors = torch.as_tensor(encoder(batch)).detach()
    else:
        # A TextEncoder reports unknown words by the number of their text.
        vectors = torch.as_tensor(encoder(batch, unknown=partial(_by_text, batch, on_unknown))).detach()
    if vectors.dim() != 2 or len(vectors) != len(batch):
        raise ConfigurationError(
            f"model: expected one vector per text, got shape {tuple(vectors.shape)} for {len(batch)} texts"
        )
    return require_finite(vectors, "sentence vectors").float().cpu()


def _by_text(
    texts: Sequence[str], on_unknown: OnUnknownText, number: int, words: Sequence[str], is_unknown: bool
) -> None:
    """Report unknown words by their text in place of its number, which counts from 1."""
    on_unknown(texts[number - 1], words, is_unknown)


class _VectorWorker:
    """The encoder of a worker of a cluster."""

    encoder: SentenceEncoder


def start(encoder: SentenceEncoder | tuple[str, VectorOptions]) -> None:
    """Set a worker up with an encoder, or with the name and options of one to load."""
    _VectorWorker.encoder = sentence_encoder(*encoder) if isinstance(encoder, tuple) else encoder


def encode_batch(texts: Sequence[str]) -> BlockResult:
    """Encode a batch in a worker."""
    return _vectors_and_unknown(_VectorWorker.encoder, texts)


def _vectors_and_unknown(encoder: SentenceEncoder, texts: Sequence[str]) -> BlockResult:
    """Encode a batch; return its vectors, and its unknown words as a report."""
    reports: list[tuple[str, list[str], bool]] = []

    def note(text: str, words: Sequence[str], is_unknown: bool) -> None:
        reports.append((text, list(words), is_unknown))

    vectors = _encoded(encoder, texts, note)
    kinds = {"vectors": "vectors"}  # the kind of each column, as finished results are stored
    return BlockResult({"vectors": vectors.numpy()}, kinds, {"unknown": reports})


@dataclass(frozen=True)
class EncodingRun:
    """Encodes the texts of one run, here or on a Ray cluster, and stores their vectors until the run is over.

    Args:
        request: The encoder by name, and the engine.
        finished: Vectors of finished batches, which a run that is resumed takes again.
    """

    request: Any
    finished: Parts

    def encoded_batches(
        self, encoder: SentenceEncoder, sides: Sequence[Sequence[str]]
    ) -> Iterator[tuple[Sequence[str], BlockResult]]:
        """Encode the batches of the first side, then those of the next one; yield each batch with its vectors."""
        batches = list(chain.from_iterable(map(_batches, sides)))
        here = self.request.engine == "local"
        work = partial(_vectors_and_unknown, encoder) if here else encode_batch
        with self._pool(encoder) as pool:
            yield from self.finished.results(batches, work, pool, content_of)

    def _pool(self, encoder: SentenceEncoder) -> WorkPool:
        request = self.request
        if request.engine == "local":
            return WorkPool(1)
        from isoglot.runs.cluster import ResidentPool  # noqa: PLC0415 - the usual run does without

        # A worker loads an encoder with a name itself; a function is sent to it.
        named = isinstance(request.model, str | Path)
        return ResidentPool(request.workers, start, (request.model, request) if named else encoder)


def unit_vectors(
    encoder: SentenceEncoder, texts: Sequence[str], on_unknown: OnUnknownText | None = None
) -> Tensor:
    """Encode texts as :func:`raw_vectors`, and give each vector that is not null the length 1."""
    return unit(raw_vectors(encoder, texts, on_unknown))


@contextmanager
def stored_vectors(
    encoder: SentenceEncoder,
    sides: Sequence[Sequence[str]],
    on_unknown: Sequence[OnUnknownText],
    *,
    encoding: EncodingRun,
    progress: Progress | None = None,
) -> Iterator[list[tuple[Tensor, NDArray[np.int64]]]]:
    """Encode the sentences of both sides, and store their unit vectors in temporary files while the block runs.

    Sentences without a known word have a null vector, and are left out.

    Yields:
        For each side, the unit vectors, and the number of the sentence of each: 0, 2 if sentence 1 is left out. The
        vectors are files that are mapped into memory. The files have no name, so that the system takes them back
        however the process ends.

    ``on_unknown``: For each side, the function that receives its unknown words.
    """
    total, done, hidden = sum(map(len, sides)), 0, 0
    with full_disk_named(tempfile.gettempdir()), ExitStack() as stack:
        stored = []
        encoded = encoding.encoded_batches(encoder, sides)
        for texts, receive in zip(sides, on_unknown, strict=True):
            file = stack.enter_context(tempfile.TemporaryFile())
            has_vector = [np.zeros(0, bool)]  # of each sentence, batch by batch
            # The batches of all sides come one after the other, so the next ones are those of this side.
            for _, found in islice(encoded, len(_batches(texts))):
                for unknown_words in found.reports["unknown"]:
                    receive(*unknown_words)
                vectors = torch.from_numpy(np.array(found.columns["vectors"]))
                is_present = vectors.any(1).numpy()
                file.write(unit(vectors)[is_present].numpy().tobytes())
                has_vector.append(is_present)
                hidden, done = vectors.shape[1], done + len(vectors)
                if progress is not None:
                    progress(done, total)
            file.flush()
            numbers = np.concatenate(has_vector).nonzero()[0]
            mapped = torch.zeros(0, hidden)
            if len(numbers):
                # Mode c, copy on write: a tensor has to be writable.
                mapped = torch.from_numpy(np.memmap(file, np.float32, "c", shape=(len(numbers), hidden)))
            stored.append((mapped, numbers))
        yield stored
