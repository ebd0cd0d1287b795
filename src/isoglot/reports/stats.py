"""Statistics of a report: means over seeds, what exceeds their noise, rank correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

CONFIDENCE = 95
"""Level of every interval and margin of a report, in percent."""
TAILS = ((100 - CONFIDENCE) / 200, (100 + CONFIDENCE) / 200)
"""Quantiles at both ends of such an interval: 0.025 and 0.975."""

_EXACT_BELOW = 8
"""Points up to which all orders are tried for an exact p: 7! = 5,040 of them."""


@dataclass(frozen=True)
class Score:
    """A mean over seeds."""

    mean: float
    sd: float | None  # the sample's standard deviation, n − 1 below the line; `None` for one seed
    seeds: int
    examples: int = 0  # how many examples each seed was measured on (the fewest)

    @classmethod
    def of(cls, values: Sequence[float], examples: int = 0) -> Score:
        """The mean of at least one value."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values), examples)

    @property
    def error(self) -> float | None:
        """Standard error of the mean, sd / √n."""
        return None if self.sd is None else self.sd / self.seeds**0.5


def half_interval(score: Score) -> float | None:
    """Half of the 95 % interval of a mean over seeds, t₀.₉₇₅(n − 1) · sd / √n; ``None`` for one seed.

    Example:
        >>> round(half_interval(Score.of([70.0, 71.0, 72.0])), 2)
        2.48
    """
    if score.error is None:
        return None
    from scipy.stats import t as student  # noqa: PLC0415 - slow to import

    return float(student.ppf(TAILS[1], score.seeds - 1)) * score.error


def margin(first: Score, second: Score) -> float:
    """Compute the margin that two means must differ by to be more than noise: half of Welch's 95 % interval.

    t₀.₉₇₅(ν) · √(e₁² + e₂²), with e = sd / √n and ν = (e₁² + e₂²)² / (e₁⁴ / (n₁ − 1) + e₂⁴ / (n₂ − 1)). Runs count as
    unpaired even where they share seeds. A mean of one seed counts as exact; 0 where neither has an error.

    Example:
        >>> round(margin(Score.of([70.0, 71.0, 72.0]), Score.of([72.0, 73.0, 74.0])), 2)
        2.27
    """
    # A score of one seed has no error, one of equal values an error of 0: neither adds to the variance.
    errors = [(score.error**2, score.seeds - 1) for score in (first, second) if score.error]
    variance = sum(squared for squared, _ in errors)
    if not variance:
        return 0.0
    from scipy.stats import t as student  # noqa: PLC0415 - slow to import

    # Degrees of freedom after Welch and Satterthwaite: ν above.
    freedom = variance**2 / sum(squared**2 / below for squared, below in errors)
    return float(student.ppf(TAILS[1], freedom)) * math.sqrt(variance)


def shown_p(p: float) -> str:
    """``p = 0.031``, ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation: ρ, the two-sided p of no correlation, and how many points."""

    rho: float
    p: float
    points: int

    def __str__(self) -> str:
        return (
            f"Spearman ρ = {self.rho:.3f}".replace("-", "−") + f" ({shown_p(self.p)}, {self.points} points)"
        )


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> Correlation | None:
    """Spearman's ρ with mean ranks for ties; ``None`` for fewer than three points or where all are equal.

    The two-sided p is exact, over all orders, for fewer than eight points: Student's t, which the papers' twelve
    points are tested with, calls even a perfect order of four certain.
    """
    if len(x) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        return None
    from scipy.stats import permutation_test, rankdata, spearmanr  # noqa: PLC0415 - slow to import

    correlation = spearmanr(x, y)
    p = float(correlation.pvalue)
    if len(x) < _EXACT_BELOW:
        # Centred ranks of y: the sum of products with the ranks of x is largest for the orders that agree most. Its
        # size, whatever the sign, is tested against its size under every order of x.
        against = rankdata(y) - (len(y) + 1) / 2
        exact = permutation_test(
            (rankdata(x),),
            lambda ranks, axis: abs((ranks * against).sum(axis=axis)),
            permutation_type="pairings",
            vectorized=True,
            n_resamples=math.inf,
            alternative="greater",
        )
        p = float(exact.pvalue)
    return Correlation(float(correlation.statistic), p, len(x))
