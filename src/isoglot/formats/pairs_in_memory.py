"""Read sentence pairs from objects of Python users: pairs, two lists, data sets, frames, streams; texts or words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from isoglot.core.checks import did_you_mean, is_text, shortened
from isoglot.core.errors import ConfigurationError
from isoglot.formats.plain_values import cell, inner_value, is_missing
from isoglot.formats.rows import HeldDataset, Items, RowTable, result_names, rows_of
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import split_words

Sentence = str | Sequence[str]
"""A sentence as text, or its words."""
RESULTS = frozenset(["source_words", "target_words", "links", "probabilities", "score"])
"""Results of alignment, by the names of :meth:`SentencePair.to_dict`."""
NAME_COLUMNS = "name the two columns of text: source='en', target='de'"
"""What to do about columns of other names, where the call takes ``source`` and ``target``."""
_ENDED = object()
"""Stands for a sentence of a list that is shorter than the other one."""


@dataclass(frozen=True)
class PairsInMemory:
    """The pairs of an object, not cut into words.

    Args:
        pairs: The pairs; can be read once.
        length: Number of pairs; None for a stream.
        table: The rows of a frame or of a dictionary of lists, into which results can go back.
    """

    pairs: Iterator[SentencePair]
    length: int | None = None
    table: RowTable | None = None

    def __iter__(self) -> Iterator[SentencePair]:
        return self.pairs


def pairs_in_memory(
    pairs: Any, source: Any, target: Any, *, whole: bool = False, remedy: str = NAME_COLUMNS
) -> PairsInMemory:
    """Read the pairs of an object; :func:`isoglot.aligners.api.align_many` says which objects hold pairs.

    1. A missing value (None, NaN) is an empty sentence, as ``null`` is in a file.
    2. A :class:`SentencePair` is copied without its links, so that the user's pair does not change.
    3. Of a dictionary, ``id`` is the id of the pair, and other keys are in ``more``.

    Args:
        pairs: The object, or None.
        source: Name of the source column, by default ``source``; without ``pairs`` the source sentences.
        target: The same of the target.
        whole: Keep other columns of tables in ``more`` too; not those of a data set, which may be slow to decode.
        remedy: What the message about a missing column tells the user to do.

    Example:
        >>> [pair.texts for pair in pairs_in_memory({"en": ["a house"], "de": ["ein Haus"]}, "en", "de")]
        [('a house', 'ein Haus')]
    """
    if pairs is None:
        if source is None or target is None or isinstance(source, str) or isinstance(target, str):
            raise ConfigurationError(
                "no pairs to align; call align_many(pairs), or align_many(source=[...], target=[...]) with two lists"
            )
        length = len(source) if hasattr(source, "__len__") else None
        return PairsInMemory(_as_pairs(_side_by_side(Items(source), Items(target))), length)
    if isinstance(pairs, str | Path):
        raise ConfigurationError(
            f"expected sentence pairs, got {shortened(str(pairs))}; files are read by the command line, "
            f"`isoglot align {pairs}`, and by isoglot.prepare; load_corpus(...) of what it writes is a data set"
        )
    names = ("source" if source is None else source, "target" if target is None else target)
    rows = rows_of(pairs, "sentence pairs")
    if isinstance(rows, Items):
        return PairsInMemory(_as_pairs(_of_items(rows, names, remedy)), rows.length)
    _require_columns(names, rows.names, remedy)
    others: list[Any] = []
    if whole and not isinstance(rows, HeldDataset):
        others = [name for name in rows.names if name not in names]
    table = None if isinstance(rows, HeldDataset) else rows
    return PairsInMemory(_as_pairs(_of_table(rows, names, others)), len(rows), table)


def with_links(table: RowTable, sides: Sequence[Any], pairs: Sequence[SentencePair]) -> Any:
    """Add the words, links and probabilities of the rows to a table as columns.

    ``sides``: The columns that were read. If one of them is inside a column (``translation.en``), both texts become
    columns too.
    """
    columns: dict[str, list[Any]] = {}
    if not all(side in table.names for side in sides):
        columns = {"source": [pair.source for pair in pairs], "target": [pair.target for pair in pairs]}
    columns["source_words"] = [list(pair.source_words) for pair in pairs]
    columns["target_words"] = [list(pair.target_words) for pair in pairs]
    columns["links"] = [list(pair.links) for pair in pairs]
    if any(pair.probabilities for pair in pairs):
        columns["probabilities"] = [list(pair.probabilities) for pair in pairs]
        columns["score"] = [pair.score for pair in pairs]
    names = result_names([*columns], table.names, "alignment")
    examples = {"links": [(0, 0)], "source": "", "target": ""}
    return table.with_columns(
        dict(zip(names, columns.values(), strict=True)),
        {name: examples.get(column, [""]) for name, column in zip(names, columns, strict=True)},
    )


def without_results(pairs: Iterable[SentencePair]) -> Iterator[SentencePair]:
    """Remove the links, words and scores of an earlier alignment from ``more`` of pairs."""
    for pair in pairs:
        if not RESULTS.isdisjoint(pair.more):
            pair.more = {name: value for name, value in pair.more.items() if name not in RESULTS}
        yield pair


def _require_columns(names: Sequence[Any], known: Iterable[Any], remedy: str) -> None:
    """Refuse names that no column has."""
    columns = list(known)
    for name in names:
        if not isinstance(name, str | int | tuple) or (isinstance(name, tuple) and name not in columns):
            raise ConfigurationError(
                f"got pairs and {shortened(name)}; with pairs, source and target must be column names"
            )
        if name not in columns and str(name).split(".")[0] not in columns:
            raise ConfigurationError(f"no column {name!r}; {did_you_mean(name, columns)}; {remedy}")


def _of_table(
    rows: RowTable, names: Sequence[Any], others: Sequence[Any]
) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """Yield both sides of each row, and its other columns by name."""
    sides = [rows.column(name) for name in names]
    more = [rows.values(name) for name in others]
    labels = list(map(str, others))
    for source, target, *rest in zip(*sides, *more, strict=True):
        yield source, target, dict(zip(labels, rest, strict=True))


def _of_items(
    rows: Items, names: Sequence[Any], remedy: str
) -> Iterator[SentencePair | tuple[Any, Any, dict[str, Any]]]:
    """Yield both sides of each item, and the other keys of a dictionary; a SentencePair is yielded itself."""
    known = getattr(rows.data, "column_names", None)  # of data sets that are streamed, where they are known
    items: Iterable[Any] = rows
    if known is not None:
        _require_columns(names, known, remedy)
        read = [name if name in known else str(name).split(".")[0] for name in names]
        items = rows.data.select_columns(list(dict.fromkeys(read)))  # others may be slow to decode
    elif wrong := [name for name in names if not isinstance(name, str | int)]:
        raise ConfigurationError(
            f"got pairs and {shortened(wrong[0])}; with pairs, source and target must be column names"
        )
    return (_of_item(row, number, names) for number, row in enumerate(items, 1))


def _of_item(row: Any, number: int, names: Sequence[Any]) -> SentencePair | tuple[Any, Any, dict[str, Any]]:
    if isinstance(row, SentencePair):
        return row
    if isinstance(row, Mapping):
        # `translation.en` is `en` inside `translation`, unless a key is called so.
        heads = [name if name in row else str(name).split(".")[0] for name in names]
        if all(head in row for head in heads):
            sides = []
            for head, name in zip(heads, names, strict=True):
                path_inside = [] if head == name else name.split(".")[1:]
                sides.append(inner_value(row[head], path_inside, f"pair {number}: {head!r}"))
            return sides[0], sides[1], {str(key): value for key, value in row.items() if key not in heads}
    if isinstance(row, tuple | list) and len(row) == 2:
        return row[0], row[1], {}
    raise ConfigurationError(
        f"pair {number}: got {shortened(row)}; a pair is (source, target), or a dictionary with {names[0]!r} and "
        f"{names[1]!r}"
    )


def _side_by_side(source: Items, target: Items) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """Yield pairs of two lists, which must be equally long."""
    for number, both in enumerate(zip_longest(source, target, fillvalue=_ENDED), 1):
        if both[0] is _ENDED or both[1] is _ENDED:
            side = "source" if both[0] is _ENDED else "target"
            raise ConfigurationError(
                f"pair {number}: the {side} side has only {number - 1} sentences; give both sides the same number"
            )
        yield *both, {}


def _as_pairs(rows: Iterable[SentencePair | tuple[Any, Any, dict[str, Any]]]) -> Iterator[SentencePair]:
    """Make a SentencePair of each row; messages name the rows by number, from 1."""
    for number, row in enumerate(rows, 1):
        if isinstance(row, SentencePair):
            yield replace(row, links=[], probabilities=[], score=math.nan)
            continue
        source, target, more = row
        sides = ["" if is_missing(side) else side for side in (source, target)]
        pair = pair_of(sides[0], sides[1], f"pair {number}: ")
        pair.id = more.pop("id", None)
        pair.more = more
        yield pair


def pair_of(source: Any, target: Any, pair: str = "") -> SentencePair:
    """Make a pair of two sentences, each a text or words; ``pair``: How messages begin, ``pair 3: ``."""
    return SentencePair.of(_sentence(source, pair), _sentence(target, pair))


def _sentence(side: Any, pair: str) -> str | list[str]:
    """A side as text or words; bytes are decoded."""
    if is_text(side):
        return str(side)
    if isinstance(side, bytes | bytearray):
        return str(cell(side, f"{pair}a sentence"))
    if isinstance(side, str | Mapping | Set) or not isinstance(side, Iterable):
        raise ConfigurationError(f"{pair}got {shortened(side)}; a sentence is a text or a list of words")
    words = [cell(word, f"{pair}a word") for word in side]
    for word in words:
        if not is_text(word):
            problem = "is not a word"
        elif len(split_words(word, mode="whitespace")) > 1:
            problem = "is not a word: it has white space inside"
        else:
            continue
        raise ConfigurationError(
            f"{pair}{shortened(word)} {problem}; for a list of sentences call "
            "isoglot.align_many(source=[...], target=[...]); for one sentence give its text or its single words"
        )
    return words
