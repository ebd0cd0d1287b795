"""Read every format, in bounded memory.

A format is read in two steps, whose functions :data:`_READERS` names: a source is cut into chunks of a few megabytes,
quickly and in one process; a chunk is parsed into the fields of its rows, in any process. Errors name ``file:line``.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from typing import Any, NamedTuple

from isoglot.core.errors import InputError
from isoglot.formats.arrow_tables import huggingface_chunks, parquet_chunks, table_fields
from isoglot.formats.csv_form import csv_form, csv_rows, warn_of_delimiter
from isoglot.formats.given_row import TableForm
from isoglot.formats.line_files import (
    CHUNK_LINES,
    Chunk,
    Fields,
    LineFile,
    Meter,
    bar_fields,
    blocks,
    decode_lines,
    each,
    empty_file,
    filled_lines,
    lexicon_entries,
)
from isoglot.formats.links import LINK_ITEM
from isoglot.formats.records import Records, assemble
from isoglot.formats.row_fields import REMEDY, cell_fields, from_rows, with_blank_rows
from isoglot.formats.sentence_pair import SentencePair, take_row_values, text_and_words
from isoglot.formats.sources import LANGUAGES, ROLES, Kind, Source, expand
from isoglot.formats.tmx import tmx_chunks
from isoglot.formats.treebanks import tree_fields
from isoglot.formats.words import is_blank, split_words
from isoglot.runs.json_lines import parse_object


@dataclass(frozen=True)
class Reader:
    """Reads a source, whose format is known: cuts it into chunks, and parses a chunk into the fields of rows.

    Args:
        source: What to read.
        kind: What the rows are read as.
        whole: Read all of each row of sentence pairs: the fields ``cells`` and ``more`` have its other columns, as a
            list and by name, and a list of words may stand for a text.
        incomplete: Units of TMX that lack a language are rows too, without that side.
    """

    source: Source
    kind: Kind = "bitext"
    whole: bool = False
    incomplete: bool = False

    def chunks(self, meter: Meter | None = None) -> Iterator[Chunk]:
        """Cut the source into chunks; ``meter`` receives the bytes read."""
        cut_into_chunks, _ = _READERS[self.source.format or ""]
        return cut_into_chunks(self, meter)

    def fields(self, chunk: Chunk) -> Fields:
        """Parse a chunk into the fields of its rows; problems of rows are collected, and not raised."""
        _, parse_chunk = _READERS[self.source.format or ""]
        return parse_chunk(self, chunk)

    def parse(self, chunk: Chunk) -> Records:
        """Parse a chunk into the columns of a corpus; the first problem of a row is raised."""
        fields = self.fields(chunk)
        if fields.problems:
            raise fields.problems[min(fields.problems)]
        return assemble(self.kind, fields, self.source, incomplete=chunk.lacking)


def _line_chunks(reader: Reader, meter: Meter | None) -> Iterator[Chunk]:
    """Cut files into chunks of lines.

    1. A chunk of Moses files has the same lines of each file. Files of different lengths are refused.
    2. A chunk of a table with a header has the names of the header, which is no line of any chunk.
    3. A chunk of a table without a header has its ``width``: the number of cells of the first line that is not blank.
    """
    source = reader.source
    names: list[str] | None = None
    width = 0
    with ExitStack() as stack:
        files = [stack.enter_context(LineFile(path, meter)) for path in source.files()]
        if source.header and source.format == "tsv":
            head, _ = files[0].take(1)
            names = decode_lines(head, source.path, 1)[0].split("\t") if head else None  # 2
        while True:
            first = files[0].lines + 1
            data, count = files[0].take()
            # 1. As many lines of the other files; at the end of the first file, try one more line of each.
            others = [file.take(count, size=None) if count else file.take(1) for file in files[1:]]
            if any(other_count != count for _, other_count in others):
                shortest = min(files, key=lambda file: file.lines)
                longest = max(files, key=lambda file: file.lines)
                raise InputError(
                    f"the file ends here, but {longest.path} continues; find where the files diverge, or download "
                    "them again",
                    path=shortest.path,
                    line=shortest.lines + 1,
                )
            if not count:
                break
            if source.format == "tsv" and names is None and not width:  # 3
                lines = (line.decode("utf-8", errors="replace") for line in data.split(b"\n"))
                width = next((line.count("\t") + 1 for line in lines if not is_blank(line)), 0)
            payload = [data, *(other_data for other_data, _ in others)]
            yield Chunk(first, payload, names, width=width, paused=files[0].paused)
        has_header = names is not None
        if files[0].lines <= int(has_header):
            raise empty_file(source.path, header=has_header)


def _jsonl_chunks(reader: Reader, meter: Meter | None) -> Iterator[Chunk]:
    """Cut a file into chunks of lines, each with the names in the first object, which choose the columns of all."""
    names: list[str] = []
    for chunk in _line_chunks(reader, meter):
        if not names:
            (lines,), numbers = _decoded(reader, chunk)
            for number, text in filled_lines(zip(numbers, lines, strict=True)):
                names = list(parse_object(text, path=reader.source.path, line=number))
                break
        yield replace(chunk, names=names)


def _block_chunks(reader: Reader, meter: Meter | None) -> Iterator[Chunk]:
    """Cut documents and trees into chunks that end at a blank line; other text is cut at any line."""
    if reader.source.format == "text" and not reader.source.documents:
        yield from _line_chunks(reader, meter)
        return
    with LineFile(reader.source.path, meter) as file:
        for first, data in file.chunks_of_blocks():
            yield Chunk(first, [data])


def _csv_chunks(reader: Reader, meter: Meter | None) -> Iterator[Chunk]:
    """Cut a file into chunks of parsed rows: a quoted cell may hold line ends, so only parsing tells where a row ends.

    Quotes are those of RFC 4180: a cell in quotes may hold delimiters, line ends, and quotes that are doubled.
    """
    source, roles = reader.source, ROLES[reader.kind]
    with LineFile(source.path, meter) as file:
        chunks = (decode_lines(data, file.path, first, keep_returns=True) for first, data in file.chunks())
        head = next(chunks, [])  # the first lines show the form of the file
        form, skipped = csv_form(source.path, head, source.delimiter, len(roles))
        warn_of_delimiter(source.path, form.delimiter, "; [[delimiter]] names another one")
        if head and form.preamble:
            head[0] = head[0].removeprefix("\ufeff")
        lines = chain(head[skipped:], chain.from_iterable(chunks))
        rows = csv_rows(source.path, lines, form.delimiter, line=skipped + 1)
        names: list[str] | None = None
        if source.header:
            _, names = next(rows, (0, []))
        first = width = 0
        while chunk := list(islice(rows, CHUNK_LINES)):
            first = chunk[0][0]
            if names is None and not width:
                # As in _line_chunks, the first row that is not blank says how many cells all have.
                filled = ((number, len(row)) for number, row in chunk if not all(map(is_blank, row)))
                line, width = next(filled, (0, 0))
                # With more columns than roles, the user must say which ones are meant. One column alone means another
                # delimiter or no CSV at all; cell_fields says so for each line.
                if not source.columns and width not in (0, 1, len(roles)):
                    by_number = " ".join(f"[[columns={{'{role}': {i}}}]]" for i, role in enumerate(roles))
                    raise InputError(
                        f"{width} columns, but {len(roles)} are read ({', '.join(roles)}); {REMEDY['csv']}, or name "
                        f"the columns ({by_number}; [[header=True]] if this line names them)",
                        path=source.path,
                        line=line,
                    )
            yield Chunk(first, chunk, names, width=width, form=form)
        if not first:
            raise empty_file(source.path, header=source.header)


def _decoded(
    reader: Reader, chunk: Chunk, problems: dict[int, InputError] | None = None
) -> tuple[list[list[str]], range]:
    """Decode the lines of every file of a chunk; return them with their numbers, which all files share."""
    texts = [
        decode_lines(data, path, chunk.first_line, problems)
        for data, path in zip(chunk.payload, reader.source.files(), strict=True)
    ]
    return texts, range(chunk.first_line, chunk.first_line + len(texts[0]))


def _text_fields(reader: Reader, chunk: Chunk) -> Fields:
    """Read each line as a text; or each document, between blank lines, with its inner line ends."""
    (lines,), numbers = _decoded(reader, chunk)
    if not reader.source.documents:
        return Fields({"text": lines}, numbers)
    documents = list(blocks(zip(numbers, lines, strict=True)))
    texts = ["\n".join(line for _, line in block) for block in documents]
    return Fields({"text": texts}, [block[0][0] for block in documents])


def _moses_fields(reader: Reader, chunk: Chunk) -> Fields:
    """Read line i of every file as row i: the source, the target and, if there is such a file, the links."""
    problems: dict[int, InputError] = {}
    texts, numbers = _decoded(reader, chunk, problems)
    return Fields(dict(zip(("source", "target", "links"), texts, strict=False)), numbers, problems)


def _bars_fields(reader: Reader, chunk: Chunk) -> Fields:
    """Read ``source ||| target`` lines, as fast_align and awesome-align do.

    Links are in a third field (``the house ||| das Haus ||| 0-0 1-1``) or in a file beside.

    1. A line with as many fields as are read is a row.
    2. A third field may also be there if only two are read, and is kept in ``more``, if it has links.
    3. Any other line is a problem, a blank one too. Its row is empty, or has the first two fields of a line with more.
    """
    problems: dict[int, InputError] = {}
    (lines, *files_beside), numbers = _decoded(reader, chunk, problems)
    needs_links = reader.kind == "aligned" and not files_beside
    wanted = 3 if needs_links else 2
    form = "`source ||| target ||| 0-0 1-2`" if needs_links else "`source ||| target`"
    rows = list(map(bar_fields, lines))
    for index, row in enumerate(rows):
        if len(row) == wanted:
            continue  # 1
        if len(row) == 3 and all(map(LINK_ITEM.fullmatch, split_words(row[2], mode="whitespace"))):
            continue  # 2
        if len(row) > 2:
            problem = f"has more than two sentences, but {form} is needed; fix the line"
        elif needs_links and len(row) == 2:
            problem = f"has no links, but {form} is needed; fix the line"
        else:
            problem = f"no '|||' between two sentences, but {form} is needed; fix the line"
        line = numbers[index]
        # A line that is not UTF-8 has a problem already.
        problems.setdefault(line, InputError(problem, path=reader.source.path, line=line))
        rows[index] = row[:2] if len(row) > 2 else ["", ""]  # 3
    values: dict[str, list[Any]] = {"source": [row[0] for row in rows], "target": [row[1] for row in rows]}
    links = [row[2] if len(row) > 2 else None for row in rows]
    values["links"] = files_beside[0] if files_beside else [item or "" for item in links]
    if reader.whole:
        values["more"] = [{} if item is None else {"links": item} for item in links]
    return Fields(values, numbers, problems)


def _lexicon_fields(reader: Reader, chunk: Chunk) -> Fields:
    """Read two entries per line, as in MUSE's dictionaries."""
    (lines,), numbers = _decoded(reader, chunk)
    rows = [lexicon_entries(line) or ["", ""] for line in lines]
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != 2:
            problem = (
                f"{len(row)} entries, but two are needed: fix it, put a tab between them, or set format: tsv"
            )
            raise InputError(problem, path=reader.source.path, line=number)
    return Fields({"source": [row[0] for row in rows], "target": [row[1] for row in rows]}, numbers)


