"""Forward–backward for a chunk of sentences at once: the E-step of a word-alignment HMM.

The hidden state of a generated word is the given word that it is linked to, or null with a memory of the last link, so
that the next jump starts from there (Och & Ney 2003, §2.1.2). All sentences of a chunk have the same number of given
words and hence one transition matrix; step ``j`` is one matrix product for all of them.

    p(a_j = i | a_{j−1} = i′) = (1 − p0) · c(i − i′) / Σ_l c(l − i′),   p(a_j = null) = p0

Source: Vogel, Ney & Tillmann 1996 (*HMM-based word alignment in statistical translation*), eq. 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isoglot.align.statistical.layout import Chunk

__all__ = ["Jumps", "Posteriors", "forward_backward"]

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Jumps:
    """Unnormalised jump weights, shared by all sentence lengths.

    Args:
        width: weight of a jump by −limit…limit words; longer ones count as the longest. Shape: (2 · limit + 1).
        start: weight of the first link at word 0…limit. Shape: (limit + 1).
        null: p0.
    """

    width: npt.NDArray[np.float64]
    start: npt.NDArray[np.float64]
    null: float

    @classmethod
    def initial(cls, limit: int, null: float) -> Jumps:
        """Weights that fall by half a nat a word away from a jump to the next word."""
        away = np.abs(np.arange(-limit, limit + 1) - 1)
        return cls(np.exp(-away / 2) + 1e-3, np.exp(-np.arange(limit + 1) / 2) + 1e-3, null)

    def places(self, words: int) -> npt.NDArray[np.int64]:
        """Index into ``width`` of each (from, to). Shape: (words, words)."""
        limit = len(self.start) - 1
        position = np.arange(words)
        return np.asarray(np.clip(position[None, :] - position[:, None], -limit, limit) + limit)

    def matrices(self, words: int, kind: npt.DTypeLike) -> tuple[Floats, Floats]:
        """Transition (from, to) and initial probabilities without p0. Shapes: (words, words), (words)."""
        transition = self.width[self.places(words)]
        transition = transition / transition.sum(axis=1, keepdims=True)
        start = self.start[np.minimum(np.arange(words), len(self.start) - 1)]
        return transition.astype(kind), (start / start.sum()).astype(kind)


@dataclass(frozen=True, slots=True)
class Posteriors:
    """What the E-step knows about a chunk.

    Args:
        links: p(a_j = i | sentence pair). Shape: (rows, width).
        null: p(a_j = null | sentence pair). Shape: (rows).
        log_scale: log p(f_j | f_1…f_{j−1}); sums to the log-likelihood. Shape: (rows).
        jumps: expected number of jumps by width; empty if not wanted. Shape: that of :attr:`Jumps.width`.
        starts: expected number of first links by word. Shape: that of :attr:`Jumps.start`.
    """

    links: Floats
    null: Floats
    log_scale: Floats
    jumps: npt.NDArray[np.float64]
    starts: npt.NDArray[np.float64]


def forward_backward(
    chunk: Chunk, emission: Floats, null_emission: Floats, jumps: Jumps, *, count_jumps: bool = True
) -> Posteriors:
    """Posterior link probabilities of a chunk.

    Args:
        chunk: its layout.
        emission: p(f_j | e_i), overwritten. Shape: (rows, width).
        null_emission: p(f_j | null). Shape: (rows).
        jumps: transition weights.
        count_jumps: whether the expected jumps are wanted.
    """
    kind = emission.dtype
    transition, start = jumps.matrices(chunk.width, kind)
    emission *= kind.type(1.0 - jumps.null)
    silent = null_emission * kind.type(jumps.null)
    steps = chunk.steps.tolist()
    state, null_state, scale = _forward(chunk, emission, silent, (transition, start))
    beta = np.ones_like(emission)
    emission /= scale[:, None]
    silent = silent / scale
    back = np.ascontiguousarray(transition.T)
    for j in range(len(steps) - 3, -1, -1):
        here, ahead = (
            slice(steps[j], steps[j] + steps[j + 2] - steps[j + 1]),
            slice(steps[j + 1], steps[j + 2]),
        )
        emission[ahead] *= beta[ahead]
        np.matmul(emission[ahead], back, out=beta[here])
        beta[here] += silent[ahead, None] * beta[ahead]
    emission[: steps[1]] *= beta[: steps[1]]
    moved: npt.NDArray[np.float64] = np.empty(0)
    started: npt.NDArray[np.float64] = np.empty(0)
    if count_jumps:
        later = np.arange(steps[1], chunk.rows)
        before = chunk.steps[chunk.position[later] - 1] + chunk.member[later]
        pairs = (state[before].T @ emission[later]) * transition
        moved = np.asarray(
            np.bincount(jumps.places(chunk.width).ravel(), pairs.ravel(), len(jumps.width)), np.float64
        )
    null_state *= beta
    null = null_state.sum(axis=1)
    state *= beta
    state -= null_state
    np.maximum(state, 0, out=state)
    if count_jumps:
        first = np.minimum(np.arange(chunk.width), len(jumps.start) - 1)
        started = np.asarray(np.bincount(first, state[: steps[1]].sum(axis=0), len(jumps.start)), np.float64)
    return Posteriors(state, null, np.log(scale), moved, started)


def _forward(
    chunk: Chunk, emission: Floats, silent: Floats, matrices: tuple[Floats, Floats]
) -> tuple[Floats, Floats, Floats]:
    """Scaled forward probabilities of link or null, of null alone, and the scales."""
    transition, start = matrices
    steps = chunk.steps.tolist()
    state, null_state = np.empty_like(emission), np.empty_like(emission)
    scale = np.empty(chunk.rows, emission.dtype)
    ones = np.ones(chunk.width, emission.dtype)
    for j in range(len(steps) - 1):
        here = slice(steps[j], steps[j + 1])
        now, null_now = state[here], null_state[here]
        if j == 0:
            np.multiply(start, emission[here], out=now)
            np.multiply(start, silent[here, None], out=null_now)
        else:
            before = state[steps[j - 1] : steps[j - 1] + steps[j + 1] - steps[j]]
            np.matmul(before, transition, out=now)
            now *= emission[here]
            np.multiply(before, silent[here, None], out=null_now)
        now += null_now
        total = now @ ones
        scale[here] = total
        inverse = (1 / total)[:, None]
        now *= inverse
        null_now *= inverse
    return state, null_state, scale
