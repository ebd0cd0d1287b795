from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from isoglot.modules.neighbours import compared, gold_ranks, nearest_both_ways, similarity_blocks, unit


@pytest.mark.parametrize("asked", [6, 9])
@pytest.mark.parametrize("similarity", ["cosine", "csls", "margin"])
def test_similarities_equal_the_loops(similarity: str, asked: int) -> None:
    generator = torch.Generator().manual_seed(1)
    others, y = (unit(torch.rand(n, 5, generator=generator)) for n in (asked, 6))
    x = others[:6]
    cos = [[float(a @ b) for b in y] for a in others]
    k = 2
    rx = [sum(sorted(row)[-k:]) / k for row in cos]
    ry = [sum(sorted(row[j] for row in cos)[-k:]) / k for j in range(6)]
    expected: Callable[[int, int], float] = {
        "cosine": lambda i, j: cos[i][j],
        "csls": lambda i, j: 2 * cos[i][j] - rx[i] - ry[j],
        "margin": lambda i, j: cos[i][j] / ((rx[i] + ry[j]) / 2),
    }[similarity]
    more = None if asked == 6 else others
    block = next(iter(similarity_blocks(x, y, similarity=similarity, neighbours=k, reference=more)))[1]
    table = torch.tensor([[expected(i, j) for j in range(6)] for i in range(6)])
    torch.testing.assert_close(block, table, atol=1e-5, rtol=1e-5)
    block = next(iter(similarity_blocks(x, y, similarity=similarity)))[1]
    ranks, best = gold_ranks(x, y, similarity=similarity)
    assert best.tolist() == block.argmax(1).tolist()
    assert ranks.tolist() == [1 + int((block[i] > block[i, i]).sum()) for i in range(6)]


@pytest.mark.parametrize(("n", "m", "count"), [(7, 5, 2), (5, 7, 9), (40, 33, 4), (1, 1, 1)])
def test_a_search_equals_a_stable_sort_whatever_the_blocks(
    n: int, m: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(n)
    # few different values, so that there are ties inside blocks, at their borders and between them
    x, y = (torch.randint(-1, 2, (size, 3), generator=generator).float() for size in (n, m))
    table = x @ y.T
    for rows, columns in ((2048, 8192), (3, 2), (1, 6), (8, 1)):
        monkeypatch.setattr("isoglot.modules.neighbours._SEARCH_ROWS", rows)
        monkeypatch.setattr("isoglot.modules.neighbours._SEARCH_COLUMNS", columns)
        for found, whole in zip(nearest_both_ways(x, y, count), (table, table.T), strict=True):
            values, order = whole.sort(dim=1, descending=True, stable=True)
            assert found.numbers.tolist() == order[:, :count].tolist()
            assert found.similarities.tolist() == values[:, :count].tolist()


def test_the_margin_goes_on_as_a_difference_where_neighbours_have_no_cosine_above_0() -> None:
    means = torch.linspace(-1, 1, 2001)
    cosines = torch.tensor([-1.0, -0.2, 0.05, 0.3, 1.0])
    found = compared(cosines[:, None], means[None], means[None], similarity="margin")
    assert found.abs().max() <= 21  # 49,937,624 of a mean of -0.01
    near = compared(means, means, means, similarity="margin")
    torch.testing.assert_close(near, torch.ones(2001), atol=1e-4, rtol=0)
    assert bool((found.diff(dim=0) > 0).all())  # more for a nearer pair
    assert found.diff(dim=1).abs().max() < 0.11  # no jump where the ratio begins
    ratios = means >= 0.1
    torch.testing.assert_close(found[:, ratios], cosines[:, None] / means[None, ratios])
