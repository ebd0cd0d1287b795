"""Bitext as arrays: word numbers, and the entries (generated word × given word) of every pair as dense matrices.

A statistical aligner visits each target word with each source word of its pair: an *entry*. Entries are laid out in
chunks of sentences with equally many source words, longest target side first, and within a chunk by target position:

    chunk (n = 7):  [position 0: all sentences] [position 1: those with ≥ 2 words] …      rows of n entries each

so a chunk is one dense matrix without padding, and a model that walks along the target side (an HMM) finds each
position's rows next to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Chunk", "Ints", "Side", "chunks", "encode", "mirror", "row_entries"]

Ints = npt.NDArray[np.int64]
_SHARD = 1 << 24


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
        shard: number of the shard that the sentences belong to, the same in both directions.
    """

    width: int
    sentences: Ints
    lengths: Ints
    steps: Ints
    member: Ints
    position: Ints
    first_row: int
    first_entry: int
    shard: int

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

    Sentences are taken in shards of about 2**24 entries, so that what belongs to a sentence lies close together in the
    layouts of both directions, however large the corpus.

    Args:
        widths: conditioning words of each sentence.
        lengths: generated words of each sentence. Sentences with an empty side are left out.
        chunk_entries: entries that a chunk holds at most (one sentence at least); 2**17 float64 stay in a core's cache.
    """
    usable = np.flatnonzero((widths > 0) & (lengths > 0))
    shard = np.cumsum(widths[usable] * lengths[usable]) // _SHARD
    arranged = np.lexsort((-lengths[usable], widths[usable], shard))
    order = usable[arranged]
    ends = np.cumsum(widths[order] * lengths[order])
    bounds = np.flatnonzero((np.diff(widths[order]) != 0) | (np.diff(shard[arranged]) != 0)) + 1
    result: list[Chunk] = []
    row = entry = 0
    for start, stop in zip([0, *bounds.tolist()], [*bounds.tolist(), len(order)], strict=True):
        first = start
        while first < stop:
            done = ends[first - 1] if first else 0
            last = int(np.searchsorted(ends, done + chunk_entries, side="right"))
            last = min(max(last, first + 1), stop)
            number = int(shard[arranged[first]])
            chunk = _chunk(order[first:last], widths, lengths, (row, entry, number))
            result.append(chunk)
            row += chunk.rows
            entry += chunk.rows * chunk.width
            first = last
    return result


def _chunk(sentences: Ints, widths: Ints, lengths: Ints, place: tuple[int, int, int]) -> Chunk:
    own = lengths[sentences]
    longest = int(own[0])
    alive = np.searchsorted(-own, -np.arange(longest), side="left")
    position = np.repeat(np.arange(longest), alive)
    steps = np.concatenate([[0], np.cumsum(alive)])
    member = np.arange(int(steps[-1])) - steps[position]
    return Chunk(int(widths[sentences[0]]), sentences, own, steps, member, position, *place)


def row_entries(layout: Sequence[Chunk], side: Side) -> Ints:
    """First entry of each generated word's row, by index into ``side.ids`` (−1 where its pair is left out).

    Source word ``i`` and target word ``j`` of a sentence are entry ``row_entries[target token j] + i`` of the layout
    that generates the target side, and ``row_entries'[source token i] + j`` of the one that generates the source side.
    """
    first = np.full(len(side.ids), -1, np.int64)
    for chunk in layout:
        first[chunk.tokens(side)] = chunk.first_entry + np.arange(chunk.rows) * chunk.width
    return first


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
