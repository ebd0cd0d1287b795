"""Sentence vectors that several measurements of one benchmark share."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from isoglot.mining.vectors import SentenceEncoder


def remembered(encoder: SentenceEncoder) -> SentenceEncoder:
    """The same vectors, each text encoded once."""
    known: dict[str, torch.Tensor] = {}

    def encode(texts: Sequence[str]) -> torch.Tensor:
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(new, encoder(new), strict=True))
        return torch.stack([known[text] for text in texts])

    return encode
