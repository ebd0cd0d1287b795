"""Sinkhorn scaling against the released XLM-Align functions' values, loops and textbook properties."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.errors import ConfigurationError
from isoglot.modules.extraction import intersection_links, itermax_links, union_links
from isoglot.modules.sinkhorn import sinkhorn

# Similarities are random; π, ξ and the links were computed with the released XLM-Align functions.
GOLDEN = [
    {
        "similarity": [
            [-2.3104, -0.3733, -1.0608, 0.9995, -0.02],
            [0.2103, 0.1772, -0.8305, 0.2387, 0.7335],
            [-1.3219, 1.3148, -0.687, 1.4881, -0.4484],
            [-0.891, 0.6749, 1.0469, 0.1543, -0.7499],
        ],
        "pi": [
            [4.56005841e-05, 2.53646959e-06, 5.77671861e-06, 0.999933012, 1.30744649e-05],
            [0.482671078, 0.0226222072, 2.90752068e-07, 0.0120193817, 0.482687042],
            [9.45332897e-06, 0.69135916, 1.19755531e-06, 0.308627479, 2.71043058e-06],
            [5.76206158e-06, 0.216309991, 0.764176896, 0.0195056993, 1.65208129e-06],
        ],
        "xi": [
            [2.96628992e-05, 1.64995785e-06, 3.7577199e-06, 0.650450269, 8.50485893e-06],
            [0.999953635, 0.0468666124, 6.02353445e-07, 0.0249006516, 0.999986706],
            [9.16223867e-06, 0.670070581, 1.16067975e-06, 0.29912411, 2.62697003e-06],
            [7.54017794e-06, 0.283061157, 0.999994479, 0.025524969, 2.16189757e-06],
        ],
        "itermax": [[0, 3], [1, 4], [2, 1], [3, 2]],
        "intersection": [[0, 3], [1, 4], [2, 1], [3, 2]],
        "union": [[0, 3], [1, 0], [1, 4], [2, 1], [3, 2]],
    },
    {
        "similarity": [[1.705, 8.051, 2.3364, -0.1417, 5.2375], [1.1235, 2.4518, 0.6108, -0.3582, 1.7332]],
        "pi": [
            [0.161617131, 0.236070785, 0.250083154, 0.123986819, 0.228242111],
            [0.2402449, 0.162179348, 0.14748721, 0.279700735, 0.170387806],
        ],
        "xi": [
            [0.413611206, 0.604153295, 0.640013806, 0.317307561, 0.584118122],
            [0.586388794, 0.395846705, 0.359986194, 0.682692439, 0.415881878],
        ],
        "itermax": [[0, 2], [1, 3]],
        "intersection": [[0, 2], [1, 3]],
        "union": [[0, 1], [0, 2], [0, 4], [1, 0], [1, 3]],
    },
    {
        "similarity": [
            [-1.4561, -0.602, 0.3553, -1.3082, -0.2106, -1.6721],
            [-1.8986, -1.9225, -1.5445, -1.9651, -2.0403, -1.1022],
            [-0.7724, -1.8711, -1.4289, 0.2502, 0.2891, 0.183],
            [-0.895, 0.2317, -0.9984, -0.4685, -1.5331, -0.8226],
            [-0.9019, -2.1033, -0.0055, -1.0705, -1.8963, -0.851],
        ],
        "pi": [
            [0.0650453617, 4.03493214e-06, 0.934918396, 9.96319151e-06, 8.6227622e-06, 1.36210599e-05],
            [0.999402723, 6.19955376e-05, 4.04299024e-05, 0.000153081487, 0.000132486188, 0.000209283553],
            [0.00862288947, 5.34900152e-07, 3.48830928e-07, 0.330462565, 0.330469198, 0.330444463],
            [0.0650470545, 0.934918106, 2.63141775e-06, 9.96345079e-06, 8.6229866e-06, 1.36214144e-05],
            [0.999402723, 6.19955376e-05, 4.04299024e-05, 0.000153081487, 0.000132486188, 0.000209283553],
        ],
        "xi": [
            [0.0695706852, 4.31564967e-06, 0.99996236, 1.06563488e-05, 9.22266337e-06, 1.45687017e-05],
            [0.417384347, 2.58914313e-05, 1.68848934e-05, 6.39320018e-05, 5.53307088e-05, 8.74038833e-05],
            [0.0260895001, 1.61839922e-06, 1.05542633e-06, 0.999850823, 0.999870893, 0.999796055],
            [0.0695711204, 0.999942283, 2.81443461e-06, 1.06564154e-05, 9.22272106e-06, 1.45687929e-05],
            [0.417384347, 2.58914313e-05, 1.68848934e-05, 6.39320018e-05, 5.53307088e-05, 8.74038833e-05],
        ],
        "itermax": [[0, 2], [1, 0], [2, 3], [2, 4], [3, 1], [4, 0]],
        "intersection": [[0, 2], [1, 0], [2, 4], [3, 1]],
        "union": [[0, 2], [1, 0], [2, 3], [2, 4], [2, 5], [3, 1], [4, 0]],
    },
]


def plan_by_loops(similarity, iterations, order, mu=1.0, epsilon=1e-6):
    """Eq. 4-6 with vectors u and v, one sentence at a time; returns (π, ξ)."""
    kernel = np.where(similarity > 0, similarity, epsilon) ** (1 / mu)
    n, m = kernel.shape
    u, v = np.ones(n), np.ones(m)
    plans = [np.outer(u, v) * kernel] * 2
    for _ in range(iterations):
        for step, side in enumerate("cr" if order == "official" else "rc"):
            if side == "c":
                v = 1 / np.array([sum(kernel[i, j] * u[i] for i in range(n)) for j in range(m)])
            else:
                u = 1 / np.array([sum(kernel[i, j] * v[j] for j in range(m)) for i in range(n)])
            plans[step] = u[:, None] * kernel * v[None, :]
    return (plans[1], plans[0]) if order == "official" else (plans[0], plans[1])


def pack(matrices, extra, fill):
    n, m = (max(s.shape[d] for s in matrices) + extra for d in (0, 1))
    batch = torch.full((len(matrices), n, m), fill, dtype=torch.float64)
    mask = torch.zeros(batch.shape, dtype=torch.bool)
    for b, s in enumerate(matrices):
        batch[b, : s.shape[0], : s.shape[1]] = torch.as_tensor(s)
        mask[b, : s.shape[0], : s.shape[1]] = True
    return batch, mask


@pytest.mark.parametrize("extra", [0, 3])
def test_golden_self_labels(extra):
    batch, mask = pack([np.array(c["similarity"]) for c in GOLDEN], extra, fill=50.0)
    pi, xi = sinkhorn(batch.float(), mask)
    for b, case in enumerate(GOLDEN):
        n, m = np.array(case["similarity"]).shape
        np.testing.assert_allclose(pi[b, :n, :m].numpy(), np.array(case["pi"]), rtol=2e-6, atol=1e-9)
        np.testing.assert_allclose(xi[b, :n, :m].numpy(), np.array(case["xi"]), rtol=2e-6, atol=1e-9)
        assert itermax_links(pi, mask)[b].nonzero().tolist() == case["itermax"]
        assert intersection_links(pi, mask, xi)[b].nonzero().tolist() == case["intersection"]
        assert union_links(pi, mask)[b].nonzero().tolist() == case["union"]
    assert not bool(pi[~mask].any()) and not bool(xi[~mask].any())


@given(st.integers(0, 10_000), st.integers(0, 5), st.sampled_from(["official", "paper"]), st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_equals_loops_whatever_the_padding(seed, iterations, order, extra):
    rng = np.random.default_rng(seed)
    matrices = [rng.normal(2.0, 3.0, size=rng.integers(1, 8, size=2)) for _ in range(4)]
    for mu in (1.0, 0.5, 2.0):
        pi, xi = sinkhorn(*pack(matrices, extra, fill=7.0), iterations=iterations, order=order, mu=mu)
        for b, s in enumerate(matrices):
            expected = plan_by_loops(s, iterations, order, mu)
            for got, want in zip((pi, xi), expected, strict=True):
                np.testing.assert_allclose(got[b, : s.shape[0], : s.shape[1]].numpy(), want, rtol=1e-9)
                assert abs(float(got[b].sum()) - want.sum()) < 1e-9 * want.sum()


def test_orders_end_on_different_sides():
    batch, mask = pack([np.abs(np.random.default_rng(0).normal(size=(4, 6))) + 0.1], 1, 0.0)
    for order in ("official", "paper"):
        pi, xi = sinkhorn(batch, mask, order=order, iterations=3)
        torch.testing.assert_close(pi.sum(2), mask.any(2).double())
        torch.testing.assert_close(xi.sum(1), mask.any(1).double())
    official, paper = sinkhorn(batch, mask)[0], sinkhorn(batch, mask, order="paper")[0]
    assert not torch.allclose(official, paper, atol=1e-3)


def test_small_mu_stays_finite():
    batch, mask = pack([np.array([[300.0, 10.0, -4.0], [200.0, 250.0, 1e-9]])], 2, 0.0)
    pi, xi = sinkhorn(batch, mask, mu=0.01, iterations=4)
    assert bool(torch.isfinite(pi).all()) and bool(torch.isfinite(xi).all())
    torch.testing.assert_close(pi.sum(2), mask.any(2).double())


def test_the_floor_of_the_two_orders():
    """The released code lifts what is not positive to ε; Eq. 1 takes max(ε, ·)."""
    s, mask = torch.tensor([[[1e-8, -1.0, 2.0]]]), torch.ones(1, 1, 3, dtype=torch.bool)
    assert sinkhorn(s, mask, iterations=0)[0][0, 0].tolist() == pytest.approx([1e-8, 1e-6, 2.0])
    assert sinkhorn(s, mask, iterations=0, order="paper")[0][0, 0].tolist() == pytest.approx(
        [1e-6, 1e-6, 2.0]
    )
    assert float(s[0, 0, 1]) == -1.0, "the input is left alone"


@pytest.mark.parametrize("extra", [0, 2])
def test_without_a_floor_negative_similarities_keep_their_sign(extra):
    """As the released aligner, whose floor goes to a copy: raw dot products are divided by their sums in turn."""
    rng = np.random.default_rng(5)
    matrices = [rng.normal(1.0, 1.5, size=shape) for shape in ((4, 6), (1, 3), (5, 2), (2, 1))]
    batch, mask = pack(matrices, extra, fill=7.0)
    pi, xi = sinkhorn(batch, mask, epsilon=None)
    for b, s in enumerate(matrices):
        rows = s
        for _ in range(2):
            columns = rows / rows.sum(0, keepdims=True)
            rows = columns / columns.sum(1, keepdims=True)
        n, m = s.shape
        np.testing.assert_allclose(pi[b, :n, :m].numpy(), rows, rtol=1e-9)
        np.testing.assert_allclose(xi[b, :n, :m].numpy(), columns, rtol=1e-9)
        both = {(i, int(row.argmax())) for i, row in enumerate(rows)}
        both &= {(int(column.argmax()), j) for j, column in enumerate(columns.T)}
        assert set(map(tuple, intersection_links(pi, mask, xi)[b].nonzero().tolist())) == both
    assert bool((pi < 0).any())
    with pytest.raises(ConfigurationError, match="epsilon: null given with mu 2"):
        sinkhorn(batch, mask, epsilon=None, mu=2.0)
