from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.aligners.statistical.bitext import encode
from isoglot.aligners.statistical.pair_table import EMPTY, PairTable


@st.composite
def bitexts(draw):
    source = draw(st.lists(st.text("abcde", max_size=6).map(list), max_size=9))
    return source, [draw(st.text("vwxyz", max_size=5).map(list)) for _ in source]


@settings(deadline=None)
@given(bitexts())
def test_each_pair_that_occurs_has_one_slot_and_no_other_has_any(bitext):
    source, target = encode(bitext[0]), encode(bitext[1])
    table = PairTable.of(source, target)
    together = {(e, f) for s, t in zip(*bitext, strict=True) for e in s for f in t}
    given_words, generated_words, slots = table.pairs()
    found = [(source.words[e], target.words[f]) for e, f in zip(given_words, generated_words, strict=True)]
    assert set(found) == together
    assert len(found) == len(table) == len(together) == len(set(slots.tolist()))
    assert (table.key[slots] == generated_words).all()
    assert (table.key != EMPTY).sum() == len(table)
    every = [(e, f) for e in range(-1, len(source.words)) for f in range(-1, len(target.words))]
    if every:
        one, other = np.array(every, np.int32).T
        for (e, f), slot in zip(every, table.slots(one, other).tolist(), strict=True):
            known = min(e, f) >= 0 and (source.words[e], target.words[f]) in together
            assert (slot >= 0) == known


@settings(deadline=None)
@given(bitexts())
def test_a_table_of_pairs_has_the_same_pairs(bitext):
    source, target = encode(bitext[0]), encode(bitext[1])
    one, other, _ = PairTable.of(source, target).pairs()
    again = PairTable.of_pairs(one, other, len(source.words)).pairs()
    assert (again[0].tolist(), again[1].tolist()) == (one.tolist(), other.tolist())
    turned = PairTable.of_pairs(other, one, len(target.words))
    assert sorted(zip(turned.pairs()[1].tolist(), turned.pairs()[0].tolist(), strict=True)) == list(
        zip(one.tolist(), other.tolist(), strict=True)
    )


def test_pairs_with_an_empty_side_are_left_out():
    table = PairTable.of(encode([["a"], [], ["b"]]), encode([["x"], ["y"], []]))
    assert len(table) == 1
    assert table.size.tolist() == [1, 0]
