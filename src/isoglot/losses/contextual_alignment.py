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

    A word's vector is the state of its last piece, and the sentences are encoded separately. The sentences' first
    tokens ([CLS]) count as one more link, and so do their last ones ([SEP]). With ``reduction: sum`` nothing is divided
    by h.

    Args:
        pooling: a word's vector: ``last`` piece (default), ``first`` or ``mean``.
        one_to_one: leave out every link of a word that has several.
        drop_identical: leave out links of equal words (names, numbers), as the authors do.
        special_tokens: add the [CLS] and [SEP] pairs.
        reduction: ``mean`` over the dimensions (MSE, the authors' code) or ``sum`` (the norm that the paper prints).

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
        """Sum the squared distances of the links.

        Args:
            query: the sentences of one language.
            key: their translations.
            links: positions of linked pieces [query, key]; −1 pads.

        **Shape**: links (batch, links, 2).
        """
        require_sides(query, key, links)
        query_words, key_words = query.words, key.words
        batch_row, query_word, key_word = self.word_links(links, query_words, key_words).unbind(dim=1)
        query_vectors = self._vectors(query, query_words, batch_row, query_word)
        key_vectors = self._vectors(key, key_words, batch_row, key_word)

        distances = squared_distances(query_vectors, key_vectors, self.reduction)
        total = distances.sum() + no_loss(query.hidden, key.hidden)
        count = torch.tensor(len(query_vectors), device=total.device)
        cosine = torch.cosine_similarity(query_vectors.detach(), key_vectors.detach(), dim=1)
        return LossOutput(total, count, {"cosine": cosine.sum() / count.clamp(min=1)})

    def word_links(self, links: Tensor, query: WordIndex, key: WordIndex) -> Tensor:
        """The links of words that count: row, query word, key word. **Shape**: (batch, links, 2) -> (found, 3)."""
        return word_links(links, query, key, one_to_one=self.one_to_one, drop_identical=self.drop_identical)

    def _vectors(self, side: EncodedSentences, words: WordIndex, batch_row: Tensor, word: Tensor) -> Tensor:
        """One side's vectors of the links, then those of each sentence's first and last token if these are links.

        Link k is word ``word[k]`` of the sentence in row ``batch_row[k]``. **Shape**: (links, hidden).
        """
        vectors = [pool_words(side.hidden, words, pooling=self.pooling)[batch_row, word]]
        if self.special_tokens:
            every_row = torch.arange(side.hidden.size(0), device=batch_row.device)
            last_token = side.attention_mask.sum(dim=1) - 1
            vectors += [side.hidden[:, 0], side.hidden[every_row, last_token]]
        return torch.cat(vectors).float()


def require_sides(query: EncodedSentences, key: EncodedSentences, links: Tensor) -> None:
    """Refuse sides and links whose shapes do not fit.

    Each side has its own length, so the sides are not compared with each other, but each with the links.
    """
    for name, side in (("query", query), ("key", key)):
        tensors = {}
        for field, tensor in side._asdict().items():
            axes = "batch length hidden" if field == "hidden" else "batch length"
            tensors[f"{name}.{field}"] = (tensor, axes)
        require_axes(links=(links, "batch links 2"), **tensors)


def squared_distances(first: Tensor, second: Tensor, reduction: Literal["mean", "sum"]) -> Tensor:
    """The squared distance of each pair of vectors, or with ``mean`` that divided by h: (n, h) -> (n,)."""
    squares = (first - second).square()
    return squares.mean(dim=1) if reduction == "mean" else squares.sum(dim=1)
