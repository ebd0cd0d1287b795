"""CKA, shared neighbours and retrieval against loops and n × n matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.analysis.similarity import linear_cka, neighbour_overlap, own_neighbours, retrieval
from isoglot.core.errors import ConfigurationError


def normal(rows: int, width: int, seed: int) -> torch.Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))


def gram_cka(x: np.ndarray, y: np.ndarray, *, debiased: bool) -> float:
    n = len(x)
    kernels = [x @ x.T, y @ y.T]
    if not debiased:
        centre = np.eye(n) - 1 / n
        k, m = (centre @ kernel @ centre for kernel in kernels)
        return float((k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum()))
    for kernel in kernels:
        np.fill_diagonal(kernel, 0)

    def hsic(k: np.ndarray, m: np.ndarray) -> float:
        one = np.ones(n)
        inner = np.trace(k @ m) + (one @ k @ one) * (one @ m @ one) / ((n - 1) * (n - 2))
        return float((inner - 2 / (n - 2) * (one @ k @ m @ one)) / (n * (n - 3)))

    return hsic(*kernels) / np.sqrt(hsic(kernels[0], kernels[0]) * hsic(kernels[1], kernels[1]))


@given(
    rows=st.integers(5, 20), widths=st.tuples(st.integers(2, 6), st.integers(2, 6)), seed=st.integers(0, 99)
)
@settings(max_examples=30, deadline=None)
def test_linear_cka_equals_that_of_gram_matrices(rows: int, widths: tuple[int, int], seed: int) -> None:
    x, y = normal(rows, widths[0], seed) + 1, normal(rows, widths[1], seed + 1000)
    y[:, 0] += x[:, 0]
    for debiased in (True, False):
        expected = gram_cka(x.double().numpy(), y.double().numpy(), debiased=debiased)
        assert linear_cka(x, y, debiased=debiased) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_linear_cka_ignores_rotation_and_scale_and_debiased_chance() -> None:
    x = normal(300, 40, 0)
    turned = 3 * x @ torch.linalg.qr(normal(40, 40, 1)).Q + 5
    for debiased in (True, False):
        assert linear_cka(x, turned, debiased=debiased) == pytest.approx(1, abs=1e-4)
    unrelated = normal(300, 40, 2)
    assert abs(linear_cka(x, unrelated)) < 0.03
    assert linear_cka(x, unrelated, debiased=False) == pytest.approx(40 / 340, abs=0.03)


def test_neighbour_overlap_equals_sorting() -> None:
    x, y = normal(60, 5, 0), normal(60, 5, 0) + 0.7 * normal(60, 5, 1)
    sets = []
    for side in (x, y):
        cosine = torch.nn.functional.cosine_similarity(side[:, None], side[None], dim=-1)
        order = [[j for j in cosine[i].argsort(descending=True).tolist() if j != i][:7] for i in range(60)]
        assert own_neighbours(side, 7).tolist() == order
        sets.append([set(row) for row in order])
    shared = [len(a & b) / 7 for a, b in zip(*sets, strict=True)]
    found = neighbour_overlap(x, y, k=7)
    assert found == pytest.approx(100 * sum(shared) / 60)
    assert 100 * 7 / 59 < found < 100
    assert neighbour_overlap(x, 2 * x, k=59) == 100


def test_own_neighbours_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x = normal(50, 4, 3)
    whole = own_neighbours(x, 5)
    monkeypatch.setattr("isoglot.modules.neighbours._BLOCK", 7)
    assert torch.equal(own_neighbours(x, 5), whole)


def test_retrieval_counts_both_ways() -> None:
    x = torch.eye(4)
    y = torch.eye(4)
    y[1] = torch.tensor([1.0, 0.9, 0, 0])
    assert retrieval(x, x) == (100.0, 100.0)
    # Source 1's best is still target 1; target 1's best is source 0.
    assert retrieval(x, y) == (100.0, 75.0)


def test_similarity_refuses_mistakes() -> None:
    x = normal(6, 3, 0)
    for call in (lambda: linear_cka(x, x[:5]), lambda: linear_cka(x[:3], x[:3]), lambda: retrieval(x, x[:2])):
        with pytest.raises(ConfigurationError, match="same number of vectors"):
            call()
    for k in (0, 6):
        with pytest.raises(ConfigurationError, match="choose 1 to 5"):
            neighbour_overlap(x, x, k=k)


def test_retrieval_names_itself_where_vectors_are_not_finite() -> None:
    with pytest.raises(ConfigurationError, match=r"^retrieval: some embeddings are not finite"):
        retrieval(torch.full((4, 2), torch.nan), torch.ones(4, 2))
