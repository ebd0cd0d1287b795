"""Match the rows of two files of sentences: links and their gold links, labels and their translation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, starmap, zip_longest
from pathlib import Path
from typing import Any, Protocol, TypeVar

from isoglot.core.errors import InputError
from isoglot.formats.link_files import LinkReader
from isoglot.formats.sentence_pair import SentencePair

_MOST_NAMED = 3


class IdentifiedRow(Protocol):
    """A row of a file that may have an id."""

    @property
    def id(self) -> str | None:
        """The id of the row in its file; None if it has none."""

    @property
    def line(self) -> int | None:
        """The line of the row."""


Row = TypeVar("Row", bound=IdentifiedRow)
OtherRow = TypeVar("OtherRow", bound=IdentifiedRow)
Row_co = TypeVar("Row_co", bound=IdentifiedRow, covariant=True)


class RowFile(Protocol[Row_co]):
    """A file of rows, to be read once."""

    path: str | Path

    def lines(self) -> Iterator[tuple[int, Any]]:
        """Yield the rows that are not read yet, unparsed, each with the number of its line."""

    def parse(self, line: int, text: Any, /) -> Row_co:
        """Parse the row of a line."""


def matched(links: LinkReader, gold: LinkReader) -> Iterator[tuple[SentencePair, SentencePair]]:
    """Match the sentences of a file of links with their gold links.

    1. Two files of JSON lines are matched as :func:`matched_rows` does.
    2. Other files are matched by place: the first sentence of one file matches the first of the other.
    3. The first sentence of a file with numbers (``alignv2``, ``naacl``) is sentence 1, or 0 if the file has a link of
       sentence 0. Gold that begins at 0 makes numbered links begin at 0 too, even if they have no link there.

    Raises:
        InputError: A file has more sentences, or ids as :func:`matched_rows` refuses them.
    """
    pairs: Iterator[tuple[SentencePair | None, SentencePair | None]]
    if links.name == gold.name == "jsonl":
        pairs = matched_rows(links, gold, needed="score the links of the same sentences")
    else:
        first = gold.first_number if gold.is_link_per_line else 1
        pairs = zip_longest(links.sentences(first=first), gold.sentences())
    for number, (pair, gold_pair) in enumerate(pairs):
        # A file with a link per line has no line for a sentence without links, so it may end earlier.
        links_end_early = pair is None and not links.is_link_per_line
        gold_ends_early = gold_pair is None and not gold.is_link_per_line
        if links_end_early or gold_ends_early:
            # The longer file has the sentences so far, this one, and all that follow.
            shorter, longer = number, number + 1 + sum(1 for _ in pairs)
            count_of_links, count_of_gold = (shorter, longer) if pair is None else (longer, shorter)
            raise InputError(
                f"{count_of_links} sentences, {gold.path} has {count_of_gold}; one without links is an empty line",
                path=links.path,
            )
        yield (
            SentencePair() if pair is None else pair,
            SentencePair(sure=frozenset()) if gold_pair is None else gold_pair,
        )


def matched_rows(
    first: RowFile[Row], second: RowFile[OtherRow], *, needed: str
) -> Iterator[tuple[Row | None, OtherRow | None]]:
    """Match each row of a file, in its order, with a row of another file.

    1. If both files have ids, rows with the same id match. Every id must be in both files.
    2. Otherwise rows match by their place: row n with row n, or with None where the other file has ended. A file
       without rows has no ids: if the rows of the other one have none either, each matches None.
    3. A file has ids on all rows or on none.
    4. As long as the ids agree row by row, one pair is in memory, and an id may stand twice: ``a a b`` and ``a a b``
       match row by row. From the first two ids that differ, the rest of both files is in memory, and each id in it must
       stand once.

    Args:
        first: A file.
        second: The other one.
        needed: Advice for the error about ids that only one file has.

    Raises:
        InputError: A file has ids on some rows only, an id that the other file lacks, or an id twice (4).
    """
    first_lines, second_lines = first.lines(), second.lines()
    is_start = True
    # A file that has ended has None in place of a line.
    for first_line, second_line in zip_longest(first_lines, second_lines):
        row = None if first_line is None else first.parse(*first_line)
        other = None if second_line is None else second.parse(*second_line)
        if is_start and (_lacks_id(row) or _lacks_id(other)):
            # A file without ids: rows match by their place.
            yield row, other
            yield from zip_longest(_rest(first, row, first_lines), _rest(second, other, second_lines))
            return
        if row is None or other is None or row.id is None or row.id != other.id:
            # One file has ended, or the order differs from here on.
            first_rest = [line for line in chain([first_line], first_lines) if line is not None]
            second_rest = [line for line in chain([second_line], second_lines) if line is not None]
            yield from _matched_by_id(first, second, first_rest, second_rest, needed=needed)
            return
        is_start = False
        yield row, other


def _lacks_id(row: IdentifiedRow | None) -> bool:
    """Whether there is a row, and it has no id."""
    return row is not None and row.id is None


def _matched_by_id(
    first: RowFile[Row],
    second: RowFile[OtherRow],
    first_lines: list[tuple[int, Any]],
    second_lines: list[tuple[int, Any]],
    *,
    needed: str,
) -> Iterator[tuple[Row, OtherRow]]:
    """Match the rows of these lines by ids; every id must be in both files, once.

    Rows are parsed twice, first for their ids and then to be yielded, because lines take less memory than rows.
    """
    first_ids = [first.parse(*line).id for line in first_lines]
    second_ids = [second.parse(*line).id for line in second_lines]
    _refuse_repeated(first, first_ids, first_lines)
    _refuse_repeated(second, second_ids, second_lines)
    line_of_id = dict(zip(second_ids, second_lines, strict=True))
    known = set(first_ids)
    missing = [name for name in second_ids if name not in known]
    unknown = [name for name in first_ids if name not in line_of_id]
    problems = []
    for ids, what in (
        (missing, f"of {second.path} are missing"),
        # An id may have been matched before the order began to differ: then it stands in the first file twice.
        (unknown, f"are not in {second.path}, or stand twice in this file"),
    ):
        if ids:
            listed = ", ".join(map(repr, ids[:_MOST_NAMED])) + ", …" * (len(ids) > _MOST_NAMED)
            problems.append(f"{len(ids)} ids {what} ({listed})")
    if problems:
        advice = f"{needed}, or leave the ids out of one file: rows then match by their place"
        raise InputError(f"{'; '.join(problems)}; {advice}", path=first.path)
    for name, line in zip(first_ids, first_lines, strict=True):
        yield first.parse(*line), second.parse(*line_of_id[name])


def _rest(file: RowFile[Row], first_row: Row | None, lines: Iterable[tuple[int, Any]]) -> Iterator[Row]:
    """Yield the rows after the first one; all must have ids if the first one has one, and none must if it has none.

    ``first_row``: The first row; None for a file without rows.
    """
    if first_row is None:
        return
    for row in starmap(file.parse, lines):
        if (row.id is None) != (first_row.id is None):
            found, expected = ("no id", "one") if row.id is None else ("an id", "none")
            raise InputError(
                f"has {found}, and line {first_row.line} has {expected}; give every sentence its own, or none",
                path=file.path,
                line=row.line,
            )
        yield row


def _refuse_repeated(file: RowFile[Any], ids: list[str | None], lines: list[tuple[int, Any]]) -> None:
    """Refuse a line without an id, or with the id of an earlier line."""
    seen: dict[str, int] = {}
    for name, (line, _) in zip(ids, lines, strict=True):
        if name is None:
            raise InputError("has no id, and other lines have one; add it", path=file.path, line=line)
        if seen.setdefault(name, line) != line:
            raise InputError(
                f"id {name!r} stands in line {seen[name]} too; correct it", path=file.path, line=line
            )
