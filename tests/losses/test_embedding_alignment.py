from __future__ import annotations

import pytest
import torch

from isoglot.core.errors import ConfigurationError
from isoglot.losses import (
    EmbeddingAlignment,
)


def test_a_dictionary_needs_pairs_and_is_kept_as_buffers() -> None:
    loss = EmbeddingAlignment([([1], [2]), ([3, 4], [5])])
    table = torch.randn(6, 3, requires_grad=True)
    expected = [(table[1], table[2]), (table[3:5].mean(0), table[5])]
    cosine = torch.stack([torch.cosine_similarity(a, b, dim=0) for a, b in expected]).mean()
    torch.testing.assert_close(loss(table), -cosine)
    assert {"source_pieces", "target_pieces", "step"} == set(loss.state_dict())
    with pytest.raises(ConfigurationError, match="no pair"):
        EmbeddingAlignment([])
    for wrong in ([([], [2])], [([1], [2, -1])], [([1], 2)], [("ab", [2])]):
        with pytest.raises(ConfigurationError, match="pair 1: an entry is a list of piece numbers"):
            EmbeddingAlignment(wrong)
    torch.testing.assert_close(EmbeddingAlignment(iter([([1], [2]), ([3, 4], [5])]))(table), -cosine)
