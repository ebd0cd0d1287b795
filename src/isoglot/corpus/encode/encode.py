"""Corpora to streams: tokenised once, with word maps and piece links, cached by what they were made from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
from datasets import Dataset, Features, List, Value
from transformers import PreTrainedTokenizerBase

from isoglot.corpus.encode.batch import BatchEncoder, EncodeOptions, Kind
from isoglot.corpus.encode.pieces import PieceEncoder, WordSource
from isoglot.corpus.encode.store import StreamWriter, cached_stream, content_hash
from isoglot.corpus.encode.tokenizer import special_template
from isoglot.corpus.encode.words import split_words
from isoglot.errors import ConfigurationError
from isoglot.schema import ALIGNED, BITEXT, LEXICON, TEXT, require

__all__ = ["STREAMS", "EncodeOptions", "detect_kind", "encode_stream", "stream_words", "tokenizer_hash"]

_VERSION = 2  # raise when the same inputs give another stream
_BATCH = 1_000
_SHARD = 250_000

_IDS = List(Value("int32"))
_PAIR_FEATURES = {
    "source_ids": _IDS,
    "target_ids": _IDS,
    "source_word_ids": _IDS,
    "target_word_ids": _IDS,
    "source_language": Value("string"),
    "target_language": Value("string"),
    "length": Value("int32"),
    "row": Value("int64"),
}
STREAMS: dict[Kind, Features] = {
    "text": Features(
        {
            "input_ids": _IDS,
            "word_ids": _IDS,
            "language": Value("string"),
            "length": Value("int32"),
            "row": Value("int64"),
        }
    ),
    "bitext": Features(_PAIR_FEATURES),
    "lexicon": Features(_PAIR_FEATURES),
    "aligned": Features({**_PAIR_FEATURES, "links": List(List(Value("int32")))}),
}
"""Columns of a stream by kind of corpus. Ids are without specials; ``row`` is the corpus row an example came from. A
text corpus's column ``document``, which :mod:`isoglot.corpus.pack.packing` can join rows by, is kept as a string."""


def detect_kind(corpus: Dataset) -> Kind:
    """What kind of corpus the columns say it is.

    Raises:
        ConfigurationError: the columns are those of no kind that can be encoded.
    """
    columns = set(corpus.column_names)
    if {"source", "target"} <= columns:
        return "aligned" if {"links", "source_words", "target_words"} <= columns else "bitext"
    if columns & {"text", "words"}:
        return "text"
    raise ConfigurationError(
        f"a corpus with columns {sorted(columns)} given; encoding needs 'text' (or 'words') and 'language', or "
        "'source', 'target' and their languages; make one with `isoglot prepare`"
    )


