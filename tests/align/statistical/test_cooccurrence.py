from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.align.statistical import cooccurrence, layout
from isoglot.align.statistical.cooccurrence import directed
from isoglot.align.statistical.layout import chunks, encode, row_entries

sentences = st.lists(st.text("abcde", max_size=6).map(list), max_size=9)


@st.composite
def bitexts(draw):
    source = draw(sentences)
    target = [draw(st.text("vwxyz", max_size=5).map(list)) for _ in source]
    return source, target


@settings(deadline=None)
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
    found = chunks(np.array([2, 2, 2, 3]), np.array([1, 3, 2, 1]))
    assert [c.width for c in found] == [2, 3]
    assert found[0].sentences.tolist() == [1, 2, 0]
    assert found[0].steps.tolist() == [0, 3, 5, 6]
    assert found[0].position.tolist() == [0, 0, 0, 1, 1, 2]
    assert found[0].member.tolist() == [0, 1, 2, 0, 1, 0]
    assert found[1].first_entry == found[0].entries.stop == 12


def test_pairs_with_an_empty_side_are_left_out():
    source, target = encode([["a"], [], ["b"]]), encode([["x"], ["y"], []])
    types, forward, _ = directed(source, target)
    assert len(types) == 1
    assert [c.sentences.tolist() for c in forward.layout] == [[0]]
    assert row_entries(forward.layout, target).tolist() == [0, -1]


def test_locate_and_lowercase():
    source, target = encode([["A", "a", "b"]], lowercase=True), encode([["x", "Y"]])
    assert (source.words, target.words) == (("a", "b"), ("x", "Y"))
    _, known, other = directed(source, target)
    _, new, _ = directed(encode([["b"], ["c"]]), encode([["Y", "z"], ["x"]]))
    kinds, given, generated = known.types.locate(new.types)
    named = zip(new.given_word, new.generated_word, kinds, strict=True)
    found = {(new.given.words[e], new.generated.words[f]): int(kind) for e, f, kind in named}
    place = found.pop(("b", "Y"))
    assert (
        known.given.words[known.given_word[place]],
        known.generated.words[known.generated_word[place]],
    ) == ("b", "Y")
    assert set(found.values()) == {-1}
    assert (given.tolist(), generated.tolist()) == ([1, -1], [1, -1, 0])
    assert other.types.locate(other.types)[0].tolist() == list(range(len(other.given_word)))


def test_shards_are_the_same_sentences_in_both_directions(monkeypatch):
    monkeypatch.setattr(layout, "_SHARD", 10)
    source, target = (
        encode([["a"] * 3, ["b"] * 2, ["c"], ["d"] * 4]),
        encode([["x"] * 4, ["y"] * 3, ["z"], ["w"] * 4]),
    )
    _, forward, reverse = directed(source, target)

    def shards(parts):
        return {int(s): chunk.shard for chunk in parts for s in chunk.sentences}

    assert shards(forward.layout) == shards(reverse.layout)
    assert [chunk.shard for chunk in forward.layout] == sorted(shards(forward.layout).values())
    assert len(set(shards(forward.layout).values())) > 1
    parts = list(forward.shards())
    assert np.concatenate([part.entry_type for part in parts]).tolist() == forward.entry_type.tolist()
    for part in parts:
        assert part.layout[0].first_entry == part.layout[0].first_row == 0
        assert part.tokens == part.layout[-1].first_row + part.layout[-1].rows
