"""Clean and filter the rows of one chunk, as a worker of `isoglot prepare` does.

A *chunk* has consecutive lines of one source; a *part* is the chunk after filtering, in a file of its own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import regex
from numpy.typing import NDArray

from isoglot.corpus.filter.filters import CONTROL, RowTests, clean, hash_texts, split_flags
from isoglot.corpus.options import FILTERS, PrepareOptions
from isoglot.formats.records import Records

_C1_CONTROL = regex.compile(r"[\x80-\x84\x86-\x9f]")  # U+0085 is a space


@dataclass
class Part:
    """A filtered chunk: counts of its rows, and the file of the rows that passed.

    The counts that ``Records`` has too are explained there.
    """

    read: int  # rows before filtering, and units of a translation memory that lack a language
    rows: int  # rows that passed
    removed: Mapping[str, int]  # rows that each filter dropped
    flags_seen: Sequence[str]  # names in the flag column
    keys: NDArray[np.uint64] | None  # a hash of each row that passed, if duplicates are dropped
    spaces: Mapping[str, int]  # unusual spaces, by character
    possible: int  # possible links (`1p2`) that were left out
    controls: int = 0  # rows from which control characters were removed
    # Of these, rows with characters of U+0080 to U+009F, which Unicode calls C1 controls.
    c1_controls: int = 0
    described: int = 0  # units of a translation memory whose id, tags or notes were left out
    source: int = 0  # index of the source
    path: str = ""  # the file; empty if no row passed
    size: int = 0  # bytes of the rows in memory


def filter_rows(records: Records, tests: RowTests, options: PrepareOptions, languages: Sequence[str]) -> Part:
    """Clean the rows of one chunk and remove from ``records`` those that a filter drops, in place.

    Returns:
        The counts of the chunk; the caller adds its source and its file.
    """
    controls = c1_controls = 0
    # Texts of an aligned corpus are not cleaned: they must spell the words that links count.
    if options.clean_whitespace and "source_words" not in records.columns:
        controls, c1_controls = _rows_with_controls(records)
        _clean_columns(records)

    sides = records.sides()
    read = len(sides[0]) + records.incomplete
    reasons = tests.reasons(sides, languages, records.flags)
    dropped = Counter({"incomplete": records.incomplete})
    dropped.update(reasons[reasons != ""].tolist())
    flags_seen: set[str] = set()
    for cell in set(records.flags or ()):
        flags_seen.update(split_flags(cell))

    passed = np.flatnonzero(reasons == "")
    records.columns = {name: [values[row] for row in passed] for name, values in records.columns.items()}
    return Part(
        read=read,
        rows=len(passed),
        removed={name: dropped[name] for name in FILTERS if dropped[name]},
        flags_seen=sorted(flags_seen),
        keys=_duplicate_keys(records.sides(), options, languages),
        spaces=records.spaces,
        possible=records.possible,
        controls=controls,
        c1_controls=c1_controls,
        described=records.described,
    )


def _rows_with_controls(records: Records) -> tuple[int, int]:
    """Count the rows with control characters that cleaning removes; and of these, those with U+0080 to U+009F."""
    controls = c1_controls = 0
    for texts in zip(*records.sides(), strict=True):
        if any(map(_has_control, texts)):
            controls += 1
            c1_controls += any(map(_C1_CONTROL.search, texts))
    return controls, c1_controls


def _has_control(text: str) -> bool:
    """Whether :func:`clean` removes characters that are not white space, other than a byte order mark."""
    return not text.isprintable() and any(found[0] != "\ufeff" for found in CONTROL.finditer(text))


def _clean_columns(records: Records) -> None:
    """Clean the texts of all rows, in place; only documents keep their line ends."""
    for name in {"source", "target"} & records.columns.keys():
        records.columns[name] = [clean(text.replace("\n", " ")) for text in records.columns[name]]
    if "text" in records.columns:
        records.columns["text"] = list(map(clean, records.columns["text"]))


def _duplicate_keys(
    sides: list[list[str]], options: PrepareOptions, languages: Sequence[str]
) -> NDArray[np.uint64] | None:
    """Hash the sides by which duplicates are found; None if duplicates are kept.

    The languages are the salt: a row is no duplicate of a row in other languages.
    """
    if options.duplicates == "keep":
        return None
    if options.duplicates == "source":
        sides = sides[:1]
    elif options.duplicates == "target":
        sides = sides[1:]
    texts = map("\x00".join, zip(*sides, strict=True))
    return hash_texts(texts, salt="\t".join(languages))
