"""The masked-LM head as WEAM's equations print it, shared between the objectives that ask for it."""

from __future__ import annotations

import copy
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from isoglot.modules.encoder import hidden_size

_SHARED: WeakKeyDictionary[PreTrainedModel, LiteralTransform]


class LiteralTransform(nn.Module):
    """``linear(GELU(W h + b))``: Eq. 3–4 of WEAM, where BERT's own head has a LayerNorm in the place of ``linear``.

    **Shape**: (items, hidden) → (items, hidden).
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.dense = nn.Linear(size, size)
        self.linear = nn.Linear(size, size)
        for layer in (self.dense, self.linear):
            nn.init.normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)
        # A random linear would hide the encoder's states from the tied embeddings at first.
        with torch.no_grad():
            self.linear.weight += torch.eye(size)

    def forward(self, hidden: Tensor) -> Tensor:
        """The states that are multiplied with the embedding matrix."""
        out: Tensor = self.linear(nn.functional.gelu(self.dense(hidden)))
        return out

    def copy(self, *, share_linear: bool = False) -> LiteralTransform:
        """A copy with the same values (WEAM's second head).

        Args:
            share_linear: keep this one's ``linear`` in the copy, parameters and all.
        """
        shared: dict[int, Any] = {id(self.linear): self.linear} if share_linear else {}
        return copy.deepcopy(self, shared)


_SHARED = WeakKeyDictionary()


def literal_transform(model: PreTrainedModel) -> LiteralTransform:
    """The one literal head of this model: every caller gets the same module.

    It is no part of the model (plain ``transformers`` could not load it); the objectives that use it save it.
    """
    if model not in _SHARED:
        _SHARED[model] = LiteralTransform(hidden_size(model))
    return _SHARED[model]
