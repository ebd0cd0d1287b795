"""Choose an answer by the start and end scores of windows: n-best, maximal context, no answer (BERT's rules)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isoglot.tasks.features import RowOutput


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a context that one row holds."""

    first: int  # position of its first token in the row
    offsets: NDArray[np.int32]  # characters of each of its tokens in the context. Shape: (tokens, 2)
    null: int  # position whose scores stand for no answer


def maximal_context(windows: Sequence[Window]) -> list[NDArray[np.bool_]]:
    """Mark the tokens of each window that no other window shows with more context (BERT's rule).

    1. A token's score in a window is the number of tokens to its left or to its right, whichever is smaller, plus a
       hundredth of the window's length.
    2. The window with the highest score has the token; of equal scores the first window.

    Windows of tokens 0–4 and 3–7 share tokens 3 and 4. Token 3 has one token to its right in the first window and none
    to its left in the second, so it is the first window's; token 4 is the second window's.
    """
    # Characters of a token to its best score so far, and to the number of the window with that score.
    best: dict[tuple[int, int], tuple[float, int]] = {}
    for number, window in enumerate(windows):
        count = len(window.offsets)
        position = np.arange(count)
        scores = np.minimum(position, count - 1 - position) + 0.01 * count
        for characters, score in zip(map(tuple, window.offsets.tolist()), scores.tolist(), strict=True):
            if characters not in best or score > best[characters][0]:
                best[characters] = (score, number)
    has_most_context: list[NDArray[np.bool_]] = []
    for number, window in enumerate(windows):
        winners = [best[characters][1] for characters in map(tuple, window.offsets.tolist())]
        has_most_context.append(np.array(winners, np.int64) == number)
    return has_most_context


def best_answer(
    context: str,
    windows: Sequence[Window],
    outputs: Sequence[RowOutput],
    *,
    n_best: int = 20,
    max_answer_length: int = 30,
    null_threshold: float | None = None,
) -> tuple[str, float]:
    """Return the answer with the highest sum of start and end score, and that sum.

    The options are those of :class:`isoglot.tasks.questions.QuestionTask`. ``outputs`` are start and end scores of each
    window. **Shape**: (2, length of the row).

    1. A span of a window counts if its start is among the ``n_best`` starts and its end among the ``n_best`` ends.
    2. A token is a start only in the window that shows most context around it (:func:`maximal_context`).
    3. The score of no answer is the smallest of all windows. A window that does not show the answer has a high one, so
       the one window that shows it decides.
    4. The answer is empty if no span counts, or if the score of no answer exceeds that of the best span by more than
       ``null_threshold``. The score that is returned is then the score of no answer.
    """
    best: tuple[float, int, int] | None = None  # score, first character, end
    null = np.inf  # score of no answer
    # A single window shows every token with the most context.
    starts_allowed = maximal_context(windows) if len(windows) > 1 else [None] * len(windows)
    for window, output, allowed in zip(windows, outputs, starts_allowed, strict=True):
        null = min(null, float(output[0, window.null] + output[1, window.null]))  # 3
        span = _best_in(window, output, allowed, n_best, max_answer_length)  # 1, 2
        if span is not None and (best is None or span[0] > best[0]):
            best = span
    if best is None:  # 4
        return "", float(null)
    score, start, end = best
    if null_threshold is not None and null - score > null_threshold:
        return "", float(null)
    return context[start:end].strip(), score


def _best_in(
    window: Window, output: RowOutput, allowed: NDArray[np.bool_] | None, n_best: int, longest: int
) -> tuple[float, int, int] | None:
    """Find a window's best span: the score, the first character, and the end, one behind the last character.

    ``allowed``: Tokens that may be starts; ``None`` for all. ``longest``: Most tokens of a span.

    Of spans with equal scores the one with the better start counts, then the one with the better end; of equally good
    starts or ends the first one in the text.
    """
    count = len(window.offsets)
    if not count:
        return None
    part = slice(window.first, window.first + count)
    start_scores, end_scores = output[0, part].astype(np.float64), output[1, part].astype(np.float64)
    if allowed is not None:
        start_scores = np.where(allowed, start_scores, -np.inf)
    top = min(n_best, count)
    starts = np.argsort(-start_scores, kind="stable")[:top]
    ends = np.argsort(-end_scores, kind="stable")[:top]
    # With few allowed tokens, some that are not allowed are among the best starts. Their score is minus infinity.
    starts = starts[np.isfinite(start_scores[starts])]
    # Rows are starts and columns are ends: every pair of them is a span.
    length = ends[None, :] - starts[:, None] + 1
    fits = (length >= 1) & (length <= longest)
    if not fits.any():
        return None
    sums = start_scores[starts][:, None] + end_scores[ends][None, :]
    scores = np.where(fits, sums, -np.inf)
    best_start, best_end = np.unravel_index(int(scores.argmax()), scores.shape)
    first, last = starts[best_start], ends[best_end]
    score = float(scores[best_start, best_end])
    return score, int(window.offsets[first, 0]), int(window.offsets[last, 1])
