"""Sentence pairs as Python users hold them: pairs, two lists, data sets, frames, streams; as text or as words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from isoglot.checks import did_you_mean, is_text, shortened
from isoglot.errors import ConfigurationError
from isoglot.formats.sentence_pair import SentencePair
from isoglot.formats.words import split_words

Sentence = str | Sequence[str]
"""A sentence as text, or its words."""
_MISSING = object()


def pairs_in_memory(pairs: Any, source: Any, target: Any) -> Iterator[SentencePair]:
    """The pairs of an object, not cut into words; :func:`isoglot.aligners.api.align_many` says what may hold them.

    A :class:`SentencePair` is copied without its links, so that whoever holds it keeps what it was.

    Example:
        >>> [pair.texts for pair in pairs_in_memory({"en": ["a house"], "de": ["ein Haus"]}, "en", "de")]
        [('a house', 'ein Haus')]
    """
    rows = enumerate(_rows(pairs, source, target), 1)
    return (
        replace(row, links=[], probabilities=[], score=math.nan)
        if isinstance(row, SentencePair)
        else pair_of(*row, f"pair {number}: ")
        for number, row in rows
    )


def _rows(pairs: Any, source: Any, target: Any) -> Iterator[SentencePair | tuple[Any, Any]]:
    if pairs is None:
        if source is None or target is None or isinstance(source, str) or isinstance(target, str):
            raise ConfigurationError(
                "no pairs to align; call align_many(pairs), or align_many(source=[...], target=[...]) with two lists"
            )
        return _side_by_side(source, target)
    names = ("source" if source is None else source, "target" if target is None else target)
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise ConfigurationError(
            f"got pairs and {shortened(wrong[0])}; with pairs, source and target must be column names"
        )
    known = getattr(pairs, "column_names", None)  # of datasets; those of a stream may be unknown
    if isinstance(pairs, Mapping) or hasattr(pairs, "itertuples"):  # a dictionary of lists, a pandas frame
        known = list(pairs)
    if known is not None and (
        lacking := [n for n in names if n not in known and n.split(".")[0] not in known]
    ):
        raise ConfigurationError(
            f"no column {lacking[0]!r}; {did_you_mean(lacking[0], known)}; name the two columns of text: "
            "source='en', target='de'"
        )
    if isinstance(pairs, Mapping) or hasattr(pairs, "itertuples"):
        return _side_by_side(*(_column(pairs, name) for name in names))
    if not hasattr(pairs, "__iter__"):
        raise ConfigurationError(f"expected sentence pairs, got {shortened(pairs)}; prepare() reads files")
    if known is not None:
        read = [name if name in known else name.split(".")[0] for name in names]
        pairs = pairs.select_columns(list(dict.fromkeys(read)))  # others may be slow to decode
    return (_pair(row, number, names) for number, row in enumerate(pairs, 1))


def _column(table: Any, name: str) -> Iterable[Any]:
    """A column of a dictionary or frame; ``translation.en`` is of one that holds dictionaries."""
    if name in table:
        return table[name]  # type: ignore[no-any-return]
    first, *inner = name.split(".")
    return (_inside(value, inner) for value in table[first])


def _inside(value: Any, names: Sequence[str]) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _side_by_side(source: Iterable[Any], target: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs of two columns or lists of the same length."""
    for number, both in enumerate(zip_longest(source, target, fillvalue=_MISSING), 1):
        if both[0] is _MISSING or both[1] is _MISSING:
            side = "source" if both[0] is _MISSING else "target"
            raise ConfigurationError(
                f"pair {number}: the {side} side has only {number - 1} sentences; give both sides the same number"
            )
        yield both


def _pair(row: Any, number: int, names: tuple[str, str]) -> SentencePair | tuple[Any, Any]:
    if isinstance(row, SentencePair):
        return row
    if isinstance(row, Mapping):
        sides = [row[name] if name in row else _inside(row, name.split(".")) for name in names]
        if None not in sides or set(names) <= set(row):
            return sides[0], sides[1]
    if isinstance(row, tuple | list) and len(row) == 2:
        return row[0], row[1]
    raise ConfigurationError(
        f"pair {number}: got {shortened(row)}; a pair is (source, target), or a dictionary with {names[0]!r} and "
        f"{names[1]!r}"
    )


def pair_of(source: Any, target: Any, pair: str = "") -> SentencePair:
    """A pair of sentences, each given as text or as words; ``pair`` is what messages call it."""
    return SentencePair.of(_sentence(source, pair), _sentence(target, pair))


def _sentence(side: Any, pair: str) -> str | list[str]:
    if is_text(side):
        return str(side)
    if isinstance(side, str | bytes | Mapping | Set) or not isinstance(side, Iterable):
        raise ConfigurationError(f"{pair}got {shortened(side)}; a sentence is a text or a list of words")
    words = list(side)
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
