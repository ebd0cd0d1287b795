"""The pointer network against its equations, one query at a time."""

from __future__ import annotations

import math

import torch

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


def test_pointer_weights_of_a_seed_are_those_of_a_linear_layer():
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
