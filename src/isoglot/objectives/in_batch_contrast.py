"""Contrast of sentences with their translations against the other pairs of the batch."""

from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.losses.base import LossOutput
from isoglot.losses.in_batch_contrast import InBatchContrast
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, LayerObjective


@dataclass(eq=False, repr=False)
class InBatchContrastObjective(InBatchContrast, LayerObjective):
    """Symmetric InfoNCE of each sentence with its translation: :class:`~isoglot.losses.InBatchContrast`.

    Both sides go through the shared encoder with gradient. With a queue and a momentum copy instead:
    :class:`~isoglot.objectives.sentence_contrast.SentenceContrastObjective`.

    Args:
        model: encoder with its masked-LM head; it is looked at, not kept.
        view: a sentence pair.
        layer: whose states are pooled, 0 the embeddings; the last by default.
        pooling: ``cls``, the first token's state (not the pooler), or ``mean``.

    **Batch**: ``query_*`` and ``key_*`` encoder inputs.
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "sentences"
    layer: int | None = None
    pooling: Literal["cls", "mean"] = "cls"

    def __post_init__(self, model: PreTrainedModel) -> None:
        super().__post_init__()
        self.choose_layer(model)

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Summed InfoNCE of this rank's pairs."""
        query, key = (self.pooled(encodings, side, self.pooling) for side in ("query", "key"))
        return self.measure(query, key)

    def count(self, batch: Batch) -> Tensor | None:
        """The number of pairs."""
        ids = batch[self.view]["query_input_ids"]
        return torch.tensor(len(ids), device=ids.device)
