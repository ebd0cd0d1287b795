"""Test whether two systems differ by more than chance: paired tests over the examples that each got right.

With the counts of every example (:class:`isoglot.results.example_counts.ExampleCounts`), metrics are computed again for
each sample, never averaged over examples:

* approximate randomisation for p: the outputs of the two systems are exchanged at random, example by example; p is the
  share of exchanges whose difference is at least as large as the observed one, either way. With few differing examples
  all exchanges are counted, and p is exact (for accuracy the sign test's).
* the bootstrap for the interval: examples are drawn with replacement, the same ones for both systems.

p is the test: it says whether the difference is more than chance. The interval says how large the difference may be.
At the border the two may disagree: the interval excludes 0, but p is above 0.05, or the other way round. No level of p
is built in: reports print p and leave the decision to their reader. Only headlines decide, by a third rule, which
compares seeds instead of examples (:mod:`isoglot.reports.headline`).

Source: Noreen 1989 and Yeh 2000 (*More accurate tests for the statistical significance of result differences*);
Efron and Tibshirani 1993; Koehn 2004 for the paired bootstrap.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from operator import index
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoglot.core.errors import ConfigurationError
from isoglot.core.frames import ResultList, Tabular
from isoglot.core.seeding import seed_for
from isoglot.reports.paired_files import (
    Predictions,
    counts_by_metric,
    evaluations_of_system,
    listed_evaluations,
    listed_metrics,
    matched_by_seed,
)
from isoglot.reports.stats import CONFIDENCE, TAILS, shown_p
from isoglot.reports.table import decimals, shown_number
from isoglot.results.example_counts import ExampleCounts, combined

SAMPLES = 10_000
_BLOCK = 4_000_000
"""Random numbers drawn at a time: 32 MB of 8-byte ones."""
_ROUNDING = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison(Tabular):
    """Two systems on the same examples.

    Args:
        metric: Name of the metric.
        first: Value of the first system, in %.
        second: Value of the second system, in %.
        low: Lower end of the 95 % interval of the difference, first − second.
        high: Upper end of this interval.
        p: Two-sided p of no difference.
        examples: Number of examples.
        differing: Number of examples in which the systems' counts differ.
        about: ``task``, ``language``, ``split``, and the runs as ``first`` and ``second``, where they are known.
    """

    metric: str
    first: float
    second: float
    low: float
    high: float
    p: float
    examples: int
    differing: int
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def difference(self) -> float:
        """First − second, in points."""
        return self.first - self.second

    def to_dict(self) -> dict[str, Any]:
        """Return task, language and split if they are known, then all other fields, then the difference."""
        what = {name: self.about[name] for name in ("task", "language", "split") if name in self.about}
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "about"}
        return {**what, **values, "difference": self.difference}

    def __str__(self) -> str:
        about = "".join(f"{self.about[name]} " for name in ("task", "language") if self.about.get(name))
        digits = decimals(self.metric)
        first, second = (shown_number(value, digits=digits) for value in (self.first, self.second))
        signed = (self.difference, self.low, self.high)
        difference, low, high = (shown_number(value, signed=True, digits=digits) for value in signed)
        return (
            f"{about}{self.metric}: {first} against {second}, {difference} "
            f"({CONFIDENCE} % interval {low} to {high}, {shown_p(self.p)}, {self.examples:,} examples)"
        )


def compare(
    first: Predictions | Sequence[Predictions],
    second: Predictions | Sequence[Predictions],
    *,
    samples: int = SAMPLES,
    seed: int = 1,
) -> ResultList[Comparison]:
    """Compare two systems' predictions of the same examples, metric by metric.

    Runs of one system with several seeds go together, as in a report: each value is the mean over the seeds that both
    systems have, and an example's outputs of all of them are exchanged, or drawn, at once.

    Args:
        first: Folder that ``evaluate(..., predictions=FOLDER)`` wrote, or one of its files of counts; or the counts of
            own predictions by metric, as the ``counts`` method of a task gives them. Several seeds are a list of
            these, or a folder that holds the predictions of each seed in a folder of its own.
        second: The same of the system that it is compared with.
        samples: Exchanges and bootstrap samples.
        seed: Seed for sampling.

    Returns:
        One comparison per task, language, split and metric that both have, in the order of the first.

    Raises:
        ConfigurationError: The systems have nothing in common, or were measured on other examples or on none; or a list
            holds runs that differ in more than their seeds.

    Example:
        >>> from isoglot.results.example_counts import shares
        >>> right = {"accuracy": shares([1] * 90 + [0] * 10)}
        >>> (comparison,) = compare(right, {"accuracy": shares([1] * 70 + [0] * 30)})
        >>> comparison.difference, comparison.p < 0.001, comparison.low > 0
        (20.0, True, True)
    """
    try:
        samples, seed = index(samples), index(seed)
    except TypeError:
        raise ConfigurationError(
            f"samples and seed must be whole numbers, got {samples!r} and {seed!r}"
        ) from None
    if samples < 1:
        raise ConfigurationError(f"samples must be at least 1, got {samples}; the default is {SAMPLES:,}")
    first_evaluations, second_evaluations = evaluations_of_system(first), evaluations_of_system(second)
    shared = [key for key in first_evaluations if key in second_evaluations]
    if not shared:
        raise ConfigurationError(
            f"no task, language and split in common: first {listed_evaluations(first_evaluations)}, second "
            f"{listed_evaluations(second_evaluations)}; evaluate both on the same data with [[predictions=FOLDER]]"
        )
    comparisons = ResultList[Comparison]()
    for key in shared:
        seeds, first_runs, second_runs = matched_by_seed(key, first_evaluations[key], second_evaluations[key])
        if len({str(file.about.get("data")) for file in (*first_runs, *second_runs)}) > 1:
            raise ConfigurationError(
                f"{' '.join(key)}: the two were measured on different examples; evaluate both on the same data"
            )
        about: dict[str, Any] = dict(zip(("task", "language", "split"), key, strict=True))
        about["first"] = str(first_runs[0].about.get("run", ""))
        about["second"] = str(second_runs[0].about.get("run", ""))
        if len(seeds) > 1:
            about["seeds"] = seeds
        counts = counts_by_metric(first_runs), counts_by_metric(second_runs)
        comparisons += paired(*counts, samples=samples, seed=seed, about=about)
    if not comparisons:
        raise ConfigurationError(
            f"no metric with examples in common: first has {listed_metrics(first_evaluations)}, second "
            f"{listed_metrics(second_evaluations)}; measure both by the same metric on the same data"
        )
    return comparisons


def paired(
    first: Mapping[str, Sequence[ExampleCounts]],
    second: Mapping[str, Sequence[ExampleCounts]],
    *,
    samples: int = SAMPLES,
    seed: int = 1,
    about: Mapping[str, Any] | None = None,
) -> list[Comparison]:
    """Compare two systems in each metric that both have, on the same examples; see :func:`compare`.

    Each system has the counts of one or more runs by metric, and the means over runs are compared. Exchanges and
    samples are drawn once for all metrics.
    """
    names = [name for name in first if name in second]
    for name in names:
        reference, *rest = [*first[name], *second[name]]
        for counts in rest:
            if (reference.numerators.shape, reference.combine) != (counts.numerators.shape, counts.combine):
                raise ConfigurationError(
                    f"{name}: {len(reference)} and {len(counts)} examples, or other classes, are counted; compare "
                    "predictions of the same examples, by models with the same labels"
                )
    if len({len(first[name][0]) for name in names}) > 1:
        raise ConfigurationError(f"{', '.join(names)}: metrics have different numbers of examples")
    if not names or not len(first[names[0]][0]):
        return []
    pairs = [_Pair(first[name], second[name]) for name in names]
    p_values = _p_values(pairs, samples, seed)
    intervals = _intervals(pairs, samples, seed)
    found = []
    for name, pair, p, (low, high) in zip(names, pairs, p_values, intervals, strict=True):
        found.append(Comparison(name, *pair.means, low, high, p, len(pair), pair.differing, about or {}))
    return found


class _Pair:
    """One metric of both systems: their counts, and by how much the counts of the second exceed those of the first.

    A row of ``first``, ``second`` and ``change`` is one example: the numerators of all runs, then the denominators of
    all; each run has one number for each class that the metric counts (one for accuracy). Two runs, of which one has
    3 of 4 words right and the other 2 of 4, make the row ``[3, 2, 4, 4]``. If a metric counts the classes a
    and b, the numerators of these two runs are ``[a1, b1, a2, b2]``, and the denominators have the same order.
    """

    def __init__(self, first: Sequence[ExampleCounts], second: Sequence[ExampleCounts]) -> None:
        self.runs, self.combine = len(first), first[0].combine
        self.means = fmean(counts.value for counts in first), fmean(counts.value for counts in second)
        self.first, self.second = _stacked(first), _stacked(second)
        self.change = self.second - self.first

    def __len__(self) -> int:
        return len(self.first)

    @property
    def differing(self) -> int:
        """Number of examples in which the systems' counts differ."""
        return int(self.change.any(1).sum())

    def difference(self, first: Floats, second: Floats) -> Floats:
        """Compute first − second from sums over examples; a system's value is the mean over its runs.

        **Shape**: (..., counts) to (...), where counts are the numbers of a row of ``first``.
        """
        values = []
        for sums in (first, second):
            # (..., counts) to (..., 2, runs, classes), where 2 are the numerators and the denominators.
            split = sums.reshape(*sums.shape[:-1], 2, self.runs, -1)
            top, bottom = split[..., 0, :, :], split[..., 1, :, :]
            values.append(combined(top, bottom, self.combine).mean(-1))
        return np.asarray(values[0] - values[1])


