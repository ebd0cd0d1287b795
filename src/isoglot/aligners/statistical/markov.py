"""Compiled loops of the forward–backward algorithm over the links of sentence pairs.

The hidden state of a generated word is the conditioning word that it is linked to, or null with a memory of the last
link, so that the next jump starts from there (Och & Ney 2003, §2.1.2):

    p(a_j = i | a_{j−1} = i′) = (1 − p0) · c(i − i′) / Σ_l c(l − i′),   p(a_j = null) = p0

A transition depends on the jump's width alone, so a step needs no matrix: it is a loop over contiguous weights.

The loops have one set of names, here for a sentence pair of n conditioning and m generated words:

- ``emission[j, i]``: p(f_j | e_i). ``silent[j]``: p(f_j | null).
- ``state[j, i]``: forward probability of "word j is linked to i, or to null after a last link to i".
- ``quiet[j, i]``: the part of ``state[j, i]`` in which word j is linked to null.
- ``beta[j, i]``: backward probability of the words behind j, given that state.

Source: Vogel, Ney & Tillmann 1996 (*HMM-based word alignment in statistical translation*), eq. 6.
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled, helper

_LANES = 8
"""Arrays of a sentence are filled with zeros to a multiple of it, so that vector instructions leave no remainder."""


class BothDirections(NamedTuple):
    """The same thing for both directions."""

    forward: Any  # of the direction that generates target words
    reverse: Any  # of the direction that generates source words


class JumpCounts(NamedTuple):
    """Expected jumps by width, and first links by word."""

    moved: npt.NDArray[np.float64]
    started: npt.NDArray[np.float64]

    @classmethod
    def zeros(cls, jumps: Any) -> Self:
        """Return counts of 0, as many as there are weights in ``jumps`` (`hmm.Jumps`)."""
        return cls(moved=np.zeros_like(jumps.by_width), started=np.zeros_like(jumps.first_link))


@helper
def _weights(n, by_width):
    """Return the weights of all jumps in a sentence of ``n`` words, the same backwards, and 1 / Σ for each word.

    ``by_width``: Weights of jumps by −limit…limit words, as :class:`~isoglot.aligners.statistical.hmm.Jumps` has them.

    The weight of jump d, from −(n − 1) to n − 1, is at ``_LANES + n - 1 + d``.
    ``scale[i]`` is 1 / Σ of the weights of all jumps that word i can make without leaving the sentence. All arrays are
    filled up with zeros.
    """
    limit = len(by_width) // 2
    weight, backward = np.zeros(2 * (n + _LANES)), np.zeros(2 * (n + _LANES))
    for k in range(2 * n - 1):
        jump = min(max(k - (n - 1), -limit), limit)
        weight[_LANES + k] = by_width[jump + limit]
        backward[_LANES + 2 * n - 2 - k] = by_width[jump + limit]
    scale = np.zeros(n + _LANES)
    for i in range(n):
        # From word i the jumps −i to n − 1 − i stay inside the sentence.
        total = 0.0
        for k in range(n - 1 - i, 2 * n - 1 - i):
            total += weight[_LANES + k]
        scale[i] = 1.0 / total
    return weight, backward, scale


@compiled
def forward_backward(condition, generated, emissions, silents, jumps, expected, log_likelihood):
    """Compute p(a_j = i | sentence pair) of all pairs of a text, and write the log-likelihood of each pair.

    ``emissions`` has p(f_j | e_i), which is overwritten by p(a_j = i | sentence pair). ``silents`` has p(f_j | null),
    which is overwritten by p(a_j = null | sentence pair). Jumps and first links are added to ``expected``,
    :class:`JumpCounts`. Pairs with an empty side are left as they are.

    **Shape**: of ``emissions`` each pair's (generated, condition), one pair after the other; of ``silents`` all
    generated words; of ``log_likelihood`` the pairs.
    """
    start, p0, limit = jumps.first_link, jumps.null_probability, len(jumps.by_width) // 2
    before = 0
    for s in range(len(condition.offsets) - 1):
        n = condition.offsets[s + 1] - condition.offsets[s]
        first, last = generated.offsets[s], generated.offsets[s + 1]
        if n == 0 or first == last:
            continue
        m = last - first
        emission, silent = emissions[before : before + n * m].reshape((m, n)), silents[first:last]
        before += n * m
        weights = _weights(n, jumps.by_width)
        padded = (n + _LANES - 1) // _LANES * _LANES
        state, quiet, beta = np.empty((m, padded)), np.empty((m, n)), np.empty((m, padded))
        # Expected jumps from word to word, by width only afterwards: sums that do not share cells are made faster.
        moved = np.empty((n, n))
        # Multiply emissions by 1 − p0 or p0, and clear the arrays: as loops, which take a tenth of the time to compile.
        for j in range(m):
            silent[j] *= p0
            for i in range(n):
                emission[j, i] *= 1.0 - p0
            for i in range(padded):
                state[j, i] = beta[j, i] = 0.0
        for i in range(n):
            for k in range(n):
                moved[i, k] = 0.0
        log_likelihood[s] = _forward(emission, silent, start, weights, state, quiet)
        _backward(emission, silent, weights, state, beta, moved)
        # Expected jumps by width. `moved` lacks the weight of the jump, see `_backward`.
        for i in range(n):
            for k in range(n):
                jump = min(max(k - i, -limit), limit)
                expected.moved[jump + limit] += moved[i, k] * weights[0][_LANES + n - 1 + k - i]
        # Posteriors: forward times backward. The emissions are not needed any more, so posteriors take their place.
        for j in range(m):
            silent[j] = 0.0
            for i in range(n):
                of_null = quiet[j, i] * beta[j, i]
                silent[j] += of_null
                emission[j, i] = max(state[j, i] * beta[j, i] - of_null, 0.0)
        for i in range(n):
            expected.started[min(i, limit)] += emission[0, i]


@helper
def _spread_out(n, mass, weight, sums):
    """Add to ``sums[i]`` what word i receives from every word k: ``mass[k]`` times the weight of the jump i − k.

    This is a matrix product in which every row of the matrix is the row before, shifted by one, so no matrix is needed.
    The caller has cleared ``sums``. The words behind the last one, up to ``sums``' length, receive values that nobody
    reads.
    """
    size = len(sums)
    # Four words k at a time, so that sums are fetched and put back a quarter as often. Up to three of the last four may
    # stand behind the last word: their mass is one of the zeros that `mass` is filled up with.
    for k in range(0, n, 4):
        first = _LANES + n - 1 - k  # in `weight`, the jump from k to word 0
        a, b, c, d = mass[k], mass[k + 1], mass[k + 2], mass[k + 3]
        w, x = weight[first : first + size], weight[first - 1 : first - 1 + size]
        y, z = weight[first - 2 : first - 2 + size], weight[first - 3 : first - 3 + size]
        for i in range(size):
            sums[i] += (a * w[i] + b * x[i]) + (c * y[i] + d * z[i])


@helper
def _forward(emission, silent, start, weights, state, quiet):
    """Compute scaled forward probabilities of link or null (``state``), and of null alone (``quiet``).

    Each row is divided by its sum, which keeps long sentences from underflow; ``emission`` and ``silent`` are divided
    by it too. Returns the log-likelihood, the sum of the logarithms of these sums.
    """
    weight, _, scale = weights
    m, n = emission.shape
    log_likelihood = start_total = 0.0
    mass = np.zeros(n + _LANES)
    for i in range(n):
        start_total += start[min(i, len(start) - 1)]
    for j in range(m):
        state_now, quiet_now = state[j], quiet[j]
        if j == 0:
            # The first word: linked to i by the start weights, or null as if i had been linked before.
            for i in range(n):
                state_now[i] = quiet_now[i] = start[min(i, len(start) - 1)] / start_total
        else:
            # Null stays where the last word was; a link jumps from there.
            for i in range(n):
                quiet_now[i] = state[j - 1, i]
                mass[i] = quiet_now[i] * scale[i]
            _spread_out(n, mass, weight, state_now)
        total = 0.0
        for i in range(n):
            quiet_now[i] *= silent[j]
            state_now[i] = state_now[i] * emission[j, i] + quiet_now[i]
            total += state_now[i]
        for i in range(n):
            state_now[i] /= total
            quiet_now[i] /= total
            emission[j, i] /= total
        silent[j] /= total
        log_likelihood += math.log(total)
    return log_likelihood


@helper
def _backward(emission, silent, weights, state, beta, moved):
    """Compute backward probabilities (``beta``), and the expected jumps from word to word (``moved``).

    ``moved`` lacks the weight of each jump, which is the same for all generated words: the caller multiplies by it.
    ``emission[j, i]`` becomes emission times beta, from the second generated word on: the probability of word j and of
    all words behind it, if j is linked to i.
    """
    _, backward, scale = weights
    m, n = emission.shape
    mass = np.zeros(n + _LANES)
    for i in range(n):
        beta[m - 1, i] = 1.0
    for j in range(m - 1, 0, -1):
        for i in range(n):
            emission[j, i] *= beta[j, i]
            mass[i] = emission[j, i]
        # To come to `before` is to jump from there to any i, or to stay there with null.
        _spread_out(n, mass, backward, beta[j - 1])
        for before in range(n):
            beta[j - 1, before] = beta[j - 1, before] * scale[before] + silent[j] * beta[j, before]
            from_here, row = state[j - 1, before] * scale[before], moved[before]
            for i in range(n):
                row[i] += from_here * emission[j, i]
