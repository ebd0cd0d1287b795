r"""Files as bounded chunks of whole lines of UTF-8, unpacked and converted on the way.

A *block* is the lines between two blank ones: a document, a tree, or a tagged sentence.

Only ``\n`` ends a line (and a ``\r`` before it is dropped): ``str.splitlines`` would also split at U+2028, U+0085 and
form feeds, which stand inside sentences of web corpora and would shift one side of a bitext against the other.
"""

from __future__ import annotations

import codecs
import io
import lzma
import re
import select
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from isoglot.core.errors import InputError
from isoglot.formats.given_row import TableForm
from isoglot.formats.text_encoding import encoding_of, likely_encoding
from isoglot.formats.unpacking import open_bytes
from isoglot.formats.words import is_blank, split_words
from isoglot.runs.json_lines import parse_object

Item = TypeVar("Item")
Parsed = TypeVar("Parsed")

CHUNK_LINES = 16_384
CHUNK_BYTES = 4 << 20
_READ_SIZE = 1 << 20  # bytes that are read at a time
_LONGEST = 64 << 20  # bytes of a line, or of a block, after which the file is no text
_MOMENT = 0.05
"""Seconds without a new byte after which standard input counts as paused."""
_BARS = re.compile(r" ?\|\|\| ?")
_BLANK_LINE = re.compile(rb"\n[^\S\n]*\n")


Meter = list[int]
"""Bytes that have been read of each file, as they lie on disk (packed), for a progress bar."""


@dataclass(frozen=True)
class Chunk:
    """A piece of one source, small enough to hold, that any process can parse by itself."""

    first_line: int  # from 1; number of the first row, where a format has no lines
    # The input of the format's parser: lines of each file as bytes, rows of CSV, pairs of TMX, or an Arrow table.
    payload: Any
    names: Sequence[str] | None = None  # of the columns, where the format has any
    lacking: int = 0  # units of TMX that lack a language, whether they are rows (`Reader.incomplete`) or not
    width: int = 0  # cells of each row of a table without names
    paused: bool = False  # standard input has nothing more to read for now
    form: TableForm | None = None  # how a CSV file is written


@dataclass
class Fields:
    """The raw fields of a chunk by role, and the line of each row."""

    values: dict[str, list[Any]]
    lines: Sequence[int]
    problems: dict[int, InputError] = field(default_factory=dict)
    """The problem of each line that has one; fields that could not be read are empty."""


