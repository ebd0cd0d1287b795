from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoglot.align import cooccurrence
from isoglot.align.cooccurrence import chunks, directed, encode, row_entries

sentences = st.lists(st.text("abcde", max_size=6).map(list), max_size=9)


@st.composite
def bitexts(draw):
    source = draw(sentences)
    target = [draw(st.text("vwxyz", max_size=5).map(list)) for _ in source]
    return source, target


@given(bitexts(), st.integers(1, 40), st.integers(1, 30))
def test_every_entry_once_in_both_directions(bitext, size, run):
    source, target = encode(bitext[0]), encode(bitext[1])
    old, cooccurrence._RUN = cooccurrence._RUN, run
    try:
        types, forward, reverse = directed(source, target, chunk_entries=size)
    finally:
        cooccurrence._RUN = old
    pairs = sorted({(e, f) for s, t in zip(*bitext, strict=True) for e in s for f in t})
    named = [(source.words[e], target.words[f]) for e, f in zip(types.source, types.target, strict=True)]
    assert sorted(named) == pairs
    for one, turn in ((forward, 1), (reverse, -1)):
        seen = []
        for chunk in one.layout:
            generated = one.words_of(chunk)
            for row, entry_types in enumerate(one.types_of(chunk)):
                s, j = int(chunk.sentences[chunk.member[row]]), int(chunk.position[row])
                assert one.generated.ids[one.generated.offsets[s] + j] == generated[row]
                for i, kind in enumerate(entry_types):
                    words = bitext[0][s][i if turn == 1 else j], bitext[1][s][j if turn == 1 else i]
                    assert named[kind] == words
                    seen.append((s, i, j) if turn == 1 else (s, j, i))
        expected = [
            (s, i, j)
            for s, (a, b) in enumerate(zip(*bitext, strict=True))
            for i in range(len(a))
            for j in range(len(b))
        ]
        assert sorted(seen) == expected


def test_rows_of_a_position_lie_together():
    layout = chunks(np.array([2, 2, 2, 3]), np.array([1, 3, 2, 1]))
    assert [c.width for c in layout] == [2, 3]
    assert layout[0].sentences.tolist() == [1, 2, 0]
    assert layout[0].steps.tolist() == [0, 3, 5, 6]
    assert layout[0].position.tolist() == [0, 0, 0, 1, 1, 2]
    assert layout[0].member.tolist() == [0, 1, 2, 0, 1, 0]
    assert layout[1].first_entry == layout[0].entries.stop == 12


def test_pairs_with_an_empty_side_are_left_out():
    source, target = encode([["a"], [], ["b"]]), encode([["x"], ["y"], []])
    types, forward, _ = directed(source, target)
    assert len(types) == 1
    assert [c.sentences.tolist() for c in forward.layout] == [[0]]
    assert row_entries(forward.layout, target).tolist() == [0, -1]


def test_find_and_lowercase():
    source, target = encode([["A", "a"]], lowercase=True), encode([["x", "Y"]])
    assert (source.words, target.words) == (("a",), ("x", "Y"))
    types, _, _ = directed(source, target)
    found = types.find(np.array([0, 0, -1, 5], np.int32), np.array([1, 0, 0, 0], np.int32))
    assert found.tolist() == [1, 0, -1, -1]
