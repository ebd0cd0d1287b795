"""A histogram of scores, counted as they come, for choosing a threshold."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

_LOW, _HIGH, _BINS = -1.0, 3.0, 1600
"""The range of cosines, margins and shares; what lies outside counts for the bin at that end."""
_BINS_PER_ROW = (1, 2, 4, 10, 20, 40, 100)
"""Bins that a row of the table may join: then each row spans 0.0025, 0.005, 0.01, 0.025, ..."""
_LONGEST_BAR = 40


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
        bins = (np.asarray(scores, float) - _LOW) / (_HIGH - _LOW) * _BINS
        # A little is added, so that a score on the border of two bins is in the upper one despite rounding.
        bins = np.clip(np.floor(bins + 1e-6), 0, _BINS - 1).astype(np.int64)
        self._counts += np.bincount(bins, minlength=_BINS)

    def rows(self, most: int = 20) -> list[tuple[float, float, int]]:
        """Make rows of (lower bound, upper bound, count): at most ``most``, equally wide, none empty at either end."""
        filled = np.flatnonzero(self._counts)
        if not len(filled):
            return []
        first, last = filled[0], filled[-1]
        # The narrowest rows of which there are not too many between the first and the last filled bin.
        width = next(width for width in _BINS_PER_ROW if last // width - first // width < most)
        bounds = pairwise(np.linspace(_LOW, _HIGH, _BINS // width + 1).round(4).tolist())
        counts = self._counts.reshape(-1, width).sum(1).tolist()
        rows = [(low, high, count) for (low, high), count in zip(bounds, counts, strict=True)]
        return rows[first // width : last // width + 1]

    def text(self, name: str) -> str:
        """Draw a table for a terminal.

        A row has its bounds, a bar, its count, and the share of all scores that a threshold at its lower bound keeps.
        """
        rows = self.rows()
        largest = max((count for *_, count in rows), default=1)
        lines = [f"{name:>16s}  {'':{_LONGEST_BAR}s}  {'pairs':>9s}  at least"]
        at_least = self.count  # scores in this row and in the rows below it, whose scores are higher
        for low, high, count in rows:
            bar = "#" * math.ceil(_LONGEST_BAR * count / largest)
            share = 100 * at_least / self.count
            lines.append(f"{low:7.4g} – {high:<6.4g}  {bar:{_LONGEST_BAR}s}  {count:9,d}  {share:7.1f}%")
            at_least -= count
        return "\n".join(lines)

    def recorded(self) -> list[dict[str, Any]]:
        """The rows for a JSON file, more and narrower than those of the table."""
        return [{"from": low, "to": high, "pairs": count} for low, high, count in self.rows(100)]
