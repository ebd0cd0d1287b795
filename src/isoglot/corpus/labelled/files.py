"""Reading the small files of tasks: lines with their numbers, packed or not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from isoglot.corpus.read.line_files import LineFile, decode_lines
from isoglot.errors import InputError

__all__ = ["blocks", "numbered_lines", "read_json"]


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """1-based number and text of each line; ``.gz .xz .zst .bz2`` are unpacked.

    Raises:
        InputError: the file is missing, empty, damaged or not UTF-8.
    """
    with LineFile(str(path)) as file:
        for first, data in file.chunks():
            yield from enumerate(decode_lines(data, str(path), first), first)


def blocks(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Groups of numbered lines between blank ones."""
    block: list[tuple[int, str]] = []
    for number, line in lines:
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block = []
    if block:
        yield block


def read_json(path: str | Path) -> Any:
    """A whole JSON file.

    Raises:
        InputError: it cannot be parsed (``file:line``).
    """
    text = "\n".join(line for _, line in numbered_lines(path))
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"is not JSON ({error.msg} at column {error.colno}); one whole JSON document is needed",
            path=path,
            line=error.lineno,
        ) from error
