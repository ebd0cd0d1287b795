"""Compiled loops of the HMM aligner: predictive probabilities, forward–backward, expected counts, links.

The hidden state of a generated word is the given word that it is linked to, or null with a memory of the last link, so
that the next jump starts from there (Och & Ney 2003, §2.1.2):

    p(a_j = i | a_{j−1} = i′) = (1 − p0) · c(i − i′) / Σ_l c(l − i′),   p(a_j = null) = p0

A transition depends on the jump's width alone, so a step needs no matrix: it is a loop over contiguous weights.

Source: Vogel, Ney & Tillmann 1996 (*HMM-based word alignment in statistical translation*), eq. 6.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from isoglot.aligners.compiled import compiled, helper
from isoglot.aligners.statistical.decoding import agree, best_words, cut, empty_links, filled, sides_of
from isoglot.aligners.statistical.pair_table import find

Doubles = npt.NDArray[np.float64]
UNIT = 65535.0
"""An entry's contribution is kept as a 16-bit fraction of this."""


class Both(NamedTuple):
    """Something of both directions."""

    ahead: Any  # of the direction that generates target words
    back: Any  # of the direction that generates source words


class WordTables(NamedTuple):
    """One direction's probabilities of words."""

    translation: npt.NDArray[
        np.floating
    ]  # p(generated | given) of each slot; empty where counts are read instead
    null: Doubles  # p(generated | null) of each generated word


class WordCounts(NamedTuple):
    """One direction's expected counts, from which predictive probabilities follow."""

    links: Doubles  # of each slot
    totals: Doubles  # of each given word
    classes: Doubles  # of the prefix classes of each slot; empty without prefixes
    class_totals: Doubles  # of the prefix class of each given word
    share: Doubles  # p(f | prefix(f)) · β of each generated word; empty without prefixes
    null: Doubles  # of null and each generated word
    alpha: float = 0.0
    smooth: float = 0.0  # what the prior adds to a total
    class_smooth: float = 0.0  # and to a class total
    null_total: float = 0.0


class Contributions(NamedTuple):
    """What a text contributed to the counts at the last visit."""

    entries: npt.NDArray[np.int64]  # each sentence's first entry
    links: npt.NDArray[np.uint16]  # of each entry, as a fraction
    null: Both  # of each token, in each direction


class JumpCounts(NamedTuple):
    """Expected jumps by width, and first links by word."""

    moved: Doubles
    started: Doubles


class LinkCounts(NamedTuple):
    """What a visit adds up."""

    links: npt.NDArray[np.int64]  # of each slot, as a fraction
    jumps: Both  # JumpCounts


@helper
def _weights(n, width):
    """Weights of the jumps −(n − 1)…n − 1 in a sentence of ``n`` words, forwards and backwards, and 1 / Σ per word."""
    limit = len(width) // 2
    weight, backward = np.empty(2 * n - 1), np.empty(2 * n - 1)
    for k in range(2 * n - 1):
        jump = min(max(k - (n - 1), -limit), limit)
        weight[k] = width[jump + limit]
        backward[2 * n - 2 - k] = weight[k]
    share = np.empty(n)
    for i in range(n):
        total = 0.0
        for k in range(n - 1 - i, 2 * n - 1 - i):
            total += weight[k]
        share[i] = 1.0 / total
    return weight, backward, share


@compiled
def forward_backward(emission, silent, jumps, expected):
    """p(a_j = i | sentence pair), and the log-likelihood.

    ``emission`` is p(f_j | e_i) and is overwritten; ``silent`` is p(f_j | null) and becomes p(a_j = null | sentence
    pair). Jumps and first links are added to ``expected``, :class:`JumpCounts`.

    **Shape**: (generated, given) of the emission and the result, (generated) of ``silent``.
    """
    start, p0 = jumps.start, jumps.null
    m, n = emission.shape
    weights = _weights(n, jumps.width)
    state, null = np.zeros((m, n)), np.empty((m, n))
    for j in range(m):  # as a loop, which takes a tenth of the time to compile
        silent[j] *= p0
        for i in range(n):
            emission[j, i] *= 1.0 - p0
    likelihood = _forward(emission, silent, start, weights, state, null)
    counted, beta = np.zeros(2 * n - 1), np.zeros((m, n))
    _backward(emission, silent, weights, state, beta, counted)
    limit = len(jumps.width) // 2
    for k in range(2 * n - 1):
        jump = min(max(k - (n - 1), -limit), limit)
        expected.moved[jump + limit] += counted[k] * weights[0][k]
    for j in range(m):
        silent[j] = 0.0
        for i in range(n):
            mass = null[j, i] * beta[j, i]
            silent[j] += mass
            state[j, i] = max(state[j, i] * beta[j, i] - mass, 0.0)
    for i in range(n):
        expected.started[min(i, len(start) - 1)] += state[0, i]
    return state, likelihood


@helper
def _forward(emission, silent, start, weights, state, null):
    """Scaled forward probabilities of link or null, and of null alone; returns the log-likelihood.

    ``emission`` and ``silent`` are divided by the scale of their row.
    """
    weight, _, share = weights
    m, n = emission.shape
    likelihood = whole = 0.0
    for i in range(n):
        whole += start[min(i, len(start) - 1)]
    for j in range(m):
        now, quiet = state[j], null[j]
        if j == 0:
            for i in range(n):
                now[i] = quiet[i] = start[min(i, len(start) - 1)] / whole
        else:
            for before in range(n):
                quiet[before] = state[j - 1, before]
                mass = state[j - 1, before] * share[before]
                row = weight[n - 1 - before : 2 * n - 1 - before]
                for i in range(n):
                    now[i] += mass * row[i]
        total = 0.0
        for i in range(n):
            quiet[i] *= silent[j]
            now[i] = now[i] * emission[j, i] + quiet[i]
            total += now[i]
        for i in range(n):
            now[i] /= total
            quiet[i] /= total
            emission[j, i] /= total
        silent[j] /= total
        likelihood += math.log(total)
    return likelihood


