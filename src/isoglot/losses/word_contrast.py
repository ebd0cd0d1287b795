"""Contrast of linked words with the other words of the batch (Wu and Dredze 2020)."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from isoglot.core.options import Positive
from isoglot.losses.base import Loss, LossOutput, no_loss
from isoglot.losses.contextual_alignment import EncodedSentences, require_sides
from isoglot.modules.contrast import gather_rows, gather_rows_with_gradient
from isoglot.modules.word_vectors import WordIndex, WordPooling, pool_words, word_links


@dataclass(eq=False, repr=False)
class WordContrast(Loss):
    """InfoNCE of each linked word with its translation, the batch's other words as negatives.

    Equation: ``L = −(1/2n) Σ_{(s, t)} Σ_{(a, b) ∈ {(s, t), (t, s)}} log [e^(cos(a, b)/τ) / Σ_{w ≠ a} e^(cos(a, w)/τ)]``
    over n links, with ``negatives: both``

    The candidates w are all words of the sentences of all ranks, linked or not; with ``negatives: other`` those of a's
    own language are left out of the sum. Each link is two items, so that ``count`` is 2n: once its source word looks
    for the target word, once the target word for the source word.

    Args:
        temperature: τ; 0.1 in the code of Gaschi et al.
        negatives: words of ``both`` languages (strong alignment), or of the ``other`` one alone (weak).
        pooling: a word's vector: ``mean`` of its pieces (default), ``first`` or ``last``.
        one_to_one: leave out every link of a word that has several.
        drop_identical: leave out links of equal words (names, numbers); the words stay negatives.

    **Metrics**: ``accuracy`` (a word ranks its translation first), ``cosine`` of linked words.

    Source: Wu and Dredze 2020, *Do Explicit Alignments Robustly Improve Multilingual Encoders?* (its contrastive
    alignment, weak and strong); the settings of Gaschi et al. 2023, *Exploring the Relationship between Alignment and
    Cross-lingual Transfer in Multilingual Transformers*.

    Example:
        >>> encoder = torch.nn.Embedding(20, 4)
        >>> optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
        >>> loss_function = WordContrast()
        >>> ids = {"query": torch.tensor([[1, 5, 6, 2]]), "key": torch.tensor([[1, 7, 8, 2]])}
        >>> words = torch.tensor([[-1, 0, 1, -1]])
        >>> links = torch.tensor([[[1, 2], [2, 1]]])
        >>> for _ in range(2):
        ...     query, key = (EncodedSentences(encoder(ids[s]), torch.ones_like(ids[s]), ids[s], words) for s in ids)
        ...     loss = loss_function(query, key, links)
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
        >>> int(loss_function.measure(query, key, links).count)
        4
    """

    _: KW_ONLY
    temperature: Positive = 0.1
    negatives: Literal["both", "other"] = "both"
    pooling: WordPooling = "mean"
    one_to_one: bool = True
    drop_identical: bool = True

    def measure(self, query: EncodedSentences, key: EncodedSentences, links: Tensor) -> LossOutput:
        """Sum the InfoNCE of this rank's linked words, in both directions.

        Args:
            query: the sentences of one language.
            key: their translations.
            links: positions of linked pieces [query, key]; −1 pads.

        **Shape**: links (batch, links, 2).
        """
        require_sides(query, key, links)
        query_words, key_words = query.words, key.words
        batch_row, query_word, key_word = self.word_links(links, query_words, key_words).unbind(dim=1)

        # This rank's words in one matrix, those of the queries first; then the words of all ranks.
        query_vectors = self._unit_vectors(query, query_words)
        key_vectors = self._unit_vectors(key, key_words)
        own = torch.cat([query_vectors, key_vectors])
        side_sizes = torch.tensor([len(query_vectors), len(key_vectors)], device=own.device)
        own_side = torch.arange(2, device=own.device).repeat_interleave(side_sizes)  # 0 query, 1 key
        candidates, start = gather_rows_with_gradient(own)
        candidate_side = gather_rows(own_side)

        # Each link asks twice. `asking` are rows of `own`; `answers`, columns of the scores, are rows of `candidates`.
        linked_query = _row_numbers(query_words)[batch_row, query_word]
        linked_key = len(query_vectors) + _row_numbers(key_words)[batch_row, key_word]
        asking = torch.cat([linked_query, linked_key])
        answers = start + torch.cat([linked_key, linked_query])
        # A score is a cosine divided by τ: the vectors have length 1.
        with torch.autocast(own.device.type, enabled=False):
            scores = own[asking] @ candidates.T / self.temperature
        if self.negatives == "both":  # all words but the asking one itself
            excluded = torch.arange(len(candidates), device=own.device) == start + asking[:, None]
        else:
            excluded = candidate_side == own_side[asking][:, None]
        scores = scores.masked_fill(excluded, float("-inf"))

        losses = nn.functional.cross_entropy(scores, answers, reduction="none")
        # The backward of the gather is a collective: a rank without links has to run it too, so `candidates` stays in
        # the graph.
        total = losses.sum() + no_loss(query.hidden, key.hidden, candidates)
        count = torch.tensor(len(asking), device=own.device)
        # The metrics are of the same scores as the loss; `cosine` is the scores of the answers, times τ again.
        scores = scores.detach()
        of_answers = scores.gather(1, answers[:, None])
        correct = (of_answers >= scores).all(1).float().sum()
        metrics = {
            "accuracy": correct / count.clamp(min=1),
            "cosine": self.temperature * of_answers.sum() / count.clamp(min=1),
        }
        return LossOutput(total, count, metrics)

    def word_links(self, links: Tensor, query: WordIndex, key: WordIndex) -> Tensor:
        """The links of words that count: row, query word, key word. **Shape**: (batch, links, 2) -> (found, 3)."""
        return word_links(links, query, key, one_to_one=self.one_to_one, drop_identical=self.drop_identical)

    def _unit_vectors(self, side: EncodedSentences, words: WordIndex) -> Tensor:
        """The vectors of a side's words, divided by their length: (words of the batch, hidden)."""
        vectors = pool_words(side.hidden.float(), words, pooling=self.pooling)[words.present]
        return nn.functional.normalize(vectors, dim=1)


def _row_numbers(words: WordIndex) -> Tensor:
    """The row of each word in ``vectors[words.present]``: (batch, words).

    Two sentences of 2 and 1 words, ``present = [[1, 1], [1, 0]]``, have the rows ``[[0, 1], [2, _]]``.
    """
    return words.present.flatten().cumsum(0).sub(1).view_as(words.present)
