"""Linked words should have the same contextual vectors (Cao et al. 2020)."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from isoglot.losses.base import Loss, LossOutput, no_loss, require_axes
from isoglot.modules.word_vectors import WordIndex, WordPooling, pool_words, word_index, word_links


class EncodedSentences(NamedTuple):
    """One side of a batch of sentence pairs.

    **Shape**: hidden (batch, length, hidden); the others (batch, length).
    """

    hidden: Tensor
    attention_mask: Tensor
    input_ids: Tensor
    word_ids: Tensor
    """The word of each piece, from 0; −1 for special tokens and padding."""

    @property
    def words(self) -> WordIndex:
        """Which pieces make which word."""
        return word_index(self.word_ids, self.input_ids)


@dataclass(eq=False, repr=False)
class ContextualAlignment(Loss):
    """Squared distance between the vectors of linked words.

    Equation: ``L = (1/n) Σ_{(s, t)} ‖f(s) − f(t)‖² / h`` over the n links, with f a word's vector of h numbers

    A word's vector is the state of its last piece, and the sentences are encoded separately. The pair of the sentences'
    first tokens ([CLS]) and that of their last ([SEP]) count as links. With ``reduction: sum`` nothing is divided by h.

    Args:
        pooling: a word's vector: ``last`` piece (default), ``first`` or ``mean``.
        one_to_one: leave out words with several links.
        drop_identical: leave out pairs of equal words, as the original does.
        special_tokens: add the [CLS] and [SEP] pairs.
        reduction: ``mean`` over the dimensions (the code: MSE) or ``sum`` (the paper's norm).

    **Metrics**: ``cosine`` of the linked words' vectors.

    Source: Cao, Kitaev, Klein 2020, *Multilingual Alignment of Contextual Word Representations*, §3.

    Example:
        >>> encoder = torch.nn.Embedding(20, 4)
        >>> optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
        >>> loss_function = ContextualAlignment()
        >>> ids = {"query": torch.tensor([[1, 5, 6, 2]]), "key": torch.tensor([[1, 7, 2]])}
        >>> words = {"query": torch.tensor([[-1, 0, 0, -1]]), "key": torch.tensor([[-1, 0, -1]])}
        >>> links = torch.tensor([[[1, 1], [2, 1]]])  # pieces, so one link of words
        >>> for _ in range(2):
        ...     query, key = (
        ...         EncodedSentences(encoder(ids[s]), torch.ones_like(ids[s]), ids[s], words[s]) for s in ids
        ...     )
        ...     loss = loss_function(query, key, links)
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
        >>> int(loss_function.measure(query, key, links).count)  # the words', [CLS] and [SEP]
        3
    """

    _: KW_ONLY
    pooling: WordPooling = "last"
    one_to_one: bool = True
    drop_identical: bool = True
    special_tokens: bool = True
    reduction: Literal["mean", "sum"] = "mean"

    def measure(self, query: EncodedSentences, key: EncodedSentences, links: Tensor) -> LossOutput:
        """Summed squared distances.

        Args:
            query: the one language's sentences.
            key: the other's.
            links: positions of linked pieces [query, key]; −1 pads.

        **Shape**: links (batch, links, 2).
        """
        require_sides(query, key, links)
        words = (query.words, key.words)
        word_pairs = self.word_links(links, *words)
        pairs = []
        for side, index, column in zip((query, key), words, (1, 2), strict=True):
            states = [
                pool_words(side.hidden, index, pooling=self.pooling)[word_pairs[:, 0], word_pairs[:, column]]
            ]
            if self.special_tokens:
                rows = torch.arange(side.hidden.size(0), device=word_pairs.device)
                states += [side.hidden[:, 0], side.hidden[rows, side.attention_mask.sum(dim=1) - 1]]
            pairs.append(torch.cat(states).float())
        source, target = pairs
        total = squared_distances(source, target, self.reduction).sum() + no_loss(query.hidden, key.hidden)
        count = torch.tensor(source.size(0), device=total.device)
        cosine = torch.cosine_similarity(source.detach(), target.detach(), dim=1)
        return LossOutput(total, count, {"cosine": cosine.sum() / count.clamp(min=1)})

    def word_links(self, links: Tensor, query: WordIndex, key: WordIndex) -> Tensor:
        """The links of words that count: row, query word, key word. **Shape**: (batch, links, 2) -> (found, 3)."""
        return word_links(links, query, key, one_to_one=self.one_to_one, drop_identical=self.drop_identical)


def require_sides(query: EncodedSentences, key: EncodedSentences, links: Tensor) -> None:
    """Refuse sides and links whose shapes do not fit."""
    for name, side in (("query", query), ("key", key)):
        axes = ("batch length hidden", *["batch length"] * 3)
        parts = zip(side._fields, zip(side, axes, strict=True), strict=True)
        require_axes(links=(links, "batch links 2"), **{f"{name}.{field}": part for field, part in parts})


def squared_distances(first: Tensor, second: Tensor, reduction: Literal["mean", "sum"]) -> Tensor:
    """The squared distance of each pair of vectors, or its ``mean`` over the dimensions: (n, hidden) -> (n,)."""
    distance = (first - second).square()
    return distance.mean(dim=1) if reduction == "mean" else distance.sum(dim=1)
