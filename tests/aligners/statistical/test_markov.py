from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.aligners.statistical import markov
from isoglot.aligners.statistical.bitext import FlatSide
from isoglot.aligners.statistical.hmm import Jumps


def enumerate_paths(emission, null, jumps):
    """Posteriors of one sentence by summing over every path; a state is (linked word or memory, is null)."""
    length, width = emission.shape
    limit = len(jumps.first_link) - 1
    places = np.subtract.outer(np.arange(width), np.arange(width)).T
    transition = jumps.by_width[np.clip(places, -limit, limit) + limit]
    transition = transition / transition.sum(axis=1, keepdims=True)
    start = jumps.first_link[np.minimum(np.arange(width), limit)]
    start = start / start.sum()
    links, silent = np.zeros((length, width)), np.zeros(length)
    moved, started, total = np.zeros(len(jumps.by_width)), np.zeros(len(jumps.first_link)), 0.0
    states = list(itertools.product(range(width), (False, True)))
    for path in itertools.product(states, repeat=length):
        weight = 1.0
        for j, (i, is_null) in enumerate(path):
            if is_null:
                before = start[i] if j == 0 else float(path[j - 1][0] == i)
                weight *= before * jumps.null_probability * null[j]
            else:
                before = start[i] if j == 0 else transition[path[j - 1][0], i]
                weight *= before * (1 - jumps.null_probability) * emission[j, i]
        total += weight
        for j, (i, is_null) in enumerate(path):
            if is_null:
                silent[j] += weight
            else:
                links[j, i] += weight
                if j == 0:
                    started[min(i, limit)] += weight
                else:
                    moved[np.clip(i - path[j - 1][0], -limit, limit) + limit] += weight
    return links / total, silent / total, moved / total, started / total, np.log(total)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**31), st.integers(1, 3))
def test_forward_backward_equals_the_sum_over_paths(width, length, seed, limit):
    random = np.random.default_rng(seed)
    emission, null = random.random((length, width)), random.random(length)
    jumps = Jumps(random.random(2 * limit + 1) + 0.01, random.random(limit + 1) + 0.01, 0.3)
    moved, started = np.zeros(2 * limit + 1), np.zeros(limit + 1)
    found, silent, likelihood = emission.copy(), null.copy(), np.zeros(1)
    sides = (FlatSide(np.zeros(size, np.int32), np.array([0, size])) for size in (width, length))
    expected = markov.JumpCounts(moved, started)
    markov.forward_backward(*sides, found.reshape(-1), silent, jumps, expected, likelihood)
    links, nulls, jumped, began, total = enumerate_paths(emission, null, jumps)
    assert found == pytest.approx(links, abs=1e-12)
    assert silent == pytest.approx(nulls, abs=1e-12)
    assert likelihood[0] == pytest.approx(total)
    assert moved == pytest.approx(jumped)
    assert started == pytest.approx(began)