def _table_cells(reader: Reader, chunk: Chunk) -> Fields:
    """Read rows of TSV, whose cells end at each tab, or of CSV, whose rows have been parsed."""
    source, fields = reader.source, Fields({}, [])
    rows: list[list[str]]
    if source.format == "csv":
        fields.lines = [line for line, _ in chunk.payload]
        rows = [row for _, row in chunk.payload]
    else:
        (lines,), fields.lines = _decoded(reader, chunk, fields.problems)
        rows = [line.split("\t") for line in lines]
    form = replace(chunk.form or TableForm(), names=None if chunk.names is None else tuple(chunk.names))
    return cell_fields(
        source, reader.kind, chunk.names, chunk.width, rows, fields, form=form if reader.whole else None
    )


def _jsonl_fields(reader: Reader, chunk: Chunk) -> Fields:
    """Read an object per line. Blank lines are skipped; where rows are read whole, they are empty rows."""
    (lines,), numbers = _decoded(reader, chunk)
    filled = list(filled_lines(zip(numbers, lines, strict=True)))
    rows = each(parse_object, filled, reader.source.path)
    fields = Fields({role: [] for role in ("text", "source", "target", "links", "more")}, [])
    if filled:
        filled_numbers = [number for number, _ in filled]
        fields = from_rows(
            rows, filled_numbers, chunk.names or (), reader.source, reader.kind, whole=reader.whole
        )
    if reader.whole and len(filled) < len(lines):
        fields = with_blank_rows(fields, numbers)
    return fields


