"""The base of losses: tensors in, loss out, with parameters and buffers of their own and without the encoder."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from isoglot.core.errors import ConfigurationError
from isoglot.recipe.spec import require_options


@dataclass(frozen=True)
class LossOutput:
    """What a loss or an objective measures on one batch.

    Args:
        total: scalar, the *sum* of the loss over the items of this batch, with its gradient graph intact even where
            the batch has no item (then an exact 0 that is connected to the parameters).
        count: scalar, how many items (masked tokens, links, sentence pairs) the sum is divided by, usually as many as
            it runs over; no gradient.
        metrics: detached scalars; a name ``accuracy`` is logged as ``<objective>/accuracy``. Each is a mean over
            ``count`` items, or over as many as ``items`` says of it.
        items: how many items a metric is a mean over, where that is not ``count``.
    """

    total: Tensor
    count: Tensor
    metrics: Mapping[str, Tensor] = field(default_factory=dict)
    items: Mapping[str, Tensor | int] = field(default_factory=dict)

    @property
    def loss(self) -> Tensor:
        """The mean over this batch's items, 0 where there is none."""
        return self.total / self.count.clamp(min=1)


def require_axes(**named: tuple[Tensor | None, str]) -> None:
    """Refuse tensors whose axes do not fit each other, which broadcasting and flattening would hide; ``None`` fits.

    Raises:
        ConfigurationError: naming the first such tensor.

    Example:
        >>> require_axes(queries=(torch.zeros(3, 8), "batch hidden"), keys=(torch.zeros(1, 8), "batch hidden"))
        Traceback (most recent call last):
        isoglot.core.errors.ConfigurationError: keys: got shape (1, 8), expected (batch 3, hidden 8)
    """
    sizes: dict[str, int] = {"2": 2}
    for name, (tensor, axes) in named.items():
        if tensor is None:
            continue
        names = axes.split()
        if len(names) != tensor.dim() or any(
            sizes.setdefault(axis, n) != n for axis, n in zip(names, tensor.shape, strict=True)
        ):
            needed = ", ".join(
                f"{axis} {sizes[axis]}" if axis in sizes.keys() - {"2"} else axis for axis in names
            )
            raise ConfigurationError(f"{name}: got shape {tuple(tensor.shape)}, expected ({needed})")


def no_loss(*states: Tensor) -> Tensor:
    """A zero that keeps states in the graph where a batch has no item; a product with 0 would pass their NaN on."""
    return torch.stack([state[:0].sum().float() for state in states]).sum()


class OptionsModule(nn.Module):
    """A module that is a dataclass (``eq=False, repr=False``), so that each option is named once, and checks them.

    Options that exclude each other are refused by a method ``check_options``, which reads options alone.
    """

    step: Tensor  # optimiser steps so far, a buffer of those that count them

    def __post_init__(self) -> None:
        self.settle()

    def settle(self) -> None:
        """Begin as a module whose options are checked: first in ``__post_init__``."""
        super().__init__()
        require_options(self)


class Loss(OptionsModule, ABC):
    """A loss over tensors: ``loss(...)`` is its mean, :meth:`measure` the sum, the count and the metrics.

    Called as ``loss(...)`` it takes what :meth:`measure` takes.
    """

    @abstractmethod
    def measure(self, *tensors: Any, **named: Any) -> LossOutput:
        """The sum over the items of a batch, how many there are, and metrics."""

    def forward(self, *tensors: Any, **named: Any) -> Any:
        """The mean over the items of a batch."""
        return self.measure(*tensors, **named).loss

    def advance(self) -> None:
        """To be called after each optimiser step (momentum, draws); most losses have nothing to do."""
