"""Realignment by contrast: a linked word should be nearer to its translation than to any other word of the batch."""

from dataclasses import dataclass

import torch
from torch import Tensor

from isoglot.losses.base import LossOutput
from isoglot.losses.word_contrast import WordContrast
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, LayerObjective, tensor_of
from isoglot.objectives.contextual_alignment import encoded_side, side_words


@dataclass(eq=False, repr=False)
class WordContrastObjective(LayerObjective, WordContrast):
    """InfoNCE of linked words against all words of the batch: :class:`~isoglot.losses.WordContrast`.

    Args:
        view: a ``sentence_pair`` view with links.

    **Batch**: ``query_``/``key_`` ``input_ids``, ``attention_mask`` and ``word_ids``; ``link_ids``.
    """

    def count(self, batch: Batch) -> Tensor | None:
        """Twice the number of links: each is an item in both directions."""
        query = side_words(batch, self.view, "query")
        key = side_words(batch, self.view, "key")
        links = self.word_links(tensor_of(batch, self.view, "link_ids"), query, key)
        return torch.tensor(2 * len(links), device=links.device)

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum the InfoNCE of the links, in both directions."""
        query = encoded_side(self.states(encodings, "query"), batch, self.view, "query")
        key = encoded_side(self.states(encodings, "key"), batch, self.view, "key")
        return self.measure(query, key, tensor_of(batch, self.view, "link_ids"))
