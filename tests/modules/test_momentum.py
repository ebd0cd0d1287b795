"""Momentum copies."""

from __future__ import annotations

import torch
from torch import nn

from isoglot.modules.momentum import MomentumCopy


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
