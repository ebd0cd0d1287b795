"""Contrast of sentences with their translations against the other pairs of the batch."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import torch
from torch import Tensor

from isoglot.losses.base import LossOutput
from isoglot.losses.in_batch_contrast import InBatchContrast
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, LayerObjective, tensor_of


@dataclass(eq=False, repr=False)
class InBatchContrastObjective(LayerObjective, InBatchContrast):
    """Symmetric InfoNCE of each sentence with its translation: :class:`~isoglot.losses.InBatchContrast`.

    Both sides go through the shared encoder with gradient.
    :class:`~isoglot.objectives.sentence_contrast.SentenceContrastObjective` has a queue and a momentum copy instead.

    Args:
        pooling: ``cls``, the first token's state (not the pooler), or ``mean``.

    **Batch**: ``query_*`` and ``key_*`` encoder inputs.
    """

    _: KW_ONLY
    pooling: Literal["cls", "mean"] = "cls"

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum the InfoNCE of this rank's pairs."""
        query = self.pooled(encodings, "query", self.pooling)
        key = self.pooled(encodings, "key", self.pooling)
        return self.measure(query, key)

    def count(self, batch: Batch) -> Tensor | None:
        """The number of pairs."""
        return torch.tensor(len(tensor_of(batch, self.view, "query_input_ids")))
