from __future__ import annotations

import pytest
import torch
from torch import nn

from isoglot.core.errors import ConfigurationError
from isoglot.losses import (
    InBatchContrast,
)


def test_in_batch_contrast_is_symmetric_and_ignores_lengths() -> None:
    queries, keys = torch.randn(5, 8), torch.randn(5, 8)
    loss = InBatchContrast(temperature=0.1)
    q, k = (nn.functional.normalize(x, dim=1) for x in (queries, keys))
    scores = q @ k.T / 0.1
    expected = sum(nn.functional.cross_entropy(s, torch.arange(5)) for s in (scores, scores.T)) / 2
    torch.testing.assert_close(loss(queries, keys), expected)
    torch.testing.assert_close(loss(3 * queries, keys), loss(keys, queries))
    output = loss.measure(queries, keys)
    assert int(output.count) == 5 and torch.equal(output.loss, loss(queries, keys))
    with pytest.raises(ConfigurationError, match=r"temperature: got 0\.0"):
        InBatchContrast(temperature=0.0)
