"""Every format that can be read, all streamed.

A format is read in two steps: a source is cut into chunks of a few megabytes, which is quick and runs in one process;
a chunk is parsed into rows, in any process. Every error names ``file:line``.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from isoglot.errors import InputError, reason
from isoglot.formats.cells import cell_fields, first_row
from isoglot.formats.line_files import (
    CHUNK_LINES,
    LineFile,
    Meter,
    bar_fields,
    blocks,
    csv_rows,
    decode_lines,
    each,
    empty,
    filled_lines,
    lexicon_entries,
)
from isoglot.formats.records import (
    Chunk,
    Fields,
    Records,
    assemble,
    from_rows,
    language_columns,
    plan_columns,
)
from isoglot.formats.sources import LANGUAGES, Kind, Source, expand
from isoglot.formats.tmx import tmx_chunks, tmx_fields
from isoglot.formats.treebanks import tree_fields
from isoglot.runs.records import parse_object


@dataclass
class Reader:
    """How one format is read: cut into chunks, and a chunk parsed into the fields of rows."""

    chunks: Callable[[Source, Kind, Meter | None], Iterator[Chunk]]
    fields: Callable[[Source, Kind, Chunk], Fields]

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """The rows of one chunk."""
        return assemble(kind, self.fields(source, kind, chunk), source, incomplete=chunk.incomplete)


def _line_chunks(source: Source, kind: Kind, meter: Meter | None) -> Iterator[Chunk]:
    """Equal numbers of lines of every file; of a table with a header its names too."""
    names, width = None, 0
    with ExitStack() as stack:
        files = [stack.enter_context(LineFile(path, meter)) for path in source.files()]
        if source.header and source.format == "tsv":
            head, _ = files[0].take(1)
            names = decode_lines(head, source.path, 1)[0].split("\t") if head else None
        while True:
            first = files[0].lines + 1
            data, count = files[0].take()
            rest = [f.take(count, size=None) if count else f.take(1) for f in files[1:]]
            if any(n != count for _, n in rest):
                raise _unequal(files)
            if not count:
                break
            if source.format == "tsv" and names is None and not width:
                width = first_row(source, kind, _first_cells(data, first))
            yield Chunk(first, [data, *(d for d, _ in rest)], names, width=width)
        header = names is not None
        if files[0].lines <= int(header):
            raise empty(source.path, header=header)


def _first_cells(data: bytes, first: int) -> Iterator[tuple[int, list[str]]]:
    """The cells of the first lines, of which some may not be UTF-8."""
    for number, line in enumerate(data.split(b"\n"), first):
        text = line.decode("utf-8", errors="replace").removeprefix("\ufeff").removesuffix("\r")
        yield number, text.split("\t")


def _jsonl_chunks(source: Source, kind: Kind, meter: Meter | None) -> Iterator[Chunk]:
    """Lines, and the names in the first object: which column is which is the same for all chunks."""
    names: list[str] = []
    for chunk in _line_chunks(source, kind, meter):
        if not names:
            (lines,), numbers = _decoded(source, chunk)
            full = filled_lines(zip(numbers, lines, strict=True))
            names = next((list(parse_object(t, path=source.path, line=n)) for n, t in full), [])
        yield replace(chunk, names=names)


def _unequal(files: list[LineFile]) -> InputError:
    """The error for files of different lengths."""
    shortest, longest = (choose(files, key=lambda f: f.lines) for choose in (min, max))
    return InputError(
        f"the file ends here, but {longest.path} continues; find where the files diverge, or download them again",
        path=shortest.path,
        line=shortest.lines + 1,
    )


def _block_chunks(source: Source, kind: Kind, meter: Meter | None) -> Iterator[Chunk]:
    """Whole documents or trees, which blank lines separate."""
    with LineFile(source.path, meter) as file:
        for first, data in file.blocks():
            yield Chunk(first, [data])


def _text_chunks(source: Source, kind: Kind, meter: Meter | None) -> Iterator[Chunk]:
    return (_block_chunks if source.documents else _line_chunks)(source, kind, meter)


def _csv_chunks(source: Source, kind: Kind, meter: Meter | None) -> Iterator[Chunk]:
    """Parsed rows, since only parsing tells where a row ends."""
    with LineFile(source.path, meter) as file:
        lines = (line for first, data in file.chunks() for line in decode_lines(data, file.path, first))
        rows = csv_rows(source.path, lines)
        names = next(rows)[1] if source.header else None
        first = width = 0
        while chunk := list(islice(rows, CHUNK_LINES)):
            first = chunk[0][0]
            if names is None and not width:
                width = first_row(source, kind, chunk)
            yield Chunk(first, chunk, names, width=width)
        if not first:
            raise empty(source.path, header=source.header)


def _parquet_chunks(
    source: Source, kind: Kind, meter: Meter | None, *, whole: bool = False
) -> Iterator[Chunk]:
    """Batches of the columns that are asked for, or with ``whole`` of all; errors give the row for the line."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and no other format needs it
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        # Arrow's own handle: a thread of Arrow frees a Python one, perhaps after the interpreter's end, which aborts
        with pa.OSFile(source.path) as handle, pq.ParquetFile(handle) as file:
            names = file.schema_arrow.names
            selected = names if whole else wanted_columns(source, kind, names)
            yield from _numbered(
                source, names, file.iter_batches(CHUNK_LINES, columns=selected, use_threads=False)
            )
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"cannot be read as Parquet ({error}); write it again", path=source.path) from error


