from __future__ import annotations

import pytest
import torch
from references import reference
from torch import nn

from isoglot.core.errors import ConfigurationError
from isoglot.losses import (
    KeyQueueContrast,
)


def test_a_queue_without_projection_takes_vectors_as_they_are() -> None:
    loss = KeyQueueContrast(6, projection="none", normalize_h=False, queue_size=4, temperature=0.5)
    assert not list(loss.parameters())
    before, queries, keys = loss.queue.keys.clone(), torch.randn(2, 6), torch.randn(2, 6)
    logits = torch.cat([(queries * keys).sum(1, keepdim=True), queries @ before.T], 1) / 0.5
    torch.testing.assert_close(
        loss(queries, keys), nn.functional.cross_entropy(logits, torch.zeros(2).long())
    )
    assert torch.equal(loss.queue.keys[:2], keys)
    loss.eval()(queries, keys)
    assert int(loss.queue.pointer) == 2, "evaluation enqueues nothing"
    with pytest.raises(ConfigurationError, match="queue_size: 4 is less than the global batch of 5 pairs"):
        loss.train()(torch.randn(5, 6), torch.randn(5, 6))


def test_momentum_contrast() -> None:
    values = reference("golden")["moco"]
    start = {name: torch.tensor(value) for name, value in values["initial"].items()}
    loss = KeyQueueContrast(
        start["w_q"].shape[1],
        projection="linear",
        projection_size=values["dim"],
        normalize_h=False,
        normalize_z=True,
        temperature=values["T"],
        queue_size=values["K"],
        momentum=values["m"],
    )
    slow, queue = loss.momentum_projection.module, loss.queue
    loss.head.maps[0].weight.data = start["w_q"].clone()
    slow.maps[0].weight.data = start["w_k"].clone()
    queue.keys.copy_(start["queue"])
    for step in values["steps"]:
        loss.advance()
        inputs = torch.tensor(step["x_q"]), torch.tensor(step["x_k"])
        queries, keys = loss.project(inputs[0], loss.head), loss.project(inputs[1], slow)
        scores = torch.cat([(queries * keys).sum(1, keepdim=True), queries @ queue.keys.T], 1) / values["T"]
        torch.testing.assert_close(scores.detach(), torch.tensor(step["logits"]), rtol=1e-5, atol=1e-5)
        assert loss(*inputs).item() == pytest.approx(step["loss"], rel=1e-5)
        torch.testing.assert_close(queue.keys, torch.tensor(step["queue_after"]))
        torch.testing.assert_close(slow.maps[0].weight.detach(), torch.tensor(step["w_k_after"]))
        assert int(queue.pointer) == step["ptr_after"]


def test_keys_of_unknown_sources_are_negatives() -> None:
    loss = KeyQueueContrast(6, projection="none", queue_size=4).eval()
    queries, keys = torch.randn(2, 6), torch.randn(2, 6)
    unknown = torch.full((2,), -1)
    torch.testing.assert_close(loss(queries, keys, unknown), loss(queries, keys))
