from __future__ import annotations

from isoglot.aligners.statistical.bitext import encode, locate_words


def test_words_are_numbered_in_order_and_found_again():
    side = encode([["A", "a", "b"], [], ["B", "c"]], lowercase=True)
    assert (side.words, side.ids.tolist(), side.offsets.tolist()) == (
        ("a", "b", "c"),
        [0, 0, 1, 1, 2],
        [0, 3, 3, 5],
    )
    assert side.lengths.tolist() == [3, 0, 2]
    assert locate_words(side.words, ["c", "A", "b"]).tolist() == [2, -1, 1]
    assert encode([]).lengths.tolist() == []