def _huggingface_chunks(
    source: Source, kind: Kind, meter: Meter | None, *, whole: bool = False
) -> Iterator[Chunk]:
    """Batches of a data set of the hub, streamed, or of a folder that ``save_to_disk`` wrote."""
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
        if (first := next(tables, None)) is None:
            raise empty(source.path)
        columns = first.column_names if whole else wanted_columns(source, kind, first.column_names)
        yield from _numbered(
            source, first.column_names, (table.select(columns) for table in chain([first], tables))
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"was read as a data set, but one of its files cannot be read ({reason(error)}); fix that file",
            path=source.path,
        ) from error


def wanted_columns(source: Source, kind: Kind, names: list[str]) -> list[str]:
    """The columns of a table that rows are made of."""
    plan = plan_columns(source, kind, names=names)
    labels = {name for _, name in language_columns(source, kind, names)}
    return sorted(labels | {c if c in names else c.split(".")[0] for c in map(str, plan.values())})


def _numbered(source: Source, names: list[str], tables: Iterable[Any]) -> Iterator[Chunk]:
    row = 1
    for table in tables:
        yield Chunk(row, table, names)
        row += table.num_rows
    if row == 1:
        raise empty(source.path)


def _decoded(source: Source, chunk: Chunk) -> tuple[list[list[str]], range]:
    """The lines of every file, and their numbers."""
    texts = [
        decode_lines(data, path, chunk.first_line)
        for data, path in zip(chunk.payload, source.files(), strict=True)
    ]
    return texts, range(chunk.first_line, chunk.first_line + len(texts[0]))


def _text_fields(source: Source, kind: Kind, chunk: Chunk) -> Fields:
    """Lines, or documents with their inner line ends kept."""
    (lines,), numbers = _decoded(source, chunk)
    if not source.documents:
        return {"text": lines}, numbers
    sentences = list(blocks(zip(numbers, lines, strict=True)))
    texts = ["\n".join(line for _, line in block) for block in sentences]
    return {"text": texts}, [block[0][0] for block in sentences]


def _moses_fields(source: Source, kind: Kind, chunk: Chunk) -> Fields:
    texts, numbers = _decoded(source, chunk)
    return dict(zip(("source", "target", "links"), texts, strict=False)), numbers


def _bars_fields(source: Source, kind: Kind, chunk: Chunk) -> Fields:
    """`source ||| target` lines, as fast_align and awesome-align read them; links in a third field or a file beside."""
    (lines, *beside), numbers = _decoded(source, chunk)
    needed = (3,) if kind == "aligned" and not beside else (2, 3)

    def split(line: str) -> list[str]:
        parts = bar_fields(line)
        if len(parts) not in needed:
            links = " ||| 0-0 1-2" if needed[0] == 3 else ""
            raise InputError(
                f"{len(parts)} fields, but {needed[0]} are needed: `source ||| target{links}`; fix the line"
            )
        return parts

    rows = each(split, zip(numbers, lines, strict=True), source.path)
    links = beside[0] if beside else [row[2] for row in rows] if needed == (3,) else []
    more = [dict(zip(("links",), row[2:], strict=False)) for row in rows]
    sides = {"source": [row[0] for row in rows], "target": [row[1] for row in rows]}
    return {**sides, "links": links, "more": more}, numbers


