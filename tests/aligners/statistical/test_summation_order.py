"""The lists are those of a C++ program compiled with GNU's library that inserts the keys and walks through the map."""

from __future__ import annotations

import numpy as np

from isoglot.aligners.statistical.bitext import encode
from isoglot.aligners.statistical.pair_table import PairTable
from isoglot.aligners.statistical.summation_order import list_order, row_order, size_counts, word_numbers


def keys(count):
    """Distinct numbers as the C++ program draws them."""
    number, found = 7, {}
    for _ in range(count):
        number = (number * 1103515245 + 12345) & 0x7FFFFFFF
        found[number % 1_000_000] = None
    return np.array(list(found), np.int64)


def digest(listed):
    total = 0
    for key in listed.tolist():
        total = (total * 31 + key) % 1_000_000_007
    return total


def test_a_list_is_in_the_order_of_the_library():
    few = keys(14)
    assert few[list_order(few)].tolist() == [
        704465, 197717, 666333, 1571, 265938, 562521, 988640, 423262, 885880, 449087, 168116, 310796, 865450, 195227,
    ]  # fmt: skip
    for count, expected in ((5, 352987567), (14, 486625747), (40, 223584417), (700, 610622808)):
        drawn = keys(count)
        assert digest(drawn[list_order(drawn)]) == expected
    assert list_order(np.zeros(0, np.int64)).tolist() == []


def test_both_sides_share_the_numbers_of_words():
    source, target = encode([["a", "b"], [], ["c", "x"]]), encode([["x", "y"], ["b"], ["z"]])
    assert word_numbers(source, target, reverse=False).tolist() == [5, 6, 4, 8]
    assert word_numbers(target, source, reverse=True).tolist() == [3, 4, 7, 5]
    assert word_numbers(source, target, reverse=True).tolist() == [3, 4, 6, 7]


def test_each_row_is_a_permutation_of_its_slots():
    source = encode([list("ab"), list("ba"), list("ac")])
    target = encode([list("xyzxw"), list("vu"), list("tsrqponmlk")])
    table = PairTable.of(source, target)
    order = row_order(table, source, target, word_numbers(source, target, reverse=False))
    ends = np.cumsum(table.size)
    for row, (stop, count) in enumerate(zip(ends, table.size, strict=True)):
        slots = table.start[row] + order[stop - count : stop]
        assert sorted(table.key[slots]) == sorted(
            set(table.key[table.start[row] : table.start[row + 1]]) - {-1}
        )


def test_sizes_are_counted_without_empty_sides():
    source, target = encode([["a"], ["a", "b"], [], ["c"]]), encode([["x"], ["y"], ["z"], ["w"]])
    m, n, frequency = size_counts(source, target)
    assert dict(zip(zip(m.tolist(), n.tolist(), strict=True), frequency.tolist(), strict=True)) == {
        (1, 1): 2,
        (1, 2): 1,
    }
