"""Co-occurrence types of a bitext, and a bitext as one direction of a statistical aligner reads it.

The *type* of an entry, its (source word, target word), is what a translation table is indexed by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import numpy.typing as npt

from isoglot.align.statistical.layout import Chunk, Ints, Side, chunks, mirror, row_entries

__all__ = [
    "DirectedBitext",
    "DirectedTypes",
    "Types",
    "consecutive",
    "directed",
    "entry_types",
    "find_pairs",
    "find_words",
]

_RUN = 1 << 20


@dataclass(frozen=True, slots=True)
class Types:
    """The distinct (source word, target word) pairs that occur together, sorted by source word, then target word.

    Args:
        source: source word of each type. Shape: (types).
        target: target word of each type. Shape: (types).
    """

    source: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.source)


def entry_types(source: Side, target: Side, layout: Sequence[Chunk]) -> tuple[Types, npt.NDArray[np.int32]]:
    """Co-occurrence types of a bitext and the type of each entry of a layout that generates the target side.

    Keys are sorted in runs of at most 2**20 entries, packed with their position into one integer, so that memory stays
    bounded and the sort needs no index array.

    Returns:
        The types and each entry's type number. Shape: (entries).
    """
    total = layout[-1].entries.stop if layout else 0
    entry_type = np.empty(total, np.int32)
    targets = len(target.words)
    runs: list[tuple[int, Ints]] = []
    for run in consecutive(layout, _RUN):
        keys = np.concatenate([_entry_keys(chunk, source, target, targets) for chunk in run])
        distinct, inverse = _distinct(keys, len(source.words) * targets)
        start = run[0].first_entry
        entry_type[start : start + len(keys)] = inverse
        runs.append((start, distinct))
    known = (
        runs[0][1]
        if len(runs) == 1
        else _sorted_unique(np.concatenate([np.empty(0, np.int64), *(d for _, d in runs)]))
    )
    if len(runs) > 1:
        ends = [start for start, _ in runs[1:]] + [total]
        for (start, distinct), stop in zip(runs, ends, strict=True):
            place = np.searchsorted(known, distinct).astype(np.int32)
            entry_type[start:stop] = place[entry_type[start:stop]]
    one, other = np.divmod(known, max(targets, 1))
    return Types(one.astype(np.int32), other.astype(np.int32)), entry_type


def consecutive(layout: Sequence[Chunk], size: int) -> Iterator[list[Chunk]]:
    """Chunks in order, as many together as have at most ``size`` entries (a larger one comes alone)."""
    run: list[Chunk] = []
    for chunk in layout:
        if run and chunk.entries.stop - run[0].first_entry > size:
            yield run
            run = []
        run.append(chunk)
    if run:
        yield run


def _entry_keys(chunk: Chunk, source: Side, target: Side, targets: int) -> Ints:
    generated = target.ids[chunk.tokens(target)].astype(np.int64)
    conditions = source.offsets[chunk.sentences][:, None] + np.arange(chunk.width)
    given = source.ids[conditions].astype(np.int64) * targets
    return np.asarray(given[chunk.member] + generated[:, None]).ravel()


def _distinct(keys: Ints, bound: int) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Sorted distinct keys and the index of each key among them."""
    bits = max(len(keys) - 1, 1).bit_length()
    if bound.bit_length() + bits > 63:
        distinct, place = np.unique(keys, return_inverse=True)
        return distinct, np.asarray(place).astype(np.int32)
    packed = np.sort((keys << bits) | np.arange(len(keys)))
    ordered = packed >> bits
    new = np.empty(len(keys), np.bool_)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    inverse: npt.NDArray[np.int32] = np.empty(len(keys), np.int32)
    inverse[packed & ((1 << bits) - 1)] = np.cumsum(new, dtype=np.int32) - 1
    return np.asarray(ordered[new]), inverse


def _sorted_unique(keys: Ints) -> Ints:
    """Sorted distinct keys; a sort with a comparison beats NumPy's hash table by far at millions of keys."""
    ordered = np.sort(keys)
    new = np.concatenate([np.ones(min(len(keys), 1), np.bool_), ordered[1:] != ordered[:-1]])
    return np.asarray(ordered[new])


def _keys(source: npt.NDArray[np.integer], target: npt.NDArray[np.integer]) -> Ints:
    """Source and target word as one sortable number; −1 if either is unknown."""
    keys = (source.astype(np.int64) << 32) | target.astype(np.int64)
    return np.where((source < 0) | (target < 0), -1, keys)


