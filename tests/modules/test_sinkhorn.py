"""Sinkhorn scaling against the released XLM-Align functions' values, loops and textbook properties."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import reference
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.modules.extraction import (
    intersection_links,
    itermax_links,
    union_links,
)
from isoglot.modules.sinkhorn import sinkhorn


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
def test_negative_similarities_keep_their_sign_without_a_floor(extra):
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
    with refused(ConfigurationError, "epsilon: null", "mu: 1.0", "mu 2.0"):
        sinkhorn(batch, mask, epsilon=None, mu=2.0)


@pytest.mark.parametrize("extra", [0, 3])
def test_self_labels(extra: int) -> None:
    cases = reference("golden")["xlm_align_self_label"]["cases"]
    batch, mask = pack([np.array(case["similarity"]) for case in cases], extra, fill=50.0)
    for b, case in enumerate(cases):
        pi, xi = sinkhorn(batch, mask, iterations=case["sinkhorn_iter"])
        n, m = np.array(case["similarity"]).shape
        np.testing.assert_allclose(pi[b, :n, :m], case["pi"], rtol=1e-9)
        np.testing.assert_allclose(xi[b, :n, :m], case["xi"], rtol=1e-9)
        assert itermax_links(pi, mask)[b].nonzero().tolist() == sorted(case["itermax_links"])
        assert intersection_links(pi, mask, xi)[b].nonzero().tolist() == sorted(case["inter_pi_xi"])
        assert union_links(pi, mask)[b].nonzero().tolist() == sorted(case["union_argmax"])
