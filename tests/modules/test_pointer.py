"""The pointer network against its equations, one query at a time."""

from __future__ import annotations

import math

import torch

from isoglot.modules.hashed_noise import hashed_uniform, sentence_key
from isoglot.modules.pointer import Pointer, pointer_alignment


def test_scores_equal_loops_for_repeated_and_uneven_queries():
    generator = torch.Generator().manual_seed(0)
    pointer, hidden = Pointer(8), torch.randn(4, 7, 8, generator=generator)
    rows, positions = torch.tensor([0, 0, 0, 2, 3, 3]), torch.tensor([1, 1, 4, 0, 6, 2])
    allowed = torch.rand(6, 7, generator=generator) < 0.6
    allowed[:, 3] = True
    scores = pointer(hidden, rows, positions, allowed)
    assert scores.dtype == torch.float32
    for n, (b, p) in enumerate(zip(rows.tolist(), positions.tolist(), strict=True)):
        for t in range(7):
            expected = pointer.query(hidden[b, p]) @ pointer.key(hidden[b, t]) / math.sqrt(8)
            if allowed[n, t]:
                torch.testing.assert_close(scores[n, t], expected)
            else:
                assert scores[n, t] == -math.inf


def test_no_query_keeps_the_graph():
    pointer, none = Pointer(4), torch.zeros(0, dtype=torch.int64)
    scores = pointer(torch.randn(2, 3, 4), none, none, torch.zeros(0, 3, dtype=torch.bool))
    assert scores.shape == (0, 3)
    scores.sum().backward()
    assert all(p.grad is not None and not bool(p.grad.any()) for p in pointer.parameters())


def test_same_seed_same_weights_as_a_linear_layer_draws_them():
    first, second = (Pointer(16, generator=torch.Generator().manual_seed(3)) for _ in range(2))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b) and float(a.detach().abs().max()) <= 0.25
    assert not torch.equal(first.query.weight, first.key.weight)


def test_alignment_probabilities_agree_with_the_training_scores():
    generator = torch.Generator().manual_seed(4)
    pointer, hidden = Pointer(6), torch.randn(2, 9, 6, generator=generator)
    source, target = hidden[:, 1:4], hidden[:, 5:9]
    source_mask, target_mask = torch.ones(2, 3).bool(), torch.ones(2, 4).bool()
    target_mask[1, 2:] = False
    forward, backward = pointer_alignment(pointer, source, target, source_mask, target_mask)
    allowed = torch.zeros(1, 9, dtype=torch.bool)
    allowed[0, 5:7] = True
    row = pointer(hidden, torch.tensor([1]), torch.tensor([2]), allowed).softmax(1)
    torch.testing.assert_close(forward[1, 1], row[0, 5:9].detach())
    allowed = torch.zeros(1, 9, dtype=torch.bool)
    allowed[0, 1:4] = True
    column = pointer(hidden, torch.tensor([0]), torch.tensor([8]), allowed).softmax(1)
    torch.testing.assert_close(backward[0, :, 3], column[0, 1:4].detach())
    torch.testing.assert_close(forward.sum(2), torch.ones(2, 3))
    torch.testing.assert_close(backward.sum(1), target_mask.float())
    assert not forward.requires_grad


def test_hashed_noise_is_uniform_repeatable_and_ignores_padding():
    ids = torch.randint(0, 30_000, (500, 40), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(40) < torch.randint(3, 41, (500, 1), generator=torch.Generator().manual_seed(2))
    key = sentence_key(ids, mask)
    assert torch.equal(
        key,
        sentence_key(torch.nn.functional.pad(ids, (0, 9), value=7), torch.nn.functional.pad(mask, (0, 9))),
    )
    assert len(set(key.tolist())) == 500
    swapped = ids.clone()
    swapped[:, [0, 1]] = ids[:, [1, 0]]
    assert not bool((sentence_key(swapped, mask) == key)[ids[:, 0] != ids[:, 1]].any())
    draws = hashed_uniform(key[:, None], 5, torch.tensor(17), torch.arange(200))
    assert torch.equal(draws, hashed_uniform(key[:, None], 5, 17, torch.arange(200)))
    assert float(draws.min()) >= 0 and float(draws.max()) < 1
    histogram = torch.histc(draws, bins=20, min=0, max=1) / draws.numel()
    torch.testing.assert_close(histogram, torch.full((20,), 0.05), atol=0.002, rtol=0)
    other = hashed_uniform(key[:, None], 5, 18, torch.arange(200))
    assert abs(float(torch.corrcoef(torch.stack([draws.flatten(), other.flatten()]))[0, 1])) < 0.01
    neighbours = torch.corrcoef(torch.stack([draws[:, :-1].flatten(), draws[:, 1:].flatten()]))
    assert abs(float(neighbours[0, 1])) < 0.01
