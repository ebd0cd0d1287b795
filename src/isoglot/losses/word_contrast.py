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
    over n links

    w is every word of all ranks' sentences, linked or not. Each link is two items.

    Args:
        temperature: τ; 0.1 in the code of Gaschi et al.
        negatives: words of ``both`` languages (strong alignment), or of the ``other`` one alone (weak).
        pooling: a word's vector: ``mean`` of its pieces (default), ``first`` or ``last``.
        one_to_one: leave out words with several links.
        drop_identical: leave out links of equal words; they stay negatives.

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
        """Summed InfoNCE of this rank's linked words, in both directions.

        Args:
            query: the one language's sentences.
            key: the other's.
            links: positions of linked pieces [query, key]; −1 pads.

        **Shape**: links (batch, links, 2).
        """
        require_sides(query, key, links)
        words = (query.words, key.words)
        pairs = self.word_links(links, *words)
        vectors = [
            nn.functional.normalize(
                pool_words(side.hidden.float(), index, pooling=self.pooling)[index.present], dim=1
            )
            for side, index in zip((query, key), words, strict=True)
        ]
        rows = torch.cat(vectors)
        side_of = torch.arange(2, device=rows.device).repeat_interleave(
            torch.tensor([len(v) for v in vectors], device=rows.device)
        )
        everything, start = gather_rows_with_gradient(rows)
        sides = gather_rows(side_of)
        first, second = (
            _row_numbers(index)[pairs[:, 0], pairs[:, column]] for column, index in enumerate(words, 1)
        )
        second = second + len(vectors[0])
        queries, answers = torch.cat([first, second]), start + torch.cat([second, first])
        with torch.autocast(rows.device.type, enabled=False):
            scores = rows[queries] @ everything.T / self.temperature
        itself = torch.arange(len(everything), device=rows.device) == start + queries[:, None]
        excluded = itself if self.negatives == "both" else sides == side_of[queries][:, None]
        scores = scores.masked_fill(excluded, float("-inf"))
        losses = nn.functional.cross_entropy(scores, answers, reduction="none")
        total = losses.sum() + no_loss(query.hidden, key.hidden, everything)
        count = torch.tensor(len(queries), device=rows.device)
        best = scores.detach().gather(1, answers[:, None])
        correct = (best >= scores.detach()).all(1).float().sum()
        metrics = {"accuracy": correct, "cosine": self.temperature * best.sum()}
        return LossOutput(total, count, {name: value / count.clamp(min=1) for name, value in metrics.items()})

    def word_links(self, links: Tensor, query: WordIndex, key: WordIndex) -> Tensor:
        """The links of words that count: row, query word, key word. **Shape**: (batch, links, 2) -> (found, 3)."""
        return word_links(links, query, key, one_to_one=self.one_to_one, drop_identical=self.drop_identical)


def _row_numbers(index: WordIndex) -> Tensor:
    """The number of each word among those that are there, row by row: (batch, words)."""
    return index.present.flatten().cumsum(0).sub(1).view_as(index.present)
