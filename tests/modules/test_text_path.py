"""The path of long texts: against all chains, and what it does to pairs of every kind."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch

from isoglot.modules.text_path import heaviest_chain, near_path


@pytest.mark.parametrize("seed", range(20))
def test_no_increasing_chain_is_heavier(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows, columns = random.integers(0, 5, 9), random.integers(0, 5, 9)
    weight = random.random(9)

    def increases(points) -> bool:
        return all(rows[a] < rows[b] and columns[a] < columns[b] for a, b in pairwise(points))

    every = (sorted(c, key=lambda p: rows[p]) for size in range(10) for c in combinations(range(9), size))
    chain = heaviest_chain(rows, columns, weight).tolist()
    assert increases(chain)
    assert weight[chain].sum() == pytest.approx(max(weight[list(c)].sum() for c in every if increases(c)))


def test_no_points_are_no_chain() -> None:
    none = np.zeros(0, np.int64)
    assert heaviest_chain(none, none, np.zeros(0)).tolist() == []


def diagonal(size: int, order: list[int] | None = None) -> torch.Tensor:
    """Scores of a text and its translation, word for word, every tenth of which is the same word."""
    scores = torch.zeros(1, size, size)
    scores[0, ::10, ::10] = 8.0
    scores[0, range(size), range(size) if order is None else order] = 10.0
    return scores


def test_scores_fall_off_beside_the_path_and_repeated_words_no_longer_compete() -> None:
    scores, mask = diagonal(200), torch.ones(1, 200, 200, dtype=torch.bool)
    before = scores.clone()
    found = near_path(scores, mask, longer_than=126)
    distance = torch.arange(200)[:, None] - torch.arange(200)[None]
    assert torch.allclose(found, scores - (distance / 16) ** 2, atol=1e-4)
    assert torch.equal(scores, before)
    repeated = torch.arange(0, 200, 10)
    own = torch.softmax(found, 2)[0, repeated, repeated].mean()
    assert own > 1.2 * torch.softmax(scores, 2)[0, repeated, repeated].mean()


def test_short_pairs_and_padding_play_no_part() -> None:
    scores, mask = diagonal(200).repeat(3, 1, 1), torch.ones(3, 200, 200, dtype=torch.bool)
    mask[0, 100:], mask[0, :, 126:] = False, False
    mask[1, 150:], mask[1, :, 150:] = False, False
    found = near_path(scores, mask, longer_than=126)
    assert torch.equal(found[0], scores[0])
    alone = near_path(scores[1:2, :150, :150], mask[1:2, :150, :150], longer_than=126)
    assert torch.equal(found[1, :150, :150], alone[0]) and not torch.equal(alone[0], scores[1, :150, :150])
    assert torch.equal(found[2], near_path(scores[2:], mask[2:], longer_than=126)[0])
    assert torch.equal(near_path(scores, mask & False, longer_than=126), scores)


def test_texts_in_another_order_keep_their_scores() -> None:
    parts = [list(range(start, start + 20)) for start in range(0, 200, 20)]
    order = [place for part in reversed(parts) for place in part]
    scores = diagonal(200, order)
    assert torch.equal(near_path(scores, torch.ones(1, 200, 200, dtype=torch.bool), longer_than=126), scores)


def test_texts_without_a_likely_link_lie_along_the_diagonal() -> None:
    found = near_path(torch.zeros(1, 300, 150), torch.ones(1, 300, 150, dtype=torch.bool), longer_than=126)
    assert found.amin() < -10 and found[0, 298, 149] > -0.1 and found[0, 150, 75] > -0.1
