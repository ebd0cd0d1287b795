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
from isoglot.modules.self_labelling import LinkedPositions

_DOT_THRESHOLD = 0.001
"""The default of the option ``threshold``."""
_COSINE_THRESHOLD = 0.4
"""A self-labelled link with ``compare: cosine`` exceeds this geometric mean of its two probabilities.

The best of 0.2, 0.25, ... 0.45 on XL-WA's development sets.
"""


@dataclass(eq=False, repr=False)
class SelfTraining(Loss):
    """Raise the alignment probabilities of linked pieces, as the aligner itself computes them.

    Equation: ``L = −Σ_{(i, j) ∈ A} (P_ij/n + Q_ij/m) − β Σ_ij P_ij Q_ij / min(n, m)``, the mean over pairs, with
    ``P = softmax_j(S/τ)``, ``Q = softmax_i(S/τ)``

    A pair has n and m pieces, A are its links and S the similarities of its pieces. Each side is encoded alone, and
    special tokens take no part. P is the forward direction: each piece of the query distributes a probability of 1 over
    the pieces of the key; Q is the backward direction. The term with β is the consistency objective, which wants both
    directions to agree.

    With ``loss: likelihood`` each linked piece i of either side contributes ``−log Σ_{j ∈ A(i)} P_ij`` instead of the
    first term, where A(i) are the pieces of the other side that are linked to i; Q takes the place of P for pieces of
    the key. Unlike the probability, this has a gradient for links that the encoder finds unlikely.

    Args:
        compare: ``dot`` product (awesome-align) or ``cosine`` (SimAlign, and the default of ``isoglot align``).
        temperature: τ; 1 in awesome-align. The cosine needs a small one, such as 0.05.
        threshold: For ``dot``, a self-labelled link exceeds this probability in both directions; 0.001 (as in
            awesome-align) by default. With ``cosine`` the geometric mean of both directions has to exceed 0.4.
        loss: ``probability`` (awesome-align) or ``likelihood``.
        consistency: β; 0 leaves the consistency objective out, awesome-align's option has 1. With ``likelihood`` the
            consistency of a pair counts once for each of its linked pieces.

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
        # `_threshold` is the number that `label` uses. `threshold` is the option, which the run's recipe records:
        #
        # - `dot` records the number that is used, also where it is the default.
        # - `cosine` has no such option. Its record stays None, which `check_options` accepts when the recipe is read
        #   again.
        if self.compare == "cosine":
            self._threshold = _COSINE_THRESHOLD
        else:
            self._threshold = _DOT_THRESHOLD if self.threshold is None else self.threshold
            self.threshold = self._threshold

    def check_options(self) -> None:
        """Refuse a threshold where no comparison reads it."""
        if self.threshold is not None and self.compare == "cosine":
            raise ConfigurationError(
                f"threshold {self.threshold} has no effect, only compare: dot has one; leave it out"
            )

    def measure(
        self, query: Tensor, key: Tensor, query_mask: Tensor, key_mask: Tensor, links: Tensor
    ) -> LossOutput:
        """Sum the loss over the pairs, or over the linked pieces with ``loss: likelihood``.

        Args:
            query: states of the sentences of one language.
            key: states of their translations.
            query_mask: true for the query's pieces, false for special tokens and padding, which have no links.
            key_mask: the same for the key.
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
        # The mass of a piece is the probability of all its links together: (batch, n) for the query's pieces,
        # (batch, m) for the key's.
        query_mass = (forward * links).sum(2)
        key_mass = (backward * links).sum(1)
        query_linked, key_linked = links.any(2), links.any(1)
        n, m = _lengths(query_mask), _lengths(key_mask)

        # `self.loss` is an option, as are all fields of the class; the result is `total`.
        if self.loss == "probability":
            forward_loss = -(query_mass.sum(1) / n).sum()
            backward_loss = -(key_mass.sum(1) / m).sum()
        else:
            forward_loss = -_log_mass(query_mass, scores, links, mask, query_linked).sum()
            # The same with the key's pieces as rows.
            scores_of_keys = scores.transpose(1, 2)
            links_of_keys = links.transpose(1, 2)
            mask_of_keys = mask.transpose(1, 2)
            backward_loss = -_log_mass(
                key_mass, scores_of_keys, links_of_keys, mask_of_keys, key_linked
            ).sum()
        total = 0 + forward_loss + backward_loss  # 0 first: a batch without links has a loss of 0, not of −0

        if self.consistency:
            agreement = (forward * backward).sum((1, 2)) / torch.minimum(n, m)
            if self.loss == "likelihood":
                # The sum is divided by linked pieces, not by pairs, so each pair counts as often as it has such pieces.
                agreement = agreement * (query_linked.sum(1) + key_linked.sum(1))
            total = total - self.consistency * agreement.sum()

        number_of_links = links.sum()
        mass = query_mass.detach().sum() + key_mass.detach().sum()
        metrics = {
            "probability": mass / (2 * number_of_links.clamp(min=1)),
            "links_per_pair": number_of_links.float() / max(1, len(mask)),
        }
        items_of_metrics: dict[str, Tensor | int] = {
            "probability": number_of_links,
            "links_per_pair": len(mask),
        }
        return LossOutput(total, self.count_items(links), metrics, items_of_metrics)

    @torch.no_grad()
    def label(self, query: Tensor, key: Tensor, query_mask: Tensor, key_mask: Tensor) -> Tensor:
        """Find links in the encoder's own states, best with dropout off; arguments as of :meth:`measure`.

        **Shape**: bool (batch, n, m).
        """
        mask = pair_mask(query_mask, key_mask)
        forward, backward = softmax_probabilities(self._scores(query, key), mask)
        if self.compare == "cosine":
            return (forward * backward).sqrt() > self._threshold
        return torch.minimum(forward, backward) > self._threshold

    def count_items(self, links: Tensor) -> Tensor:
        """Count the items, by which the sum is divided: pairs, or linked pieces with ``loss: likelihood``."""
        if self.loss == "probability":
            return torch.tensor(len(links), device=links.device)
        return links.any(2).sum() + links.any(1).sum()

    def _scores(self, query: Tensor, key: Tensor) -> Tensor:
        """The similarities divided by the temperature, S/τ, in float32: (batch, n, m)."""
        query, key = query.float(), key.float()
        if self.compare == "cosine":
            query, key = nn.functional.normalize(query, dim=-1), nn.functional.normalize(key, dim=-1)
        with torch.autocast(query.device.type, enabled=False):
            return query @ key.transpose(1, 2) / self.temperature


