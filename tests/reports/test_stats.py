"""Margins of noise and rank correlation against scipy's own tests."""

from __future__ import annotations

import pytest
from scipy.stats import ttest_ind

from isoglot.reports.stats import Score, margin, rank_correlation


def test_few_seeds_need_a_wider_margin_than_two_standard_errors() -> None:
    """Against scipy's own test of Welch: the difference is more than the margin where p < 0.05."""
    for one, other in [
        ([80.0, 82.0], [77.0, 78.4]),
        ([80.0, 82.0, 81.0], [77.0, 78.4, 79.0]),
        ([80.0, 80.1], [77, 78]),
    ]:
        first, second = Score.of(one, 9), Score.of(other, 9)
        beyond = abs(first.mean - second.mean) > margin(first, second)
        assert beyond == (ttest_ind(one, other, equal_var=False).pvalue < 0.05)
    two, apart = Score.of([80.0, 82.0], 9), Score.of([77.0, 78.4], 9)
    assert two.error and apart.error
    assert 2 * (two.error**2 + apart.error**2) ** 0.5 < two.mean - apart.mean < margin(two, apart)
    assert margin(two, Score.of([70.0], 9)) == pytest.approx(12.706 * two.error, rel=1e-3)
    assert margin(Score.of([80.0], 9), Score.of([70.0, 70.0], 9)) == 0


def test_spearman_is_of_ranks_with_ties_and_needs_three_points() -> None:
    assert rank_correlation([1, 2], [1, 2]) is None
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None
    found = rank_correlation([1, 2, 2, 9], [10, 30, 20, 400])
    assert found is not None and found.rho == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    with pytest.raises(ValueError, match="dimensions"):
        rank_correlation([1, 2, 3], [1, 2])


def test_few_points_have_an_exact_p() -> None:
    perfect = rank_correlation([1, 2, 3, 4], [10, 20, 30, 40])
    assert perfect is not None
    assert perfect.p == pytest.approx(2 / 24), "two of 24 orders are as far from chance"
    tied = rank_correlation([1, 2, 2], [1, 2, 3])
    assert tied is not None and tied.p == pytest.approx(4 / 6)
    many = rank_correlation(range(12), [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10])
    assert many is not None and many.p < 1e-6, "Student's t, as for the papers' twelve points"
