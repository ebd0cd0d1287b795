"""Keep streams on disk: named by the content they were made from, written whole or not at all, read memory-mapped."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Dataset, Features, concatenate_datasets
from numpy.typing import NDArray

from isoglot.core.errors import InputError
from isoglot.runs.cache import cache_folder
from isoglot.runs.record import MANIFEST, Record

_READ_ROWS = 10_000


def content_hash(dataset: Dataset, columns: Sequence[str]) -> str:
    """Hash the values of some columns, so that equal content has equal hashes.

    The file, the chunks and the index of the rows make no difference: each column has two hashers, one for the lengths
    of its strings or lists and one for their values, which run through all chunks.
    """
    total = hashlib.blake2b(digest_size=16)
    digests: dict[str, Any] = {}  # hashers, such as `source/lengths` and `source/values`
    chosen = dataset.select_columns(list(columns)).with_format("arrow")
    for table in chosen.iter(batch_size=_READ_ROWS):
        for name in columns:
            for chunk in table.column(name).chunks:
                _update(digests, name, chunk)
    for name in sorted(digests):
        total.update(f"{name}={digests[name].hexdigest()};".encode())
    total.update(f"rows={len(dataset)}".encode())
    return total.hexdigest()


def _update(digests: dict[str, Any], name: str, array: Any) -> None:
    """Add the lengths and values of an array to the hashers of its column; a null has the length −1."""

    def feed(what: str, data: bytes) -> None:
        digests.setdefault(f"{name}/{what}", hashlib.blake2b(digest_size=16)).update(data)

    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        array = array.cast(pa.large_string())
        lengths = pc.fill_null(pc.binary_length(array), -1).cast(pa.int64())
        feed("lengths", lengths.to_numpy(False).tobytes())
        # All strings as one run of bytes, straight from Arrow's memory.
        _, offsets, data = array.buffers()
        if data is not None and len(array):
            bounds = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
            feed("values", memoryview(data)[bounds[0] : bounds[-1]].tobytes())
    elif pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        lengths = pc.fill_null(pc.list_value_length(array), -1).cast(pa.int64())
        feed("lengths", lengths.to_numpy(False).tobytes())
        _update(digests, f"{name}/item", array.flatten())
    elif pa.types.is_integer(array.type):
        feed("nulls", array.is_null().to_numpy(False).tobytes())
        feed("values", pc.fill_null(array, 0).cast(pa.int64()).to_numpy(False).tobytes())
    else:
        lines = [f"{json.dumps(value, default=str)}\n" for value in array.to_pylist()]
        feed("values", "".join(lines).encode())


def flat_array(column: pa.ChunkedArray) -> Any:
    """Join the chunks of a column to one array."""
    array = column.combine_chunks()
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def list_array(values: NDArray[Any], lengths: NDArray[Any], *, width: int | None = None) -> Any:
    """Make an Arrow array of lists from their values one behind another: 1 2 3 with lengths 1, 2 is ``[1], [2, 3]``.

    Args:
        values: All values; with ``width``, rows of so many values.
        lengths: Length of each list.
        width: Length of each item, if the items are lists themselves (links are of two numbers).
    """
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    flat = pa.array(np.ascontiguousarray(values, dtype=np.int32).reshape(-1))
    if width is not None:
        inner = pa.array(np.arange(0, len(flat) + 1, width, dtype=np.int32))
        flat = pa.ListArray.from_arrays(inner, flat)
    return pa.ListArray.from_arrays(offsets, flat)


def write_batches(batches: Iterable[Mapping[str, Any]], path: Path, features: Features) -> int:
    """Write batches of columns to an Arrow file that :class:`datasets.Dataset` can map into memory.

    Returns:
        The number of rows.
    """
    schema, rows = features.arrow_schema, 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        for columns in batches:
            table = pa.Table.from_pydict(columns, schema=schema)
            if table.num_rows:
                writer.write_table(table)
                rows += table.num_rows
    return rows


def cached_stream(
    kind: str,
    made_from: Sequence[str],
    make: Callable[[Path], Mapping[str, Any]],
    *,
    cache_dir: str | Path | None,
) -> Dataset:
    """Open a stream from the cache; if it is not there, make it.

    Args:
        kind: Beginning of the name of the stream's folder.
        made_from: Values on which the stream depends; the name of the folder ends in their hash.
        make: Writes ``*.arrow`` files into the folder that it receives, and returns the manifest.
        cache_dir: Folder of the streams; by default :func:`~isoglot.runs.cache.cache_folder`.
    """
    root = cache_folder() if cache_dir is None else Path(cache_dir)
    folder = root / f"{kind}-{hashlib.blake2b('|'.join(made_from).encode(), digest_size=10).hexdigest()}"
    Record(folder, {}, what="stream").make(make, cached=True)
    return open_arrow_folder(folder)


def open_arrow_folder(folder: Path) -> Dataset:
    """Open all ``*.arrow`` files of a complete folder (a stream, or an unpacked corpus), memory-mapped."""
    files = [Dataset.from_file(str(file)) for file in sorted(folder.glob("*.arrow"))]
    return concatenate_datasets(files) if len(files) > 1 else files[0]


def stream_manifest(stream: Dataset) -> dict[str, Any]:
    """Read the manifest of a stream: the options that it was made with, and counts of what was dropped."""
    for entry in stream.cache_files:
        manifest = Path(entry["filename"]).parent / MANIFEST
        if manifest.is_file():
            values: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8"))
            return values
    raise InputError("this dataset has no manifest; one made by encode_stream or pack_stream is needed")
