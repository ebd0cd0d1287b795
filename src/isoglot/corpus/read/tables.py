"""CSV, Parquet and Hugging Face data sets: formats whose rows are not lines."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from isoglot.corpus.read.line_files import CHUNK_LINES, ByteCounter, LineFile, decode_lines, empty
from isoglot.corpus.read.records import Chunk, Records, assemble, pick, plan_columns
from isoglot.corpus.read.sources import Kind, Source
from isoglot.errors import InputError

_LARGEST_FIELD = 64 << 20


class CsvReader:
    """Comma-separated rows with double quotes, in which a quoted field may hold line ends."""

    def chunks(self, source: Source, kind: Kind, meter: ByteCounter | None = None) -> Iterator[Chunk]:
        """Parsed rows, since only parsing tells where a row ends."""
        csv.field_size_limit(_LARGEST_FIELD)
        with LineFile(source.path, meter) as file:
            rows = csv.reader(_lines(file), strict=True)
            names: list[str] | None = None
            first = 1
            try:
                if source.header:
                    names = next(rows)
                plan = plan_columns(source, kind, names=names, path=source.path)
                columns = {
                    r: names.index(c) if names and isinstance(c, str) else int(c) for r, c in plan.items()
                }
                taken: list[tuple[int, list[str]]] = []
                first = rows.line_num + 1
                for row in rows:
                    taken.append((first, self._cells(row, columns, source.path, first)))
                    first = rows.line_num + 1
                    if len(taken) == CHUNK_LINES:
                        yield Chunk(taken[0][0], (list(columns), taken))
                        taken = []
            except csv.Error as error:
                raise InputError(
                    f"broken CSV ({error}): fix the quotes", path=source.path, line=first
                ) from error
            if taken:
                yield Chunk(taken[0][0], (list(columns), taken))

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """Rows of the columns that are asked for."""
        roles, taken = chunk.payload
        fields: dict[str, list[Any]] = {role: [row[i] for _, row in taken] for i, role in enumerate(roles)}
        return assemble(kind, fields, source, path=source.path, lines=[line for line, _ in taken])

    @staticmethod
    def _cells(row: list[str], columns: dict[str, int], path: str, line: int) -> list[str]:
        if not row:
            return [""] * len(columns)
        for role, column in columns.items():
            if column >= len(row):
                raise InputError(
                    f"{len(row)} columns, but column {column} (counted from 0) is needed for the {role}; fix the "
                    f"line, or set columns: {{{role}: NUMBER}} (--column {role}=NUMBER)",
                    path=path,
                    line=line,
                )
        return [row[c] for c in columns.values()]


class ParquetReader:
    """Parquet files, a batch of rows at a time; errors give the row for the line."""

    def chunks(self, source: Source, kind: Kind, meter: ByteCounter | None = None) -> Iterator[Chunk]:
        """Batches of the columns that are asked for."""
        try:
            with Path(source.path).open("rb") as handle, pq.ParquetFile(handle) as file:
                names = file.schema_arrow.names
                plan = plan_columns(source, kind, names=names, path=source.path)
                wanted = sorted({str(c) if str(c) in names else str(c).split(".")[0] for c in plan.values()})
                row = 1
                for batch in file.iter_batches(CHUNK_LINES, columns=wanted, use_threads=False):
                    yield Chunk(row, (plan, batch))
                    row += batch.num_rows
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(
                f"cannot be read as Parquet ({error}); write it again", path=source.path
            ) from error
        if row == 1:
            raise empty(source.path)

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """Rows of one batch."""
        plan, batch = chunk.payload
        return _from_rows(batch.to_pylist(), plan, source, kind, chunk.first_line)


class HuggingFaceReader:
    """Data sets of the Hugging Face hub, streamed, and folders written by ``save_to_disk``."""

    def chunks(self, source: Source, kind: Kind, meter: ByteCounter | None = None) -> Iterator[Chunk]:
        """Batches of rows."""
        row = 1
        plan: dict[str, int | str] | None = None
        for batch in self._batches(source):
            plan = plan or plan_columns(source, kind, names=list(batch), path=source.path)
            wanted = {str(c) if str(c) in batch else str(c).split(".")[0] for c in plan.values()}
            columns = {name: batch[name] for name in sorted(wanted)}
            yield Chunk(row, (plan, columns))
            row += len(next(iter(columns.values())))
        if row == 1:
            raise empty(source.path)

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """Rows of one batch."""
        plan, columns = chunk.payload
        rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        return _from_rows(rows, plan, source, kind, chunk.first_line)

    def _batches(self, source: Source) -> Iterator[dict[str, list[Any]]]:
        """Batches of the data set; the library's own errors while it reads its files, as ours."""
        batches = iter(self._open(source).iter(batch_size=CHUNK_LINES // 4))
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                return
            except (OSError, ValueError, RuntimeError) as error:
                reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
                raise InputError(
                    f"was read as a data set, and a file of it cannot be ({reason}); fix that file, or name the "
                    "files that are wanted one by one",
                    path=source.path,
                ) from error
            yield batch

    @staticmethod
    def _open(source: Source) -> Any:
        import datasets  # noqa: PLC0415 (a second of import that no other format needs)

        folder = Path(source.path)
        try:
            if (folder / "dataset_dict.json").exists():
                return datasets.load_from_disk(source.path)[source.split]
            if (folder / "state.json").exists():
                return datasets.load_from_disk(source.path)
            return datasets.load_dataset(
                source.path, source.subset, split=source.split, revision=source.revision, streaming=True
            )
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise InputError(
                f"the data set (split {source.split!r}) cannot be opened ({reason}); a folder, or the name of a "
                "data set that this machine can reach, is needed: check path, subset and split",
                path=source.path,
            ) from error


def _lines(file: LineFile) -> Iterator[str]:
    """Lines with their ends, as the csv module wants them."""
    for first, data in file.chunks():
        yield from (f"{line}\n" for line in decode_lines(data, file.path, first))


def _from_rows(
    rows: list[dict[str, Any]], plan: dict[str, int | str], source: Source, kind: Kind, first: int
) -> Records:
    numbers = range(first, first + len(rows))
    fields = {
        role: [pick(r, c, path=source.path, line=n) for r, n in zip(rows, numbers, strict=True)]
        for role, c in plan.items()
    }
    return assemble(kind, fields, source, path=source.path, lines=numbers)
