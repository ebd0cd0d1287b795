"""Masked language modelling, on text (MLM) or on translation pairs (TLM)."""

from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Literal

from torch import Tensor
from transformers import PreTrainedModel

from isoglot.losses.base import LossOutput
from isoglot.losses.vocabulary_loss import IGNORED, VocabularyLoss
from isoglot.modules.encodings import Encodings
from isoglot.modules.masked_lm_head import literal_transform, masked_lm_head
from isoglot.objectives.base import Batch, Objective, tensor_of


@dataclass(eq=False, repr=False)
class MaskedLMObjective(VocabularyLoss, Objective):
    """Predict the masked tokens with the encoder's own head: :class:`~isoglot.losses.VocabularyLoss`.

    The view decides the name of the task: on text it is MLM (Devlin et al. 2019), on concatenated translation pairs
    TLM (Conneau and Lample 2019, §3.4), with labels swapped for dictionary entries DICT-MLM. Logits are computed at the
    masked positions only and never held whole; the loss equals that of ``transformers``.

    Args:
        model: the encoder with its masked-LM head; it is looked at, not kept.
        view: a masked view, which gives ``labels`` (−100 at positions without a loss).
        head: ``model``: the encoder's own head; ``literal``: WEAM's Eq. 3-4, dense, GELU, linear and the tied
            decoder without bias. The literal head starts untrained, is kept in ``objectives.safetensors``, and is
            shared by all objectives of the model that use it: ``share_linear`` of
            :class:`~isoglot.losses.WordExchange` takes its ``linear``. The exported encoder's own head is then not
            trained.

    **Metrics**: ``accuracy`` of the masked tokens.

    Raises:
        ConfigurationError: the model's head cannot be identified, ``head`` is unknown, or the view has no
            ``labels``.

    Example:
        >>> import torch
        >>> from isoglot.modules.load import load_masked_lm
        >>> model = load_masked_lm({"architecture": "bert", "vocab_size": 9, "hidden_size": 8,
        ...     "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8})
        >>> view = {"input_ids": torch.tensor([[1, 4, 2]]), "labels": torch.tensor([[-100, 5, -100]])}
        >>> batch = {"pair": view}
        >>> int(MaskedLMObjective(model)(Encodings(model, batch), batch).count)
        1
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "pair"
    head: Literal["model", "literal"] = "model"

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.settle()
        masked_lm_head(model, check=True)
        self.transform = literal_transform(model) if self.head == "literal" else None

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum over the masked tokens of the view, their number, and the accuracy."""
        labels = tensor_of(batch, self.view, "labels")
        hidden = encodings.last(self.view)
        head = masked_lm_head(encodings.model)
        # One table per step for all objectives, so that its gradient is added up once.
        table = encodings.table(head.weight)
        if self.transform is not None:  # the literal head, which has no bias
            return self.measure(hidden, labels, table, transform=self.transform)
        return self.measure(hidden, labels, table, head.bias, transform=head.transform)

    def count(self, batch: Batch) -> Tensor | None:
        """The number of masked tokens of the view."""
        return (tensor_of(batch, self.view, "labels") != IGNORED).sum()
