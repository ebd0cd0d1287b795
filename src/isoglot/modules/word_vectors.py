"""Word vectors from piece vectors, and word links from piece links, for a whole batch at once.

A batch of sentences in the pieces *the house ##boat* has word ids ``[[0, 1, 1]]``: word 0 is *the*, word 1 *houseboat*.
"""

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
    """Index the words of a batch: which pieces make which word, and which words are equal.

    ``word_ids``: the word of each piece, from 0; −1 for special tokens and padding.
    ``input_ids``: ids of the pieces.

    **Shape**: (batch, length) each.
    """
    batch, length = word_ids.shape
    words_of_longest = int(word_ids.max()) + 1 if word_ids.numel() else 0
    words = max(1, words_of_longest)  # the width of the results
    in_word = word_ids >= 0
    # Every position is scattered to some word: those outside words to word 0, with a value that changes nothing.
    word_of_position = word_ids.clamp(min=0)
    position = torch.arange(length, device=word_ids.device).expand(batch, length)
    first = position.new_full((batch, words), length).scatter_reduce(
        1, word_of_position, torch.where(in_word, position, length), "amin"
    )
    last = position.new_full((batch, words), -1).scatter_reduce(
        1, word_of_position, torch.where(in_word, position, -1), "amax"
    )
    # Polynomial hash, Σ (id + 1) · base^k over the k-th pieces of a word: order matters, and no loop over words.
    place_in_word = (position - first.gather(1, word_of_position)).clamp(min=0)
    # Of an empty list, `torch.tensor` would make floats.
    powers = position.new_tensor([pow(_HASH_BASE, k, _HASH_MODULUS) for k in range(length)])
    summands = ((input_ids + 1) * powers[place_in_word]) % _HASH_MODULUS
    sums = position.new_zeros((batch, words)).scatter_add(
        1, word_of_position, torch.where(in_word, summands, 0)
    )
    return WordIndex(word_ids, first, last, sums % _HASH_MODULUS)


def pool_words(hidden: Tensor, index: WordIndex, *, pooling: WordPooling) -> Tensor:
    """One vector per word: that of its ``last`` piece, of its ``first`` piece, or the ``mean`` of its pieces.

    The vector of a word that is not ``present`` (padding of the shorter sentences) means nothing.

    **Shape**: (batch, length, hidden) → (batch, words, hidden).
    """
    size = hidden.size(-1)
    if pooling in ("last", "first"):
        position = (index.last if pooling == "last" else index.first).clamp(min=0, max=hidden.size(1) - 1)
        return hidden.gather(1, position.unsqueeze(-1).expand(-1, -1, size))
    in_word = index.of_piece >= 0
    # As in `word_index`: positions outside words are scattered to word 0, and add nothing.
    word_of_position = index.of_piece.clamp(min=0)
    words = index.last.size(1)
    summands = hidden * in_word.unsqueeze(-1).to(hidden.dtype)
    total = hidden.new_zeros((hidden.size(0), words, size)).scatter_add(
        1, word_of_position.unsqueeze(-1).expand(-1, -1, size), summands
    )
    pieces = index.last.new_zeros((hidden.size(0), words)).scatter_add(1, word_of_position, in_word.long())
    return total / pieces.clamp(min=1).unsqueeze(-1).to(hidden.dtype)


def mean_rows(rows: Tensor, lengths: Tensor) -> Tensor:
    """The mean of each run of rows, 0 for an empty run: (sum of the lengths, hidden), (runs,) -> (runs, hidden).

    Five rows and ``lengths`` ``[2, 3]`` give the mean of the first two and that of the last three.
    """
    every_row = torch.arange(len(rows), device=rows.device)
    starts = lengths.cumsum(0) - lengths
    return torch.nn.functional.embedding_bag(every_row, rows, starts, mode="mean")


def word_links(
    links: Tensor, query: WordIndex, key: WordIndex, *, one_to_one: bool = True, drop_identical: bool = True
) -> Tensor:
    """Turn piece links into distinct word links, sorted: row of the batch, query word, key word.

    ``links``: positions of linked pieces [query, key]; −1 pads. Links of special tokens are left out.
    ``one_to_one``: leave out every link of a word that has several.
    ``drop_identical``: then leave out links of equal words (names, numbers, punctuation).

    **Shape**: (batch, links, 2) -> (found, 3).
    """
    # From pieces to words: the batch row of each link, and the words of its two pieces.
    real = (links >= 0).all(dim=-1)
    row = torch.arange(links.size(0), device=links.device).unsqueeze(1).expand(real.shape)[real]
    query_word = query.of_piece[row, links[..., 0][real]]
    key_word = key.of_piece[row, links[..., 1][real]]
    in_words = (query_word >= 0) & (key_word >= 0)
    found: Tensor = torch.stack([row, query_word, key_word], dim=1)[in_words]
    found = torch.unique(found, dim=0)  # several pieces of two words may be linked
    if one_to_one and found.numel():
        single = torch.ones(found.size(0), dtype=torch.bool, device=found.device)
        for column in (1, 2):
            # A word of the batch is a batch row and a word of that row; one number for both, so that `unique` counts
            # how many links have the word.
            words_of_row = found[:, column].max() + 1
            word_number = found[:, 0] * words_of_row + found[:, column]
            _, index, link_counts = torch.unique(word_number, return_inverse=True, return_counts=True)
            links_of_word = link_counts[index]  # for each link
            single &= links_of_word == 1
        found = found[single]
    if drop_identical and found.numel():
        row, query_word, key_word = found.unbind(dim=1)
        equal = query.fingerprint[row, query_word] == key.fingerprint[row, key_word]
        found = found[~equal]
    return found
