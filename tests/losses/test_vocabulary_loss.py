from __future__ import annotations

import torch
from torch import nn

from isoglot.losses import (
    VocabularyLoss,
)


def test_vocabulary_loss_is_pytorchs_cross_entropy() -> None:
    hidden, weight, bias = torch.randn(2, 4, 6), torch.randn(9, 6), torch.randn(9)
    labels = torch.tensor([[-100, 3, -100, 8], [0, -100, -100, -100]])
    expected = nn.functional.cross_entropy((hidden @ weight.T + bias).flatten(0, 1), labels.flatten())
    torch.testing.assert_close(VocabularyLoss()(hidden, labels, weight, bias), expected)
    doubled = VocabularyLoss()(hidden / 2, labels, weight, bias, transform=lambda states: 2 * states)
    torch.testing.assert_close(doubled, expected)