def _tmx_chunks(reader: Reader, meter: Meter | None) -> Iterator[Chunk]:
    whole, incomplete, languages = reader.whole, reader.incomplete, reader.source.languages("bitext")
    return tmx_chunks(reader.source.path, languages, meter, whole=whole, incomplete=incomplete)


def _arrow_chunks(reader: Reader, meter: Meter | None) -> Iterator[Chunk]:
    chunks = parquet_chunks if reader.source.format == "parquet" else huggingface_chunks
    return chunks(reader.source, reader.kind, whole=reader.whole)


def _arrow_fields(reader: Reader, chunk: Chunk) -> Fields:
    return table_fields(reader.source, reader.kind, chunk, whole=reader.whole)


def _tmx_fields(reader: Reader, chunk: Chunk) -> Fields:
    """Read pairs of units; ``more`` has ``id`` (``tuid``), inline tags, notes, properties and attributes."""
    names = ("source", "target", "more", "unit")
    values = {name: [getattr(row, name) for row in chunk.payload] for name in names}
    return Fields(values, [row.line for row in chunk.payload])


_CutIntoChunks = Callable[[Reader, Meter | None], Iterator[Chunk]]
_ParseChunk = Callable[[Reader, Chunk], Fields]
_READERS: dict[str, tuple[_CutIntoChunks, _ParseChunk]] = {
    "moses": (_line_chunks, _moses_fields),
    "bars": (_line_chunks, _bars_fields),
    "tsv": (_line_chunks, _table_cells),
    "csv": (_csv_chunks, _table_cells),
    "jsonl": (_jsonl_chunks, _jsonl_fields),
    "parquet": (_arrow_chunks, _arrow_fields),
    "huggingface": (_arrow_chunks, _arrow_fields),
    "tmx": (_tmx_chunks, _tmx_fields),
    "text": (_block_chunks, _text_fields),
    "lexicon": (_line_chunks, _lexicon_fields),
    "conllu": (_block_chunks, lambda reader, chunk: tree_fields(reader.source.path, chunk)),
}
"""For each format, the function that cuts a source into chunks, and the one that parses a chunk."""


