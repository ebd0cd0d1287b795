"""Reading the small files of tasks: lines with their numbers, packed or not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isoglot.corpus.read.line_files import LineFile, decode_lines
from isoglot.errors import InputError
from isoglot.runs.records import parse_json, parse_object


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """1-based number and text of each line; ``.gz .xz .zst .bz2`` are unpacked."""
    with LineFile(str(path)) as file:
        for first, data in file.chunks():
            yield from enumerate(decode_lines(data, str(path), first), first)


def read_json(path: str | Path) -> Any:
    """A whole JSON file."""
    text = "\n".join(line for _, line in numbered_lines(path))
    return parse_json(text, path=path)


def jsonl_columns(path: str) -> set[str]:
    """The names in the first object of a file of JSON lines; none where it is no object."""
    for _, text in numbered_lines(path):
        if text.strip():
            try:
                return set(parse_object(text, path=path, line=1))
            except InputError:
                return set()
    return set()
