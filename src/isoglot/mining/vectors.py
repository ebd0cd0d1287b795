"""Unit vectors of sentences, a window at a time, from an encoder or any function that has vectors of texts."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
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
"""Receives a text, unknown words of it, and whether it has no word that is known."""
Progress = Callable[[int, int], None]

_WINDOW = 4096


def sentence_encoder(
    model: str | Path | SentenceEncoder, options: VectorOptions | None = None
) -> SentenceEncoder:
    """The encoder of a folder or hub name with options; a function is taken as it is."""
    if isinstance(model, torch.nn.Module) or not (isinstance(model, str | Path) or callable(model)):
        raise ConfigurationError(
            f"model: expected a folder, a hub name or a function of texts, got {type(model).__name__}; a model object "
            "becomes one as isoglot.TextEncoder(model, tokenizer=...), a SentenceTransformer as model.encode"
        )
    if not isinstance(model, str | Path):
        return model
    options = options or VectorOptions()
    return TextEncoder(model, **options.model_dump(include=set(VectorOptions.model_fields)))


def line_counter(unknown: UnknownWords, side: str, lines: Mapping[str, int]) -> OnUnknownText:
    """Counts the unknown words of texts that are lines of a side; those of lines that are joined have been counted."""

    def count(text: str, words: Sequence[str], whole: bool) -> None:
        if text in lines:
            unknown.add(f"line {lines[text]} of the {side}", words, whole)

    return count


def raw_vectors(
    encoder: SentenceEncoder, texts: Sequence[str], unknown: OnUnknownText | None = None
) -> Tensor:
    """Vectors as the encoder has them, null for texts without a known word.

    ``unknown`` receives unknown words; by default the encoder warns of them.

    **Shape**: (texts, hidden), float32, on the CPU.
    """
    return torch.cat([*_windows(encoder, texts, unknown)] or [torch.zeros(0, 1)])


def _windows(
    encoder: SentenceEncoder, texts: Sequence[str], unknown: OnUnknownText | None
) -> Iterator[Tensor]:
    for start in range(0, len(texts), _WINDOW):
        yield _encoded(encoder, texts[start : start + _WINDOW], unknown)


def _encoded(encoder: SentenceEncoder, window: Sequence[str], unknown: OnUnknownText | None) -> Tensor:
    """The vectors of some texts."""
    if unknown is None or not isinstance(encoder, TextEncoder):
        vectors = torch.as_tensor(encoder(window)).detach()
    else:
        vectors = torch.as_tensor(encoder(window, unknown=partial(_by_text, window, unknown))).detach()
    if vectors.dim() != 2 or len(vectors) != len(window):
        raise ConfigurationError(
            f"model: expected one vector per text, got shape {tuple(vectors.shape)} for {len(window)} texts"
        )
    return require_finite(vectors, "sentence vectors").float().cpu()


class _VectorWorker:
    """The encoder of a worker of a cluster."""

    encoder: SentenceEncoder


def start(encoder: SentenceEncoder | tuple[str, VectorOptions]) -> None:
    """Take an encoder, or load one by its name."""
    _VectorWorker.encoder = sentence_encoder(*encoder) if isinstance(encoder, tuple) else encoder


def encode_window(texts: Sequence[str]) -> BlockResult:
    """Encode some texts in a worker."""
    return _found_vectors(_VectorWorker.encoder, texts)


def _found_vectors(encoder: SentenceEncoder, texts: Sequence[str]) -> BlockResult:
    """The vectors of some texts, and their unknown words."""
    unknown: list[tuple[str, list[str], bool]] = []
    vectors = _encoded(encoder, texts, lambda text, words, whole: unknown.append((text, list(words), whole)))
    return BlockResult({"vectors": vectors.numpy()}, {"vectors": "vectors"}, {"unknown": unknown})


@dataclass(frozen=True)
class EncodingPlan:
    """Where texts are encoded, and where their vectors are kept until the run is over.

    Args:
        request: The encoder by name, and the engine.
        parts: Where the vectors of finished windows are kept.
    """

    request: Any
    parts: Parts

    def windows(
        self, encoder: SentenceEncoder, sides: Sequence[Sequence[str]]
    ) -> Iterator[tuple[Sequence[str], BlockResult]]:
        """The texts of all sides, some thousand at a time, with their vectors."""
        texts = [side[n : n + _WINDOW] for side in sides for n in range(0, len(side), _WINDOW)]
        here = self.request.engine == "local"
        work = partial(_found_vectors, encoder) if here else encode_window
        with self._pool(encoder) as pool:
            yield from self.parts.results(texts, work, pool, content_of)

    def _pool(self, encoder: SentenceEncoder) -> WorkPool:
        request = self.request
        if request.engine == "local":
            return WorkPool(1)
        from isoglot.runs.cluster import ResidentPool  # noqa: PLC0415 - the usual run does without

        named = isinstance(request.model, str | Path)
        return ResidentPool(request.workers, start, (request.model, request) if named else encoder)


def _by_text(
    texts: Sequence[str], unknown: OnUnknownText, number: int, words: Sequence[str], whole: bool
) -> None:
    unknown(texts[number - 1], words, whole)


def unit_vectors(
    encoder: SentenceEncoder, texts: Sequence[str], unknown: OnUnknownText | None = None
) -> Tensor:
    """As :func:`raw_vectors`, of length 1."""
    return unit(raw_vectors(encoder, texts, unknown))


@contextmanager
def stored_vectors(
    encoder: SentenceEncoder,
    sides: Sequence[Sequence[str]],
    unknown: Sequence[OnUnknownText],
    *,
    encoding: EncodingPlan,
    progress: Progress | None = None,
) -> Iterator[list[tuple[Tensor, NDArray[np.int64]]]]:
    """Unit vectors of the sentences of each side that have one, and their numbers.

    They are in temporary files that are mapped into memory. The files have no name, so that the system takes them back
    however the process ends. ``unknown`` receives unknown words, one for each side.
    """
    total, done, size = sum(map(len, sides)), 0, 0
    with full_disk_named(tempfile.gettempdir()), ExitStack() as stack:
        stored = []
        windows = encoding.windows(encoder, sides)
        for texts, receive in zip(sides, unknown, strict=True):
            file = stack.enter_context(tempfile.TemporaryFile())
            known = [np.zeros(0, bool)]
            for _, found in islice(windows, -(-len(texts) // _WINDOW)):
                for unknown_words in found.reports["unknown"]:
                    receive(*unknown_words)
                window = torch.from_numpy(np.array(found.columns["vectors"]))
                known.append(window.any(1).numpy())
                file.write(unit(window)[known[-1]].numpy().tobytes())
                size, done = window.shape[1], done + len(window)
                if progress is not None:
                    progress(done, total)
            file.flush()
            numbers = np.concatenate(known).nonzero()[0]
            vectors = torch.zeros(0, size)
            if len(numbers):  # copied on writing, for a tensor has to be writable
                vectors = torch.from_numpy(np.memmap(file, np.float32, "c", shape=(len(numbers), size)))
            stored.append((vectors, numbers))
        yield stored
