"""1.5-entmax against its definition, with masks and padding."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.modules.extraction import (
    entmax15,
)


def bisection(x):
    """Solve Σ max(x/2 − τ, 0)² = 1 for τ by halving."""
    z = np.asarray(x, dtype=np.float64) / 2
    low, high = z.max() - 1.0, z.max()
    for _ in range(200):
        tau = (low + high) / 2
        if (np.maximum(z - tau, 0) ** 2).sum() > 1:
            low = tau
        else:
            high = tau
    return np.maximum(z - tau, 0) ** 2


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=12))
@settings(max_examples=200, deadline=None)
def test_equals_bisection(x):
    p = entmax15(torch.tensor(x, dtype=torch.float64))
    np.testing.assert_allclose(p.numpy(), bisection(x), atol=1e-7)
    assert abs(float(p.sum()) - 1) < 1e-7


def test_exact_zeros_other_axes_and_masks():
    x = torch.randn(3, 6, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 4
    mask = torch.zeros(3, 6, 5, dtype=torch.bool)
    mask[0, :4, :3] = mask[1] = True
    p = entmax15(x.masked_fill(~mask, 1e6), dim=1, mask=mask)
    torch.testing.assert_close(p[0, :4, :3], entmax15(x[0, :4, :3], dim=0))
    assert bool((p[1] == 0).any()) and not bool(p[2].any()) and not bool(p[~mask].any())
    torch.testing.assert_close(p.sum(1), mask.any(1).double())
    torch.testing.assert_close(entmax15(x + 1e3), entmax15(x), atol=1e-6, rtol=0)


def test_ties_and_confident_scores():
    assert entmax15(torch.zeros(4)).tolist() == [0.25] * 4
    assert entmax15(torch.tensor([9.0, 1.0, -3.0])).tolist() == [1.0, 0.0, 0.0]


def test_entries_outside_the_support_are_exactly_zero_however_far_a_row_is_padded():
    generator = torch.Generator().manual_seed(0)
    for scale in (1.0, 10.0, 50.0):
        x = torch.randn(64, 1, 6, generator=generator) * scale
        padded = torch.cat([x, 100 * torch.randn(64, 1, 5, generator=generator)], 2)
        mask = torch.arange(11).expand(64, 1, 11) < 6
        alone = entmax15(x, dim=2, mask=torch.ones_like(x, dtype=torch.bool))
        together = entmax15(padded, dim=2, mask=mask)[..., :6]
        assert torch.equal(alone > 0, together > 0)
        exact = entmax15(x.double(), dim=2, mask=torch.ones_like(x, dtype=torch.bool))
        assert torch.equal(alone > 1e-5, exact > 1e-5)
        assert not ((alone > 0) & (exact == 0)).any()