def encode_stream(
    corpus: Dataset,
    tokenizer: PreTrainedTokenizerBase,
    *,
    options: EncodeOptions | None = None,
    cache_dir: str | Path | None = None,
    num_proc: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Dataset:
    """Tokenise a corpus once and keep the result, or open what an earlier call kept.

    The stream is named by a hash of the corpus's content, the tokenizer's content and the options, so any change of
    them makes another stream and none makes the same again. :func:`~isoglot.corpus.encode.store.stream_manifest`
    reads what was dropped.

    Args:
        corpus: TEXT (or with ``words`` instead of ``text``), BITEXT, ALIGNED or LEXICON.
        tokenizer: any fast tokenizer.
        options: defaults of :class:`EncodeOptions` if not given.
        cache_dir: where streams are kept; a folder in the ``datasets`` cache if not given.
        num_proc: worker processes; one, whose tokenizer uses all cores, if not given. Does not change the result.
        progress: called with (rows done, rows in all).

    Returns:
        The stream, memory-mapped, with the columns of :data:`STREAMS`.

    Raises:
        ConfigurationError: a slow tokenizer, missing columns, or nothing left after the length limits.
        InputError: links outside their sentence.
    """
    options = options or EncodeOptions()
    kind = options.kind or detect_kind(corpus)
    corpus = _chosen_columns(corpus, kind)
    template = special_template(tokenizer, options.pair_template)
    specials = len(template.prefix) + len(template.suffix)
    specials += 0 if kind == "text" else len(template.separator)
    pieces = PieceEncoder(
        tokenizer,
        words=options.words,
        words_from=options.words_from,
        split_special_tokens=options.split_special_tokens,
    )
    if options.max_length is not None and options.max_length < specials + 2:
        raise ConfigurationError(
            f"max_length={options.max_length} given, but {specials} special tokens and a piece a side must fit; "
            "raise it"
        )
    encoder = BatchEncoder(kind, options, pieces, specials=specials if options.count_specials else 0)
    parts = (
        f"isoglot-encode-{_VERSION}",
        kind,
        content_hash(corpus, corpus.column_names),
        hashlib.blake2b(pieces.backend.to_str().encode(), digest_size=16).hexdigest(),
        str(encoder.specials),
        options.model_dump_json(exclude={"kind"}),
    )
    name = f"{kind}-{hashlib.blake2b('|'.join(parts).encode(), digest_size=10).hexdigest()}"
    features = STREAMS[kind]
    if "document" in corpus.column_names:
        features = Features({**features, "document": Value("string")})
    job = _Job(corpus, encoder, features)

    def make(folder: Path) -> dict[str, Any]:
        counts = _write(job, folder, num_proc=num_proc or 1, progress=progress)
        if counts["kept"] == 0:
            raise ConfigurationError(_nothing_left(counts, kind, options))
        return {
            "kind": kind,
            "options": options.model_dump(exclude={"kind"}),
            "specials": specials,
            "counts": counts,
        }

    return cached_stream(name, make, cache_dir=cache_dir)


def tokenizer_hash(tokenizer: PreTrainedTokenizerBase) -> str:
    """A hash of how a fast tokenizer reads text and which specials it adds, whatever calls were made with it."""
    backend = PieceEncoder(tokenizer).backend
    digest = hashlib.blake2b(backend.to_str().encode(), digest_size=16)
    digest.update(repr(special_template(tokenizer)).encode())
    return digest.hexdigest()


def stream_words(
    corpus: Dataset, stream: Dataset, index: int, *, words: WordSource = "unicode"
) -> dict[str, list[str]]:
    """The words that an example's word ids count, read back from the corpus it was made from.

    Args:
        corpus: the corpus that was encoded.
        stream: its stream.
        index: the example in the stream.
        words: the option that the stream was encoded with.

    Returns:
        ``words`` for text, ``source_words`` and ``target_words`` for pairs.

    Raises:
        ConfigurationError: ``words`` is ``tokenizer``: such words have no spelling of their own.
    """
    if words == "tokenizer":
        raise ConfigurationError(
            "words='tokenizer' counts pre-tokens; only 'unicode' and 'whitespace' words read back"
        )
    row = corpus[int(stream[index]["row"])]
    sides = {"source": "source_words", "target": "target_words"} if "source" in row else {"text": "words"}
    return {
        given: list(row[given]) if row.get(given) is not None else split_words(row[text], mode=words)
        for text, given in sides.items()
    }


def _chosen_columns(corpus: Dataset, kind: Kind) -> Dataset:
    """The columns that the stream depends on, checked."""
    if kind == "text" and "text" not in corpus.column_names:
        needed = Features({"words": List(Value("string")), "language": Value("string")})
    else:
        needed = {"text": TEXT, "bitext": BITEXT, "lexicon": LEXICON, "aligned": ALIGNED}[kind]
    columns = [*needed, "document"] if kind == "text" and "document" in corpus.column_names else list(needed)
    chosen: Dataset = require(corpus, needed, role=f"{kind} corpus to encode").select_columns(columns)
    return chosen


@dataclass(frozen=True)
class _Job:
    """All that a worker process needs."""

    corpus: Dataset
    encoder: BatchEncoder
    features: Features

    def shard(self, start: int, stop: int, path: Path) -> Iterator[dict[str, int]]:
        """Encode rows ``[start, stop)`` into a file, batch by batch; yields each batch's counts."""
        rows = self.corpus.select(range(start, stop)).with_format("arrow")
        with StreamWriter(path, self.features) as writer:
            first = start
            for table in rows.iter(batch_size=_BATCH):
                columns, counts = self.encoder.encode(_columns(table), first_row=first)
                writer.write(columns)
                first += table.num_rows
                yield counts

    def whole_shard(self, start: int, stop: int, path: Path) -> dict[str, int]:
        """:meth:`shard` run to its end; its summed counts."""
        return _summed(self.shard(start, stop, path))


def _columns(table: Any) -> dict[str, Any]:
    combined = {name: table.column(name).combine_chunks() for name in table.column_names}
    return {
        name: pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
        for name, column in combined.items()
    }


def _write(
    job: _Job, folder: Path, *, num_proc: int, progress: Callable[[int, int], None] | None
) -> dict[str, int]:
    """Encode all rows into shards; the same rows in the same order for any number of processes."""
    total = len(job.corpus)
    size = min(_SHARD, -(-total // num_proc)) or 1
    bounds = [(start, min(start + size, total)) for start in range(0, total, size)]
    paths = [folder / f"data-{i:05d}.arrow" for i in range(len(bounds))]
    done = 0
    counts: list[dict[str, int]] = []

    def note(found: dict[str, int]) -> None:
        nonlocal done
        counts.append(found)
        done += found["examples"]
        if progress is not None:
            progress(done, total)

    if num_proc == 1 or len(bounds) == 1:
        for (start, stop), path in zip(bounds, paths, strict=True):
            for found in job.shard(start, stop, path):
                note(found)
    else:
        with _serial_tokenizers(), ProcessPoolExecutor(num_proc, mp_context=get_context("fork")) as pool:
            starts, stops = zip(*bounds, strict=True)
            for found in pool.map(job.whole_shard, starts, stops, paths):
                note(found)
    return _summed(counts)


@contextmanager
def _serial_tokenizers() -> Iterator[None]:
    """One tokenizer thread in each worker: the workers already fill the cores, and threads do not survive a fork."""
    before = os.environ.get("TOKENIZERS_PARALLELISM")
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    try:
        yield
    finally:
        if before is None:
            del os.environ["TOKENIZERS_PARALLELISM"]
        else:
            os.environ["TOKENIZERS_PARALLELISM"] = before


def _summed(counts: Iterator[dict[str, int]] | Sequence[Mapping[str, int]]) -> dict[str, int]:
    total = {"examples": 0, "kept": 0}
    for found in counts:
        for key, value in found.items():
            total[key] = total.get(key, 0) + value
    return total


def _nothing_left(counts: Mapping[str, int], kind: Kind, options: EncodeOptions) -> str:
    if counts["examples"] == 0:
        return f"a {kind} corpus without rows given; encoding needs at least one; check what `isoglot prepare` dropped"
    return (
        f"no example of {counts['examples']} left: {counts.get('empty', 0)} with no pieces on a side, "
        f"{counts.get('overlong', 0)} longer than max_length={options.max_length}, max_side={options.max_side}; "
        "raise the limits or set overlong: truncate"
    )