def _lexicon_fields(source: Source, kind: Kind, chunk: Chunk) -> Fields:
    """Two entries a line."""
    (lines,), numbers = _decoded(source, chunk)

    def split(line: str) -> list[str]:
        parts = lexicon_entries(line)
        if len(parts) not in (0, 2):
            raise InputError(
                f"{len(parts)} entries, but two are needed: fix the line, put a tab between them, or set format: tsv"
            )
        return parts or ["", ""]

    rows = each(split, zip(numbers, lines, strict=True), source.path)
    return {"source": [row[0] for row in rows], "target": [row[1] for row in rows]}, numbers


def _tsv_fields(source: Source, kind: Kind, chunk: Chunk, *, whole: bool = False) -> Fields:
    (lines,), numbers = _decoded(source, chunk)
    rows = [line.split("\t") for line in lines]
    return cell_fields(source, kind, chunk.names, chunk.width, rows, numbers, whole=whole)


def _csv_fields(source: Source, kind: Kind, chunk: Chunk, *, whole: bool = False) -> Fields:
    numbers, rows = zip(*chunk.payload, strict=True)
    return cell_fields(source, kind, chunk.names, chunk.width, list(rows), numbers, whole=whole)


def _jsonl_fields(source: Source, kind: Kind, chunk: Chunk, *, whole: bool = False) -> Fields:
    """Rows of the fields that are asked for; blank lines are passed over."""
    (lines,), numbers = _decoded(source, chunk)
    full = list(filled_lines(zip(numbers, lines, strict=True)))
    if not full:
        return {role: [] for role in ("text", "source", "target", "links")}, []
    rows = each(parse_object, full, source.path)
    return from_rows(rows, [number for number, _ in full], chunk.names or (), source, kind, whole=whole)


def _table_fields(source: Source, kind: Kind, chunk: Chunk, *, whole: bool = False) -> Fields:
    rows = chunk.payload.to_pylist()
    numbers = range(chunk.first_line, chunk.first_line + len(rows))
    return from_rows(rows, numbers, chunk.names or (), source, kind, whole=whole)


READERS: dict[str, Reader] = {
    "moses": Reader(_line_chunks, _moses_fields),
    "bars": Reader(_line_chunks, _bars_fields),
    "tsv": Reader(_line_chunks, _tsv_fields),
    "csv": Reader(_csv_chunks, _csv_fields),
    "jsonl": Reader(_jsonl_chunks, _jsonl_fields),
    "parquet": Reader(_parquet_chunks, _table_fields),
    "huggingface": Reader(_huggingface_chunks, _table_fields),
    "tmx": Reader(tmx_chunks, tmx_fields),
    "text": Reader(_text_chunks, _text_fields),
    "lexicon": Reader(_line_chunks, _lexicon_fields),
    "conllu": Reader(_block_chunks, tree_fields),
}
"""Every format that can be read, by name."""
PAIR_READERS = {
    **READERS,
    "tsv": Reader(_line_chunks, partial(_tsv_fields, whole=True)),
    "csv": Reader(_csv_chunks, partial(_csv_fields, whole=True)),
    "jsonl": Reader(_jsonl_chunks, partial(_jsonl_fields, whole=True)),
    "parquet": Reader(partial(_parquet_chunks, whole=True), partial(_table_fields, whole=True)),
    "huggingface": Reader(partial(_huggingface_chunks, whole=True), partial(_table_fields, whole=True)),
}
"""The same, reading all that a row of sentence pairs says."""


def read(source: Source, *, kind: Kind = "bitext") -> Iterator[dict[str, Any]]:
    """Rows of one source, one at a time, in bounded memory, unfiltered.

    Example:
        >>> rows = read(Source(path="-", language="en"), kind="text")
    """
    for complete in expand([source], kind):
        languages = dict(zip(LANGUAGES[kind], complete.languages(kind), strict=True))
        reader = READERS[complete.format or ""]
        for chunk in reader.chunks(complete, kind, None):
            for row in reader.parse(complete, kind, chunk).rows():
                yield {**row, **languages}
