"""awesome-align's self-training: make the linked words of a pair more similar than all others."""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from isoglot.core.errors import ConfigurationError
from isoglot.core.options import NotNegative, Positive
from isoglot.losses.base import Loss, LossOutput, require_axes
from isoglot.modules.extraction import pair_mask, softmax_probabilities

_LIKELY = 0.4
"""Least probability of a label, the best of 0.2, 0.25, ... 0.45 on XL-WA's development sets."""


@dataclass(eq=False, repr=False)
class SelfTraining(Loss):
    """Raise the alignment probabilities of linked pieces, as the aligner itself computes them.

    Equation: ``L = −Σ_{(i, j) ∈ A} (P_ij/n + Q_ij/m) − β Σ_ij P_ij Q_ij / min(n, m)``, the mean over pairs, with
    ``P = softmax_j(S/τ)``, ``Q = softmax_i(S/τ)``

    A pair has n and m pieces, A are its links and S the similarities of its pieces. Each side is encoded alone, and
    special tokens take no part. The second term is the consistency objective, which wants both directions to agree.
    With ``loss: likelihood`` each linked piece i of either side contributes ``−log Σ_{j ∈ A(i)} P_ij`` instead, which
    unlike the probability has a gradient for links that the encoder finds unlikely.

    Args:
        compare: ``dot`` product (awesome-align) or ``cosine`` (SimAlign, and the default of ``isoglot align``).
        temperature: τ; 1 in awesome-align. The cosine needs a small one, such as 0.05.
        threshold: For ``dot``, the least probability, in both directions, of a link that is self-labelled; 0.001 (as in
            awesome-align) by default. With ``cosine`` the geometric mean of both has to exceed 0.4.
        loss: ``probability`` (awesome-align) or ``likelihood``.
        consistency: β; 0 leaves the consistency objective out, awesome-align's option has 1. With ``likelihood`` a
            pair's consistency counts once for each of its linked pieces.

    **Metrics**: ``probability`` of the links, the mean of both directions; ``links_per_pair``.

    Source: Dou and Neubig 2021, *Word Alignment by Fine-tuning Embeddings on Parallel Corpora*, §2.3.

    Example:
        >>> encoder = torch.nn.Embedding(30, 8)
        >>> optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-2)
        >>> loss_function = SelfTraining(compare="cosine", temperature=0.1, loss="likelihood")
        >>> source, target = torch.tensor([[10, 11, 12]]), torch.tensor([[20, 21]])
        >>> masks = torch.ones_like(source).bool(), torch.ones_like(target).bool()
        >>> for _ in range(2):
        ...     query, key = encoder(source), encoder(target)
        ...     links = loss_function.label(query, key, *masks)
        ...     loss = loss_function(query, key, *masks, links)
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
    """

    _: KW_ONLY
    compare: Literal["dot", "cosine"] = "dot"
    temperature: Positive = 1.0
    threshold: Annotated[float, Field(gt=0, lt=1)] | None = None
    loss: Literal["probability", "likelihood"] = "probability"
    consistency: NotNegative = 0.0

    def __post_init__(self) -> None:
        self.settle()
        self.threshold = self._least = 1e-3 if self.threshold is None else self.threshold

    def check_options(self) -> None:
        """A threshold belongs to its comparison."""
        if self.threshold is not None and self.compare == "cosine":
            raise ConfigurationError(
                f"threshold {self.threshold} has no effect, only compare: dot has one; leave it out"
            )

    def measure(
        self, query: Tensor, key: Tensor, query_mask: Tensor, key_mask: Tensor, links: Tensor
    ) -> LossOutput:
        """Summed loss over the pairs, or over the linked pieces with ``loss: likelihood``.

        Args:
            query: states of the one language's sentences.
            key: states of the other's.
            query_mask: which of its positions are pieces that may be linked; special tokens and padding are not.
            key_mask: likewise.
            links: which pieces are linked, by :meth:`label` or :func:`link_matrix`.

        **Shape**: query (batch, n, hidden) and its mask (batch, n); key (batch, m, hidden) and its mask (batch, m);
        links bool (batch, n, m).
        """
        require_axes(
            query=(query, "batch n hidden"),
            key=(key, "batch m hidden"),
            query_mask=(query_mask, "batch n"),
            key_mask=(key_mask, "batch m"),
            links=(links, "batch n m"),
        )
        mask = pair_mask(query_mask, key_mask)
        links = links & mask
        scores = self._scores(query, key)
        forward, backward = softmax_probabilities(scores, mask)
        masses = (forward * links).sum(2), (backward * links).sum(1)
        linked = links.any(2), links.any(1)
        if self.loss == "probability":
            total = sum(
                -(mass.sum(1) / _lengths(mask, dim)).sum() for mass, dim in zip(masses, (2, 1), strict=True)
            )
        else:
            sides = ((scores, links, mask), (part.transpose(1, 2) for part in (scores, links, mask)))
            total = sum(
                -_log_mass(mass[has], *(part[has] for part in side)).sum()
                for mass, has, side in zip(masses, linked, sides, strict=True)
            )
        if self.consistency:
            shorter = torch.minimum(_lengths(mask, 2), _lengths(mask, 1))
            agreement = (forward * backward).sum((1, 2)) / shorter
            if self.loss == "likelihood":  # whose pairs weigh as much as they have linked pieces
                agreement = agreement * sum(has.sum(1) for has in linked)
            total = total - self.consistency * agreement.sum()
        count = links.sum()
        metrics = {
            "probability": sum(m.detach().sum() for m in masses) / (2 * count.clamp(min=1)),
            "links_per_pair": count.float() / max(1, len(mask)),
        }
        items: dict[str, Tensor | int] = {"probability": count, "links_per_pair": len(mask)}
        return LossOutput(torch.as_tensor(total), self.items(links), metrics, items)

    @torch.no_grad()
    def label(self, query: Tensor, key: Tensor, query_mask: Tensor, key_mask: Tensor) -> Tensor:
        """The links that the encoder's own states give, best with dropout off; arguments as of :meth:`measure`."""
        mask = pair_mask(query_mask, key_mask)
        forward, backward = softmax_probabilities(self._scores(query, key), mask)
        if self.compare == "cosine":
            return (forward * backward).sqrt() > _LIKELY
        return torch.minimum(forward, backward) > self._least

    def items(self, links: Tensor) -> Tensor:
        """What the sum is divided by: pairs, or linked pieces with ``loss: likelihood``."""
        if self.loss == "probability":
            return torch.tensor(len(links), device=links.device)
        return links.any(2).sum() + links.any(1).sum()

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        """Similarity by temperature in float32, (batch, n, m)."""
        query, key = query.float(), key.float()
        if self.compare == "cosine":
            query, key = nn.functional.normalize(query, dim=-1), nn.functional.normalize(key, dim=-1)
        with torch.autocast(query.device.type, enabled=False):
            return query @ key.transpose(1, 2) / self.temperature


