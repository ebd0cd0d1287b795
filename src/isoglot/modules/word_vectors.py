"""Word vectors from piece vectors, and piece links turned into word links, batched."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

WordPooling = Literal["last", "first", "mean"]
_HASH_BASE = 1_000_003
_HASH_MODULUS = (1 << 31) - 1


@dataclass(frozen=True)
class WordIndex:
    """Which pieces make which word.

    **Shape**: ``of_piece`` (batch, length); the others (batch, words).
    """

    of_piece: Tensor  # the word of each position, −1 where there is none (special tokens, padding)
    first: Tensor  # position of each word's first piece; ``length`` where the word has none
    last: Tensor  # position of each word's last piece; −1 where the word has none
    fingerprint: Tensor  # a hash of each word's piece ids, equal for equal words

    @property
    def present(self) -> Tensor:
        """Whether the word has any piece, (batch, words)."""
        return self.last >= 0


def word_index(word_ids: Tensor, input_ids: Tensor) -> WordIndex:
    """Index the words of a batch of word and input ids, both (batch, length)."""
    batch, length = word_ids.shape
    words = max(1, int(word_ids.max()) + 1 if word_ids.numel() else 0)
    present = word_ids >= 0
    slot = word_ids.clamp(min=0)
    position = torch.arange(length, device=word_ids.device).expand(batch, length)
    first = position.new_full((batch, words), length).scatter_reduce(
        1, slot, torch.where(present, position, length), "amin"
    )
    last = position.new_full((batch, words), -1).scatter_reduce(
        1, slot, torch.where(present, position, -1), "amax"
    )
    # Polynomial hash over the position inside the word: order matters, and it needs no loop over words.
    inside = (position - first.gather(1, slot)).clamp(min=0)
    powers = [pow(_HASH_BASE, k, _HASH_MODULUS) for k in range(length)]
    weight = torch.tensor(powers, device=word_ids.device)[inside]
    mixed = ((input_ids + 1) * weight) % _HASH_MODULUS
    fingerprint = position.new_zeros((batch, words)).scatter_add(1, slot, torch.where(present, mixed, 0))
    return WordIndex(word_ids, first, last, fingerprint % _HASH_MODULUS)


def pool_words(hidden: Tensor, index: WordIndex, *, pooling: WordPooling) -> Tensor:
    """One vector a word: its ``last`` piece's, its ``first`` piece's, or their ``mean``; any where it has no piece.

    **Shape**: (batch, length, hidden) → (batch, words, hidden).
    """
    size = hidden.size(-1)
    if pooling in ("last", "first"):
        at = (index.last if pooling == "last" else index.first).clamp(min=0, max=hidden.size(1) - 1)
        return hidden.gather(1, at.unsqueeze(-1).expand(-1, -1, size))
    present = index.of_piece >= 0
    slot = index.of_piece.clamp(min=0)
    words = index.last.size(1)
    total = hidden.new_zeros((hidden.size(0), words, size)).scatter_add(
        1, slot.unsqueeze(-1).expand(-1, -1, size), hidden * present.unsqueeze(-1).to(hidden.dtype)
    )
    pieces = slot.new_zeros((hidden.size(0), words)).scatter_add(1, slot, present.long())
    return total / pieces.clamp(min=1).unsqueeze(-1).to(hidden.dtype)


def mean_rows(rows: Tensor, lengths: Tensor) -> Tensor:
    """The mean of each run of rows, 0 of an empty one: (sum of the lengths, hidden), (runs,) -> (runs, hidden)."""
    order = torch.arange(len(rows), device=rows.device)
    return torch.nn.functional.embedding_bag(order, rows, lengths.cumsum(0) - lengths, mode="mean")


def word_links(
    links: Tensor, query: WordIndex, key: WordIndex, *, one_to_one: bool = True, drop_identical: bool = True
) -> Tensor:
    """Piece links [query position, key position] (−1 pads) as distinct, sorted word links: row, query word, key word.

    ``drop_identical``: leave out pairs of equal words (names, numbers, punctuation).
    """
    valid = (links >= 0).all(dim=-1)
    row = torch.arange(links.size(0), device=links.device).unsqueeze(1).expand(valid.shape)[valid]
    first = query.of_piece[row, links[..., 0][valid]]
    second = key.of_piece[row, links[..., 1][valid]]
    triples: Tensor = torch.stack([row, first, second], dim=1)[(first >= 0) & (second >= 0)]
    triples = torch.unique(triples, dim=0)
    if one_to_one and triples.numel():
        keep = torch.ones(triples.size(0), dtype=torch.bool, device=triples.device)
        for column in (1, 2):
            word = triples[:, 0] * (triples[:, column].max() + 1) + triples[:, column]
            _, inverse, times = torch.unique(word, return_inverse=True, return_counts=True)
            keep &= times[inverse] == 1
        triples = triples[keep]
    if drop_identical and triples.numel():
        equal = (
            query.fingerprint[triples[:, 0], triples[:, 1]] == key.fingerprint[triples[:, 0], triples[:, 2]]
        )
        triples = triples[~equal]
    return triples