@helper
def _backward(emission, silent, weights, state, beta, counted):
    """Backward probabilities, and each jump's expected count but for its weight."""
    _, backward, share = weights
    m, n = emission.shape
    beta[m - 1] = 1.0
    for j in range(m - 1, 0, -1):
        for i in range(n):
            emission[j, i] *= beta[j, i]
            mass = emission[j, i]
            row = backward[n - 1 - i : 2 * n - 1 - i]
            for before in range(n):
                beta[j - 1, before] += mass * row[before]
        for before in range(n):
            beta[j - 1, before] = beta[j - 1, before] * share[before] + silent[j] * beta[j, before]
            mass = state[j - 1, before] * share[before]
            place = counted[n - 1 - before : 2 * n - 1 - before]
            for i in range(n):
                place[i] += mass * emission[j, i]


@compiled
def _predict(given, generated, slots, own, own_null, counts):
    """Predictive p(generated | given) and p(generated | null), leaving out what each entry contributed itself.

    **Shape** of ``slots`` and ``own``: (given, generated).
    """
    emission, silent = np.empty((len(generated), len(given))), np.empty(len(generated))
    alpha = counts.alpha
    for i in range(len(given)):
        for j in range(len(generated)):
            slot, q = slots[i, j], own[i, j] / UNIT
            value = max(counts.links[slot] - q, 0.0) + alpha
            if len(counts.share):
                base = (max(counts.classes[slot] - q, 0.0) + alpha) / (
                    max(counts.class_totals[given[i]] - q, 0.0) + counts.class_smooth
                )
                value += counts.share[generated[j]] * base
            emission[j, i] = value / (max(counts.totals[given[i]] - q, 0.0) + counts.smooth)
    for j in range(len(generated)):
        silent[j] = (max(counts.null[generated[j]] - own_null[j], 0.0) + alpha) / counts.null_total
    return emission, silent


@helper
def _look_up(generated, slots, tables):
    """p(generated | given) and p(generated | null) as tables have them."""
    emission = np.empty((slots.shape[1], slots.shape[0]))
    for i in range(slots.shape[0]):
        for j in range(slots.shape[1]):
            emission[j, i] = tables.translation[slots[i, j]]
    return emission, tables.null[generated]


@helper
def _slots(words, others, table):
    found = np.empty((len(words), len(others)), np.int64)
    for i in range(len(words)):
        for j in range(len(others)):
            found[i, j] = find(table.start, table.key, words[i], others[j])
    return found


@compiled
def visit(sides, part, table, start, counts, jumps, own, expected):
    """E-step over the sentences ``part[0]`` to ``part[1]`` − 1; adds to ``expected``.

    ``table`` has the word pairs by source word; ``start`` both directions' :class:`WordTables` for the first iteration,
    empty later; ``counts`` their :class:`WordCounts`; ``own`` is written anew.
    """
    source, target = sides
    for s in filled(source, target, part[0], part[1]):
        a, b, words, others = sides_of(source, target, s)
        n, m = len(words), len(others)
        slots = _slots(words, others, table)
        here = own.links[own.entries[s] : own.entries[s] + n * m].reshape(n, m)
        ahead_null, back_null = own.null.ahead[b : b + m], own.null.back[a : a + n]
        if len(start.ahead.translation):
            ahead, silent = _look_up(others, slots, start.ahead)
            back, back_silent = _look_up(words, slots.T, start.back)
        else:
            ahead, silent = _predict(words, others, slots, here, ahead_null, counts.ahead)
            back, back_silent = _predict(others, words, slots.T, here.T, back_null, counts.back)
        ahead, _ = forward_backward(ahead, silent, jumps.ahead, expected.jumps.ahead)
        back, _ = forward_backward(back, back_silent, jumps.back, expected.jumps.back)
        for j in range(m):  # assigning to a slice takes seconds to compile, for the words of its errors
            ahead_null[j] = silent[j]
        for i in range(n):
            back_null[i] = back_silent[i]
            for j in range(m):
                fraction = np.uint16(min(ahead[j, i], 1.0) * min(back[i, j], 1.0) * UNIT + 0.5)
                here[i, j] = fraction
                expected.links[slots[i, j]] += fraction


@compiled
def decode(sides, part, table, tables, jumps, threshold, best):
    """Links of a range of sentences: each direction's best words into ``best``; returns those that agree."""
    source, target = sides
    found, used = empty_links(1024), np.int64(0)  # a literal would compile `agree` twice
    expected = JumpCounts(np.zeros(len(jumps.ahead.width)), np.zeros(len(jumps.ahead.start)))
    for s in filled(source, target, part[0], part[1]):
        a, b, words, others = sides_of(source, target, s)
        slots = _slots(words, others, table)
        ahead, silent = _look_up(others, slots, tables.ahead)
        back, back_silent = _look_up(words, slots.T, tables.back)
        ahead, best.ahead.score[s] = forward_backward(ahead, silent, jumps.ahead, expected)
        back, best.back.score[s] = forward_backward(back, back_silent, jumps.back, expected)
        best_words(ahead, silent, best.ahead, b)
        best_words(back, back_silent, best.back, a)
        found, used = agree(s, ahead.T, back, threshold, found, used)
    return cut(found, used)