def link_matrix(link_ids: Tensor, query_mask: Tensor, key_mask: Tensor) -> Tensor:
    """Linked positions [query, key], −1 pads, as a matrix: (batch, links, 2) -> bool (batch, n, m)."""
    mask = pair_mask(query_mask, key_mask)
    links = torch.zeros_like(mask)
    rows, item = (link_ids >= 0).all(-1).nonzero(as_tuple=True)
    links[rows, link_ids[rows, item, 0], link_ids[rows, item, 1]] = True
    return links & mask


def _log_mass(mass: Tensor, scores: Tensor, links: Tensor, mask: Tensor) -> Tensor:
    """Logarithm of the probability of pieces' links, from the scores where it is too small for a float: (pieces,).

    **Shape**: mass (pieces,); the others (pieces, length of the other side).
    """
    smallest = torch.finfo(mass.dtype).tiny
    of_links, of_all = (scores.masked_fill(~some, -torch.inf).logsumexp(1) for some in (links, mask))
    return torch.where(mass > smallest, mass.clamp(min=smallest).log(), of_links - of_all)


def _lengths(mask: Tensor, dim: int) -> Tensor:
    """Pieces of the side that is not ``dim``, at least 1, (batch,)."""
    return mask.any(dim).sum(1).clamp(min=1)
