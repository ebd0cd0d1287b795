"""Readers: one for each format, all streamed.

A reader works in two steps. :meth:`Reader.chunks` cuts a source into pieces of a few megabytes, which is quick and runs
in one process; :meth:`Reader.parse` turns one piece into rows, and can run in any process. Every error names
``file:line``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from isoglot.corpus.read.line_files import ByteCounter, LineFile, blocks, decode_lines, empty
from isoglot.corpus.read.records import Chunk, Records, assemble, pick, plan_columns
from isoglot.corpus.read.sources import Kind, Source, expand
from isoglot.corpus.read.tables import CsvReader, HuggingFaceReader, ParquetReader
from isoglot.corpus.read.tmx import TmxReader
from isoglot.corpus.read.treebanks import ConlluReader
from isoglot.errors import InputError
from isoglot.runs.records import parse_object


class Reader(Protocol):
    """How one format is read."""

    def chunks(self, source: Source, kind: Kind, meter: ByteCounter | None = None) -> Iterator[Chunk]:
        """Pieces of the source, in order."""
        ...

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """The rows of one piece."""
        ...


class MosesReader:
    """Two files, line i of one being the translation of line i of the other; a third may hold word links."""

    def chunks(self, source: Source, kind: Kind, meter: ByteCounter | None = None) -> Iterator[Chunk]:
        """Equal numbers of lines of every file."""
        names = source.files()
        files: list[LineFile] = []
        try:
            files.extend(LineFile(p, meter) for p in names)
            while True:
                first = files[0].lines + 1
                data, count = files[0].take()
                others = [f.take(count, size=None) if count else f.take(1) for f in files[1:]]
                if any(n != count for _, n in others):
                    raise _unequal(files)
                if not count:
                    break
                yield Chunk(first, (data, *(d for d, _ in others)))
            if not files[0].lines:
                raise empty(names[0])
        finally:
            for file in files:
                file.__exit__()

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """Rows of equal line numbers."""
        texts = [
            decode_lines(d, p, chunk.first_line) for d, p in zip(chunk.payload, source.files(), strict=True)
        ]
        fields = dict(zip(("source", "target", "links"), texts, strict=False))
        lines = range(chunk.first_line, chunk.first_line + len(texts[0]))
        return assemble(kind, fields, source, path=source.files()[-1], lines=lines)


class _LineReader:
    """Formats with one row a line."""

    def chunks(self, source: Source, kind: Kind, meter: ByteCounter | None = None) -> Iterator[Chunk]:
        """Whole lines."""
        with LineFile(source.path, meter) as file:
            for first, data in file.chunks():
                yield Chunk(first, data)


class TextReader(_LineReader):
    """Plain text: a row is a line, or a document between blank lines."""

    def chunks(self, source: Source, kind: Kind, meter: ByteCounter | None = None) -> Iterator[Chunk]:
        """Whole lines, or whole documents."""
        if not source.documents:
            yield from super().chunks(source, kind, meter)
            return
        with LineFile(source.path, meter) as file:
            for first, data in file.blocks():
                yield Chunk(first, data)

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """Lines, or documents with their inner line ends kept."""
        lines = decode_lines(chunk.payload, source.path, chunk.first_line)
        if not source.documents:
            return Records({"text": lines})
        found = blocks(enumerate(lines, chunk.first_line))
        return Records({"text": ["\n".join(line for _, line in block) for block in found]})


class TsvReader(_LineReader):
    """Tab-separated fields without quoting; a blank line is an empty row."""

    def chunks(self, source: Source, kind: Kind, meter: ByteCounter | None = None) -> Iterator[Chunk]:
        """Whole lines and the plan of the columns."""
        with LineFile(source.path, meter) as file:
            names: list[str] | None = None
            if source.header:
                head, count = file.take(1)
                if not count:
                    raise empty(source.path)
                names = decode_lines(head, source.path, 1)[0].split("\t")
            plan = plan_columns(source, kind, names=names, path=source.path)
            columns = {r: names.index(c) if names and isinstance(c, str) else int(c) for r, c in plan.items()}
            for first, data in file.chunks():
                yield Chunk(first, (data, columns))

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """Rows of the columns that are asked for."""
        data, columns = chunk.payload
        lines = decode_lines(data, source.path, chunk.first_line)
        widest = max(columns.values())
        rows = []
        for number, line in enumerate(lines, chunk.first_line):
            row = line.split("\t")
            if len(row) <= widest:
                if line.strip():
                    role = next(r for r, c in columns.items() if c >= len(row))
                    raise InputError(
                        f"{len(row)} columns, but column {columns[role]} (counted from 0) is needed for the {role}; "
                        f"fix the line, or set columns: {{{role}: NUMBER}} (--column {role}=NUMBER)",
                        path=source.path,
                        line=number,
                    )
                row = [""] * (widest + 1)
            rows.append(row)
        fields: dict[str, list[Any]] = {role: [row[c] for row in rows] for role, c in columns.items()}
        numbers = range(chunk.first_line, chunk.first_line + len(rows))
        return assemble(kind, fields, source, path=source.path, lines=numbers)


class JsonlReader(_LineReader):
    """One JSON object a line."""

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """Rows of the fields that are asked for; blank lines are passed over."""
        lines = decode_lines(chunk.payload, source.path, chunk.first_line)
        records, numbers = [], []
        for number, line in enumerate(lines, chunk.first_line):
            if not line.strip():
                continue
            records.append(parse_object(line, path=source.path, line=number))
            numbers.append(number)
        if not records:
            return assemble(
                kind, {r: [] for r in ("source", "target", "links", "text")}, source, path="", lines=[]
            )
        plan = plan_columns(source, kind, names=list(records[0]), path=source.path, line=numbers[0])
        fields = {
            role: [pick(r, c, path=source.path, line=n) for r, n in zip(records, numbers, strict=True)]
            for role, c in plan.items()
        }
        return assemble(kind, fields, source, path=source.path, lines=numbers)


class LexiconReader(_LineReader):
    """Dictionary entries as MUSE writes them: two columns, by a tab or by blanks."""

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """Entries; only a tab allows entries of several words."""
        lines = decode_lines(chunk.payload, source.path, chunk.first_line)
        fields: dict[str, list[Any]] = {"source": [], "target": []}
        for number, line in enumerate(lines, chunk.first_line):
            parts = line.split("\t") if "\t" in line else line.split()
            if not parts:
                parts = ["", ""]
            if len(parts) != 2:
                raise InputError(
                    f"{len(parts)} entries, and two are needed, a tab or blank between them (a tab if an entry has "
                    "several words): fix the line, or set format: tsv for more columns",
                    path=source.path,
                    line=number,
                )
            fields["source"].append(parts[0])
            fields["target"].append(parts[1])
        numbers = range(chunk.first_line, chunk.first_line + len(lines))
        return assemble(kind, fields, source, path=source.path, lines=numbers)


class BarsReader(MosesReader):
    """`source ||| target` lines, as fast_align and awesome-align read them; links in a third field or a file beside."""

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """Rows of the fields between the bars."""
        lines = decode_lines(chunk.payload[0], source.path, chunk.first_line)
        beside = None
        if source.links_path is not None:
            beside = decode_lines(chunk.payload[1], source.links_path, chunk.first_line)
        needed = (3,) if kind == "aligned" and beside is None else (2, 3)
        fields: dict[str, list[Any]] = {"source": [], "target": [], "links": beside or []}
        for number, line in enumerate(lines, chunk.first_line):
            parts = [p.strip() for p in line.split("|||")]
            if len(parts) not in needed:
                raise InputError(
                    f"{len(parts)} fields, and {needed[0]} are needed: `source ||| target"
                    f"{' ||| 0-0 1-2' if needed[0] == 3 else ''}`; fix the line",
                    path=source.path,
                    line=number,
                )
            fields["source"].append(parts[0])
            fields["target"].append(parts[1])
            if beside is None and kind == "aligned":
                fields["links"].append(parts[2])
        numbers = range(chunk.first_line, chunk.first_line + len(lines))
        return assemble(kind, fields, source, path=source.links_path or source.path, lines=numbers)


def _unequal(files: list[LineFile]) -> InputError:
    """The error for files of different lengths; reads them to their ends to say how long each is."""
    for file in files:
        file.count_rest()
    shortest = min(files, key=lambda f: f.lines)
    longest = max(files, key=lambda f: f.lines)
    counts = ", ".join(f"{f.path} has {f.lines}" for f in files)
    return InputError(
        f"no line here, but {longest.path} goes on ({counts} lines); the files must have a line each for every pair: "
        "find where they part, or fetch both again",
        path=shortest.path,
        line=shortest.lines + 1,
    )


READERS: dict[str, Reader] = {
    "moses": MosesReader(),
    "bars": BarsReader(),
    "tsv": TsvReader(),
    "csv": CsvReader(),
    "jsonl": JsonlReader(),
    "parquet": ParquetReader(),
    "huggingface": HuggingFaceReader(),
    "tmx": TmxReader(),
    "text": TextReader(),
    "lexicon": LexiconReader(),
    "conllu": ConlluReader(),
}
"""Every format that can be read, by name."""


def read(source: Source, *, kind: Kind = "bitext") -> Iterator[dict[str, Any]]:
    """Rows of one source, one at a time, in bounded memory, unfiltered.

    Example:
        >>> rows = read(Source(path="-", language="en"), kind="text")
    """
    for complete in expand([source], kind):
        names = ("language",) if kind in ("text", "treebank") else ("source_language", "target_language")
        languages = dict(zip(names, complete.languages(kind), strict=True))
        reader = READERS[complete.format or ""]
        for chunk in reader.chunks(complete, kind):
            for row in reader.parse(complete, kind, chunk).rows():
                yield {**row, **languages}
