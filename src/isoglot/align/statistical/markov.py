"""Compiled loops of the HMM aligner: predictive probabilities, forward–backward, expected counts, links.

The hidden state of a generated word is the given word that it is linked to, or null with a memory of the last link, so
that the next jump starts from there (Och & Ney 2003, §2.1.2):

    p(a_j = i | a_{j−1} = i′) = (1 − p0) · c(i − i′) / Σ_l c(l − i′),   p(a_j = null) = p0

A transition depends on the jump's width alone, so a step needs no matrix: it is a loop over contiguous weights.

Source: Vogel, Ney & Tillmann 1996 (*HMM-based word alignment in statistical translation*), eq. 6.
"""

import math

import numpy as np

from isoglot.align.compiled import compiled
from isoglot.align.statistical.decoding import agree, best_words, empty_links, filled, sides_of
from isoglot.align.statistical.pair_table import find

UNIT = 65535.0
"""An entry's contribution is kept as a 16-bit fraction of this."""


@compiled
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
def forward_backward(emission, silent, jumps, moved, started):
    """p(a_j = i | sentence pair), and the log-likelihood.

    ``emission`` is p(f_j | e_i) and is overwritten; ``silent`` is p(f_j | null) and becomes p(a_j = null | sentence
    pair). Expected jumps by width are added to ``moved``, first links by word to ``started``.

    **Shape**: (generated, given) of the emission and the result, (generated) of ``silent``.
    """
    width, start, p0 = jumps
    m, n = emission.shape
    weights = _weights(n, width)
    state, null = np.zeros((m, n)), np.empty((m, n))
    emission *= 1.0 - p0
    silent *= p0
    likelihood = _forward(emission, silent, start, weights, state, null)
    counted, beta = np.zeros(2 * n - 1), np.zeros((m, n))
    _backward(emission, silent, weights, state, beta, counted)
    limit = len(width) // 2
    for k in range(2 * n - 1):
        jump = min(max(k - (n - 1), -limit), limit)
        moved[jump + limit] += counted[k] * weights[0][k]
    for j in range(m):
        silent[j] = 0.0
        for i in range(n):
            mass = null[j, i] * beta[j, i]
            silent[j] += mass
            state[j, i] = max(state[j, i] * beta[j, i] - mass, 0.0)
    for i in range(n):
        started[min(i, len(start) - 1)] += state[0, i]
    return state, likelihood


@compiled
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


@compiled
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
def _predict(given, generated, slots, own, own_null, direction):
    """Predictive p(generated | given) and p(generated | null), leaving out what each entry contributed itself.

    **Shape** of ``slots`` and ``own``: (given, generated).
    """
    counts, totals, classes, class_totals, share, null_counts, numbers = direction
    alpha, smooth, class_smooth, null_total = numbers
    emission, silent = np.empty((len(generated), len(given))), np.empty(len(generated))
    for i in range(len(given)):
        for j in range(len(generated)):
            slot, q = slots[i, j], own[i, j] / UNIT
            value = max(counts[slot] - q, 0.0) + alpha
            if len(share):
                base = (max(classes[slot] - q, 0.0) + alpha) / (
                    max(class_totals[given[i]] - q, 0.0) + class_smooth
                )
                value += share[generated[j]] * base
            emission[j, i] = value / (max(totals[given[i]] - q, 0.0) + smooth)
    for j in range(len(generated)):
        silent[j] = (max(null_counts[generated[j]] - own_null[j], 0.0) + alpha) / null_total
    return emission, silent


@compiled
def _look_up(generated, slots, tables):
    """p(generated | given) and p(generated | null) as tables have them."""
    translation, null = tables
    emission = np.empty((slots.shape[1], slots.shape[0]))
    for i in range(slots.shape[0]):
        for j in range(slots.shape[1]):
            emission[j, i] = translation[slots[i, j]]
    return emission, null[generated]


@compiled
def _slots(words, others, table):
    found = np.empty((len(words), len(others)), np.int64)
    for i in range(len(words)):
        for j in range(len(others)):
            found[i, j] = find(table[0], table[1], words[i], others[j])
    return found


@compiled
def visit(sides, part, table, start, directions, jumps, own, sums):
    """E-step over the sentences ``part[0]`` to ``part[1]`` − 1; adds to ``sums``.

    ``table`` has the word pairs by source word; ``start`` both directions' translation and null tables for the first
    iteration and is empty later; ``own`` each sentence's first entry, and what each entry and, in both directions, each
    token of null contributed, which is written anew.
    """
    entries, own_link, own_null = own
    counts, ahead_jumps, back_jumps = sums
    for s in filled(sides[0], sides[1], part[0], part[1]):
        a, b, words, others = sides_of(sides[0], sides[1], s)
        n, m = len(words), len(others)
        slots = _slots(words, others, table)
        here = own_link[entries[s] : entries[s] + n * m].reshape(n, m)
        ahead_null, back_null = own_null[0][b : b + m], own_null[1][a : a + n]
        if len(start[0][0]):
            ahead, silent = _look_up(others, slots, start[0])
            back, back_silent = _look_up(words, slots.T, start[1])
        else:
            ahead, silent = _predict(words, others, slots, here, ahead_null, directions[0])
            back, back_silent = _predict(others, words, slots.T, here.T, back_null, directions[1])
        ahead, _ = forward_backward(ahead, silent, jumps[0], ahead_jumps[0], ahead_jumps[1])
        back, _ = forward_backward(back, back_silent, jumps[1], back_jumps[0], back_jumps[1])
        ahead_null[:] = silent
        back_null[:] = back_silent
        for i in range(n):
            for j in range(m):
                fraction = np.uint16(min(ahead[j, i], 1.0) * min(back[i, j], 1.0) * UNIT + 0.5)
                here[i, j] = fraction
                counts[slots[i, j]] += fraction


@compiled
def decode(sides, part, table, tables, jumps, threshold, best):
    """Links of a range of sentences: each direction's best words into ``best``; returns those that agree."""
    found, used = empty_links(1024), 0
    moved, started = np.zeros(len(jumps[0][0])), np.zeros(len(jumps[0][1]))
    for s in filled(sides[0], sides[1], part[0], part[1]):
        a, b, words, others = sides_of(sides[0], sides[1], s)
        n, m = len(words), len(others)
        slots = _slots(words, others, table)
        ahead, silent = _look_up(others, slots, tables[0])
        back, back_silent = _look_up(words, slots.T, tables[1])
        ahead, best[0][2][s] = forward_backward(ahead, silent, jumps[0], moved, started)
        back, best[1][2][s] = forward_backward(back, back_silent, jumps[1], moved, started)
        best_words(ahead, silent, best[0][0][b : b + m], best[0][1][b : b + m])
        best_words(back, back_silent, best[1][0][a : a + n], best[1][1][a : a + n])
        found, used = agree(s, ahead.T, back, threshold, found, used)
    return found[0][:used], found[1][:used], found[2][:used], found[3][:used]
