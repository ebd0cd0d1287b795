"""Contrast of sentences with their translations against the other pairs of the batch."""

from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor, nn

from isoglot.core.options import Positive
from isoglot.losses.base import Loss, LossOutput, require_axes
from isoglot.modules.contrast import gather_rows_with_gradient, in_batch_loss


@dataclass(eq=False, repr=False)
class InBatchContrast(Loss):
    """Symmetric InfoNCE of each sentence with its translation, the other pairs of all ranks as negatives.

    Equation: ``L = (1/n) Σ_i ½ [CE(q_i Kᵀ / τ, i) + CE(k_i Qᵀ / τ, i)]``, with q and k the vectors divided by their
    length, i one of the n pairs of this rank, Q and K the vectors of all ranks

    Args:
        temperature: τ.

    **Metrics**: ``accuracy`` (the query ranks its key first), ``positive`` (mean cosine of the pairs).

    Source: van den Oord et al. 2018, *Representation Learning with Contrastive Predictive Coding*, Eq. 4; in both
    directions as in Radford et al. 2021 (CLIP), Fig. 3.

    Example:
        >>> encoder = torch.nn.Linear(8, 4)
        >>> optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
        >>> loss_function = InBatchContrast(temperature=0.1)
        >>> for source, target in [(torch.randn(3, 8), torch.randn(3, 8)) for _ in range(2)]:
        ...     loss = loss_function(encoder(source), encoder(target))
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
    """

    _: KW_ONLY
    temperature: Positive = 0.05

    def measure(self, queries: Tensor, keys: Tensor) -> LossOutput:
        """Sum the InfoNCE of this rank's pairs.

        **Shape**: queries and keys (batch, hidden); they need not be unit vectors.
        """
        require_axes(queries=(queries, "batch hidden"), keys=(keys, "batch hidden"))
        queries = nn.functional.normalize(queries.float(), dim=1)
        keys = nn.functional.normalize(keys.float(), dim=1)
        all_queries, start = gather_rows_with_gradient(queries)
        all_keys, _ = gather_rows_with_gradient(keys)
        count = len(queries)
        losses, correct = in_batch_loss(all_queries, all_keys, start, count, temperature=self.temperature)
        positive = (queries.detach() * keys.detach()).sum()
        metrics = {"accuracy": correct.float().sum() / max(1, count), "positive": positive / max(1, count)}
        return LossOutput(losses.sum(), torch.tensor(count, device=losses.device), metrics)