def read(source: Source, *, kind: Kind = "bitext") -> Iterator[dict[str, Any]]:
    """Read the rows of one source, one at a time, unfiltered, in bounded memory."""
    for complete in expand([source], kind):
        languages = dict(zip(LANGUAGES[kind], complete.languages(kind), strict=True))
        reader = Reader(complete, kind)
        for chunk in reader.chunks():
            for row in reader.parse(chunk).rows():
                yield {**row, **languages}


class PairRead(NamedTuple):
    """The pair of a row, and the problem if the row, or a part of it, could not be read."""

    pair: SentencePair
    problem: InputError | None = None


def source_pairs(
    source: Source,
    *,
    incomplete: bool = False,
    tell_paused: Callable[[bool], None] = lambda paused: None,
) -> Iterator[PairRead]:
    """Read the pairs of a raw source, in bounded memory, each with the problem of its line, if there is one.

    The pair of a line with a problem has the sides that could be read, perhaps none.

    ``incomplete``: Units of TMX that lack a language are pairs too, without that side.
    ``tell_paused``: Called before each pair; receives whether no more input is waiting behind it.
    """
    reader = Reader(source, whole=True, incomplete=incomplete)
    source_language, target_language = source.languages("bitext")
    line = 0
    all_unread = True  # no line could be read so far
    for chunk in reader.chunks():
        fields = reader.fields(chunk)
        last = fields.lines[-1] if chunk.paused and len(fields.lines) else None
        # The fields in the order of the loop, and the values of a field that the format does not have.
        defaults: dict[str, Any] = {
            "source": (),
            "target": (),
            "more": repeat({}),
            "cells": repeat(()),
            "given": repeat(None),
            "unit": repeat(None),
        }
        columns: Iterable[Any] = (fields.values.get(name, default) for name, default in defaults.items())
        for line, first, second, more, cells, given, unit in zip(fields.lines, *columns, strict=False):
            pair = SentencePair((first, second), languages=(source_language, target_language))
            pair.path, pair.line, pair.given, pair.unit = source.path, line, given, unit
            if not (isinstance(first, str) and isinstance(second, str)):
                # One side, or both, may be a list of words.
                source_text, source_words = text_and_words(first)
                target_text, target_words = text_and_words(second)
                pair.texts, pair.words = (source_text, target_text), (source_words, target_words)
            if more:
                take_row_values(pair, dict(more))
            elif cells:
                pair.more = {"columns": cells}
            problem = fields.problems.get(line)
            all_unread = all_unread and problem is not None and not any(pair.texts)
            tell_paused(line == last)
            yield PairRead(pair, problem)
    if line and all_unread:
        separator = {"bars": "|||", "tsv": "\t"}.get(source.format or "", ",")
        raise InputError(
            f"no line has {separator!r} between two sentences; give a second file, or name the [[input_format]]",
            path=source.path,
            line=1,
        )
