"""Parquet files and data sets of the Hugging Face library, whose rows are batches of Arrow."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from isoglot.core.errors import InputError, reason
from isoglot.formats.column_plan import wanted_columns
from isoglot.formats.line_files import CHUNK_LINES, Chunk, Fields, empty_file
from isoglot.formats.row_fields import from_rows
from isoglot.formats.sources import Kind, Source


def parquet_chunks(source: Source, kind: Kind, *, whole: bool) -> Iterator[Chunk]:
    """Read batches of rows with the columns that are needed; errors name rows in place of lines."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and no other format needs it
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        # A file of Arrow, not of Python: a thread of Arrow may free a Python file after the interpreter has ended,
        # which aborts the process.
        with pa.OSFile(source.path) as handle, pq.ParquetFile(handle) as file:
            names = file.schema_arrow.names
            columns = names if whole else wanted_columns(source, kind, names)
            batches = file.iter_batches(CHUNK_LINES, columns=columns, use_threads=False)
            yield from _as_chunks(source, names, batches)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"cannot be read as Parquet ({error}); write it again", path=source.path) from error


def huggingface_chunks(source: Source, kind: Kind, *, whole: bool) -> Iterator[Chunk]:
    """Read batches of a data set of the hub, streamed, or of a folder that ``save_to_disk`` wrote."""
    import datasets  # noqa: PLC0415 (a second of import that no other format needs)

    folder = Path(source.path)
    try:
        if (folder / "dataset_dict.json").exists():
            dataset = datasets.load_from_disk(source.path)[source.split]
        elif (folder / "state.json").exists():
            dataset = datasets.load_from_disk(source.path)
            if source.split not in (str(dataset.split), Source.model_fields["split"].default):
                raise ValueError(f"it is the split {dataset.split} alone: leave split out")
        else:
            dataset = datasets.load_dataset(
                source.path, source.subset, split=source.split, revision=source.revision, streaming=True
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(
            f"the data set (split {source.split!r}) cannot be opened ({reason(error)}); check path, subset and split",
            path=source.path,
        ) from error
    try:
        tables = iter(dataset.with_format("arrow").iter(batch_size=CHUNK_LINES // 4))
        first = next(tables, None)
        if first is None:
            raise empty_file(source.path)
        names = first.column_names
        columns = names if whole else wanted_columns(source, kind, names)
        yield from _as_chunks(source, names, (table.select(columns) for table in chain([first], tables)))
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"was read as a data set, but one of its files cannot be read ({reason(error)}); fix that file",
            path=source.path,
        ) from error


def _as_chunks(source: Source, names: list[str], tables: Iterable[Any]) -> Iterator[Chunk]:
    """Make a chunk of each batch, with the number of its first row; refuse a source without rows."""
    row = 1
    for table in tables:
        yield Chunk(row, table, names)
        row += table.num_rows
    if row == 1:
        raise empty_file(source.path)


def table_fields(source: Source, kind: Kind, chunk: Chunk, *, whole: bool) -> Fields:
    """Take the fields out of a batch of rows."""
    rows = chunk.payload.to_pylist()
    numbers = range(chunk.first_line, chunk.first_line + len(rows))
    return from_rows(rows, numbers, chunk.names or (), source, kind, whole=whole)
