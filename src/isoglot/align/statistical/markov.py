"""Compiled loops of the HMM aligner: predictive probabilities, forward–backward, expected counts, links.

The hidden state of a generated word is the given word that it is linked to, or null with a memory of the last link, so
that the next jump starts from there (Och & Ney 2003, §2.1.2):

    p(a_j = i | a_{j−1} = i′) = (1 − p0) · c(i − i′) / Σ_l c(l − i′),   p(a_j = null) = p0

A transition depends on the jump's width alone, so a step needs no matrix: it is a loop over contiguous weights.

Source: Vogel, Ney & Tillmann 1996 (*HMM-based word alignment in statistical translation*), eq. 6.
"""

from __future__ import annotations

import math

import numpy as np

from isoglot.align.compiled import compiled
from isoglot.align.statistical.decoding import agree, best_words, empty_links
from isoglot.align.statistical.pair_table import find

__all__ = ["UNIT", "decode", "forward_backward", "visit"]

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
    """Posteriors of one sentence pair.

    Args:
        emission: p(f_j | e_i); afterwards overwritten. Shape: (generated, given).
        silent: p(f_j | null); afterwards p(a_j = null | sentence pair). Shape: (generated).
        jumps: weights by jump width and of the first link, and p0.
        moved: expected jumps by width are added here.
        started: expected first links by word are added here.

    Returns:
        p(a_j = i | sentence pair), shape (generated, given), and the log-likelihood.
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
def _predict(pair, slots, own, own_null, direction, turned):
    """Predictive p(generated | given) and p(generated | null), leaving out what each entry contributed itself."""
    counts, totals, classes, class_totals, share, null_counts, numbers = direction
    alpha, smooth, class_smooth, null_total = numbers
    n, m = slots.shape
    emission = np.empty((n, m) if turned else (m, n))
    generated = pair[0] if turned else pair[1]
    for i in range(n):
        for j in range(m):
            given_word, generated_word = (pair[1][j], pair[0][i]) if turned else (pair[0][i], pair[1][j])
            slot, q = slots[i, j], own[i * m + j] / UNIT
            value = max(counts[slot] - q, 0.0) + alpha
            if len(share):
                base = (max(classes[slot] - q, 0.0) + alpha) / (
                    max(class_totals[given_word] - q, 0.0) + class_smooth
                )
                value += share[generated_word] * base
            value /= max(totals[given_word] - q, 0.0) + smooth
            if turned:
                emission[i, j] = value
            else:
                emission[j, i] = value
    silent = np.empty(len(generated))
    for k in range(len(generated)):
        silent[k] = (max(null_counts[generated[k]] - own_null[k], 0.0) + alpha) / null_total
    return emission, silent


@compiled
def _look_up(pair, slots, translation, null, turned):
    """p(generated | given) and p(generated | null) as a table has them."""
    n, m = slots.shape
    emission = np.empty((n, m) if turned else (m, n))
    for i in range(n):
        for j in range(m):
            if turned:
                emission[i, j] = translation[slots[i, j]]
            else:
                emission[j, i] = translation[slots[i, j]]
    return emission, null[pair[0] if turned else pair[1]]


@compiled
def _slots(pair, table):
    found = np.empty((len(pair[0]), len(pair[1])), np.int64)
    for i in range(len(pair[0])):
        for j in range(len(pair[1])):
            found[i, j] = find(table[0], table[1], pair[0][i], pair[1][j])
    return found


@compiled
def visit(sides, part, table, start, directions, jumps, own, sums):
    """E-step over a range of sentences; leaves each entry's contribution in ``own`` and ``own_null``.

    Args:
        sides: ids and offsets of the source and of the target side.
        part: first sentence and the one after the last.
        table: of the word pairs, by source word.
        start: both directions' translation and null tables for the first iteration; empty later.
        directions: both directions' counts.
        jumps: both directions' jump weights.
        own: whether the directions agree, each sentence's first entry, the contribution of each entry in both
            directions (the same array twice where they agree), and that of each token to null.
        sums: both directions' counts, jumps and starts, which are added to.
    """
    (ids, offsets), (others, other_offsets) = sides
    agreement, entries, own_link, own_null = own
    likelihoods = np.zeros(2)
    for s in range(part[0], part[1]):
        a, b = offsets[s], other_offsets[s]
        n, m = offsets[s + 1] - a, other_offsets[s + 1] - b
        if n == 0 or m == 0:
            continue
        pair = (ids[a : a + n], others[b : b + m])
        slots = _slots(pair, table)
        here = slice(entries[s], entries[s] + n * m)
        ahead_null, back_null = own_null[0][b : b + m], own_null[1][a : a + n]
        if len(start[0][0]):
            ahead, silent = _look_up(pair, slots, start[0][0], start[0][1], False)
            back, back_silent = _look_up(pair, slots, start[1][0], start[1][1], True)
        else:
            ahead, silent = _predict(pair, slots, own_link[0][here], ahead_null, directions[0], False)
            back, back_silent = _predict(pair, slots, own_link[1][here], back_null, directions[1], True)
        ahead, likelihood = forward_backward(ahead, silent, jumps[0], sums[0][1], sums[0][2])
        back, other = forward_backward(back, back_silent, jumps[1], sums[1][1], sums[1][2])
        likelihoods[0] += likelihood
        likelihoods[1] += other
        ahead_null[:] = silent
        back_null[:] = back_silent
        for i in range(n):
            for j in range(m):
                entry = entries[s] + i * m + j
                one, two = min(ahead[j, i], 1.0), min(back[i, j], 1.0)
                if agreement:
                    one *= two
                fraction = np.uint16(one * UNIT + 0.5)
                own_link[0][entry] = fraction
                sums[0][0][slots[i, j]] += fraction
                if not agreement:
                    fraction = np.uint16(two * UNIT + 0.5)
                    own_link[1][entry] = fraction
                    sums[1][0][slots[i, j]] += fraction
    return likelihoods


@compiled
def decode(sides, part, table, tables, jumps, threshold, best):
    """Links of a range of sentences: each direction's best words into ``best``; returns those that agree."""
    (ids, offsets), (others, other_offsets) = sides
    found, used = empty_links(1024), 0
    moved, started = np.zeros(len(jumps[0][0])), np.zeros(len(jumps[0][1]))
    for s in range(part[0], part[1]):
        a, b = offsets[s], other_offsets[s]
        n, m = offsets[s + 1] - a, other_offsets[s + 1] - b
        if n == 0 or m == 0:
            continue
        pair = (ids[a : a + n], others[b : b + m])
        slots = _slots(pair, table)
        ahead, silent = _look_up(pair, slots, tables[0][0], tables[0][1], False)
        back, back_silent = _look_up(pair, slots, tables[1][0], tables[1][1], True)
        ahead, best[0][2][s] = forward_backward(ahead, silent, jumps[0], moved, started)
        back, best[1][2][s] = forward_backward(back, back_silent, jumps[1], moved, started)
        best_words(ahead, silent, best[0][0][b : b + m], best[0][1][b : b + m])
        best_words(back, back_silent, best[1][0][a : a + n], best[1][1][a : a + n])
        found, used = agree(s, ahead.T, back, threshold, found, used)
    return found[0][:used], found[1][:used], found[2][:used], found[3][:used]
