"""CoNLL-U treebanks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import conllu
from conllu.exceptions import ParseException

from isoglot.checks import is_number
from isoglot.corpus.read.line_files import ByteCounter, LineFile, decode_lines
from isoglot.corpus.read.records import Chunk, Records, assemble
from isoglot.corpus.read.sources import Kind, Source
from isoglot.errors import InputError

__all__ = ["ConlluReader"]

_COLUMNS = 10
_FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel")


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
        block: list[str] = []
        numbers: list[int] = []
        for number, line in enumerate([*lines, ""], chunk.first_line):
            if line.strip():
                block.append(line)
                continue
            if any(not b.startswith("#") for b in block):
                numbers.append(number - len(block))
                for name, value in _tree(block, source.path, numbers[-1]).items():
                    fields[name].append(value)
            block = []
        return assemble(kind, fields, source, path=source.path, lines=numbers)


def _tree(block: list[str], path: str, first_line: int) -> dict[str, list[Any]]:
    """One tree; ``block`` holds its lines without the blank one."""
    where: dict[int, int] = {}
    for number, line in enumerate(block, first_line):
        if line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            raise InputError(
                f"{len(columns)} columns between tabs, CoNLL-U has {_COLUMNS}: fix the line",
                path=path,
                line=number,
            )
        if is_number(columns[0]):
            where[int(columns[0])] = number
        _check_numbers(columns, path, number)
    try:
        tree = conllu.parse("\n".join(block), fields=_FIELDS)[0]
    except (ParseException, IndexError) as error:
        raise InputError(f"this tree is not CoNLL-U ({error}): fix it", path=path, line=first_line) from error
    words = [token for token in tree if isinstance(token["id"], int)]
    if [token["id"] for token in words] != list(range(1, len(words) + 1)):
        raise InputError("the words are not numbered 1, 2, 3, ...: fix this tree", path=path, line=first_line)
    for token in words:
        if not 0 <= token["head"] <= len(words):
            raise InputError(
                f"head {token['head']} is outside the sentence of {len(words)} words: fix the line",
                path=path,
                line=where[token["id"]],
            )
    return {
        "words": [token["form"] for token in words],
        "upos": [token["upos"] or "_" for token in words],
        "heads": [token["head"] for token in words],
        "deprels": [token["deprel"] or "_" for token in words],
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
