"""Contrast of sentences with their translations against the other pairs of the batch."""

from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.modules.contrast import gather_rows_with_gradient, in_batch_loss, pool
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, Objective, ObjectiveOutput, chosen_layer
from isoglot.options import Positive


@dataclass(eq=False, repr=False)
class InBatchContrast(Objective):
    r"""Symmetric InfoNCE of each sentence with its translation, the other pairs of all ranks as negatives.

    .. math:: L = \tfrac12 [\mathrm{CE}(q_i K^\top / \tau, i) + \mathrm{CE}(k_i Q^\top / \tau, i)],\qquad
        q = h_q / \|h_q\|

    Both sides go through the shared encoder with gradient. With a queue and a momentum copy instead:
    :class:`~isoglot.objectives.sentence_contrast.SentenceContrast`.

    Args:
        model: encoder with its masked-LM head; it is looked at, not kept.
        view: a sentence pair.
        layer: whose states are pooled, 0 the embeddings; the last by default.
        pooling: ``cls``, the first token's state (not the pooler), or ``mean``.
        temperature: τ.

    **Batch**: ``query_*`` and ``key_*`` encoder inputs.

    **Metrics**: ``accuracy`` (the query ranks its key first), ``positive`` (mean cosine of the pairs).
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "sentences"
    layer: int | None = None
    pooling: Literal["cls", "mean"] = "cls"
    temperature: Positive = 0.05
    top_layer: int = field(init=False)

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.settle()
        self.layer = self.top_layer = chosen_layer(model, self.layer)

    def forward(self, encodings: Encodings, batch: Batch) -> ObjectiveOutput:
        """Summed InfoNCE of this rank's pairs."""
        queries, keys = self._vectors(encodings, "query"), self._vectors(encodings, "key")
        all_queries, start = gather_rows_with_gradient(queries)
        all_keys, _ = gather_rows_with_gradient(keys)
        count = len(queries)
        losses, correct = in_batch_loss(all_queries, all_keys, start, count, temperature=self.temperature)
        scores = (queries.detach() * keys.detach()).sum()
        metrics = {"accuracy": correct.float().sum() / max(1, count), "positive": scores / max(1, count)}
        return ObjectiveOutput(losses.sum(), torch.tensor(count, device=losses.device), metrics)

    def count(self, batch: Batch) -> Tensor | None:
        """The number of pairs."""
        ids = batch[self.view]["query_input_ids"]
        return torch.tensor(len(ids), device=ids.device)

    def _vectors(self, encodings: Encodings, side: str) -> Tensor:
        states = encodings.hidden(self.view, self.top_layer, side=side)
        pooled = pool(states, encodings.inputs(self.view, side)["attention_mask"], self.pooling)
        return nn.functional.normalize(pooled.float(), dim=1)
