"""Contrast of sentences with their translations against the other pairs of the batch."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import torch
from torch import Tensor

from isoglot.losses.base import LossOutput
from isoglot.losses.in_batch_contrast import InBatchContrast
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, LayerObjective


@dataclass(eq=False, repr=False)
class InBatchContrastObjective(LayerObjective, InBatchContrast):
    """Symmetric InfoNCE of each sentence with its translation: :class:`~isoglot.losses.InBatchContrast`.

    Both sides go through the shared encoder with gradient. With a queue and a momentum copy instead:
    :class:`~isoglot.objectives.sentence_contrast.SentenceContrastObjective`.

    Args:
        pooling: ``cls``, the first token's state (not the pooler), or ``mean``.

    **Batch**: ``query_*`` and ``key_*`` encoder inputs.
    """

    _: KW_ONLY
    pooling: Literal["cls", "mean"] = "cls"

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Summed InfoNCE of this rank's pairs."""
        query, key = (self.pooled(encodings, side, self.pooling) for side in ("query", "key"))
        return self.measure(query, key)

    def count(self, batch: Batch) -> Tensor | None:
        """The number of pairs."""
        return torch.tensor(len(batch[self.view]["query_input_ids"]))