def link_matrix(link_ids: Tensor, query_mask: Tensor, key_mask: Tensor) -> Tensor:
    """Write linked positions [query, key], −1 pads, as a matrix: (batch, links, 2) -> bool (batch, n, m).

    Example:
        >>> masks = torch.tensor([[0, 1, 1]]), torch.tensor([[0, 1]])  # a special token first, which cannot be linked
        >>> link_matrix(torch.tensor([[[2, 1], [0, 1], [-1, -1]]]), *masks).int().tolist()
        [[[0, 0], [0, 0], [0, 1]]]
    """
    mask = pair_mask(query_mask, key_mask)
    links = torch.zeros_like(mask)
    found = LinkedPositions.of_ids(link_ids)
    links[found.rows, found.first, found.second] = True
    return links & mask


def _log_mass(mass: Tensor, scores: Tensor, links: Tensor, mask: Tensor, linked: Tensor) -> Tensor:
    """Compute the logarithm of the mass of each ``linked`` piece: (linked pieces,).

    The mass of a piece is the probability of all its links together: with the probabilities 0.2 and 0.3 of two links
    the mass is 0.5, and the result is log 0.5.

    1. Usually the logarithm is taken of the mass itself.
    2. A mass that is too small for a float has lost its digits or become 0. There the logarithm is computed from the
       scores: the log-sum-exp of the linked scores minus the log-sum-exp of all scores in the mask.

    The second way would do for every mass, but is less exact: with scores of several hundred it is off by up to 3e-5.

    **Shape**: mass and linked (batch, pieces); the others (batch, pieces, length of the other side).
    """
    # From here on mass is (linked pieces,), and the others are (linked pieces, length of the other side).
    mass, scores, links, mask = mass[linked], scores[linked], links[linked], mask[linked]
    smallest = torch.finfo(mass.dtype).tiny
    # The clamp keeps the gradient finite where the mass is 0: `where` does not choose the logarithm there, but its
    # gradient is computed.
    log_of_mass = mass.clamp(min=smallest).log()  # 1
    of_links = scores.masked_fill(~links, -torch.inf).logsumexp(-1)
    of_all = scores.masked_fill(~mask, -torch.inf).logsumexp(-1)
    log_from_scores = of_links - of_all  # 2
    return torch.where(mass > smallest, log_of_mass, log_from_scores)


def _lengths(mask: Tensor) -> Tensor:
    """The number of pieces of each sentence, at least 1: (batch, length) -> (batch,)."""
    return mask.bool().sum(1).clamp(min=1)
