from __future__ import annotations

import pytest
import torch
from torch import nn

from isoglot.errors import ConfigurationError
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
    with pytest.raises(ConfigurationError, match="queue_size: 4 given for a global batch of 5 pairs"):
        loss.train()(torch.randn(5, 6), torch.randn(5, 6))
