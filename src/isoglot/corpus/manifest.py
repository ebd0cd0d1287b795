"""Write and read the manifest of a prepared corpus, and read the corpus back.

:func:`load_corpus` opens a corpus as a data set; :func:`row_batches` streams its rows.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.core.options import FileName
from isoglot.corpus.options import FILTERS, PrepareOptions
from isoglot.formats.sources import Kind, Source
from isoglot.runs.cache import cache_folder
from isoglot.runs.files import is_stream, write_text
from isoglot.runs.fingerprint import files_of, fingerprint, key_of
from isoglot.runs.listed import recovered
from isoglot.runs.record import MANIFEST, Record, has_manifest

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

_LAYOUT = 1
"""Raise when folders have another form, so that those of earlier releases are made again."""


class InputFile(BaseModel):
    """One file or folder that was read, known by its content."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    size: int | None = Field(default=None, description="Bytes; none for standard input and data-set names.")
    modified: int | None = Field(
        default=None, description="For standard input or a named pipe, the time of reading in nanoseconds."
    )
    blake2b: str | None = Field(default=None, description="Hash of the content, 128 bits.")

    @classmethod
    def of(cls, path: str) -> InputFile:
        """Describe a file, or all files of a folder, as they are now.

        Standard input and named pipes cannot be read twice. The time takes the place of their hash, so no two readings
        are ever equal.
        """
        if path == "-" or is_stream(Path(path)):
            return cls(path=path, modified=time.time_ns())
        files = files_of(path)
        if not files:
            return cls(path=path)
        return cls(path=path, size=sum(file.stat().st_size for file in files), blake2b=fingerprint(path))

    def now(self) -> InputFile:
        """Describe the same path as it is now; equal if the content is the same, whenever it was written."""
        current = InputFile.of(self.path)
        is_same = current.blake2b is not None and current.blake2b == self.blake2b
        return self if is_same else current

    def recorded(self) -> dict[str, Any]:
        """Turn the description into plain data, for a record of inputs."""
        return self.model_dump(exclude_none=True)


class LanguageCount(BaseModel):
    """Counts of the rows of one language, or of one pair of languages: read, kept, and dropped by each filter."""

    model_config = ConfigDict(extra="forbid")

    languages: tuple[str, ...]
    read: int = Field(default=0, description="Rows read.")
    removed: Counter[str] = Field(
        default=Counter(), description="Rows that each filter dropped, in the order of the filters."
    )
    passed: int = Field(default=0, description="Rows that passed all filters.")
    kept: int = Field(default=0, description="Rows in the output, after language sampling.")


