"""Unit vectors of sentences, a window at a time, from an encoder or any function that has vectors of texts."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from isoglot.errors import ConfigurationError
from isoglot.mining.options import VectorOptions
from isoglot.modules.finite import require_finite
from isoglot.modules.neighbours import unit
from isoglot.runs.disk import full_disk_named
from isoglot.tasks.text_vectors import TextEncoder

SentenceEncoder = Callable[[Sequence[str]], Any]
"""Texts in, one vector per text out (a tensor or an array): a :class:`isoglot.tasks.text_vectors.TextEncoder`."""
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
    own = options.model_dump(include={"layer", "pooling", "max_length", "dtype"})
    encoder, prefix = TextEncoder(model, **own), options.prefix
    return (lambda texts: encoder([prefix + text for text in texts])) if prefix else encoder


def raw_vectors(encoder: SentenceEncoder, texts: Sequence[str]) -> Tensor:
    """Vectors as the encoder has them. **Shape**: (texts, hidden), float32, on the CPU."""
    return torch.cat([*_windows(encoder, texts)] or [torch.zeros(0, 1)])


def _windows(encoder: SentenceEncoder, texts: Sequence[str]) -> Iterator[Tensor]:
    for start in range(0, len(texts), _WINDOW):
        window = texts[start : start + _WINDOW]
        found = torch.as_tensor(encoder(window)).detach()
        if found.dim() != 2 or len(found) != len(window):
            raise ConfigurationError(
                f"model: expected one vector per text, got shape {tuple(found.shape)} for {len(window)} texts"
            )
        yield require_finite(found, "sentence vectors").float().cpu()


def unit_vectors(encoder: SentenceEncoder, texts: Sequence[str]) -> Tensor:
    """Vectors of length 1. **Shape**: (texts, hidden), float32, on the CPU."""
    return unit(raw_vectors(encoder, texts))


@contextmanager
def stored_vectors(
    encoder: SentenceEncoder, sides: Sequence[Sequence[str]], *, progress: Progress | None = None
) -> Iterator[list[Tensor]]:
    """Unit vectors of the sentences of each side, in temporary files that are mapped into memory.

    The files have no name, so that the system takes them back however the process ends.
    """
    total, done, size = sum(map(len, sides)), 0, 0
    with full_disk_named(tempfile.gettempdir()), ExitStack() as stack:
        found = []
        for texts in sides:
            file = stack.enter_context(tempfile.TemporaryFile())
            for window in _windows(encoder, texts):
                file.write(unit(window).numpy().tobytes())
                size, done = window.shape[1], done + len(window)
                if progress is not None:
                    progress(done, total)
            file.flush()
            # copied on writing, for a tensor has to be writable
            found.append(torch.from_numpy(np.memmap(file, np.float32, "c", shape=(len(texts), size))))
        yield found
