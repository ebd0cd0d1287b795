"""The files that a recipe's streams name: there, of a known format, and prepared as the stream says."""

import glob
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from isoglot.corpus.manifest import is_prepared
from isoglot.corpus.open_corpus import prepared_input
from isoglot.corpus.options import PrepareOptions
from isoglot.errors import MISSING_FILE, ConfigurationError, IsoglotError, Problem, collected
from isoglot.formats.sources import Source, expand
from isoglot.pretraining.recipe import StreamSection


def file_problems(stream: StreamSection | None, values: Mapping[str, Any]) -> Iterator[Problem]:
    """The files exist, also those of a stream with mistakes; without mistakes, their format is detected too.

    ``given``: The stream as it is written.
    """
    inputs = [] if stream is None else stream.inputs
    if stream is None:
        with suppress(ConfigurationError):  # reported already
            inputs = StreamSection.sources_of(values)
    if any(is_prepared(source.path) for source in inputs):
        if len(inputs) > 1:
            yield Problem("a prepared folder cannot be combined with other files; name it as the only path")
        elif stream is not None:
            yield from _preparation_problems(stream)
        return
    aligned = values.get("kind") == "aligned"
    missing = [p for s in inputs for p in s.files() if _is_missing(p, s, aligned=aligned)]
    for path in missing:
        hint = f"make it with `isoglot align BITEXT --format corpus --out {path}`, or " if aligned else ""
        yield Problem(f"{path}: no such file or folder; {hint}check the path", ("path",), MISSING_FILE)
    if stream is not None and not missing:
        problems: list[Problem] = []
        with collected(problems):
            expand(inputs, stream.kind)
        yield from problems


def _preparation_problems(stream: StreamSection) -> Iterator[Problem]:
    """A prepared corpus is read as it is: filters that the stream names must be those it was made with."""
    source = stream.inputs[0]
    try:
        corpus = prepared_input(source, stream.kind)
    except IsoglotError as error:
        yield Problem(str(error), ("path",))
        return
    made_with = corpus.manifest and corpus.manifest.options
    for key in (key for key in PrepareOptions.model_fields if key in stream.model_fields_set):
        value, before = getattr(stream.prepare, key), getattr(made_with, key)
        if key not in ("kind", "tokenizer", "seed", "shard_rows") and value != before:
            text = f"got {getattr(stream, key)!r}, but {source.path} was prepared with {before!r}; delete the key"
            yield Problem(text, (key,))


def _is_missing(path: str, source: Source, *, aligned: bool) -> bool:
    """Whether a path names a file or folder that is not there, and not a data set of the hub (``owner/name``)."""
    if path == "-" or glob.has_magic(path) or Path(path).exists():
        return False
    if source.format == "huggingface":
        return False
    rooted = bool(Path(path).suffix) or path.startswith((".", "/", "~")) or path.count("/") > 1
    return rooted or aligned or ("/" in path and Path(path).parent.is_dir())
