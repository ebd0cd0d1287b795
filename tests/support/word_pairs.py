"""Two pairs of sentences with linked words, and the word_vector of one word."""

from __future__ import annotations

import torch


def linked_sentences(*, seed=0):
    """Two pairs; words are numbered from 1, special tokens and padding have 0."""
    generator = torch.Generator().manual_seed(seed)
    word_ids = {
        "query": torch.tensor([[0, 1, 2, 2, 3, 0], [0, 1, 1, 2, 0, 0]]),
        "key": torch.tensor([[0, 1, 1, 2, 3, 4, 0], [0, 1, 2, 3, 3, 0, 0]]),
    }
    lengths = {"query": [6, 5], "key": [7, 6]}
    view = {}
    for side, ids in word_ids.items():
        view[f"{side}_input_ids"] = torch.randint(5, 90, ids.shape, generator=generator)
        mask = torch.arange(ids.size(1))[None] < torch.tensor(lengths[side])[:, None]
        view[f"{side}_attention_mask"] = mask.long()
        view[f"{side}_word_ids"] = ids
    # First pair: word 1-1 (two key pieces), word 2-2, and word 3 with two words (not one-to-one).
    view["link_ids"] = torch.tensor(
        [
            [[1, 1], [1, 2], [2, 3], [3, 3], [4, 4], [4, 5]],
            [[3, 4], [-1, -1], [-1, -1], [-1, -1], [-1, -1], [-1, -1]],
        ]
    )
    view["query_is_pivot_mask"] = torch.tensor([1, 1])
    return {"sentences": view}


def word_vector(hidden, word_ids, row, word, pooling):
    positions = (word_ids[row] == word).nonzero().flatten()
    if pooling == "mean":
        return hidden[row, positions].mean(0)
    return hidden[row, positions[-1 if pooling == "last" else 0]]
