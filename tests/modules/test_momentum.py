"""Momentum copies, and the key queue against a Python list."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from isoglot.modules.momentum import KeyQueue, MomentumCopy


def moved(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))


def change(module):
    with torch.no_grad():
        for p in module.parameters():
            p.add_(torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())))


def test_average_equals_its_equation():
    online = moved()
    slow = MomentumCopy(online, 0.9)
    expected = [p.detach().clone() for p in online.parameters()]
    for _ in range(3):
        change(online)
        slow.update(online)
        expected = [0.9 * k + 0.1 * q.detach() for k, q in zip(expected, online.parameters(), strict=True)]
    for got, want in zip(slow.module.parameters(), expected, strict=True):
        torch.testing.assert_close(got.detach(), want)
        assert not got.requires_grad


def test_ends_are_exact():
    for momentum in (0.0, 1.0):
        online = moved(1)
        slow = MomentumCopy(online, momentum)
        before = [p.clone() for p in slow.module.parameters()]
        change(online)
        slow.update(online)
        target = list(online.parameters()) if momentum == 0.0 else before
        assert all(torch.equal(k, q) for k, q in zip(slow.module.parameters(), target, strict=True))


def test_half_precision_encoders_are_averaged_in_float32():
    online = moved(2).bfloat16()
    slow = MomentumCopy(online, 0.999)
    before = [p.clone() for p in slow.module.parameters()]
    with torch.no_grad():
        for p in online.parameters():
            p.add_(0.25)
    slow.update(online)
    for k, old, q in zip(slow.module.parameters(), before, online.parameters(), strict=True):
        assert k.dtype == torch.float32
        torch.testing.assert_close(k, 0.999 * old + 0.001 * q.float())
        assert bool((k != old).all())


def test_state():
    slow, other = MomentumCopy(moved(3), 0.5), MomentumCopy(moved(4), 0.5)
    other.load_state_dict(slow.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(slow.parameters(), other.parameters(), strict=True))


@given(st.integers(1, 9), st.lists(st.integers(0, 23), max_size=12))
@settings(max_examples=150, deadline=None)
def test_any_batch_size_wraps_around_and_keeps_the_overflow(size, batches):
    queue = KeyQueue(size, 2)
    slots = [(row.tolist(), -1) for row in queue.keys]
    pointer = number = 0
    for count in batches:
        keys = torch.arange(number, number + count).float()[:, None].expand(-1, 2)
        ids = torch.arange(number, number + count) + 100
        queue.enqueue(keys, ids)
        for key, source in zip(keys.tolist(), ids.tolist(), strict=True):
            slots[pointer] = (key, source)
            pointer = (pointer + 1) % size
        number += count
    assert queue.keys.tolist() == [key for key, _ in slots]
    assert queue.source_ids.tolist() == [source for _, source in slots]
    assert int(queue.pointer) == pointer


def test_random_keys_are_unit_and_repeatable():
    first, second = (KeyQueue(50, 8, generator=torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first.keys, second.keys)
    torch.testing.assert_close(first.keys.norm(dim=1), torch.ones(50))


def test_state_is_persistent_and_half_precision_keys_are_widened():
    queue = KeyQueue(4, 3)
    queue.enqueue(torch.ones(6, 3, dtype=torch.bfloat16))
    assert set(queue.state_dict()) == {"keys", "source_ids", "pointer"}
    fresh = KeyQueue(4, 3)
    fresh.load_state_dict(queue.state_dict())
    assert int(fresh.pointer) == 2 and fresh.keys.dtype == torch.float32
    assert torch.equal(fresh.keys, torch.ones(4, 3)) and fresh.source_ids.tolist() == [-1] * 4


def test_empty_queue():
    queue = KeyQueue(0, 3)
    queue.enqueue(torch.ones(2, 3))
    assert queue.keys.shape == (0, 3) and int(queue.pointer) == 0
