"""Cross-entropy of masked tokens over a large vocabulary."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from isoglot.losses.base import Loss, LossOutput, require_axes
from isoglot.modules.shared_table import SharedTable
from isoglot.modules.vocabulary_loss import vocabulary_loss

IGNORED = -100
"""Label of a position without a loss."""


@dataclass(eq=False, repr=False)
class VocabularyLoss(Loss):
    """Masked-language-model loss that never holds all logits.

    Equation: ``L = −(1/|M|) Σ_{i ∈ M} log softmax(W t(h_i) + b)[y_i]``, with M the masked tokens, t the head's
    transform

    Only positions with a label take part. Their logits are computed a chunk at a time, and the gradient of a chunk with
    them (:func:`~isoglot.modules.vocabulary_loss.vocabulary_loss`).

    **Metrics**: ``accuracy``.

    Source: Devlin et al. 2019 (BERT), §3.1 (MLM); Conneau and Lample 2019 (XLM), §3.4 (TLM).

    Example:
        >>> from isoglot.modules.masked_lm_head import masked_lm_head
        >>> from isoglot.testing import tiny_model
        >>> model = tiny_model()
        >>> head = masked_lm_head(model)
        >>> optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        >>> loss_function = VocabularyLoss()
        >>> ids = torch.tensor([[2, 10, 11, 3]])
        >>> labels = torch.tensor([[-100, 12, -100, -100]])
        >>> for _ in range(2):
        ...     hidden = model.base_model(input_ids=ids).last_hidden_state
        ...     loss = loss_function(hidden, labels, head.weight, head.bias, transform=head.transform)
        ...     optimizer.zero_grad()
        ...     loss.backward()
        ...     optimizer.step()
    """

    def measure(
        self,
        hidden: Tensor,
        labels: Tensor,
        weight: Tensor | SharedTable,
        bias: Tensor | None = None,
        *,
        transform: Callable[[Tensor], Tensor] | None = None,
    ) -> LossOutput:
        """Sum the cross-entropy of the positions that have a label.

        Args:
            hidden: states of the encoder.
            labels: token ids, −100 at positions without a loss.
            weight: W, usually the word embedding table.
            bias: b.
            transform: t, the layers of the head in front of W; none by default.

        **Shape**: hidden (batch, length, hidden); labels (batch, length); weight (V, size); bias (V,);
        transform (N, hidden) -> (N, size).
        """
        require_axes(hidden=(hidden, "batch length hidden"), labels=(labels, "batch length"))
        flat_positions = (labels.flatten() != IGNORED).nonzero()[:, 0]
        states = hidden.flatten(0, 1).index_select(0, flat_positions)
        gold = labels.flatten().index_select(0, flat_positions)
        if transform is not None:
            states = transform(states)
        total, correct = vocabulary_loss(states, gold, weight, bias)
        count = torch.tensor(flat_positions.numel(), device=total.device)
        return LossOutput(total, count, {"accuracy": correct / count.clamp(min=1)})
