"""A collated batch of sentence pairs."""

from __future__ import annotations

import torch

from isoglot.testing import tiny_aligned


def make_batch(count=4, *, seed=0, length=9):
    """Random pairs of uneven lengths, as the view ``sentences``."""
    generator = torch.Generator().manual_seed(seed)
    pair = {"source_key_ids": torch.arange(count)[:, None] % 3}
    for side in ("query", "key"):
        ids = torch.randint(5, 100, (count, length), generator=generator)
        lengths = torch.randint(4, length + 1, (count, 1), generator=generator)
        mask = torch.arange(length) < lengths
        pair[f"{side}_input_ids"] = torch.where(mask, ids, 0)
        pair[f"{side}_attention_mask"] = mask.long()
    return {"sentences": pair}


def pairs_of(count, seed=3):
    corpus = tiny_aligned(count, seed=seed)
    return list(zip(corpus["source_words"], corpus["target_words"], strict=True))