class Manifest(BaseModel):
    """The manifest of a prepared folder: its content, and what it was made from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: int = _LAYOUT
    kind: Kind = Field(
        validation_alias=AliasChoices("schema", "kind"),
        serialization_alias="schema",
        description="Name of the schema.",
    )
    rows: int
    languages: tuple[LanguageCount, ...]
    notes: tuple[str, ...] = ()
    shards: dict[FileName, int] = Field(description="Parquet files in order, with their rows.")
    hashes: dict[str, str] = Field(default={}, description="Hash of each Parquet file's content, 128 bits.")
    sources: tuple[Source, ...]
    inputs: tuple[InputFile, ...]
    options: PrepareOptions
    versions: dict[str, str]
    # `isoglot align` adds this key to the file itself, behind the keys of this model (`manifest_key` of its record). It
    # is a field so that the manifest can be read, and excluded because this model never writes it.
    alignment: dict[str, Any] = Field(
        default={},
        exclude=True,
        description="Inputs and options of the word links, where `isoglot align` made them.",
    )

    @property
    def read(self) -> int:
        """Rows read."""
        return sum(count.read for count in self.languages)

    @property
    def removed(self) -> Counter[str]:
        """Rows that each filter dropped, in the order of the filters, all languages together."""
        total = sum((count.removed for count in self.languages), Counter[str]())
        return Counter({name: total[name] for name in FILTERS if total[name]})

    @staticmethod
    def made_from(
        folder: Path, sources: Sequence[Source], options: PrepareOptions, paths: Sequence[str]
    ) -> dict[str, Any]:
        """Describe sources, options and inputs of a corpus, for comparison with the record of the folder.

        Only inputs that the manifest of the folder names are hashed. The path of a new input is a
        difference already, so the file need not be read.
        """
        manifest = read_manifest(folder)
        known = {} if manifest is None else {file.path: file for file in manifest.inputs}
        inputs = [known[path].now() if path in known else InputFile(path=path) for path in paths]
        return {
            "layout": _LAYOUT,
            "sources": [source.model_dump(mode="json") for source in sources],
            "options": options.model_dump(mode="json"),
            "inputs": [file.model_dump(mode="json") for file in inputs],
        }

    def damage(self, folder: Path) -> str | None:
        """Report the first Parquet file that is missing or was changed: ``data-00000.parquet is missing``."""
        for name in self.shards:
            if not (folder / name).is_file():
                return f"{name} is missing"
            if name in self.hashes and fingerprint(folder / name) != self.hashes[name]:
                return f"{name} was changed after it was written"
        return None

    def require_undamaged(self, folder: Path) -> None:
        """Refuse a folder in which a Parquet file is missing or was changed."""
        if problem := self.damage(folder):
            raise InputError(
                f"{problem}; restore it, or run `isoglot prepare --overwrite` again", path=folder
            )

    def write(self, folder: Path) -> None:
        """Write the manifest into the folder, after all other files: a folder with a manifest is complete."""
        write_text(folder / MANIFEST, self.model_dump_json(indent=2, by_alias=True) + "\n")


def is_prepared(path: str | Path) -> bool:
    """Whether this is a folder that ``isoglot prepare`` wrote; its manifest may be unreadable."""
    return has_manifest(path)


def read_manifest(folder: str | Path) -> Manifest | None:
    """Read the manifest of a prepared folder; ``None`` if there is none, or one that this release cannot read."""
    path = Path(folder) / MANIFEST
    if not path.is_file():
        return None
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except ValidationError:
        return None


def load_corpus(path: str | Path) -> datasets.Dataset:
    """Open a folder that :func:`isoglot.prepare` wrote.

    The shards are unpacked once into an Arrow file beside them (in the data-set cache if the folder cannot be
    written), which is memory-mapped: the size of the corpus does not matter.

    Args:
        path: The folder.

    Returns:
        A plain data set, checked against its schema.

    Raises:
        InputError: The folder does not hold a complete corpus.
        ConfigurationError: Neither the folder nor the cache can be written, and the shards are not unpacked yet.

    Example:
        >>> corpus = load_corpus("data/en-de")  # doctest: +SKIP
    """
    from isoglot.corpus.encode.store import open_arrow_folder, write_batches  # noqa: PLC0415 - slow to import
    from isoglot.formats.schema import SCHEMAS, require  # noqa: PLC0415 - slow to import

    folder = recovered(path)
    manifest = read_manifest(folder)
    if manifest is None:
        reason = "has no manifest that can be read" if folder.is_dir() else "does not exist"
        raise InputError(
            f"{reason}; a complete folder of `isoglot prepare` is needed: run it with [[out='{folder}']]",
            path=folder,
        )
    manifest.require_undamaged(folder)
    features = SCHEMAS[manifest.kind]

    def make(out: Path) -> dict[str, Any]:
        rows = row_batches(folder, manifest, size=8192)
        columns = (dict(zip(batch.schema.names, batch.columns, strict=True)) for batch in rows)
        return {"rows": write_batches(columns, out / "data.arrow", features)}

    # The name is a hash of the content. Manifests of earlier releases lack the hashes of the shards.
    not_hashed = [fingerprint(folder / shard) for shard in manifest.shards if shard not in manifest.hashes]
    name = key_of([manifest.model_dump_json(), *not_hashed])
    unpacked = _cache_with(name, [folder / ".cache", cache_folder()]) / name
    Record(unpacked, {}, what="unpacked corpus").make(make, cached=True)
    return require(open_arrow_folder(unpacked), features, role=f"corpus {folder}")


def _cache_with(name: str, caches: Sequence[Path]) -> Path:
    """Choose the cache that has an entry of this name; else the first cache that can be written."""
    for cache in caches:
        if (cache / name).exists():
            return cache
    for cache in caches:
        if _is_writable(cache):
            return cache
    raise ConfigurationError(
        f"no folder to unpack the corpus into: {' and '.join(map(str, caches))} cannot be written; set ISOGLOT_CACHE "
        "to a folder that can"
    )


def _is_writable(folder: Path) -> bool:
    """Whether a folder can be written, or made in the nearest of its parents that exists."""
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    return os.access(nearest, os.W_OK)


def row_batches(
    folder: Path, manifest: Manifest, start: int = 0, stop: int | None = None, *, size: int = 1024
) -> Iterator[pa.RecordBatch]:
    """Yield the rows ``start`` to ``stop`` − 1 of a prepared folder, at most ``size`` at a time.

    Shards and row groups without any of these rows are not read.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to import

    from isoglot.core.columns import ARROW  # noqa: PLC0415 - imports pyarrow

    if stop is None:
        stop = manifest.rows
    at = 0  # number of the next row, counted through all shards
    for name, shard_rows in manifest.shards.items():
        if at + shard_rows <= start or stop <= at:
            at += shard_rows
            continue
        try:
            with pq.ParquetFile(folder / name) as file:
                for group in range(file.num_row_groups):
                    group_rows = file.metadata.row_group(group).num_rows
                    if at + group_rows <= start or stop <= at:
                        at += group_rows
                        continue
                    for batch in file.iter_batches(size, row_groups=[group]):
                        # Rows of the batch that are between start and stop.
                        first, last = max(start - at, 0), min(stop - at, len(batch))
                        at += len(batch)
                        if first < last:
                            yield batch.slice(first, last - first).cast(ARROW[manifest.kind])
        except (ValueError, OSError) as error:
            raise InputError(
                f"cannot be read ({error}); run `isoglot prepare --overwrite` again", path=folder / name
            ) from error
