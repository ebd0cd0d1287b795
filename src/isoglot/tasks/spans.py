"""From start and end scores of windows to an answer: n-best, maximal context, null."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isoglot.tasks.features import RowOutput


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a context that one row holds."""

    first: int
    offsets: NDArray[np.int32]  # characters of each of its tokens in the context. Shape: (tokens, 2)
    null: int  # position whose scores stand for no answer


def maximal_context(windows: Sequence[Window]) -> list[NDArray[np.bool_]]:
    """For each window's tokens, whether no other window shows more of what stands around them (BERT's rule).

    A token's score in a window is the smaller of what stands left and right of it, plus a hundredth of the window's
    length; of equal ones the first window wins.
    """
    best: dict[tuple[int, int], tuple[float, int]] = {}
    for number, window in enumerate(windows):
        count = len(window.offsets)
        position = np.arange(count)
        scores = np.minimum(position, count - 1 - position) + 0.01 * count
        for key, score in zip(map(tuple, window.offsets.tolist()), scores.tolist(), strict=True):
            if key not in best or score > best[key][0]:
                best[key] = (score, number)
    return [
        np.array([best[(a, b)][1] == number for a, b in window.offsets.tolist()], bool)
        for number, window in enumerate(windows)
    ]


def best_answer(
    context: str,
    windows: Sequence[Window],
    outputs: Sequence[RowOutput],
    *,
    n_best: int = 20,
    max_answer_length: int = 30,
    null_threshold: float | None = None,
) -> tuple[str, float]:
    """The answer with the highest start + end score, and that score; the options are those of the tasks.

    ``outputs`` are start and end scores of each window. **Shape**: (2, length of the row).
    """
    best: tuple[float, int, int] | None = None
    null = np.inf
    starts_allowed = maximal_context(windows) if len(windows) > 1 else [None] * len(windows)
    for window, output, allowed in zip(windows, outputs, starts_allowed, strict=True):
        null = min(null, float(output[0, window.null] + output[1, window.null]))
        span = _best_in(window, output, allowed, n_best, max_answer_length)
        if span is not None and (best is None or span[0] > best[0]):
            best = span
    if best is None:
        return "", float(null)
    if null_threshold is not None and null - best[0] > null_threshold:
        return "", float(null)
    return context[best[1] : best[2]].strip(), best[0]


def _best_in(
    window: Window, output: RowOutput, allowed: NDArray[np.bool_] | None, n_best: int, longest: int
) -> tuple[float, int, int] | None:
    """Score, first and last character of a window's best span."""
    count = len(window.offsets)
    if not count:
        return None
    part = slice(window.first, window.first + count)
    begin, end = output[0, part].astype(np.float64), output[1, part].astype(np.float64)
    if allowed is not None:
        begin = np.where(allowed, begin, -np.inf)
    top = min(n_best, count)
    starts = np.argsort(-begin, kind="stable")[:top]
    ends = np.argsort(-end, kind="stable")[:top]
    starts = starts[np.isfinite(begin[starts])]
    length = ends[None, :] - starts[:, None] + 1
    fits = (length >= 1) & (length <= longest)
    if not fits.any():
        return None
    scores = np.where(fits, begin[starts][:, None] + end[ends][None, :], -np.inf)
    s, e = np.unravel_index(int(scores.argmax()), scores.shape)
    first, last = starts[s], ends[e]
    return float(scores[s, e]), int(window.offsets[first, 0]), int(window.offsets[last, 1])
