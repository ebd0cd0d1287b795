from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoglot.aligners.embedding.piece_states import length_batches
from isoglot.tasks.features import RowCollator
from isoglot.testing import tiny_tokenizer


def test_collator_keeps_groups_together_and_pads() -> None:
    tokenizer = tiny_tokenizer("bert")
    row = {"input_ids": np.array([5, 6]), "labels": np.array([1, -100])}
    other = {"input_ids": np.array([5]), "labels": np.array([2])}
    batch = RowCollator(tokenizer, multiple=4)([[row, other], [other]])
    assert batch["input_ids"].shape == (3, 4)
    assert batch["attention_mask"].tolist() == [[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert batch["labels"][0].tolist() == [1, -100, -100, -100]


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 100))
def test_length_batches_hold_every_row_once(lengths: list[int], most: int) -> None:
    batches = list(length_batches(lengths, most))
    assert sorted(i for b in batches for i in b) == list(range(len(lengths)))
    assert all(len(b) == 1 or len(b) * max(lengths[i] for i in b) <= most for b in batches)
