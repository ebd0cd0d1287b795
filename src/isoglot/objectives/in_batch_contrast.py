"""Contrast of sentences with their translations against the other pairs of the batch."""

from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.losses.base import LossOutput
from isoglot.losses.in_batch_contrast import InBatchContrast
from isoglot.modules.contrast import pool
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, Objective, chosen_layer


@dataclass(eq=False, repr=False)
class InBatchContrastObjective(InBatchContrast, Objective):
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
    top_layer: int = field(init=False)

    def __post_init__(self, model: PreTrainedModel) -> None:
        super().__post_init__()
        self.layer = self.top_layer = chosen_layer(model, self.layer)

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Summed InfoNCE of this rank's pairs."""
        return self.measure(self._pooled(encodings, "query"), self._pooled(encodings, "key"))

    def count(self, batch: Batch) -> Tensor | None:
        """The number of pairs."""
        ids = batch[self.view]["query_input_ids"]
        return torch.tensor(len(ids), device=ids.device)

    def _pooled(self, encodings: Encodings, side: str) -> Tensor:
        states = encodings.hidden(self.view, self.top_layer, side=side)
        return pool(states, encodings.inputs(self.view, side)["attention_mask"], self.pooling)
