"""ALIGN-MLM's auxiliary loss: translations should have the same input embeddings."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from operator import index

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from isoglot.core.checks import shortened
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Count
from isoglot.core.seeding import generator_for
from isoglot.losses.base import Loss, LossOutput
from isoglot.modules.shared_table import SharedTable
from isoglot.modules.word_vectors import mean_rows

WordPieces = list[int]
"""The ids of the pieces of one word of a dictionary pair: ``[512]``, or ``[512, 98]``."""

_CHUNK = {"cpu": 1 << 10, "cuda": 1 << 14}
"""Pairs whose cosines are computed at a time.

On a CPU so few that a dozen intermediate results of cosine and gradient stay in the cache.
"""


@dataclass(eq=False, repr=False)
class EmbeddingAlignment(Loss):
    """Minus the mean cosine of the embeddings of each dictionary pair.

    Equation: ``L = −(1/|B|) Σ_{(s, t) ∈ B} cos(E[s], E[t])``, with B the dictionary and E the input embeddings

    The sum is over the *whole* dictionary at every step, as in the authors' code. The gradient reaches only the rows of
    E that the dictionary names. Where other losses read E too, a
    :class:`~isoglot.modules.shared_table.SharedTable` adds up the gradients. The dictionary is a saved buffer. Call
    :meth:`advance` after each optimiser step.

    Args:
        pairs: The pieces of each word and of its translation; the embeddings of several pieces are averaged.
        sample: draw this many pairs for each step instead of using all.
        lexicon_seed: Seed of the dictionary's own draws, apart from the run's.

    **Metrics**: ``cosine``.

    Raises:
        ConfigurationError: there is no pair.

    Source: Tang et al. 2022, *ALIGN-MLM*, §3; weight α = 10 (App. G.5).

    Example:
        >>> embeddings = torch.nn.Embedding(30, 8)
        >>> optimizer = torch.optim.SGD(embeddings.parameters(), lr=0.1)
        >>> dictionary = EmbeddingAlignment([([10], [20]), ([11, 12], [21])])
        >>> for _ in range(2):
        ...     loss = dictionary(embeddings.weight)
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
        ...     dictionary.advance()
    """

    pairs: Sequence[tuple[WordPieces, WordPieces]]
    _: KW_ONLY
    sample: Count | None = None
    lexicon_seed: int = 0
    source_pieces: Tensor = field(init=False)
    target_pieces: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.settle()
        self.set_dictionary(self.pairs)

    def set_dictionary(self, pairs: Sequence[tuple[WordPieces, WordPieces]]) -> None:
        """Keep the pieces of each word and its translation as buffers, and begin at step 0.

        ``__post_init__`` calls it once: that of this class, or of a subclass that makes the pairs itself.
        """
        sources: list[WordPieces] = []
        targets: list[WordPieces] = []
        for number, pair in enumerate(pairs, 1):
            source, target = pair
            sources.append(_checked(number, source))
            targets.append(_checked(number, target))
        if not sources:
            raise ConfigurationError("the dictionary has no pair; give at least one")
        self.pairs = ()  # the buffers have them
        self.register_buffer("source_pieces", _pad(sources))
        self.register_buffer("target_pieces", _pad(targets))
        self.register_buffer("step", torch.zeros((), dtype=torch.long))

    @property
    def pairs_per_step(self) -> int:
        """The number of pairs of the dictionary that a step reads."""
        size = self.source_pieces.size(0)
        return size if self.sample is None else min(self.sample, size)

    def measure(self, table: Tensor | SharedTable) -> LossOutput:
        """Sum minus the cosine over the dictionary, or over this step's sample of it.

        Args:
            table: the input embeddings, E.

        **Shape**: table (V, hidden).
        """
        shared = table if isinstance(table, SharedTable) else SharedTable(table)
        source, target = self.source_pieces, self.target_pieces
        if self.pairs_per_step < source.size(0):
            generator = generator_for(self.lexicon_seed, "dictionary sample", int(self.step))
            order = torch.randperm(source.size(0), generator=generator)
            rows = order[: self.pairs_per_step].to(source.device)
            source, target = source[rows], target[rows]
        chunk = _CHUNK.get(source.device.type, _CHUNK["cuda"])
        # A chunk of pairs at a time: its intermediate results stay in the cache.
        cosines = []
        for source_part, target_part in zip(source.split(chunk), target.split(chunk), strict=True):
            source_vectors, target_vectors = _embed(shared, source_part), _embed(shared, target_part)
            cosines.append(nn.functional.cosine_similarity(source_vectors, target_vectors, dim=-1, eps=1e-8))
        cosine = torch.cat(cosines)
        total = -cosine.float().sum()
        count = torch.as_tensor(source.size(0), device=total.device)
        return LossOutput(total, count, {"cosine": cosine.detach().float().mean()})

    def advance(self) -> None:
        """Count the step, from which the sample is drawn."""
        self.step += 1


def _embed(table: SharedTable, pieces: Tensor) -> Tensor:
    """The mean embedding of each word's pieces: (words, longest), −1 pads -> (words, hidden)."""
    if pieces.size(1) == 1:
        return table.rows(pieces[:, 0])
    present = pieces >= 0
    return mean_rows(table.rows(pieces[present]), present.sum(dim=1))


def _checked(number: int, word: WordPieces) -> WordPieces:
    """The pieces of a word of pair ``number`` as Python integers; an error where they are not piece ids."""
    try:
        ids = [index(piece) for piece in word]
    except TypeError:
        ids = []
    if not ids or min(ids) < 0:
        raise ConfigurationError(
            f"pair {number}: an entry is a list of piece numbers, one or more, got {shortened(word)}"
        )
    return ids


def _pad(words: list[WordPieces]) -> Tensor:
    """The pieces of words as one tensor: (words, longest), −1 pads."""
    return pad_sequence([torch.tensor(pieces) for pieces in words], batch_first=True, padding_value=-1)
