"""WEAM's cross-lingual prediction: each masked word is predicted from the representation of its translation."""

from dataclasses import KW_ONLY, dataclass

from torch import Tensor

from isoglot.losses.base import LossOutput
from isoglot.losses.word_exchange import WordExchange
from isoglot.modules.encodings import Encodings
from isoglot.modules.masked_lm_head import masked_lm_head
from isoglot.objectives.base import Batch, Objective, tensor_of


@dataclass(eq=False, repr=False)
class WordExchangeObjective(WordExchange, Objective):
    """Predict a masked token from its translation's states: :class:`~isoglot.losses.WordExchange`.

    Args:
        view: a ``masked_pair`` view with links. A :class:`~isoglot.objectives.masked_lm.MaskedLMObjective` on the same
            view reads the same states, so each pair is encoded once for both.

    **Batch**: ``labels``, ``link_ids`` (batch, links, 2; −1 pads).
    """

    _: KW_ONLY
    view: str = "pair"

    def count(self, batch: Batch) -> Tensor | None:
        """The number of masked tokens, or with ``divide_by: linked`` of masked tokens that have a link."""
        masked = tensor_of(batch, self.view, "labels") >= 0
        if self.divide_by == "masked":
            return masked.sum()
        return self.count_linked(tensor_of(batch, self.view, "link_ids"), masked)

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum the cross-entropy over the masked tokens that have a translation."""
        hidden = encodings.last(self.view)
        table = encodings.table(masked_lm_head(encodings.model).weight)
        links = tensor_of(batch, self.view, "link_ids")
        return self.measure(hidden, links, tensor_of(batch, self.view, "labels"), table)
