"""The worker processes of `prepare`: parse and filter chunks, write shards. Imports little, to start fast."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class Settings:
    """Settings that every worker receives once."""

    sources: tuple[Source, ...]
    options: PrepareOptions
    tests: RowTests
    folder: str
    single_threaded: bool
    resumable: bool  # the folder outlives the run, and what is in it is not made again


@dataclass(frozen=True)
class ChunkTask:
    """One chunk of one source, or the error that stands in its place.

    An error while reading travels as a task, so that it is met in its turn: the rows before it are dealt with first,
    and if they are enough (first N), it is not an error at all, however far ahead the reading was.
    """

    number: int
    source: int
    chunk: Chunk | IsoglotError


class _FilterWorker:
    settings: Settings


def start(settings: Settings) -> None:
    """Set a process up for its work."""
    if settings.single_threaded:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # else its threads and other workers share cores
        pa.set_cpu_count(1)
    _FilterWorker.settings = settings


def filter_chunk(task: ChunkTask) -> Part:
    """Parse and filter one chunk, and write what is left to a part file."""
    if isinstance(task.chunk, IsoglotError):
        raise task.chunk
    settings = _FilterWorker.settings
    path = Path(settings.folder) / f"part-{task.number:08d}.arrow"
    if settings.resumable and path.with_suffix(".npz").is_file():  # an earlier run made it
        with np.load(path.with_suffix(".npz")) as counted:
            return Part(**json.loads(str(counted["counts"])), keys=counted.get("keys"))
    source, kind = settings.sources[task.source], settings.options.kind
    languages = source.languages(kind)
    records = Reader(source, kind).parse(task.chunk)
    part = filter_rows(records, settings.tests, settings.options, languages)
    part.source = task.source
    if part.rows:
        tags = zip(LANGUAGES[kind], languages, strict=True)
        columns = records.columns | {name: pa.repeat(tag, part.rows) for name, tag in tags}
        table = pa.Table.from_pydict(columns, schema=ARROW[kind])
        # compressed: with language sampling all parts lie on disk before the first shard is written
        with pa.ipc.new_file(
            str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")
        ) as writer:
            writer.write_table(table)
        part.path, part.size = str(path), table.nbytes
    if settings.resumable:  # written last, for a later run
        counts = {name: value for name, value in vars(part).items() if name != "keys"}
        arrays: dict[str, Any] = {} if part.keys is None else {"keys": part.keys}
        with whole_file(path.with_suffix(".npz"), binary=True) as file:
            np.savez(file, counts=json.dumps(counts), **arrays)
    return part


def write_shard(group: tuple[Sequence[tuple[str, NDArray[np.int32] | None]], str]) -> tuple[str, int, str]:
    """Write rows of several parts (all rows where none are named) as one Parquet file; its name, rows and hash."""
    parts, out = group
    if Path(out).is_file():  # of an earlier run
        return Path(out).name, pq.read_metadata(out).num_rows, fingerprint(out)
    options = _FilterWorker.settings.options
    schema = ARROW[options.kind]
    repeated = [name for name in schema.names if name.endswith("language")]  # sentences hardly ever repeat
    waiting: list[pa.Table] = []
    rows = 0
    with (
        whole_path(out) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", use_dictionary=repeated) as writer,
    ):
        for path, chosen in parts:
            with pa.OSFile(path) as file:
                table = pa.ipc.open_file(file).read_all()
            waiting.append(table if chosen is None else table.take(pa.array(chosen)))
            rows += waiting[-1].num_rows
            if sum(t.num_rows for t in waiting) >= _GROUP_ROWS:
                writer.write_table(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting))
    if options.sampling_exponent is None:  # else a part may go into other shards too
        for path, _ in parts:
            Path(path).unlink(missing_ok=True)
    return Path(out).name, rows, fingerprint(out)
