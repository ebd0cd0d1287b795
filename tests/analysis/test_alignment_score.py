"""The alignment score against a loop over pairs, and read from checkpoints."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
import torch
from alignment_loops import cosine, looped
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from refusals import refused

from isoglot.analysis.alignment_score import alignment_score, draw, nearest_numbers, score_vectors
from isoglot.analysis.options import Subset
from isoglot.core.errors import ConfigurationError


def noisy(size: int, width: int, noise: float, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(size, width, generator=generator, dtype=torch.float64)
    return torch.cat(
        [first, first + noise * torch.randn(size, width, generator=generator, dtype=torch.float64)]
    )


@given(
    size=st.integers(2, 12),
    noise=st.floats(0, 3),
    seed=st.integers(0, 99),
    rows=st.sampled_from([2048, 1, 2, 5]),
    left_out=st.sets(st.integers(0, 11), max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_alignment_score_equals_a_loop(
    size: int, noise: float, seed: int, rows: int, left_out: set[int]
) -> None:
    table = noisy(size, 5, noise, seed)
    ids = [i for i in range(size) if i not in left_out]
    if not ids:
        return
    with patch("isoglot.modules.neighbours._SEARCH_ROWS", rows):
        found = alignment_score(table, copied_from=size, exclude=left_out)
    forward, backward = looped(table.tolist(), [(i, i + size) for i in ids])
    assert found.score == pytest.approx(forward)
    assert found.backward == pytest.approx(backward)
    assert (found.asked_sources, found.candidates, found.entries.tolist()) == (len(ids), len(ids), ids)
    expected = sum(cosine(table[i].tolist(), table[i + size].tolist()) for i in ids) / len(ids)
    assert found.cosine == pytest.approx(expected, abs=1e-5)


def test_alignment_score_counts_all_translations_of_a_row() -> None:
    table = noisy(6, 4, 1.5, seed=3)
    pairs = [(0, 6), (0, 7), (1, 7), (2, 8), (4, 6), (5, 11), (5, 9)]
    found = alignment_score(table, pairs=torch.tensor(pairs))
    forward, backward = looped(table.tolist(), pairs)
    assert (found.score, found.backward) == (pytest.approx(forward), pytest.approx(backward))
    assert found.asked_sources == 5
    assert found.candidates == 5


def test_alignment_score_ignores_scale_and_chunks() -> None:
    table = noisy(40, 6, 1.0)
    scaled = table * torch.rand(80, 1, generator=torch.Generator().manual_seed(1)).add(0.1)
    scores = set()
    for rows in (2048, 1, 7):
        with patch("isoglot.modules.neighbours._SEARCH_ROWS", rows):
            scores |= {alignment_score(t, copied_from=40).score for t in (table, scaled)}
    assert len(scores) == 1
    assert 0 < scores.pop() < 100


def test_nearest_numbers_takes_the_first_of_equally_near_rows() -> None:
    with patch("isoglot.modules.neighbours._SEARCH_ROWS", 2):
        forward, backward = nearest_numbers(torch.ones(5, 2), torch.ones(3, 2))
    assert forward.tolist() == [0] * 5
    assert backward.tolist() == [0] * 3


def test_offsets_move_each_side() -> None:
    table = torch.eye(4).repeat(2, 1)
    assert alignment_score(table, copied_from=4).score == 100
    shift = torch.tensor([9.0, 0, 0, 0])
    moved = alignment_score(table, copied_from=4, offsets=(torch.zeros(4), shift))
    by_hand = alignment_score(torch.cat([table[:4], table[4:] + shift]), copied_from=4)
    assert (moved.score, moved.backward) == (by_hand.score, by_hand.backward)
    assert moved.backward == 25


def test_subset_shrinks_both_sides_and_depends_on_its_seed_alone() -> None:
    table = noisy(50, 3, 1.0)
    one, same, other = (
        alignment_score(table, copied_from=50, subset=Subset(share=0.4, seed=s, candidates="drawn"))
        for s in (1, 1, 2)
    )
    assert one.asked_sources == one.candidates == 20
    assert one.entries.tolist() == same.entries.tolist() != other.entries.tolist()
    forward, _ = looped(table.tolist(), [(i, i + 50) for i in one.entries.tolist()])
    assert one.score == pytest.approx(forward)


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_subset_is_the_one_that_the_authors_code_draws(share: float) -> None:
    table = noisy(60, 3, 1.0)
    left, right = (
        part / np.linalg.norm(part, axis=1, keepdims=True) for part in table.numpy().reshape(2, 60, 3)
    )
    indices = list(range(60))
    np.random.RandomState(42).shuffle(indices)
    taken = indices[-int(60 * share) :]
    drawn = alignment_score(table, copied_from=60, subset=Subset(share=share, seed=42, candidates="drawn"))
    assert drawn.entries.tolist() == sorted(taken)
    nearest = np.argmax(left[taken] @ right[taken].T, axis=1)
    assert drawn.score == pytest.approx(100 * np.mean(nearest == np.arange(len(taken))))
    whole = alignment_score(table, copied_from=60, subset=Subset(share=share, seed=42))
    assert (whole.asked_sources, whole.asked_targets, whole.candidates) == (len(taken), len(taken), 60)
    nearest = np.argmax(left[taken] @ right.T, axis=1)
    assert whole.score == pytest.approx(100 * np.mean(nearest == np.array(taken)))
    assert drawn.score >= whole.score > 0


def test_subset_keeps_all_translations_of_a_drawn_row() -> None:
    table = torch.eye(3).repeat(2, 1)
    table[4] = table[3]
    pairs = torch.tensor([[0, 4], [0, 3], [1, 5], [2, 5]])
    subset = next(
        s
        for s in (Subset(share=0.25, seed=seed, candidates="all") for seed in range(9))
        if draw(s, 4).tolist() == [0]
    )
    found = alignment_score(table, pairs=pairs, subset=subset)
    assert (found.score, found.asked_sources, found.candidates) == (100, 1, 3)


def test_subset_share_is_checked() -> None:
    with refused(ValidationError, "share", "1.5"):
        Subset(share=1.5)
    with refused(ValidationError, "candidates", "'drawn'", "'all'", "'some'"):
        Subset(share=0.5, candidates="some")
    with refused(ConfigurationError, "alignment score: ", "pair", "subset"):
        alignment_score(torch.eye(4).repeat(2, 1), copied_from=4, subset=Subset(share=0.1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one"),
        ({"copied_from": 4, "pairs": torch.tensor([[0, 1]])}, "exactly one"),
        ({"copied_from": 5}, "table has 8"),
        ({"pairs": torch.tensor([[0, 8]])}, "row 8"),
        ({"pairs": torch.tensor([[-1, 2]])}, "row -1"),
        ({"copied_from": 4, "exclude": range(4)}, "no pair is left"),
    ],
)
def test_alignment_score_refuses_mistakes(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        alignment_score(torch.eye(4).repeat(2, 1), **arguments)


def test_alignment_score_refuses_a_table_that_is_not_finite() -> None:
    table = torch.eye(3).repeat(2, 1)
    table[0, 0] = torch.nan
    with refused(ConfigurationError, "alignment score: ", "finite"):
        alignment_score(table, copied_from=3)
    with refused(ConfigurationError, "alignment score: ", "pair", "none"):
        score_vectors(table, table, torch.zeros(0, 2, dtype=torch.long))
