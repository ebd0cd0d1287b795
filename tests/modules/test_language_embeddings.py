from __future__ import annotations

import pytest
import torch

from isoglot.errors import ConfigurationError
from isoglot.modules.language_embeddings import add_language_embeddings, language_embeddings


def test_each_position_gets_its_languages_vector():
    table = language_embeddings(3, 4, seed=0)
    embedded = torch.randn(2, 3, 4)
    ids = torch.tensor([[0, 1, 2], [2, 2, 0]])
    added = add_language_embeddings(embedded, ids, table)
    for b in range(2):
        for t in range(3):
            torch.testing.assert_close(added[b, t], embedded[b, t] + table.weight[ids[b, t]])
    torch.testing.assert_close(add_language_embeddings(embedded, torch.tensor([1, 2]), table)[1, 2],
                               embedded[1, 2] + table.weight[2])  # fmt: skip


def test_the_table_depends_on_the_seed_alone():
    assert torch.equal(language_embeddings(3, 4, seed=5).weight, language_embeddings(3, 4, seed=5).weight)
    assert not torch.equal(language_embeddings(3, 4, seed=5).weight, language_embeddings(3, 4, seed=6).weight)


def test_widths_that_differ_are_an_error():
    with pytest.raises(ConfigurationError, match=r"size 5 .* size 4; build"):
        add_language_embeddings(
            torch.zeros(1, 2, 4), torch.zeros(1, 2).long(), language_embeddings(2, 5, seed=0)
        )
