"""Make the columns of a corpus from the raw fields of one chunk, which may be of any format.

:func:`~isoglot.formats.column_plan.plan_columns` decides which column of the input has which role,
:mod:`isoglot.formats.row_fields` takes the fields out of rows, and :func:`assemble` makes the columns of a corpus of
the fields.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, NamedTuple

from isoglot.core.errors import InputError
from isoglot.formats.line_files import Fields, each
from isoglot.formats.links import LINK_ITEM
from isoglot.formats.sources import ROLES, Kind, Source
from isoglot.formats.words import other_space, split_words


@dataclass
class Records:
    """Parsed rows, column by column, and counts of what a corpus has no place for."""

    columns: dict[str, list[Any]]  # of the kind of corpus, without its languages
    flags: list[str] | None = None  # the flags of each row, where the source has them
    incomplete: int = 0  # units of a translation memory that lack a language; they are no rows
    # Rows with a space that does not end a word, such as U+00A0, by the first such space of the row.
    spaces: Counter[str] = field(default_factory=Counter)
    possible: int = 0  # word links that were left out because they are marked as possible
    described: int = 0  # units of a translation memory with an id, tags, notes or properties

    def sides(self) -> list[list[str]]:
        """The texts of each side: one list for text and trees, two for pairs."""
        if "text" in self.columns:
            return [self.columns["text"]]
        if "words" in self.columns:
            return [[" ".join(words) for words in self.columns["words"]]]
        return [self.columns["source"], self.columns["target"]]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict a row."""
        names = list(self.columns)
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(names, values, strict=True))


def assemble(kind: Kind, fields: Fields, source: Source, *, incomplete: int = 0) -> Records:
    """Turn raw fields into the columns of a kind of corpus.

    For most kinds the fields are the columns. Of an aligned corpus, sentences are cut into words, and links are read.
    """
    records = Records({role: fields.values[role] for role in ROLES[kind]}, incomplete=incomplete)
    if "flags" in fields.values:
        records.flags = [_flag_text(row) for row in fields.values["flags"]]
    records.described = sum(map(_is_described, fields.values.get("more", ())))
    if kind == "aligned":
        _read_aligned(records, fields.lines, source)
    return records


def _flag_text(flags: Any) -> str:
    """The flags of a row as one text; JSON and Parquet may hold lists of names."""
    if isinstance(flags, list):
        return " ".join(map(str, flags))
    return str(flags or "")


def _is_described(more: Mapping[str, Any]) -> bool:
    """Whether a row has an id, tags or a note: a value other than its texts and languages."""
    return any(value and not name.endswith("_language") for name, value in more.items())


class _AlignedRow(NamedTuple):
    """The words of both sides of a row, and its links."""

    source_words: list[str]
    target_words: list[str]
    links: list[list[int]]  # the sure ones, 0-based, sorted, without repeats
    possible: int  # how many links were left out because they are only possible


def _read_aligned(records: Records, lines: Sequence[int], source: Source) -> None:
    """Replace the raw sides and links of an aligned corpus by words, links, and texts that these words spell."""
    raw_rows = list(
        zip(records.columns["source"], records.columns["target"], records.columns["links"], strict=True)
    )
    # A no-break space would stay inside its word: such rows are counted and reported, not changed.
    for source_side, target_side, _ in raw_rows:
        texts = [side for side in (source_side, target_side) if isinstance(side, str)]
        space = other_space(*texts)
        if space is not None:
            records.spaces[space] += 1

    # Most errors are about links, which are in the last file of a source: the third file of a Moses pair, else the only
    # one.
    file_of_links = source.files()[-1]
    numbered_rows = zip(lines, raw_rows, strict=True)
    rows = each(lambda row: _aligned_row(*row, source=source), numbered_rows, file_of_links)
    records.possible = sum(row.possible for row in rows)
    records.columns = {
        "source": [" ".join(row.source_words) for row in rows],
        "target": [" ".join(row.target_words) for row in rows],
        "source_words": [row.source_words for row in rows],
        "target_words": [row.target_words for row in rows],
        "links": [row.links for row in rows],
    }


def _aligned_row(source_side: Any, target_side: Any, links: Any, *, source: Source) -> _AlignedRow:
    """Read one row: ``"the house", "das Haus", "0-0 1-1"``, or lists of words and of ``[source, target]``."""
    source_words, target_words = _words(source_side, "source"), _words(target_side, "target")
    if not isinstance(links, str | list):
        raise InputError(f"the links are {links!r}; `0-0 1-2` or a list of pairs is needed: fix the line")
    items = split_words(links, mode="whitespace") if isinstance(links, str) else links
    read = [_link(item, source) for item in items]  # None for a possible link
    sure = sorted({link for link in read if link is not None})
    for i, j in sure:
        if not (0 <= i < len(source_words) and 0 <= j < len(target_words)):
            raise InputError(
                f"word link {i}-{j} (counted from 0) is outside the sentence of {len(source_words)} source and "
                f"{len(target_words)} target words; check [[one_based=True]]: whether the file counts from 1"
            )
    return _AlignedRow(source_words, target_words, list(map(list, sure)), read.count(None))


def _link(item: Any, source: Source) -> tuple[int, int] | None:
    """Read one word link, ``"0-1"`` or ``[0, 1]``, as 0-based numbers; ``None`` for a possible one, ``"0p1"``."""
    if isinstance(item, str):
        match = LINK_ITEM.fullmatch(item)
        if match is None:
            raise InputError(
                f"word link {item!r} cannot be read; `i-j` (or `ipj`) with numbers of words is needed"
            )
        if match[2] in "p?":
            return None
        item = int(match[1]), int(match[3])
    try:
        first, second = item
        base = int(source.one_based)  # the number of the first word
        return index(first) - base, index(second) - base
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"word link {item!r} cannot be read; [source word, target word] is needed") from None


def _words(value: Any, role: str) -> list[str]:
    """The words of a side, which is a text, a list of words, or missing (null); ``role``: source or target."""
    if value is None or isinstance(value, str):
        return split_words(value or "", mode="whitespace")
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return value
    raise InputError(f"the {role} is neither text nor a list of words; one of them is needed")
