"""Pairs with given hidden states, and a stand-in of an encoder, for tests of denoising word alignment."""

from __future__ import annotations

from types import SimpleNamespace

import torch


class Given:
    """Encodings with given states."""

    def __init__(self, hidden, clean=None):
        self._hidden, self._clean = hidden, clean

    def hidden(self, view, layer, side=None):
        return self._hidden

    def layer(self, view, layer, *, clean, side=None):
        assert clean, "labels come from the unmasked pair"
        return self._clean.detach()


def shell(hidden_size=6, layers=12):
    return SimpleNamespace(
        config=SimpleNamespace(hidden_size=hidden_size, num_hidden_layers=layers),
        base_model_prefix="none",
    )


def make_batch(*, batch=5, length=14, seed=0, hidden=6, padding=0):
    """Pairs of unequal sides, one with an empty target; returns (batch, masked states, clean states)."""
    generator = torch.Generator().manual_seed(seed)
    side_ids = torch.zeros(batch, length, dtype=torch.int64)
    for b in range(batch):
        n, m = 2 + b % 4, (b * 3) % 7
        side_ids[b, 1 : 1 + n] = 1
        side_ids[b, 2 + n : 2 + n + m] = 2
    input_ids = torch.randint(5, 90, (batch, length), generator=generator)
    labels = torch.where(torch.rand(batch, length, generator=generator) < 0.5, input_ids, -100)
    labels[side_ids == 0] = -100
    states = [torch.randn(batch, length, hidden, generator=generator) for _ in range(2)]
    links = torch.full((batch, 4, 2), -1)
    links[1, 0], links[1, 1] = torch.tensor([1, 5]), torch.tensor([1, 6])
    links[2, 0], links[2, 1], links[2, 2] = torch.tensor([3, 6]), torch.tensor([2, 7]), torch.tensor([3, 9])
    pair = {
        "input_ids": input_ids,
        "original_ids": input_ids,
        "attention_mask": (torch.arange(length) < length).long().expand(batch, -1),
        "labels": labels,
        "side_ids": side_ids,
        "link_ids": links,
    }
    if padding:
        fills = {"labels": -100}
        for key in ("input_ids", "original_ids", "attention_mask", "labels", "side_ids"):
            pair[key] = torch.nn.functional.pad(pair[key], (0, padding), value=fills.get(key, 0))
        states = [torch.nn.functional.pad(s, (0, 0, 0, padding), value=31.0) for s in states]
    return {"pair": pair}, *states
