"""The key queue against a Python list."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.modules.key_queue import KeyQueue


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
