"""Realignment by contrast: a linked word should be nearer to its translation than any other word of the batch."""

from dataclasses import KW_ONLY, InitVar, dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.losses.base import LossOutput
from isoglot.losses.word_contrast import WordContrast
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, LayerObjective
from isoglot.objectives.contextual_alignment import encoded_side, side_words
from isoglot.objectives.links import link_ids


@dataclass(eq=False, repr=False)
class WordContrastObjective(WordContrast, LayerObjective):
    """InfoNCE of linked words against all words of the batch: :class:`~isoglot.losses.WordContrast`.

    Args:
        model: encoder with its masked-LM head; it is looked at, not kept.
        view: a ``sentence_pair`` view with links.
        layer: whose states are compared, 0 the embeddings; the last by default.

    **Batch**: ``query_``/``key_`` ``input_ids``, ``attention_mask`` and ``word_ids``; ``link_ids``.
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "sentences"
    layer: int | None = None

    def __post_init__(self, model: PreTrainedModel) -> None:
        super().__post_init__()
        self.choose_layer(model)

    def count(self, batch: Batch) -> Tensor | None:
        """Linked words of both sides."""
        query, key = (side_words(batch, self.view, side) for side in ("query", "key"))
        links = self.word_links(link_ids(batch, self.view, objective="word_contrast"), query, key)
        return torch.tensor(2 * len(links), device=links.device)

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Summed InfoNCE."""
        query, key = (
            encoded_side(encodings, batch, self.view, side, layer=self.top_layer) for side in ("query", "key")
        )
        return self.measure(query, key, link_ids(batch, self.view, objective="word_contrast"))