def _stacked(runs: Sequence[ExampleCounts]) -> Floats:
    return np.hstack([counts.numerators for counts in runs] + [counts.denominators for counts in runs])


def _p_values(pairs: Sequence[_Pair], samples: int, seed: int) -> list[float]:
    """Compute the two-sided p of each metric: the share of exchanges with at least the observed difference.

    1. Only examples in which the systems differ, in any metric, are exchanged: others change no difference.
    2. With few such examples all exchanges are counted, 2^n of them, and p is exact.
    3. Otherwise exchanges are drawn. The data without any exchange count as one more, so that p is never 0.
    """
    differ = np.flatnonzero(np.any([pair.change.any(1) for pair in pairs], axis=0))  # 1
    observed = [abs(pair.difference(pair.first.sum(0), pair.second.sum(0))) for pair in pairs]
    is_exact = 2 ** len(differ) <= samples
    exchanges = _all_exchanges(len(differ)) if is_exact else _drawn_exchanges(len(differ), samples, seed)
    total = 0
    as_large = np.zeros(len(pairs), np.int64)  # exchanges with at least the observed difference, by metric
    for swaps in exchanges:
        total += len(swaps)
        for i, pair in enumerate(pairs):
            # An exchanged example adds its change (second − first) to the first sum, and takes it from the second.
            moved = swaps @ pair.change[differ]
            exchanged = abs(pair.difference(pair.first.sum(0) + moved, pair.second.sum(0) - moved))
            as_large[i] += int((exchanged >= observed[i] - _ROUNDING).sum())
    if not is_exact:  # 3
        as_large, total = as_large + 1, total + 1
    return [float(p) for p in as_large / total]