@dataclass(frozen=True, slots=True)
class DirectedTypes:
    """Vocabularies and co-occurrence types of a text as one direction reads them.

    Args:
        given: the conditioning side's vocabulary.
        generated: the generated side's vocabulary.
        given_word: given word of each type. Shape: (types).
        generated_word: generated word of each type. Shape: (types).
    """

    given: tuple[str, ...]
    generated: tuple[str, ...]
    given_word: npt.NDArray[np.int32]
    generated_word: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.given_word)

    def locate(self, other: DirectedTypes) -> tuple[Ints, Ints, Ints]:
        """Where another text's types, given words and generated words are here, −1 where they are not."""
        if other is self:
            return np.arange(len(self)), np.arange(len(self.given)), np.arange(len(self.generated))
        given, generated = find_words(self.given, other.given), find_words(self.generated, other.generated)
        one, two = given[other.given_word], generated[other.generated_word]
        return find_pairs(self.given_word, self.generated_word, one, two), given, generated


def find_words(known: Sequence[str], wanted: Sequence[str]) -> Ints:
    """Number of each wanted word among the known ones, −1 where it is not one of them."""
    numbers = {word: number for number, word in enumerate(known)}
    return np.array([numbers.get(word, -1) for word in wanted], np.int64)


def find_pairs(
    first: npt.NDArray[np.integer],
    second: npt.NDArray[np.integer],
    wanted_first: npt.NDArray[np.integer],
    wanted_second: npt.NDArray[np.integer],
) -> Ints:
    """Index of each wanted pair of numbers among distinct known pairs, −1 where there is none."""
    own, wanted = _keys(first, second), _keys(wanted_first, wanted_second)
    if not len(own):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(own, kind="stable")
    place = order[np.minimum(np.searchsorted(own, wanted, sorter=order), len(own) - 1)]
    return np.where((own[place] == wanted) & (wanted >= 0), place, -1)


@dataclass(frozen=True, slots=True)
class DirectedBitext:
    """A bitext in one direction: each word of the generated side is explained by a word of the given side, or by none.

    Args:
        given: the conditioning side.
        generated: the side whose words are generated.
        layout: chunks of entries; see the module's text.
        entry_type: type of each entry. Shape: (entries).
        given_word: given word of each type. Shape: (types).
        generated_word: generated word of each type. Shape: (types).
    """

    given: Side
    generated: Side
    layout: list[Chunk]
    entry_type: npt.NDArray[np.int32]
    given_word: npt.NDArray[np.int32]
    generated_word: npt.NDArray[np.int32]

    @property
    def types(self) -> DirectedTypes:
        """The vocabularies and types alone."""
        return DirectedTypes(self.given.words, self.generated.words, self.given_word, self.generated_word)

    @property
    def tokens(self) -> int:
        """Generated words in pairs that have two sides."""
        return sum(chunk.rows for chunk in self.layout)

    def shards(self) -> Iterator[DirectedBitext]:
        """The bitext shard by shard, each with a layout of its own; sentences keep their numbers."""
        for _, group in groupby(self.layout, key=lambda chunk: chunk.shard):
            own = list(group)
            row, entry = own[0].first_row, own[0].first_entry
            entries = self.entry_type[entry : own[-1].entries.stop]
            layout = [replace(c, first_row=c.first_row - row, first_entry=c.first_entry - entry) for c in own]
            yield replace(self, layout=layout, entry_type=entries)

    def types_of(self, chunk: Chunk) -> npt.NDArray[np.int32]:
        """Types of a chunk's entries. Shape: (rows, width)."""
        return self.entry_type[chunk.entries].reshape(chunk.rows, chunk.width)

    def words_of(self, chunk: Chunk) -> npt.NDArray[np.int32]:
        """Generated word of each row. Shape: (rows)."""
        return self.generated.ids[chunk.tokens(self.generated)]


def directed(
    source: Side, target: Side, *, chunk_entries: int = 1 << 17
) -> tuple[Types, DirectedBitext, DirectedBitext]:
    """A bitext as it is read by a forward model (source words generate target words) and by a reverse one.

    Args:
        source: source side.
        target: target side.
        chunk_entries: entries a chunk; bounds the memory of a pass.

    Returns:
        The types, the forward and the reverse bitext.
    """
    layout = chunks(source.lengths, target.lengths, chunk_entries=chunk_entries)
    types, entry_type = entry_types(source, target, layout)
    forward = DirectedBitext(source, target, layout, entry_type, types.source, types.target)
    first = row_entries(layout, target)
    mirrored = chunks(target.lengths, source.lengths, chunk_entries=chunk_entries)
    mirrored_type = np.empty(len(entry_type), np.int32)
    for chunk in mirrored:
        mirrored_type[chunk.entries] = entry_type[mirror(chunk, first, target)].ravel()
    reverse = DirectedBitext(target, source, mirrored, mirrored_type, types.target, types.source)
    return types, forward, reverse
