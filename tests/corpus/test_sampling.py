import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.corpus.sampling import language_probabilities, resampled_counts, subsample
from isoglot.errors import ConfigurationError

SIZES = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 60), min_size=1).filter(
    lambda d: any(d.values())
)


def test_probabilities():
    assert language_probabilities({"en": 900, "sw": 100}, alpha=1) == pytest.approx({"en": 0.9, "sw": 0.1})
    assert language_probabilities({"en": 900, "sw": 100}, alpha=0.5) == pytest.approx(
        {"en": 0.75, "sw": 0.25}
    )
    assert language_probabilities({"en": 9, "sw": 1, "xx": 0}, alpha=0) == pytest.approx(
        {"en": 0.5, "sw": 0.5, "xx": 0}
    )


@pytest.mark.parametrize(
    ("sizes", "alpha"), [({}, 1), ({"en": 0}, 1), ({"en": 3}, -1), ({"en": 3, "de": -1}, 1)]
)
def test_no_probabilities(sizes, alpha):
    with pytest.raises(ConfigurationError, match="alpha"):
        language_probabilities(sizes, alpha=alpha)


@given(SIZES, st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.integers(0, 200))
def test_counts_sum_exactly_and_stay_within_one(sizes, alpha, total):
    counts = resampled_counts(sizes, alpha=alpha, total=total)
    exact = language_probabilities(sizes, alpha=alpha)
    assert sum(counts.values()) == total
    assert all(abs(counts[name] - exact[name] * total) < 1 + 1e-6 for name in sizes)


def test_subsample_grows():
    small, large = subsample(400, 0.01, seed=1), subsample(400, 0.25, seed=1)
    assert len(small) == 4 and len(large) == 100 and set(small) <= set(large)
    assert subsample(7, 1.0).tolist() == list(range(7))
    with pytest.raises(ConfigurationError, match=r"0\.25"):
        subsample(10, 25)