def _all_exchanges(examples: int) -> Iterator[Floats]:
    """Yield all exchanges as one block: of two examples ``[[0, 0], [0, 1], [1, 0], [1, 1]]``.

    A row is one exchange, with a 1 for each example that is exchanged.
    """
    yield np.array([*product((0.0, 1.0), repeat=examples)])


def _drawn_exchanges(examples: int, samples: int, seed: int) -> Iterator[Floats]:
    """Yield ``samples`` random exchanges, as many at a time as fit in memory; rows as in :func:`_all_exchanges`."""
    generator = np.random.default_rng(seed_for(seed, "exchange"))
    for block_size in _block_sizes(samples, examples):
        yield generator.integers(0, 2, (block_size, examples), np.int32).astype(np.float64)


def _intervals(pairs: Sequence[_Pair], samples: int, seed: int) -> list[tuple[float, float]]:
    """Find the middle 95 % of the differences of bootstrap samples.

    A sample draws as many examples as there are: the draws 0, 0, 2 count example 0 twice, 1 never and 2 once.
    """
    examples = len(pairs[0])
    generator = np.random.default_rng(seed_for(seed, "bootstrap"))
    differences: list[list[Floats]] = [[] for _ in pairs]
    for block_size in _block_sizes(samples, examples):
        drawn = generator.integers(0, examples, (block_size, examples), np.int32)
        # One count of all samples at once: the draws of sample k are moved to k · examples and above.
        drawn += (np.arange(block_size, dtype=np.int32) * examples)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=block_size * examples)
        times = counts.reshape(block_size, examples).astype(np.float64)
        for drawn_differences, pair in zip(differences, pairs, strict=True):
            drawn_differences.append(pair.difference(times @ pair.first, times @ pair.second))
    ends = [np.quantile(np.concatenate(blocks), TAILS) for blocks in differences]
    return [(float(low), float(high)) for low, high in ends]


def _block_sizes(samples: int, examples: int) -> Iterator[int]:
    """Yield how many samples to draw at a time, so that their random numbers fit in memory."""
    size = max(1, min(samples, _BLOCK // max(1, examples)))
    for start in range(0, samples, size):
        yield min(size, samples - start)
