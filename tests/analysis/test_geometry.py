"""Anisotropy, dominant directions and hubs against loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.stats import skew

from isoglot.analysis.geometry import anisotropy, hubness, top_component_share
from isoglot.core.errors import ConfigurationError


def normal(rows: int, width: int, seed: int) -> torch.Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))


@given(rows=st.integers(2, 12), shift=st.floats(0, 4), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_anisotropy_is_the_mean_over_all_pairs(rows: int, shift: float, seed: int) -> None:
    x = normal(rows, 4, seed) + shift
    cosine = [
        float(torch.nn.functional.cosine_similarity(x[i], x[j], dim=0))
        for i in range(rows)
        for j in range(rows)
        if i != j
    ]
    assert anisotropy(x) == pytest.approx(sum(cosine) / len(cosine), abs=1e-5)


def test_anisotropy_of_one_direction_and_of_opposites() -> None:
    assert anisotropy(torch.tensor([[1.0, 2], [2, 4], [3, 6]])) == pytest.approx(1)
    assert anisotropy(torch.tensor([[1.0, 0], [-5, 0]])) == pytest.approx(-1)


def test_top_component_share_of_known_variances(monkeypatch: pytest.MonkeyPatch) -> None:
    x = normal(80, 6, 0) * torch.tensor([5.0, 2, 1, 1, 1, 1]) + 9
    values = np.linalg.svd(x.double().numpy() - x.double().numpy().mean(0), compute_uv=False) ** 2
    for rows in (7, 1024):
        monkeypatch.setattr("isoglot.analysis.geometry._ROWS", rows)
        assert top_component_share(x) == pytest.approx(100 * values[0] / values.sum())


def test_hubness_equals_counting() -> None:
    queries, keys = normal(70, 5, 0), normal(40, 5, 1) + 0.5
    counts = [0] * 40
    for query in queries:
        cosine = torch.nn.functional.cosine_similarity(query[None], keys, dim=-1)
        for j in cosine.argsort(descending=True)[:6].tolist():
            counts[j] += 1
    found = hubness(queries, keys, k=6)
    assert found.skewness == pytest.approx(float(skew(counts)))
    assert found.anti_hubs == 100 * counts.count(0) / 40


def test_hubness_of_equally_frequent_keys_has_no_skewness() -> None:
    found = hubness(torch.eye(5), torch.eye(5), k=1)
    assert (found.skewness, found.anti_hubs) == (0.0, 0.0)


def test_geometry_refuses_mistakes() -> None:
    x = normal(5, 3, 0)
    with refused(ConfigurationError, "anisotropy", "2 vectors", "got 1"):
        anisotropy(x[:1])
    with refused(ConfigurationError, "variance", "2 vectors", "got 1"):
        top_component_share(x[:1])
    with refused(ConfigurationError, "k=6 ", "5 vectors"):
        hubness(x, x, k=6)
