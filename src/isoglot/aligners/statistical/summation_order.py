"""The order in which the C++ program fast_align adds numbers up.

Doubles that are added up in another order differ in their last bits. Where two links are equally probable, which is so
wherever a word stands twice in a sentence at equal distances from the diagonal, those bits decide. The program walks
through ``std::unordered_map``s of GNU's libstdc++, whose order follows from the order of insertion: a new element goes
to the head of its bucket, the first of a bucket to the head of the whole list, and growing the table takes the list
apart and builds it anew by the same rule.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.bitext import BitextSide, Ints
from isoglot.aligners.statistical.decoding import WORKERS
from isoglot.aligners.statistical.pair_table import (
    PairTable,
    companion_room,
    companions,
    find,
    occurrences,
    row_parts,
)

_BUCKETS = np.array(
    [13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172933, 351061, 712697, 1447153,
     2938679, 5967347, 12117689],
    np.int64,
)  # fmt: skip
"""Numbers of buckets that a growing map has, one after the other."""


@helper
def _map_order(hashes, following, bucket):
    """Leave in ``following`` the list of a map into which elements with these hashes were inserted one by one.

    Its last number is that of the list's first element, and ``following[k]`` that of the element after ``k``, −1 at the
    end. ``bucket`` is room for as many numbers as the map has buckets.
    """
    head = len(following) - 1
    following[head] = -1
    size, grown = np.int64(1), 0
    bucket[0] = -1
    for element in range(len(hashes)):
        if element in (0, size):
            size = _BUCKETS[grown]
            grown += 1
            for k in range(size):
                bucket[k] = -1
            rest = np.int64(following[head])
            following[head] = -1
            while rest >= 0:
                after = np.int64(following[rest])
                _link(hashes, following, bucket, size, rest)
                rest = after
        _link(hashes, following, bucket, size, element)


@helper
def _link(hashes, following, bucket, size, element):
    """Put an element into its bucket, which holds the number of the element before its first."""
    head = len(following) - 1
    own = hashes[element] % size
    if bucket[own] >= 0:
        before = bucket[own]
        following[element] = following[before]
        following[before] = element
    else:
        first = following[head]
        following[element] = first
        following[head] = element
        if first >= 0:
            bucket[hashes[first] % size] = element
        bucket[own] = head


def word_numbers(given: BitextSide, generated: BitextSide, *, reverse: bool) -> npt.NDArray[np.int64]:
    """The program's number of each generated word: both sides share one vocabulary, in order of appearance."""
    sides = (generated, given) if reverse else (given, generated)
    firsts = []
    for place, side in enumerate(sides):
        newest = np.maximum.accumulate(side.ids) if len(side.ids) else side.ids
        token = np.flatnonzero(np.diff(newest, prepend=-1))
        firsts.append(2 * np.searchsorted(side.offsets, token, side="right") + place)
    words = [*sides[0].words, *sides[1].words]
    numbers: dict[str, int] = {"<eps>": 1, "|||": 2}
    for at in np.argsort(np.concatenate(firsts), kind="stable").tolist():
        numbers.setdefault(words[at], len(numbers) + 1)
    return np.array([numbers[word] for word in generated.words], np.int64)


def row_order(
    table: PairTable, given: BitextSide, generated: BitextSide, numbers: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """The order in which the pairs of each given word are added up, as slots counted from the row's first.

    Shape: (pairs).
    """
    words, order, met = len(numbers), np.empty(len(table), np.int32), occurrences(given)
    done = np.concatenate([[0], np.cumsum(table.size)])

    def write(part: tuple[int, int]) -> None:
        room = *companion_room(words), np.empty(words, np.int64), *_room(words)
        _row_order(met, generated.flat, numbers, table.flat, room, order, part, done[part[0]])

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(write, row_parts(met[0])))
    return order


@compiled
def _row_order(met, side, numbers, table, room, order, part, done):
    seen_by, row, hashes, following, bucket = room
    for given in range(part[0], part[1]):
        count = companions(*met, side, given, seen_by, row)
        for k in range(count):
            hashes[k] = numbers[row[k]]
        _map_order(hashes[:count], following[: count + 1], bucket)
        element = following[count]
        while element >= 0:
            order[done] = find(table.start, table.key, given, row[element]) - table.start[given]
            done += 1
            element = following[element]


def _room(elements: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Room for the list and the buckets of a map with this many elements."""
    buckets = _BUCKETS[min(int(np.searchsorted(_BUCKETS, elements)), len(_BUCKETS) - 1)]
    return np.empty(elements + 1, np.int32), np.empty(buckets, np.int32)


def size_counts(given: BitextSide, generated: BitextSide) -> tuple[Ints, Ints, Ints]:
    """Generated length, given length and frequency of each pair of sentence lengths, in the program's order."""
    n, m = given.lengths, generated.lengths
    usable = (n > 0) & (m > 0)
    n, m = n[usable], m[usable]
    hashes, first, frequency = np.unique((m << 16) | n, return_index=True, return_counts=True)
    inserted = np.argsort(first)
    hashes, frequency = hashes[inserted], frequency[inserted]
    order = list_order(hashes)
    return hashes[order] >> 16, hashes[order] & 0xFFFF, frequency[order]


def list_order(hashes: Ints) -> Ints:
    """The order of a map's list, as numbers of elements in the order of insertion, given their hashes."""
    order = np.empty(len(hashes), np.int64)
    _list_order(hashes, *_room(len(hashes)), order)
    return order


@compiled
def _list_order(hashes, following, bucket, order):
    _map_order(hashes, following, bucket)
    element, done = following[len(hashes)], 0
    while element >= 0:
        order[done] = element
        done += 1
        element = following[element]
