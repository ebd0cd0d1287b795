"""awesome-align's self-training: make the linked words of a pair more similar than all others."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.errors import ConfigurationError
from isoglot.modules.encodings import Encodings
from isoglot.modules.extraction import pair_mask, softmax_probabilities
from isoglot.objectives.base import Batch, Objective, ObjectiveOutput, chosen_layer
from isoglot.objectives.links import Labels, from_corpus, link_ids, require_step
from isoglot.options import NotNegative, Positive

_LIKELY = 0.4
"""Least probability of a label, the best of 0.2, 0.25, ... 0.45 on XL-WA's development sets."""
Loss = Literal["probability", "likelihood"]
Compare = Literal["dot", "cosine"]


@dataclass(eq=False, repr=False)
class SelfTraining(Objective):
    r"""Raise the alignment probabilities of linked pieces, as the aligner itself computes them.

    .. math:: P = \mathrm{softmax}_j(S_{ij} / \tau),\quad Q = \mathrm{softmax}_i(S_{ij} / \tau),\qquad
        L = -\sum_{(i,j) \in A} \Bigl(\frac{P_{ij}}{n} + \frac{Q_{ij}}{m}\Bigr)
        - \beta \frac{\sum_{ij} P_{ij} Q_{ij}}{\min(n, m)}

    for a pair of n and m pieces, each side encoded alone; special tokens take no part. The second term is the
    consistency objective, which wants both directions to agree. With ``loss: likelihood`` each linked piece i of
    either side contributes :math:`-\log \sum_{j \in A(i)} P_{ij}` instead, which unlike the probability has a
    gradient for links that the encoder finds unlikely.

    Args:
        model: Encoder with its masked-LM head; only its shape is read.
        view: A ``sentence_pair`` view, with links unless ``labels`` is ``self``.
        layer: Layer whose states are compared, 0 the embeddings. Two thirds of the depth by default: 8 of 12.
        labels: Where the links A come from: ``self``, the aligner's links of the current encoder with dropout off;
            ``corpus``, the links of the stream; ``corpus_then_self``, which changes after ``self_after_step``.
        self_after_step: Number of optimizer steps with corpus links, for ``corpus_then_self``.
        compare: ``dot`` product (awesome-align) or ``cosine`` (SimAlign, and the default of ``isoglot align``).
        temperature: τ; 1 in awesome-align. The cosine needs a small one, such as 0.05.
        threshold: For ``dot``, the least probability, in both directions, of a link that is self-labelled; 0.001 (as in
            awesome-align) by default. With ``cosine`` the geometric mean of both has to exceed 0.4.
        loss: ``probability`` (awesome-align) or ``likelihood``.
        consistency: β; 0 leaves the consistency objective out, awesome-align's option has 1. With ``likelihood`` a
            pair's consistency counts once for each of its linked pieces.

    **Batch**: ``query_`` and ``key_`` encoder inputs and ``side_ids``; ``link_ids`` for corpus links.

    **Metrics**: ``probability`` of the links, the mean of both directions; ``links_per_pair``.

    Source: Dou and Neubig 2021, *Word Alignment by Fine-tuning Embeddings on Parallel Corpora*, §2.3.
    """

    model: InitVar[PreTrainedModel]
    _: KW_ONLY
    view: str = "sentences"
    layer: int | None = None
    labels: Labels = "self"
    self_after_step: int | None = None
    compare: Compare = "dot"
    temperature: Positive = 1.0
    threshold: Annotated[float, Field(gt=0, lt=1)] | None = None
    loss: Loss = "probability"
    consistency: NotNegative = 0.0
    top_layer: int = field(init=False)
    step: Tensor = field(init=False)

    def __post_init__(self, model: PreTrainedModel) -> None:
        self.settle()
        self.layer = self.top_layer = chosen_layer(model, self.layer, share=2 / 3)
        self.threshold = self._least = 1e-3 if self.threshold is None else self.threshold
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    def check_options(self) -> None:
        """A change of labels has its step, a threshold its comparison."""
        require_step(self.labels, self.self_after_step)
        if self.threshold is not None and self.compare == "cosine":
            raise ConfigurationError(
                f"threshold {self.threshold} given, but only compare: dot has one; leave it out"
            )

    def forward(self, encodings: Encodings, batch: Batch) -> ObjectiveOutput:
        """Summed loss over the pairs, or over the linked pieces with ``loss: likelihood``."""
        sides = {side: encodings.hidden(self.view, self.top_layer, side=side) for side in ("query", "key")}
        mask = self._mask(batch)
        similarity = self._similarity(sides)
        links = self._corpus_links(batch) if self._from_corpus() else self._own_links(encodings, mask)
        forward, backward = softmax_probabilities(similarity / self.temperature, mask)
        masses = (forward * links).sum(2), (backward * links).sum(1)
        linked = links.any(2), links.any(1)
        if self.loss == "probability":
            total = sum(
                -(mass.sum(1) / _lengths(mask, dim)).sum() for mass, dim in zip(masses, (2, 1), strict=True)
            )
        else:
            smallest = torch.finfo(similarity.dtype).tiny
            total = sum(
                -mass[has].clamp(min=smallest).log().sum() for mass, has in zip(masses, linked, strict=True)
            )
        if self.consistency:
            shorter = torch.minimum(_lengths(mask, 2), _lengths(mask, 1))
            agreement = (forward * backward).sum((1, 2)) / shorter
            if self.loss == "likelihood":  # whose pairs weigh as much as they have linked pieces
                agreement = agreement * sum(has.sum(1) for has in linked)
            total = total - self.consistency * agreement.sum()
        found = links.sum()
        metrics = {
            "probability": sum(m.detach().sum() for m in masses) / (2 * found.clamp(min=1)),
            "links_per_pair": found.float() / max(1, len(mask)),
        }
        items: dict[str, Tensor | int] = {"probability": found, "links_per_pair": len(mask)}
        return ObjectiveOutput(torch.as_tensor(total), self._count(links), metrics, items)

    def count(self, batch: Batch) -> Tensor | None:
        """Pairs, or linked pieces where the links are known before the forward."""
        if self.loss == "probability":
            return torch.tensor(len(batch[self.view]["query_input_ids"]))
        return self._count(self._corpus_links(batch)) if self._from_corpus() else None

    def after_step(self, encoder: PreTrainedModel) -> None:
        """Counts optimizer steps, for the change of labels."""
        self.step += 1

    def aligner_options(self) -> Mapping[str, Any]:
        """The links whose probability was trained; for the cosine the likely ones and what stands beside them."""
        options = {
            "method": "softmax",
            "layer": self.layer,
            "compare": self.compare,
            "temperature": self.temperature,
        }
        if self.compare == "cosine":
            return {**options, "min_probability": 0.2, "alone": 0.5, "word_weights": True}
        return {**options, "threshold": self.threshold}

    def _count(self, links: Tensor) -> Tensor:
        if self.loss == "probability":
            return torch.tensor(len(links), device=links.device)
        return links.any(2).sum() + links.any(1).sum()

    def _similarity(self, sides: dict[str, Tensor]) -> Tensor:
        """Compared states in float32, (batch, n, m)."""
        query, key = (sides[side].float() for side in ("query", "key"))
        if self.compare == "cosine":
            query, key = nn.functional.normalize(query, dim=-1), nn.functional.normalize(key, dim=-1)
        with torch.autocast(query.device.type, enabled=False):
            return query @ key.transpose(1, 2)

    @torch.no_grad()
    def _own_links(self, encodings: Encodings, mask: Tensor) -> Tensor:
        sides = {
            side: encodings.layer(self.view, self.top_layer, clean=True, side=side)
            for side in ("query", "key")
        }
        forward, backward = softmax_probabilities(self._similarity(sides) / self.temperature, mask)
        if self.compare == "cosine":
            return (forward * backward).sqrt() > _LIKELY
        return torch.minimum(forward, backward) > self._least

    def _corpus_links(self, batch: Batch) -> Tensor:
        ids = link_ids(batch, self.view, objective="self_training", otherwise=", or set labels: self")
        mask = self._mask(batch)
        links = torch.zeros_like(mask)
        rows, item = (ids >= 0).all(-1).nonzero(as_tuple=True)
        links[rows, ids[rows, item, 0], ids[rows, item, 1]] = True
        return links & mask

    def _mask(self, batch: Batch) -> Tensor:
        """Cells of two pieces that are no special tokens, (batch, n, m)."""
        tensors = batch[self.view]
        return pair_mask(tensors["query_side_ids"] > 0, tensors["key_side_ids"] > 0)

    def _from_corpus(self) -> bool:
        return from_corpus(self.labels, self.self_after_step, self.step)


def _lengths(mask: Tensor, dim: int) -> Tensor:
    """Pieces of the side that is not ``dim``, at least 1, (batch,)."""
    return mask.any(dim).sum(1).clamp(min=1)
