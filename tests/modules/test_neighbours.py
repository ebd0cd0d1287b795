from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from isoglot.modules.neighbours import gold_ranks, similarity_blocks, unit


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
    block = next(iter(similarity_blocks(x, y, similarity=similarity, neighbours=k, others=more)))[1]
    table = torch.tensor([[expected(i, j) for j in range(6)] for i in range(6)])
    torch.testing.assert_close(block, table, atol=1e-5, rtol=1e-5)
    block = next(iter(similarity_blocks(x, y, similarity=similarity)))[1]
    ranks, best = gold_ranks(x, y, similarity=similarity)
    assert best.tolist() == block.argmax(1).tolist()
    assert ranks.tolist() == [1 + int((block[i] > block[i, i]).sum()) for i in range(6)]
