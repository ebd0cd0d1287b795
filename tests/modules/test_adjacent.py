from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.modules.extraction import adjacent_probabilities, adjacent_weights


def sub_stochastic(seed: int, n: int, m: int) -> torch.Tensor:
    weights = torch.rand(n, m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) ** 4
    return weights / weights.sum(1, keepdim=True).clamp(min=1.0)


def naive_weights(weights: torch.Tensor) -> torch.Tensor:
    n, m = weights.shape
    raised = torch.zeros_like(weights)
    for i, j in itertools.product(range(n), range(m)):
        near = sum(
            weights[k, o].item() for k in (i - 1, i + 1) if 0 <= k < n for o in range(m) if abs(o - j) <= 2
        )
        raised[i, j] = weights[i, j] * (1 + near)
    for i in range(n):
        if (total := raised[i].sum()) > 0:
            raised[i] *= weights[i].sum() / total
    return raised


def naive_links(p: torch.Tensor, bonus: float) -> torch.Tensor:
    n, m = p.shape
    found = torch.zeros_like(p)
    for i, j in itertools.product(range(n), range(m)):
        beside = max([p[i, k].item() for k in (j - 1, j + 1) if 0 <= k < m], default=0.0)
        above = max([p[k, j].item() for k in (i - 1, i + 1) if 0 <= k < n], default=0.0)
        free_row, free_column = max(0.0, 1 - p[i].sum().item()), max(0.0, 1 - p[:, j].sum().item())
        found[i, j] = min(1.0, p[i, j].item() * (1 + bonus * (beside * free_column + above * free_row)))
    return found


@given(st.integers(0, 2**31), st.integers(0, 7), st.integers(0, 7), st.integers(0, 3), st.floats(0, 4))
@settings(max_examples=50, deadline=None)
def test_adjacent_weights_equal_loops_over_cells_with_any_padding(
    seed: int, n: int, m: int, extra: int, bonus: float
) -> None:
    weights = sub_stochastic(seed, n, m)
    padded = torch.zeros(2, n + extra, m + extra, dtype=torch.float64)
    padded[1, :n, :m] = weights
    raised, links = adjacent_weights(padded), adjacent_probabilities(padded, bonus)
    torch.testing.assert_close(raised[1, :n, :m], naive_weights(weights))
    torch.testing.assert_close(links[1, :n, :m], naive_links(weights, bonus))
    for found in (raised, links):
        assert not found[0].any()
        assert found[1].count_nonzero() == found[1, :n, :m].count_nonzero()
    torch.testing.assert_close(raised.sum(2), padded.sum(2))


def test_a_row_follows_its_neighbours() -> None:
    weights = torch.eye(9)[None].clone()
    weights[0, 2] = torch.tensor([0.0, 0.0, 0.5, *[0.0] * 5, 0.5])
    assert adjacent_weights(weights)[0, 2, [2, 8]].tolist() == pytest.approx([0.75, 0.25])


def test_a_word_without_a_link_goes_with_its_neighbour() -> None:
    probability = torch.tensor([[[0.2, 0.9, 0.0], [0.0, 0.2, 0.9]]])
    found = adjacent_probabilities(probability, 2.0)[0]
    assert found[0, 0].item() == pytest.approx(0.2 * (1 + 2 * 0.9 * 0.8))
    assert found[1, 1].item() == pytest.approx(0.2)  # word 1 of the target has its link