class LineFile:
    """A file, read in chunks of whole lines. Use as a context manager."""

    def __init__(self, path: str, meter: Meter | None = None) -> None:
        self.path = path
        self.lines = 0
        """Lines handed out so far."""
        self.paused = False
        """Whether the last lines were handed out early because nothing more was waiting."""
        self._meter = meter
        self._number = len(meter or ())  # the place of this file in the meter
        if meter is not None:
            meter.append(0)
        self._carry = b""  # bytes that were read and not handed out: lines that were too many, or half a line
        self._ended = False
        self._encoding = ""
        # Made when the first bytes have shown the encoding.
        self._decoder: codecs.IncrementalDecoder | None = None
        self._stream, self._handle, self._program = open_bytes(path)

    def __enter__(self) -> LineFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self.path != "-":
            self._stream.close()
            self._handle.close()

    def take(self, most: int = CHUNK_LINES, size: int | None = CHUNK_BYTES) -> tuple[bytes, int]:
        r"""Read the next whole lines, at most ``most``; return them and their number, ``(b"", 0)`` at the end.

        ``size``: Stop after about this many bytes; None for exactly ``most`` lines unless the file ends.

        Example:
            A file of ``b"a\nb\nc"``: ``take(2)`` is ``(b"a\nb\n", 2)``, the next one ``(b"c", 1)``, then ``(b"", 0)``.
        """
        # Read bytes until there are enough lines, or enough bytes and at least one line.
        reads = [self._carry]
        total, line_ends = len(self._carry), self._carry.count(b"\n")
        self.paused = False
        while not self._ended and line_ends < most and (size is None or total < size or not line_ends):
            if line_ends and size is not None and self._is_paused():
                self.paused = True
                break
            more = self._read(self.lines + line_ends + 1)
            if not more:
                self._ended = True
            elif not line_ends and total > _LONGEST:
                raise InputError(
                    f"a line of more than {_LONGEST >> 20} MiB; check that this is a text file",
                    path=self.path,
                    line=self.lines + 1,
                )
            reads.append(more)
            total += len(more)
            line_ends += more.count(b"\n")
        # Cut behind the last line that is handed out.
        data = b"".join(reads)
        count, cut = line_ends, data.rfind(b"\n") + 1
        if line_ends > most:
            offsets = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
            count, cut = most, int(offsets[most - 1]) + 1
        elif self._ended and line_ends < most and data and not data.endswith(b"\n"):
            count, cut = line_ends + 1, len(data)  # the last line of a file may lack its end
        self._carry = data[cut:]
        self.lines += count
        return data[:cut], count

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Yield all lines in chunks, each with the number of its first line."""
        while True:
            first = self.lines + 1
            data, count = self.take()
            if not count:
                break
            yield first, data
        if not self.lines:
            raise empty_file(self.path)

    def chunks_of_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield all lines in chunks that end at a blank line, so that no block is cut in two."""
        rest, first = b"", 1  # bytes that are not handed out yet, and the number of their first line
        for start, data in self.chunks():
            rest += data
            last_blank = max((match.end() for match in _BLANK_LINE.finditer(rest)), default=0)
            if last_blank:
                yield first, rest[:last_blank]
                first += rest.count(b"\n", 0, last_blank)
                rest = rest[last_blank:]
            elif len(rest) > _LONGEST:
                raise InputError(
                    f"no blank line in {_LONGEST >> 20} MiB; blank lines must separate blocks here: check the format",
                    path=self.path,
                    line=start,
                )
        if rest:
            yield first, rest

    def _read(self, line: int) -> bytes:
        """Read more bytes, and convert them to UTF-8 from the file's encoding; no bytes mean the end of the file.

        ``line``: The number of the line in which these bytes begin, for messages.
        """
        raw = self._unpacked(line)
        if self._decoder is None:
            # The longest byte order mark has 4 bytes, and a pipe may give fewer at a time.
            while 0 < len(raw) < 4 and (more := self._unpacked(line)):
                raw += more
            try:
                self._encoding = encoding_of(raw, self.path)
            except InputError as error:
                raise error.at(self.path, line) from error.__cause__
            self._decoder = codecs.getincrementaldecoder(self._encoding)()
        # UTF-8 is not decoded here: decode_lines names the line of a wrong byte. In another encoding, the bytes
        # may be half a character, which decodes to nothing; then more is read.
        while self._encoding != "utf-8":
            try:
                data = self._decoder.decode(raw, final=not raw).encode()
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(self._encoding, "ignore").count("\n")
                raise InputError(
                    f"is not valid {self._encoding.upper()} ({error.reason}); save the file as UTF-8",
                    path=self.path,
                    line=line + before,
                ) from error
            if data or not raw:
                return data
            raw = self._unpacked(line)
        return raw

    def _is_paused(self) -> bool:
        """Whether standard input is a pipe or terminal into which nobody has written more for a moment.

        In ``tail -f log | isoglot align -``, the lines so far are handed out then, though a chunk has room for more.
        """
        if self.path != "-" or self._stream is not self._handle:
            return False
        try:
            return not select.select([self._handle], [], [], _MOMENT)[0]
        except (OSError, ValueError):  # standard input that a test or a notebook has replaced
            return False

    def _unpacked(self, line: int) -> bytes:
        """Read some bytes, unpacked; ``line``: The number of the line in which they begin, for messages."""
        try:
            # read1 returns the bytes before a damage; read would raise an error in place of them.
            size = _READ_SIZE if isinstance(self._stream, io.BufferedIOBase) else min(_READ_SIZE, 1 << 16)
            unpacked = cast("bytes", self._stream.read1(size))  # type: ignore[attr-defined]
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            problem = f"cannot be read here ({error}); name a readable file"
            if self._program:
                problem = (
                    f"the compressed file is cut off or damaged here ({error}); check it with "
                    f"`{self._program} -t {self.path}`"
                )
            raise InputError(problem, path=self.path, line=line) from error
        if self._meter is not None and self.path != "-":
            self._meter[self._number] = self._handle.tell()
        return unpacked


