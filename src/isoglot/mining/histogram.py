"""A histogram of scores, counted as they come, for choosing a threshold."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

_LOW, _HIGH, _BINS = -1.0, 3.0, 1600
"""The range of cosines, margins and shares; what lies outside counts for the bin at that end."""
_STEPS = (1, 2, 4, 10, 20, 40, 100)
"""Bins that are joined in a row of the table: each row spans 0.0025, 0.005, 0.01, 0.025, ..."""
_BAR = 40


class Histogram:
    """Counts scores in narrow bins.

    Example:
        >>> histogram = Histogram([0.5, 0.51, 0.9])
        >>> histogram.count, [n for _, _, n in histogram.rows(4) if n]
        (3, [2, 1])
    """

    def __init__(self, scores: Sequence[float] = ()) -> None:
        self._counts = np.zeros(_BINS, np.int64)
        self.add(scores)

    @property
    def count(self) -> int:
        """Scores so far."""
        return int(self._counts.sum())

    def add(self, scores: Sequence[float]) -> None:
        """Count some scores."""
        # a hair's breadth, so that a score on the border of two bins is in the upper one
        bins = np.floor((np.asarray(scores, float) - _LOW) / (_HIGH - _LOW) * _BINS + 1e-6)
        self._counts += np.bincount(np.clip(bins, 0, _BINS - 1).astype(np.int64), minlength=_BINS)

    def rows(self, most: int = 20) -> list[tuple[float, float, int]]:
        """Lower bound, upper bound and count of bins of equal width, at most this many, none empty at either end."""
        filled = np.flatnonzero(self._counts)
        if not len(filled):
            return []
        step = next(s for s in _STEPS if filled[-1] // s - filled[0] // s < most)
        bounds = pairwise(np.linspace(_LOW, _HIGH, _BINS // step + 1).round(4).tolist())
        counts = self._counts.reshape(-1, step).sum(1).tolist()
        rows = [(low, high, n) for (low, high), n in zip(bounds, counts, strict=True)]
        return rows[filled[0] // step : filled[-1] // step + 1]

    def text(self, name: str) -> str:
        """A table for a terminal: bins, bars, counts, and the share of scores in a row and all above it."""
        rows = self.rows()
        tallest, left = max((n for *_, n in rows), default=1), self.count
        lines = [f"{name:>16s}  {'':{_BAR}s}  {'pairs':>9s}  at least"]
        for low, high, n in rows:
            bar = "#" * -(-_BAR * n // tallest)
            share = 100 * left / self.count
            lines.append(f"{low:7.4g} – {high:<6.4g}  {bar:{_BAR}s}  {n:9,d}  {share:7.1f}%")
            left -= n
        return "\n".join(lines)

    def recorded(self) -> list[dict[str, Any]]:
        """The rows for a JSON file, finer than those of the table."""
        return [{"from": low, "to": high, "pairs": n} for low, high, n in self.rows(100)]
