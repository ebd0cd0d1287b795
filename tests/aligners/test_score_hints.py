"""Hints at wrong bases, sides and numbers of sentences, from sums over sentences."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.aligners.scoring import Readings, score_pair
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair
from isoglot.results.link_counts import AlignmentScore


def read(links, gold) -> Readings:
    readings = Readings()
    for own, right in zip(links, gold, strict=True):
        readings.add(own, right)
    return readings


@pytest.mark.parametrize(
    ("shift", "reverse", "hint"),
    [
        (1, False, "base=1"),
        (-1, False, "gold_base=1"),
        (0, True, "reverse=True"),
        (1, True, "base=1.*reverse=True"),
    ],
)
def test_wrong_bases_and_sides_are_diagnosed(shift, reverse, hint):
    gold = [SentencePair.of_gold([(i, (3 * i) % 7 + 1) for i in range(1, 7)]) for _ in range(5)]
    assert read([g.sure for g in gold], gold).hint() is None
    wrong = [Alignment(frozenset((i + shift, j + shift) for i, j in g.sure)) for g in gold]
    if reverse:
        wrong = [a.transpose() for a in wrong]
    assert re.search(hint, read([a.links for a in wrong], gold).hint())


@pytest.mark.parametrize(("shift", "hint"), [(1, "one too high"), (-1, "one too low")])
def test_sentences_of_another_number_are_diagnosed(shift, hint):
    gold = [SentencePair.of_gold([(i, (i * n) % 7) for i in range(7)]) for n in range(1, 6)]
    moved = [gold[(number - shift) % len(gold)].sure for number in range(len(gold))]
    assert hint in read(moved, gold).hint()


links = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6)


def whole(found, gold) -> AlignmentScore:
    each = (score_pair(own.links, right) for own, right in zip(found, gold, strict=True))
    return sum(each, AlignmentScore())


@given(st.lists(st.tuples(links, links, links), max_size=5))
def test_sums_are_those_of_the_whole_corpus(rows):
    """Every reading, made as a corpus of its own and scored at once."""
    gold = [SentencePair(sure=sure, possible=possible) for _, sure, possible in rows]
    found = [Alignment(own) for own, _, _ in rows]
    readings, none = read([a.links for a in found], gold), Alignment(frozenset())
    assert readings.total == whole(found, gold)
    others = [
        [Alignment(frozenset((i + shift, j + shift) for i, j in a.links)) for a in side]
        for side in (found, [a.transpose() for a in found])
        for shift in (-1, 0, 1)
    ]
    others += [[*found[1:], none], [none, *found[:-1]]] if rows else []
    best = min((whole(other, gold).aer for other in others), default=0.0)
    hint = readings.hint()
    assert (hint is None) == (best > readings.total.aer - 10)
    assert hint is None or f"AER would be {best:.2f} instead of {readings.total.aer:.2f}" in hint
    assert read([], []).total == AlignmentScore()
