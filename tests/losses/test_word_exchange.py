from __future__ import annotations

import pytest
import torch
from word_exchange_loops import linked_pairs, swapped_states

from isoglot.core.errors import ConfigurationError
from isoglot.losses.word_exchange import exchange
from isoglot.testing import tiny_model


@pytest.fixture(scope="module")
def model():
    return tiny_model("bert").eval()


@pytest.mark.parametrize("many", ["sum", "mean", "one_to_one"])
@pytest.mark.parametrize("unaligned", ["exclude", "literal"])
def test_exchange_equals_the_matrix_product(model, many, unaligned):
    batch = linked_pairs(model)
    hidden = torch.randn(3, 11, 32)
    masked = batch["pair"]["labels"] != -100
    states, items = exchange(
        hidden, batch["pair"]["link_ids"], masked, many=many, keep_unaligned=unaligned == "literal"
    )
    expected, expected_items = swapped_states(hidden, batch, many, unaligned)
    assert items.tolist() == expected_items
    torch.testing.assert_close(states, expected)


def test_a_link_past_the_input_is_not_one_of_the_next_row() -> None:
    masked = torch.ones(2, 4, dtype=torch.bool)
    with pytest.raises(ConfigurationError, match="links: position 5, but the inputs have 4 tokens"):
        exchange(torch.randn(2, 4, 8), torch.tensor([[[1, 5]], [[-1, -1]]]), masked)
