"""Keep one language's contextual vectors near those of the initial model (Cao et al. 2020)."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from isoglot.core.errors import ConfigurationError
from isoglot.losses.base import LossOutput, no_loss
from isoglot.losses.contextual_alignment import squared_distances
from isoglot.modules.encoder import base_of, encode, num_layers
from isoglot.modules.encodings import Encodings
from isoglot.modules.word_vectors import pool_words
from isoglot.objectives.base import Batch, Objective
from isoglot.objectives.contextual_alignment import side_words


@dataclass(eq=False, repr=False)
class AnchorObjective(Objective):
    """Keep the vectors of the pivot language's words near those of the frozen initial encoder.

    Equation: ``L = (1/n) Σ_t ‖f(t) − f₀(t)‖² / h`` over the n words t of the pivot language, with f₀ the initial
    encoder

    A word's vector, of h numbers, is the last layer's at its last piece. With ``reduction: sum`` nothing is divided by
    h.

    Without it :class:`~isoglot.losses.ContextualAlignment` is solved by mapping every word to one point.

    Args:
        model: encoder with its masked-LM head; its base is copied when the objective is made, before any step.
        view: a ``sentence_pair`` view that does not shuffle.
        side: where the pivot language (``pivot`` of the view, the source by default) stands: ``query`` with ``order:
            source_is_query``.
        reduction: ``mean`` over the dimensions or ``sum``.

    **Batch**: ``query_input_ids``, ``query_attention_mask``, ``query_word_ids``.

    **Metrics**: ``cosine`` between the vectors and the initial ones.

    Raises:
        ConfigurationError: the side holds another language too (a shuffled view), or an option has an unknown value.

    Source: Cao, Kitaev, Klein 2020, *Multilingual Alignment of Contextual Word Representations*, §3, the regularisation
    term with λ = 1.
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "sentences"
    side: Literal["query", "key"] = "query"
    reduction: Literal["mean", "sum"] = "mean"

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.settle()
        self.initial = deepcopy(base_of(model)).requires_grad_(False).eval()

    def train(self, mode: bool = True) -> AnchorObjective:
        """The frozen copy stays without dropout."""
        super().train(mode)
        self.initial.eval()
        return self

    def count(self, batch: Batch) -> Tensor | None:
        """Words of the pivot side."""
        return side_words(batch, self.view, self.side).present.sum()

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Summed squared distances from the initial vectors."""
        self._check(batch)
        hidden = encodings.last(self.view, self.side)
        inputs = encodings.inputs(self.view, self.side)
        layer = num_layers(self.initial)
        with torch.no_grad():  # language embeddings are not the encoder's: both sides have those of now
            before = encode(
                self.initial, inputs, layers=(layer,), language_embeddings=encodings.language_embeddings
            )[layer]
        words = side_words(batch, self.view, self.side)
        present = words.present
        now, initial = (
            pool_words(states, words, pooling="last")[present].float() for states in (hidden, before)
        )
        total = squared_distances(now, initial, self.reduction).sum() + no_loss(hidden)
        count = present.sum()
        cosine = torch.cosine_similarity(now.detach(), initial, dim=1).sum() / count.clamp(min=1)
        return LossOutput(total, count, {"cosine": cosine})

    def _check(self, batch: Batch) -> None:
        is_pivot = batch[self.view].get("query_is_pivot_mask")
        if is_pivot is None or bool((is_pivot == int(self.side == "query")).all()):
            return
        raise ConfigurationError(
            f"anchor: the {self.side} side of view {self.view!r} holds another language than its pivot; for a pivot on "
            "the source side set `order: source_is_query` in the view and `side: query` here"
        )
