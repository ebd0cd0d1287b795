"""Read and write CoNLL-U treebanks."""

from collections.abc import Mapping, Sequence
from typing import Any

from isoglot.core.checks import is_number
from isoglot.core.errors import InputError
from isoglot.formats.line_files import Chunk, Fields, blocks, decode_lines, each

_COLUMNS = 10


def tree_fields(path: str, chunk: Chunk) -> Fields:
    """Read dependency trees; multiword tokens (`1-2`) and empty nodes (`8.1`) are left out."""
    trees, numbers = [], []
    lines = decode_lines(chunk.payload[0], path, chunk.first_line)
    for block in blocks(enumerate(lines, chunk.first_line)):
        parsed_lines = zip(block, each(word_columns, block, path), strict=True)
        rows = [(number, columns) for (number, _), columns in parsed_lines if columns]
        if [int(columns[0]) for _, columns in rows] != list(range(1, len(rows) + 1)):
            raise InputError("the words are not numbered 1, 2, 3, ...: fix this tree").at(path, block[0][0])
        for number, columns in rows:
            if not is_number(columns[6]) or int(columns[6]) > len(rows):
                raise InputError(
                    f"head {columns[6]!r} is not 0 or a word of the sentence of {len(rows)}: fix the line",
                    path=path,
                    line=number,
                )
        if rows:
            trees.append([columns for _, columns in rows])
            numbers.append(block[0][0])
    values: dict[str, list[Any]] = {
        "words": [[columns[1] for columns in tree] for tree in trees],
        "upos": [[columns[3] or "_" for columns in tree] for tree in trees],
        "heads": [[int(columns[6]) for columns in tree] for tree in trees],
        "deprels": [[columns[7] or "_" for columns in tree] for tree in trees],
    }
    return Fields(values, numbers)


def word_columns(line: str) -> list[str] | None:
    """The columns of a word's line; ``None`` for a comment, a multiword token (`1-2`) and an empty node (`8.1`)."""
    if line.startswith("#"):
        return None
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        raise InputError(f"{len(columns)} columns between tabs, but CoNLL-U has {_COLUMNS}; fix the line")
    parts = columns[0].replace("-", ".").split(".")
    if not all(map(is_number, parts)) or len(parts) > 2:
        raise InputError(f"{columns[0]!r} is not a number of a word, `1-2` or `8.1`; fix the line")
    return columns if len(parts) == 1 else None


def conllu(row: Mapping[str, Any], number: int, *, text: str, notes: Sequence[str] | None = None) -> str:
    """Write the lines of a tree, the last one blank; ``notes``: The last column (MISC) of each word."""
    columns = (row["words"], row["upos"], row["heads"], row["deprels"], notes or ["_"] * len(row["words"]))
    lines = [f"# sent_id = {number}", f"# text = {text}"]
    for i, (word, tag, head, relation, note) in enumerate(zip(*columns, strict=True), 1):
        lines.append(f"{i}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t{note}")
    return "\n".join([*lines, ""])