def decode_lines(
    data: bytes,
    path: str,
    first_line: int,
    problems: dict[int, InputError] | None = None,
    *,
    keep_returns: bool = False,
) -> list[str]:
    r"""Decode the lines of a chunk, without their ends.

    ``problems``: Receives an error for each line that is not UTF-8, whose bad bytes are replaced; by default the first
    such error is raised.
    ``keep_returns``: Keep the carriage return of ``\r\n``, which may be text in a quoted cell of CSV; and a byte order
    mark.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        # Line by line, to name each bad one.
        for number, line in enumerate(data.split(b"\n"), first_line):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                problem = InputError(
                    f"byte 0x{line[error.start]:02x} is not valid UTF-8 ({error.reason}); "
                    f"`iconv -f {likely_encoding(line)} -t utf-8`",
                    path=path,
                    line=number,
                )
                if problems is None:
                    raise problem from error
                problems[number] = problem
        text = data.decode("utf-8", errors="replace")
    if first_line == 1:
        if b"\r" in data.removesuffix(b"\r") and b"\n" not in data:  # the whole file would count as one line
            raise InputError(
                "lines end in carriage returns, but line feeds are needed; convert it: tr '\\r' '\\n'",
                path=path,
                line=1,
            )
        text = text if keep_returns else text.removeprefix("\ufeff")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if keep_returns or "\r" not in text:
        return lines
    return [line[:-1] if line.endswith("\r") else line for line in lines]


def parsed(
    parse: Callable[[Item], Parsed], items: Iterable[tuple[int | None, Item]], path: str | Path
) -> Iterator[Parsed]:
    """Parse numbered items one by one; the error of an item names its number as the line: ``a.tsv:3: ...``."""
    for number, item in items:
        try:
            yield parse(item)
        except InputError as error:
            raise error.at(path, number) from error.__cause__


def each(
    parse: Callable[[Item], Parsed], items: Iterable[tuple[int, Item]], path: str | Path
) -> list[Parsed]:
    """Parse numbered items as :func:`parsed` does, and return all results."""
    return list(parsed(parse, items, path))


def blocks(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Group numbered lines in blocks: lines that stand between blank ones."""
    block: list[tuple[int, str]] = []
    for number, line in lines:
        if not is_blank(line):
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def empty_file(path: str, *, header: bool = False) -> InputError:
    """Make the error for a file without a line, or without one below its header."""
    where = " below its header" if header else ""
    return InputError(f"the file is empty{where}; at least one line is needed: check it", path=path, line=1)


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the number of each line, from 1, and its text; ``.gz .xz .zst .bz2`` are unpacked."""
    with LineFile(str(path)) as file:
        for first, data in file.chunks():
            yield from enumerate(decode_lines(data, str(path), first), first)


def numbered_objects(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line of JSON, from 1, and its object; blank lines are skipped.

    Raises:
        InputError: A line is not an object, or there is none.
    """
    number = 0
    for number, text in filled_lines(numbered_lines(path)):
        yield number, parse_object(text, path=path, line=number)
    if not number:
        raise empty_file(str(path))


def filled_lines(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The numbered lines that are not blank."""
    return ((number, text) for number, text in lines if not is_blank(text))


def bar_fields(line: str) -> list[str]:
    """The fields of a ``source ||| target`` line; one space on either side of the bars belongs to them."""
    return _BARS.split(line)


def lexicon_entries(line: str) -> list[str]:
    """The entries of a line of a dictionary: between tabs, else between spaces.

    MUSE's dictionaries have both, ``cat Katze`` and ``cat<tab>Katze``. Only a tab allows entries of several words.
    """
    return line.split("\t") if "\t" in line else split_words(line, mode="whitespace")


def jsonl_columns(path: str) -> set[str]:
    """The names in the first object of a file of JSON lines; none if it is not an object."""
    try:
        return set(next(numbered_objects(path))[1])
    except InputError:
        return set()
