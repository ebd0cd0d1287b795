"""Statistics of a report: means over seeds, intervals and margins of noise, rank correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

CONFIDENCE = 95
"""Confidence level of every interval and margin in a report, in percent. For p there is no level: reports print p."""
TAILS = ((100 - CONFIDENCE) / 200, (100 + CONFIDENCE) / 200)
"""Quantiles at both ends of an interval: 0.025 and 0.975."""

_EXACT_BELOW = 8
"""Number of points from which p is no longer exact. For 7 points an exact p tries all 7! = 5,040 orders."""


@dataclass(frozen=True)
class Score:
    """A mean over seeds."""

    mean: float
    sd: float | None  # standard deviation of the sample (divided by n − 1); `None` for one seed
    seeds: int  # number of seeds
    examples: int = 0  # number of examples; of the seed with the fewest

    @classmethod
    def of(cls, values: Sequence[float], examples: int = 0) -> Score:
        """Compute the score of one or more values, one per seed."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values), examples)

    @property
    def error(self) -> float | None:
        """Standard error of the mean, sd / √n."""
        return None if self.sd is None else self.sd / self.seeds**0.5


def half_interval(score: Score) -> float | None:
    """Compute half of the 95 % interval of a mean over seeds, t₀.₉₇₅(n − 1) · sd / √n; ``None`` for one seed.

    Example:
        >>> round(half_interval(Score.of([70.0, 71.0, 72.0])), 2)
        2.48
    """
    if score.error is None:
        return None
    from scipy.stats import t as student  # noqa: PLC0415 - slow to import

    return float(student.ppf(TAILS[1], score.seeds - 1)) * score.error


def margin(first: Score, second: Score) -> float:
    """Compute by how much two means must differ to be more than noise: half of Welch's 95 % interval.

    The margin is t₀.₉₇₅(ν) · √(e₁² + e₂²), with e = sd / √n and ν = (e₁² + e₂²)² / (e₁⁴ / (n₁ − 1) + e₂⁴ / (n₂ − 1)).

    1. Runs count as unpaired, even if they share seeds.
    2. A mean of one seed counts as exact: e = 0.
    3. If both means are exact, the margin is 0.

    Example:
        >>> round(margin(Score.of([70.0, 71.0, 72.0]), Score.of([72.0, 73.0, 74.0])), 2)
        2.27
    """
    variance = 0.0  # e₁² + e₂²
    denominator = 0.0  # of ν
    for score in (first, second):
        # The error is None for one seed and 0 for equal values: both count as exact.
        if score.error:
            squared = score.error**2
            variance += squared
            denominator += squared**2 / (score.seeds - 1)
    if not variance:
        return 0.0
    from scipy.stats import t as student  # noqa: PLC0415 - slow to import

    # ν, the degrees of freedom by Welch and Satterthwaite.
    freedom = variance**2 / denominator
    return float(student.ppf(TAILS[1], freedom)) * math.sqrt(variance)


def shown_p(p: float) -> str:
    """Write a p-value as papers do: ``p = 0.031``, or ``p < 0.001``."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation."""

    rho: float
    p: float  # two-sided, of the hypothesis that there is no correlation
    points: int  # number of points

    def __str__(self) -> str:
        rho = f"{self.rho:.3f}".replace("-", "−")
        return f"Spearman ρ = {rho} ({shown_p(self.p)}, {self.points} points)"


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> Correlation | None:
    """Compute Spearman's ρ, with mean ranks for ties.

    ``None`` for fewer than three points, or if all values of ``x`` or all values of ``y`` are equal.

    For fewer than eight points the two-sided p is exact, over all orders. For more points it comes from Student's t, as
    in the papers, which have twelve points. With four points in perfect order Student's t would give p = 0, where the
    exact p is 2/24: two of the 24 orders agree as strongly.
    """
    if len(x) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        return None
    from scipy.stats import permutation_test, rankdata, spearmanr  # noqa: PLC0415 - slow to import

    correlation = spearmanr(x, y)
    p = float(correlation.pvalue)
    if len(x) < _EXACT_BELOW:
        # The sum of products of x's ranks and y's centred ranks grows with ρ. Its absolute value (two-sided) is
        # compared with the absolute values under all orders of x.
        centred_ranks_of_y = rankdata(y) - (len(y) + 1) / 2
        exact = permutation_test(
            (rankdata(x),),
            lambda ranks, axis: abs((ranks * centred_ranks_of_y).sum(axis=axis)),
            permutation_type="pairings",
            vectorized=True,
            n_resamples=math.inf,
            alternative="greater",
        )
        p = float(exact.pvalue)
    return Correlation(float(correlation.statistic), p, len(x))
