"""CoNLL-U treebanks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from isoglot.checks import is_number
from isoglot.corpus.read.line_files import ByteCounter, LineFile, blocks, decode_lines
from isoglot.corpus.read.records import Chunk, Records, assemble
from isoglot.corpus.read.sources import Kind, Source
from isoglot.errors import InputError

_COLUMNS = 10


class ConlluReader:
    """Dependency trees. Multi-word ranges (`1-2`) and empty nodes (`8.1`) are left out."""

    def chunks(self, source: Source, kind: Kind, meter: ByteCounter | None = None) -> Iterator[Chunk]:
        """Whole trees, which blank lines separate."""
        with LineFile(source.path, meter) as file:
            for first, data in file.blocks():
                yield Chunk(first, data)

    def parse(self, source: Source, kind: Kind, chunk: Chunk) -> Records:
        """Trees."""
        lines = decode_lines(chunk.payload, source.path, chunk.first_line)
        fields: dict[str, list[Any]] = {"words": [], "upos": [], "heads": [], "deprels": []}
        numbers: list[int] = []
        for block in blocks(enumerate(lines, chunk.first_line)):
            if all(line.startswith("#") for _, line in block):
                continue
            numbers.append(block[0][0])
            for name, value in _tree(block, source.path).items():
                fields[name].append(value)
        return assemble(kind, fields, source, path=source.path, lines=numbers)


def _tree(block: list[tuple[int, str]], path: str) -> dict[str, list[Any]]:
    """One tree; ``block`` holds its lines with their numbers."""
    words: list[tuple[int, list[str]]] = []
    for number, line in block:
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            raise InputError(
                f"{len(columns)} columns between tabs, CoNLL-U has {_COLUMNS}: fix the line",
                path=path,
                line=number,
            )
        _check_numbers(columns, path, number)
        if is_number(columns[0]):
            words.append((number, columns))
    if [int(columns[0]) for _, columns in words] != list(range(1, len(words) + 1)):
        raise InputError(
            "the words are not numbered 1, 2, 3, ...: fix this tree", path=path, line=block[0][0]
        )
    for number, columns in words:
        if int(columns[6]) > len(words):
            raise InputError(
                f"head {int(columns[6])} is outside the sentence of {len(words)} words: fix the line",
                path=path,
                line=number,
            )
    return {
        "words": [columns[1] for _, columns in words],
        "upos": [columns[3] or "_" for _, columns in words],
        "heads": [int(columns[6]) for _, columns in words],
        "deprels": [columns[7] or "_" for _, columns in words],
    }


def _check_numbers(columns: list[str], path: str, line: int) -> None:
    """Word numbers, ranges and empty nodes have their own shapes; a word's head is a number."""
    name = columns[0]
    parts = name.replace("-", ".").split(".")
    if not all(map(is_number, parts)) or len(parts) > 2:
        raise InputError(
            f"{name!r} is not a number of a word, `1-2` or `8.1`: fix the line", path=path, line=line
        )
    if len(parts) == 1 and not is_number(columns[6]):
        raise InputError(
            f"the head is {columns[6]!r}, and a number of a word (0 for the root) is needed: fix the line",
            path=path,
            line=line,
        )
