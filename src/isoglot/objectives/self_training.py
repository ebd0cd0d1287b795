"""awesome-align's self-training: make the linked words of a pair more similar than all others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.losses.base import LossOutput
from isoglot.losses.self_training import SelfTraining, link_matrix
from isoglot.modules.encodings import Encodings
from isoglot.objectives.base import Batch, tensor_of
from isoglot.objectives.links import LinkObjective


@dataclass(eq=False, repr=False)
class SelfTrainingObjective(LinkObjective, SelfTraining):
    """Raise the alignment probabilities of linked pieces: :class:`~isoglot.losses.SelfTraining`.

    Args:
        view: A ``sentence_pair`` view, with links unless ``labels`` is ``self``.
        layer: Layer whose states are compared, 0 the embeddings. Two thirds of the depth by default: 8 of 12.

    **Batch**: ``query_`` and ``key_`` encoder inputs and ``side_ids``; ``link_ids`` for corpus links.
    """

    usual_depth = 2 / 3

    def __post_init__(self, model: PreTrainedModel) -> None:
        super().__post_init__(model)
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def check_options(self) -> None:
        """Check the options of the links and those of the loss."""
        LinkObjective.check_options(self)
        SelfTraining.check_options(self)

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum the loss over the pairs, or over the linked pieces with ``loss: likelihood``."""
        query = self.states(encodings, "query")
        key = self.states(encodings, "key")
        links = self._known_links(batch)
        if links is None:
            links = self.own_links(encodings, batch)
        return self.measure(query, key, *self._masks(batch), links)

    def count(self, batch: Batch) -> Tensor | None:
        """The number of pairs; with ``loss: likelihood`` that of linked pieces, if the links are known already."""
        if self.loss == "probability":
            return torch.tensor(len(tensor_of(batch, self.view, "query_input_ids")))
        links = self._known_links(batch)
        return None if links is None else self.count_items(links)

    def own_links(self, encodings: Encodings, batch: Batch) -> Tensor:
        """The links that the encoder's states without dropout give: a matrix of each pair, bool (batch, n, m)."""
        query = encodings.layer(self.view, self.top_layer, clean=True, side="query")
        key = encodings.layer(self.view, self.top_layer, clean=True, side="key")
        return self.label(query, key, *self._masks(batch))

    def aligner_options(self) -> Mapping[str, Any]:
        """The aligner that reads the trained probabilities: softmax at the same layer and temperature.

        With ``compare: dot`` a link needs a probability above ``threshold``. With ``compare: cosine`` a link needs a
        probability of 0.5 (``alone``), beside a link that is kept only 0.2 (``min_probability``), and the probabilities
        are those of words, made from those of their pieces (``word_weights``).
        """
        options = {
            "method": "softmax",
            "layer": self.top_layer,
            "compare": self.compare,
            "temperature": self.temperature,
        }
        if self.compare == "cosine":
            return {**options, "min_probability": 0.2, "alone": 0.5, "word_weights": True}
        return {**options, "threshold": self.threshold}

    def _known_links(self, batch: Batch) -> Tensor | None:
        """The links known without running the encoder: the corpus's, or those found ahead; ``None``: not known."""
        if not self.from_corpus():
            return self.links_ahead(batch)
        return link_matrix(tensor_of(batch, self.view, "link_ids"), *self._masks(batch))

    def _masks(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Masks of the query's and the key's pieces: 1 and 2 are sides, 0 special tokens and padding."""
        query_sides = tensor_of(batch, self.view, "query_side_ids")
        key_sides = tensor_of(batch, self.view, "key_side_ids")
        return query_sides > 0, key_sides > 0
