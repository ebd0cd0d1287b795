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

    The vector of a word, h numbers, is the last layer's state at the word's last piece. With ``reduction: sum`` nothing
    is divided by h.

    Use it together with :class:`~isoglot.losses.ContextualAlignment`, which alone could map every word to one point.

    Args:
        model: encoder with its masked-LM head; its base is copied when the objective is made, before any step.
        view: a ``sentence_pair`` view that does not shuffle.
        side: the side of the pivot language. ``query`` where the pivot is the query: the view has ``pivot: source``
            (the default) and ``order: source_is_query``, or ``pivot: target`` and ``order: target_is_query``. Else
            ``key``.
        reduction: ``mean`` over the dimensions or ``sum``.

    **Batch**: ``query_input_ids``, ``query_attention_mask``, ``query_word_ids`` (``key_*`` with ``side: key``) and, if
    the view gives it, ``query_is_pivot_mask``.

    **Metrics**: ``cosine`` between the vectors and the initial ones.

    Raises:
        ConfigurationError: the side also holds another language (a shuffled view), or an option has an unknown value.

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
        """Set the mode of the objective; the frozen copy stays without dropout."""
        super().train(mode)
        self.initial.eval()
        return self

    def count(self, batch: Batch) -> Tensor | None:
        """The number of words of the pivot side."""
        return side_words(batch, self.view, self.side).present.sum()

    def forward(self, encodings: Encodings, batch: Batch) -> LossOutput:
        """Sum the squared distances of the words' vectors from the initial ones."""
        self._require_pivot(batch)
        states = encodings.last(self.view, self.side)
        initial_states = self._initial_states(encodings)
        words = side_words(batch, self.view, self.side)
        vectors = pool_words(states, words, pooling="last")[words.present].float()
        initial_vectors = pool_words(initial_states, words, pooling="last")[words.present].float()

        total = squared_distances(vectors, initial_vectors, self.reduction).sum() + no_loss(states)
        count = words.present.sum()
        cosine = torch.cosine_similarity(vectors.detach(), initial_vectors, dim=1).sum()
        return LossOutput(total, count, {"cosine": cosine / count.clamp(min=1)})

    @torch.no_grad()
    def _initial_states(self, encodings: Encodings) -> Tensor:
        """The last states of the frozen encoder, f₀.

        Language embeddings do not belong to the encoder and have no frozen copy: f and f₀ both get the current ones.
        """
        layer = num_layers(self.initial)
        inputs = encodings.inputs(self.view, self.side)
        return encode(
            self.initial, inputs, layers=(layer,), language_embeddings=encodings.language_embeddings
        )[layer]

    def _require_pivot(self, batch: Batch) -> None:
        """Refuse a batch whose side is not the pivot language in every pair."""
        query_is_pivot = batch[self.view].get("query_is_pivot_mask")  # 1 where the query is the pivot, else 0
        expected = int(self.side == "query")
        if query_is_pivot is None or bool((query_is_pivot == expected).all()):
            return
        raise ConfigurationError(
            f"anchor: the {self.side} side of view {self.view!r} holds another language than its pivot; for a pivot on "
            "the source side set `order: source_is_query` in the view and `side: query` here"
        )
