"""The files of a recipe's streams: they exist, and a prepared folder has the options that the recipe asks for."""

import glob
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from isoglot.checkpoints.folder import looks_like_path
from isoglot.core.errors import MISSING_FILE, ConfigurationError, IsoglotError, Problem, collected
from isoglot.corpus.manifest import is_prepared
from isoglot.corpus.open_corpus import prepared_input
from isoglot.corpus.options import PrepareOptions
from isoglot.formats.sources import Source, expand
from isoglot.pretraining.stream_section import StreamSection


def file_problems(stream: StreamSection | None, values: Mapping[str, Any]) -> Iterator[Problem]:
    """Check the files that a stream reads.

    1. A prepared folder stands alone and is read unchanged, so options of preparing that the stream names must be
       those that the folder was prepared with.
    2. Files exist, also those of a stream that has other mistakes.
    3. If all exist and the stream has no mistake, their format can be detected.

    Args:
        stream: The stream; ``None`` if the section has mistakes.
        values: The section as it is written.
    """
    sources = [] if stream is None else stream.inputs
    if stream is None:
        with suppress(ConfigurationError):  # reported with the section already
            sources = StreamSection.sources_of(values)
    if any(is_prepared(source.path) for source in sources):  # 1
        if len(sources) > 1:
            yield Problem("a prepared folder cannot be combined with other files; name it as the only path")
        elif stream is not None:
            yield from _prepared_problems(stream, sources[0])
        return
    aligned = values.get("kind") == "aligned"
    missing: list[str] = []
    for source in sources:  # 2
        missing += [path for path in source.files() if _is_missing(path, source, aligned=aligned)]
    for path in missing:
        hint = f"make it with `isoglot align BITEXT --format corpus --out {path}`, or " if aligned else ""
        yield Problem(f"{path}: no such file or folder; {hint}check the path", ("path",), MISSING_FILE)
    if stream is not None and not missing:  # 3
        problems: list[Problem] = []
        with collected(problems):
            expand(sources, stream.kind)
        yield from problems


def _prepared_problems(stream: StreamSection, source: Source) -> Iterator[Problem]:
    """Compare a stream's options with those that its prepared folder was made with.

    A folder that was prepared with ``duplicates: pair`` cannot be read with ``duplicates: keep``.
    """
    try:
        corpus = prepared_input(source, stream.kind)
    except IsoglotError as error:
        yield Problem(str(error), ("path",))
        return
    made_with = corpus.manifest and corpus.manifest.options
    for key in PrepareOptions.model_fields:
        # `prepared_input` has compared `kind`. Tokenizer, seed and shard_rows are no filters.
        if key not in stream.model_fields_set or key in ("kind", "tokenizer", "seed", "shard_rows"):
            continue
        before = getattr(made_with, key)
        if getattr(stream.prepare, key) != before:
            text = f"got {getattr(stream, key)!r}, but {source.path} was prepared with {before!r}"
            yield Problem(f"{text}; delete the key", (key,))


def _is_missing(path: str, source: Source, *, aligned: bool) -> bool:
    """Whether a path names a file or folder that does not exist, rather than a data set of the hub (``owner/name``).

    ``data/train`` could be either: it is a path if the folder ``data`` exists. ``aligned``: Whether the stream is a
    corpus with word links, which is always a folder here.
    """
    if path == "-" or glob.has_magic(path) or Path(path).exists():
        return False
    if source.format == "huggingface":
        return False
    is_path = bool(Path(path).suffix) or looks_like_path(path)
    return is_path or aligned or ("/" in path and Path(path).parent.is_dir())
