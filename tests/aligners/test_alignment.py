from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from isoglot.aligners.aligner import Aligner
from isoglot.aligners.alignment import LinkTable, give_links
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.core.errors import InputError
from isoglot.formats.links import Alignment
from isoglot.formats.sentence_pair import SentencePair

links = st.frozensets(st.tuples(st.integers(0, 120), st.integers(0, 120)), max_size=12)


@settings(deadline=None)
@given(links)
def test_pharaoh_round_trip_sorted_as_numbers(given_links):
    alignment = Alignment(given_links)
    text = alignment.to_pharaoh()
    assert Alignment.from_pharaoh(text) == alignment
    numbers = [tuple(map(int, item.split("-"))) for item in text.split()]
    assert numbers == sorted(numbers)


@settings(deadline=None)
@given(links, links)
def test_set_operations_and_transpose(one, other):
    a, b = Alignment(one), Alignment(other)
    assert (a & b).links == one & other
    assert (a | b).links == one | other
    assert a.transpose().transpose() == a
    assert (a & b).transpose() == a.transpose() & b.transpose()
    assert len(a) == len(list(a)) == len(one)


@pytest.mark.parametrize("item", ["1", "1-", "-1", "a-b", "1--2", "1-2-3", "0:1", "²-1"])
def test_malformed_link_names_its_place(item):
    with refused(InputError, "links.txt:7: ", f"'{item}'", "0-based"):
        Alignment.from_pharaoh(f"0-0 {item}", path="links.txt", line=7)


def test_a_file_names_the_line():
    with refused(InputError, "x:2: ", "'0_0'"):
        LinkTable.from_pharaoh(["0-0", "0_0"], path="x")


@settings(deadline=None)
@given(st.lists(links, max_size=8))
def test_table_round_trips(sets):
    alignments = [Alignment(s) for s in sets]
    table = LinkTable.from_alignments(alignments)
    assert table.alignments() == alignments
    assert table.to_pharaoh() == [a.to_pharaoh() for a in alignments]
    assert LinkTable.from_pharaoh(table.to_pharaoh()).alignments() == alignments
    assert table.lists() == [[list(link) for link in a] for a in alignments]
    assert len(table.sentence) == len(table.source)


def test_links_are_sorted_with_their_probabilities():
    table = LinkTable.build(2, np.array([1, 1]), np.array([5, 2]), np.array([0, 1]), np.array([0.25, 0.75]))
    assert table.to_pharaoh() == ["", "2-1 5-0"]
    assert table.probability.tolist() == [0.75, 0.25]


def test_pairs_below_the_least_score_have_no_links():
    tables = [
        LinkTable.build(3, np.array([0, 0, 2]), np.array([0, 1, 0]), np.array([0, 0, 1]), np.array(values))
        for values in ([0.5, 1.0, 0.25],)
    ]
    whole, few = [SentencePair() for _ in range(3)], [SentencePair() for _ in range(3)]
    list(give_links(whole, tables[0], [2, 1, 1], [1, 0, 3]))
    assert [pair.links for pair in whole] == [[(0, 0), (1, 0)], [], [(0, 1)]]
    assert [pair.score for pair in whole] == pytest.approx([2.5 / 3, 0.0, 0.5 / 4])
    list(give_links(few, tables[0], [2, 1, 1], [1, 0, 3], min_score=0.5))
    assert [pair.links for pair in few] == [[(0, 0), (1, 0)], [], []]
    assert [pair.score for pair in few] == [pair.score for pair in whole]


def test_statistical_aligner_is_an_aligner():
    assert isinstance(StatisticalAligner(), Aligner)
