"""Masked language modelling, on text (MLM) or on translation pairs (TLM)."""

from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.modules.encodings import Encodings
from isoglot.modules.masked_lm_head import LiteralTransform, literal_transform, masked_lm_head
from isoglot.modules.vocabulary_loss import vocabulary_loss
from isoglot.objectives.base import Batch, Objective, ObjectiveOutput, tensor_of

_IGNORED = -100


@dataclass(eq=False, repr=False)
class MaskedLM(Objective):
    """Predict the masked tokens with the encoder's own head: −Σ_{i ∈ M} log p(x_i | x without M).

    The view decides what it is: on text, MLM (Devlin et al. 2019); on concatenated translation pairs, TLM
    (Conneau and Lample 2019, §3.3); with labels swapped for dictionary entries, DICT-MLM. Logits are computed
    at the masked positions only and never held whole
    (:func:`~isoglot.modules.vocabulary_loss.vocabulary_loss`); the loss equals the library's own.

    Args:
        model: the encoder with its masked-LM head; it is looked at, not kept.
        view: a masked view, which gives ``labels`` (−100 where there is no loss).
        head: ``model``: the encoder's own head; ``literal``: WEAM's Eq. 3-4, dense, GELU, linear and the tied
            decoder without bias. It starts untrained, is kept in ``objectives.safetensors``, and is one for all
            objectives of the model that ask for it: ``share_linear`` of
            :class:`~isoglot.objectives.word_exchange.WordExchange` takes its ``linear``. The exported encoder's own
            head is then not trained.

    **Metrics**: ``accuracy`` of the masked tokens.

    Raises:
        ConfigurationError: the model's head cannot be told, there is no such ``head``, or the view has no
            ``labels``.

    Example:
        >>> from isoglot.modules.load import load_masked_lm
        >>> model = load_masked_lm({"architecture": "bert", "vocab_size": 9, "hidden_size": 8,
        ...     "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8})
        >>> view = {"input_ids": torch.tensor([[1, 4, 2]]), "labels": torch.tensor([[-100, 5, -100]])}
        >>> batch = {"pair": view}
        >>> int(MaskedLM(model)(Encodings(model, batch), batch).count)
        1
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "pair"
    head: Literal["model", "literal"] = "model"
    transform: LiteralTransform | None = field(init=False)

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.settle()
        masked_lm_head(model, check=True)
        self.transform = literal_transform(model) if self.head == "literal" else None

    def forward(self, encodings: Encodings, batch: Batch) -> ObjectiveOutput:
        """Sum over the masked tokens of the view, their number, and the accuracy."""
        labels = self._labels(batch)
        hidden = encodings.last(self.view)
        rows = (labels.flatten() != _IGNORED).nonzero()[:, 0]
        head = masked_lm_head(encodings.model)
        states = hidden.flatten(0, 1).index_select(0, rows)
        gold = labels.flatten().index_select(0, rows)
        if self.transform is None:
            states, bias = head.transform(states), head.bias
        else:
            states, bias = self.transform(states), None
        total, correct = vocabulary_loss(states, gold, encodings.table(head.weight), bias)
        count = torch.tensor(rows.numel(), device=total.device)
        return ObjectiveOutput(total, count, {"accuracy": correct / count.clamp(min=1)})

    def count(self, batch: Batch) -> Tensor | None:
        """The number of masked tokens of the view."""
        return (self._labels(batch) != _IGNORED).sum()

    def _labels(self, batch: Batch) -> Tensor:
        hint = "point `view:` at a masked view (masked_text, masked_pair)"
        return tensor_of(batch, self.view, "labels", objective="masked_lm", hint=hint)
