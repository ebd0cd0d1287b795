from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import reference

from isoglot.aligners.alignment import Alignment
from isoglot.aligners.scoring import GoldAlignment, score
from isoglot.errors import ConfigurationError
from isoglot.link_counts import AlignmentScore

links = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


def test_hand_made_corpus():
    gold = [GoldAlignment.of([[0, 0], [1, 1]], [[1, 2]]), GoldAlignment.of([[0, 0]]), GoldAlignment.of([])]
    found = [Alignment.from_pharaoh(line) for line in ("0-0 1-2 3-3", "", "0-0")]
    total = score(found, gold)
    assert total == AlignmentScore(links=4, sure=3, sure_hits=1, possible_hits=2)
    assert (total.precision, total.recall) == (0.5, pytest.approx(1 / 3))
    assert total.aer == pytest.approx(1 - 3 / 7)
    assert total.f1 == pytest.approx(0.4)


def test_the_values_of_xlm_aligns_evaluation():
    gold = [
        GoldAlignment.of([[1, 1], [2, 2]], [[1, 1], [2, 2], [3, 2]]),
        GoldAlignment.of([[1, 2]], [[1, 2], [2, 1]]),
    ]
    total = score([Alignment.from_pharaoh(line) for line in ("1-1 3-2 4-4", "1-2 2-1")], gold)
    found = [100 * value for value in (total.precision, total.recall, total.f1, total.aer)]
    assert found == pytest.approx([80.0, 66.66666666666666, 72.72727272727272, 25.0])


def test_empty_hypothesis_and_empty_gold():
    nothing = score([Alignment(frozenset())], [GoldAlignment.of([[0, 0]])])
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.aer) == (0.0, 0.0, 0.0, 1.0)
    assert score([], []).aer == 0.0


@settings(deadline=None)
@given(st.lists(st.tuples(links, links, links), min_size=1, max_size=5))
def test_sure_is_possible_and_transposing_both_changes_nothing(rows):
    found = [Alignment(a) for a, _, _ in rows]
    gold = [GoldAlignment(s, p) for _, s, p in rows]
    total = score(found, gold)
    assert all(g.sure <= g.possible for g in gold)
    assert 0 <= total.aer <= 1
    assert score([a.transpose() for a in found], [g.transpose() for g in gold]) == total
    assert score([Alignment(g.sure) for g in gold], gold).aer == 0.0


def test_lengths_must_agree():
    with pytest.raises(ConfigurationError, match="empty line"):
        score([], [GoldAlignment.of([])])


def test_alignment_error_rate() -> None:
    values = reference("golden")["aer"]
    gold = [GoldAlignment.of(sure, possible) for sure, possible in values["gold"]]
    total = score([Alignment(frozenset(map(tuple, links))) for links in values["hypothesis"]], gold)
    found = [100 * value for value in (total.precision, total.recall, total.f1, total.aer)]
    assert found == pytest.approx(values["precision_recall_f1_aer"])
