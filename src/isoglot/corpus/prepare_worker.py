"""Do the work of the worker processes of `prepare`: parse and filter chunks, write shards.

In the folder ``parts``, chunk 7 becomes ``part-00000007.arrow`` with the rows that passed, and on Ray also
``part-00000007.npz`` with its counts and hashes, which a repeated run reads. :func:`write_shard` makes
``data-00000.parquet`` of several parts.

This module imports little, so that workers start fast.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from isoglot.core.columns import ARROW
from isoglot.core.errors import IsoglotError
from isoglot.corpus.filter.chunk import Part, filter_rows
from isoglot.corpus.filter.filters import RowTests
from isoglot.corpus.options import PrepareOptions
from isoglot.formats.line_files import Chunk
from isoglot.formats.readers import Reader
from isoglot.formats.sources import LANGUAGES, Source
from isoglot.runs.files import whole_file, whole_path
from isoglot.runs.fingerprint import fingerprint

_GROUP_ROWS = 65_536
"""Rows of a row group of a shard, at least: fewer row groups are read faster, and need more memory to write."""
Rows = NDArray[np.int32]
"""Numbers of rows in a part file."""


@dataclass(frozen=True)
class Settings:
    """Settings that every worker receives once."""

    sources: tuple[Source, ...]
    options: PrepareOptions
    tests: RowTests
    folder: str  # of the part files
    single_threaded: bool  # the worker uses one core, because other workers use the others
    # On Ray: the folder stays if the run is stopped, and parts and shards in it are not made again.
    on_ray: bool


@dataclass(frozen=True)
class ChunkTask:
    """One chunk of one source, or the error that ended the reading of the source.

    Files are read ahead, so an error may be found before the chunks in front of it are filtered. As a task, the error
    waits for its turn: it is raised after the rows in front of it, or never, if these rows are enough (first N).
    """

    number: int  # of the chunk in all sources
    source: int  # index of the source
    chunk: Chunk | IsoglotError


class RowsOfPart(NamedTuple):
    """Rows of a part file that go into a shard."""

    path: str
    rows: Rows | None  # None for all


class ShardTask(NamedTuple):
    """A shard to write."""

    parts: Sequence[RowsOfPart]
    path: str


class Shard(NamedTuple):
    """A shard that was written: the file's name, its number of rows and the hash of its content."""

    name: str
    rows: int
    digest: str


class _Worker:
    settings: Settings  # set once in each process, by `start`


def start(settings: Settings) -> None:
    """Set a process up for its work."""
    if settings.single_threaded:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        pa.set_cpu_count(1)
    _Worker.settings = settings


def filter_chunk(task: ChunkTask) -> Part:
    """Parse and filter one chunk, and write the rows that pass to a part file.

    Raises:
        IsoglotError: The chunk has a bad line, or the task is an error.
    """
    if isinstance(task.chunk, IsoglotError):
        raise task.chunk
    settings = _Worker.settings
    path = Path(settings.folder) / f"part-{task.number:08d}.arrow"
    counts_path = path.with_suffix(".npz")
    if settings.on_ray and counts_path.is_file():  # made by an earlier run
        return _read_counts(counts_path)
    kind = settings.options.kind
    source = settings.sources[task.source]
    languages = source.languages(kind)
    records = Reader(source, kind).parse(task.chunk)
    part = filter_rows(records, settings.tests, settings.options, languages)
    part.source = task.source
    if part.rows:
        columns: dict[str, Any] = dict(records.columns)
        for name, code in zip(LANGUAGES[kind], languages, strict=True):
            columns[name] = pa.repeat(code, part.rows)
        table = pa.Table.from_pydict(columns, schema=ARROW[kind])
        # Compressed: with language sampling all parts lie on disk before the first shard is written.
        compressed = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_file(str(path), table.schema, options=compressed) as writer:
            writer.write_table(table)
        part.path, part.size = str(path), table.nbytes
    if settings.on_ray:
        _write_counts(part, counts_path)  # last: where the counts are, the rows are complete
    return part


def _write_counts(part: Part, path: Path) -> None:
    """Write the counts and hashes of a part, for a later run."""
    counts = {name: value for name, value in vars(part).items() if name != "keys"}
    arrays: dict[str, Any] = {} if part.keys is None else {"keys": part.keys}
    with whole_file(path, binary=True) as file:
        np.savez(file, counts=json.dumps(counts), **arrays)


def _read_counts(path: Path) -> Part:
    """Read the part whose counts and hashes an earlier run wrote."""
    with np.load(path) as arrays:
        counts = json.loads(str(arrays["counts"]))
        return Part(**counts, keys=arrays.get("keys"))


def write_shard(task: ShardTask) -> Shard:
    """Write rows of several parts as one Parquet file, and delete the parts if no other shard needs them."""
    path = Path(task.path)
    if path.is_file():  # written by an earlier run
        return Shard(path.name, pq.read_metadata(path).num_rows, fingerprint(path))
    options = _Worker.settings.options
    schema = ARROW[options.kind]
    # A dictionary saves space where values repeat: languages do, sentences hardly ever.
    repeated = [name for name in schema.names if name.endswith("language")]
    waiting: list[pa.Table] = []  # rows of the next row group
    rows = 0
    with (
        whole_path(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", use_dictionary=repeated) as writer,
    ):
        for part in task.parts:
            with pa.OSFile(part.path) as file:
                table = pa.ipc.open_file(file).read_all()
            if part.rows is not None:
                table = table.take(pa.array(part.rows))
            rows += table.num_rows
            waiting.append(table)
            if sum(table.num_rows for table in waiting) >= _GROUP_ROWS:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting))
    # With language sampling, rows of a part may go into several shards, so parts are deleted only at the end.
    if options.sampling_exponent is None:
        for part in task.parts:
            Path(part.path).unlink(missing_ok=True)
    return Shard(path.name, rows, fingerprint(path))
