"""Bitext as arrays: word numbers, the entries (target word × source word) of every pair, and their co-occurrence types.

A statistical aligner visits each target word with each source word of its pair: an *entry*. Entries are laid out in
chunks of sentences with equally many source words, longest target side first, and within a chunk by target position:

    chunk (n = 7):  [position 0: all sentences] [position 1: those with ≥ 2 words] …      rows of n entries each

so a chunk is one dense matrix without padding, and a model that walks along the target side (an HMM) finds each
position's rows next to each other. The *type* of an entry, its (source word, target word), is what a translation
table is indexed by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "Chunk",
    "DirectedBitext",
    "Side",
    "Types",
    "chunks",
    "directed",
    "encode",
    "entry_types",
    "mirror",
    "row_entries",
]

Ints = npt.NDArray[np.int64]
_RUN = 1 << 20


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a bitext as word numbers.

    Args:
        words: the vocabulary; word number ``k`` is ``words[k]``.
        ids: word numbers of all sentences, one after the other. Shape: (tokens).
        offsets: sentence ``s`` owns ``ids[offsets[s]:offsets[s + 1]]``. Shape: (sentences + 1).
    """

    words: tuple[str, ...]
    ids: npt.NDArray[np.int32]
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        """Words in each sentence. Shape: (sentences)."""
        return np.diff(self.offsets)


def encode(sentences: Iterable[Sequence[str]], *, lowercase: bool = False) -> Side:
    """Number the words of one side in order of appearance.

    Args:
        sentences: lists of words; two words are the same if their strings are equal.
        lowercase: compare words without case.
    """
    known: dict[str, int] = {}
    ids: list[int] = []
    lengths = [0]
    for given in sentences:
        words = [word.lower() for word in given] if lowercase else given
        ids.extend([known.setdefault(word, len(known)) for word in words])
        lengths.append(len(words))
    return Side(tuple(known), np.array(ids, np.int32), np.cumsum(lengths, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Sentences with equally many conditioning words, as rows of entries, one row a generated word.

    Args:
        width: conditioning words ``n`` in every sentence of the chunk.
        sentences: sentence numbers, longest generated side first. Shape: (sentences).
        lengths: generated words ``m`` of each of them. Shape: (sentences).
        steps: rows ``steps[j]:steps[j + 1]`` are position ``j`` of the first sentences. Shape: (longest + 1).
        member: index into ``sentences`` of each row. Shape: (rows).
        position: 0-based generated position of each row. Shape: (rows).
        first_row: number of this chunk's first row in the whole layout.
        first_entry: number of its first entry.
    """

    width: int
    sentences: Ints
    lengths: Ints
    steps: Ints
    member: Ints
    position: Ints
    first_row: int
    first_entry: int

    @property
    def rows(self) -> int:
        """Generated words in the chunk."""
        return len(self.member)

    @property
    def entries(self) -> slice:
        """The chunk's entries in the whole layout; reshape to (rows, width)."""
        return slice(self.first_entry, self.first_entry + self.rows * self.width)

    def tokens(self, side: Side) -> Ints:
        """Index into ``side.ids`` of each row's generated word. Shape: (rows)."""
        return side.offsets[self.sentences][self.member] + self.position

    def conditions(self, side: Side) -> Ints:
        """Index into ``side.ids`` of the first conditioning word of each row. Shape: (rows)."""
        return side.offsets[self.sentences][self.member]


def chunks(widths: Ints, lengths: Ints, *, chunk_entries: int = 1 << 17) -> list[Chunk]:
    """Lay out a corpus; see the module's text.

    Args:
        widths: conditioning words of each sentence.
        lengths: generated words of each sentence. Sentences with an empty side are left out.
        chunk_entries: entries that a chunk holds at most (one sentence at least); 2**17 float64 stay in a core's cache.
    """
    usable = np.flatnonzero((widths > 0) & (lengths > 0))
    order = usable[np.lexsort((-lengths[usable], widths[usable]))]
    sizes = widths[order] * lengths[order]
    ends = np.cumsum(sizes)
    bounds = np.flatnonzero(np.diff(widths[order])) + 1
    result: list[Chunk] = []
    row = entry = 0
    for start, stop in zip([0, *bounds.tolist()], [*bounds.tolist(), len(order)], strict=True):
        first = start
        while first < stop:
            done = ends[first - 1] if first else 0
            last = int(np.searchsorted(ends, done + chunk_entries, side="right"))
            last = min(max(last, first + 1), stop)
            chunk = _chunk(order[first:last], widths, lengths, row, entry)
            result.append(chunk)
            row += chunk.rows
            entry += chunk.rows * chunk.width
            first = last
    return result


def _chunk(sentences: Ints, widths: Ints, lengths: Ints, row: int, entry: int) -> Chunk:
    own = lengths[sentences]
    longest = int(own[0])
    alive = np.searchsorted(-own, -np.arange(longest), side="left")
    position = np.repeat(np.arange(longest), alive)
    steps = np.concatenate([[0], np.cumsum(alive)])
    member = np.arange(int(steps[-1])) - steps[position]
    return Chunk(int(widths[sentences[0]]), sentences, own, steps, member, position, row, entry)


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

    def find(self, source: npt.NDArray[np.int32], target: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """The type of each (source, target) word pair, −1 where there is none. Shape: that of the arguments."""
        if not len(self):
            return np.full(source.shape, -1, np.int64)
        own, wanted = _keys(self.source, self.target), _keys(source, target)
        place = np.minimum(np.searchsorted(own, wanted), len(own) - 1)
        return np.where(own[place] == wanted, place, -1)


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
    for run in _runs(layout):
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


def row_entries(layout: Sequence[Chunk], side: Side) -> Ints:
    """First entry of each generated word's row, by index into ``side.ids`` (−1 where its pair is left out).

    Source word ``i`` and target word ``j`` of a sentence are entry ``row_entries[target token j] + i`` of the layout
    that generates the target side, and ``row_entries'[source token i] + j`` of the one that generates the source side.
    """
    first = np.full(len(side.ids), -1, np.int64)
    for chunk in layout:
        first[chunk.tokens(side)] = chunk.first_entry + np.arange(chunk.rows) * chunk.width
    return first


def _runs(layout: Sequence[Chunk]) -> Iterable[list[Chunk]]:
    run: list[Chunk] = []
    for chunk in layout:
        if run and chunk.entries.stop - run[0].first_entry > _RUN:
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


def _keys(source: npt.NDArray[np.int32], target: npt.NDArray[np.int32]) -> Ints:
    """Source and target word as one sortable number; −1 if either is unknown."""
    keys = (source.astype(np.int64) << 32) | target.astype(np.int64)
    return np.where((source < 0) | (target < 0), -1, keys)


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
    def tokens(self) -> int:
        """Generated words in pairs that have two sides."""
        return sum(chunk.rows for chunk in self.layout)

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


def mirror(chunk: Chunk, first: Ints, given: Side) -> Ints:
    """Where a chunk's entries lie in the layout of the other direction.

    Args:
        chunk: of the direction whose conditioning side is ``given``.
        first: :func:`row_entries` of the other direction's layout, in which ``given`` is generated.
        given: the conditioning side of ``chunk``.

    Returns:
        Entry numbers. Shape: (rows, width).
    """
    rows = first[given.offsets[chunk.sentences][:, None] + np.arange(chunk.width)]
    return np.asarray(rows[chunk.member] + chunk.position[:, None])
