"""The word-aligned encoder of Cao et al. (2020): linked words should have the same contextual vectors."""

from dataclasses import KW_ONLY, InitVar, dataclass

import torch
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.losses.base import LossOutput
from isoglot.losses.contextual_alignment import ContextualAlignment, EncodedSentences
from isoglot.modules.encodings import Encodings
from isoglot.modules.word_vectors import WordIndex, word_index
from isoglot.objectives.base import Batch, Objective, tensor_of


@dataclass(eq=False, repr=False)
class ContextualAlignmentObjective(ContextualAlignment, Objective):
    """Squared distance between the vectors of linked words: :class:`~isoglot.losses.ContextualAlignment`.

    Args:
        model: encoder with its masked-LM head; not read, the states come from the encodings.
        view: a ``sentence_pair`` view with links.

    **Batch**: ``query_``/``key_`` ``input_ids``, ``attention_mask`` and ``word_ids``; ``link_ids``.
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "sentences"

    def __post_init__(self, model: PreTrainedModel) -> None:
        super().__post_init__()

    def count(self, batch: Batch) -> Tensor | None:
        """The number of links of words, and of the [CLS] and [SEP] pairs if those count as links."""
        query = side_words(batch, self.view, "query")
        key = side_words(batch, self.view, "key")
        links = self.word_links(tensor_of(batch, self.view, "link_ids"), query, key)
        mask = batch[self.view]["query_attention_mask"]
        special = 2 * mask.size(0) if self.special_tokens else 0
        return torch.tensor(links.size(0) + special, device=mask.device)

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum the squared distances of the links."""
        query = encoded_side(encodings.last(self.view, "query"), batch, self.view, "query")
        key = encoded_side(encodings.last(self.view, "key"), batch, self.view, "key")
        return self.measure(query, key, tensor_of(batch, self.view, "link_ids"))


def encoded_side(states: Tensor, batch: Batch, view: str, side: str) -> EncodedSentences:
    """One side of a ``sentence_pair`` view as a loss takes it: its states with mask, ids and words from the batch."""
    tensors = batch[view]
    mask, ids = tensors[f"{side}_attention_mask"], tensors[f"{side}_input_ids"]
    return EncodedSentences(states, mask, ids, word_ids(batch, view, side))


def word_ids(batch: Batch, view: str, side: str) -> Tensor:
    """The word of each piece of one side of a ``sentence_pair`` view, from 0; −1 for special tokens and padding.

    ``[CLS] a b ##c [SEP]`` is ``[0, 1, 2, 2, 0]`` in the view, which pads with 0, and ``[-1, 0, 1, 1, -1]`` here.
    """
    return tensor_of(batch, view, f"{side}_word_ids") - 1


def side_words(batch: Batch, view: str, side: str) -> WordIndex:
    """The words of one side of a ``sentence_pair`` view."""
    return word_index(word_ids(batch, view, side), batch[view][f"{side}_input_ids"])
