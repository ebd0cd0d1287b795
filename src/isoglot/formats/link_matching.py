"""Which row of one file of sentences is which of another: links and their gold links, labels and their translation."""

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
    """A row of a file."""

    @property
    def id(self) -> str | None:
        """What the file calls it, if it does."""

    @property
    def line(self) -> int | None:
        """Where it stands."""


Row = TypeVar("Row", bound=IdentifiedRow)
OtherRow = TypeVar("OtherRow", bound=IdentifiedRow)
Row_co = TypeVar("Row_co", bound=IdentifiedRow, covariant=True)


class RowFile(Protocol[Row_co]):
    """A file of rows, to be read once."""

    path: str | Path

    def lines(self) -> Iterator[tuple[int, Any]]:
        """The rows that are left as the file has them, each with its line."""

    def parse(self, line: int, text: Any, /) -> Row_co:
        """The row of a line."""


def matched(links: LinkReader, gold: LinkReader) -> Iterator[tuple[SentencePair, SentencePair]]:
    """The sentences of a file of links, each with its gold links.

    JSON lines match as :func:`matched_rows` says, everything else by its place.

    Raises:
        InputError: A file has more sentences, or ids as :func:`matched_rows` refuses them.
    """
    pairs: Iterator[tuple[SentencePair | None, SentencePair | None]]
    if links.name == gold.name == "jsonl":
        pairs = matched_rows(links, gold, needed="score the links of the same sentences")
    else:
        pairs = zip_longest(links.sentences(first=gold.first if gold.rows else 1), gold.sentences())
    for number, (pair, answer) in enumerate(pairs):
        if (pair is None and not links.rows) or (answer is None and not gold.rows):
            more = number + 1 + sum(1 for _ in pairs)
            counts = (number, more) if pair is None else (more, number)
            raise InputError(
                f"{counts[0]} sentences, {gold.path} has {counts[1]}; one without links is an empty line",
                path=links.path,
            )
        yield (
            SentencePair() if pair is None else pair,
            SentencePair(sure=frozenset()) if answer is None else answer,
        )


def matched_rows(
    first: RowFile[Row], second: RowFile[OtherRow], *, needed: str
) -> Iterator[tuple[Row | None, OtherRow | None]]:
    """The rows of a file, in its order, each with its row of another file.

    Rows match by their ids where both files have them, else by their place, with none where a file ends; a file has
    ids on all rows or on none. As long as the ids agree row by row, one pair is held in memory; from the first that do
    not, the rest of both files is.

    Args:
        first: A file.
        second: The other one.
        needed: What to do about ids that only one file has.

    Raises:
        InputError: A file has ids on some rows alone, or an id that the other lacks or that it repeats.
    """
    ours, theirs = first.lines(), second.lines()
    before: tuple[Row, OtherRow] | None = None
    for line, second_line in zip_longest(ours, theirs):
        if line is None or second_line is None:
            break
        pair = first.parse(*line), second.parse(*second_line)
        if before is None and None in (pair[0].id, pair[1].id):
            yield pair
            yield from zip_longest(_rest(first, pair[0], ours), _rest(second, pair[1], theirs))
            return
        if pair[0].id != pair[1].id:
            break
        before = pair
        yield pair
    else:
        return
    left = [row for row in chain([line], ours) if row], [row for row in chain([second_line], theirs) if row]
    names = [first.parse(*row).id for row in left[0]]
    second_names = [second.parse(*row).id for row in left[1]]
    _refuse(first, names, left[0])
    _refuse(second, second_names, left[1])
    known, rows_of = set(names), dict(zip(second_names, left[1], strict=True))
    unknown = [name for name in names if name not in rows_of]
    missing = [name for name in second_names if name not in known]
    problems = [
        f"{len(ids)} ids {what} ({', '.join(map(repr, ids[:_MOST_NAMED]))}{', …' * (len(ids) > _MOST_NAMED)})"
        for ids, what in (
            (missing, f"of {second.path} are missing"),
            (unknown, "are none of its or stand twice"),
        )
        if ids
    ]
    if problems:
        advice = f"{needed}, or leave the ids out of one file: rows then match by their place"
        raise InputError(f"{'; '.join(problems)}; {advice}", path=first.path)
    for name, row in zip(names, left[0], strict=True):
        yield first.parse(*row), second.parse(*rows_of[name])


def _rest(file: RowFile[Row], before: Row, lines: Iterable[tuple[int, Any]]) -> Iterator[Row]:
    """The rows after the first; refused is one with an id after a first one without."""
    for row in starmap(file.parse, lines):
        if before.id is None and row.id is not None:
            raise InputError(
                f"has an id, and line {before.line} has none; give every sentence its own, or none",
                path=file.path,
                line=row.line,
            )
        yield row


def _refuse(file: RowFile[Any], names: list[str | None], lines: list[tuple[int, Any]]) -> None:
    """Refuse lines without an id, or with that of an earlier one."""
    seen: dict[str, int] = {}
    for name, (line, _) in zip(names, lines, strict=True):
        if name is None:
            raise InputError("has no id, and other lines have one; add it", path=file.path, line=line)
        if seen.setdefault(name, line) != line:
            raise InputError(
                f"id {name!r} stands in line {seen[name]} too; correct it", path=file.path, line=line
            )
