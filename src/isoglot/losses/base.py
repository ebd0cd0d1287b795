"""The base of losses: tensors in, loss out. A loss may have parameters and buffers of its own, never the encoder."""

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
    """The result of a loss or an objective on one batch.

    Args:
        total: scalar, the *sum* of the loss over the items of this batch, with its gradient graph intact even where
            the batch has no item (then an exact 0 that is connected to the parameters).
        count: scalar, the divisor that makes a mean of the sum, without gradient: usually the number of masked tokens,
            links or sentence pairs in the sum.
        metrics: detached scalars by name; ``accuracy`` is logged as ``<objective>/accuracy``. Each is a mean over
            ``count`` items, unless ``items`` has another number for it.
        items: by the name of a metric, the number of items that it is a mean over, where that is not ``count``:
            ``{"links_per_pair": 8}`` for 8 pairs.
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
    """Refuse tensors whose axes do not fit each other, which broadcasting and flattening would hide.

    The first tensor that has an axis decides its size for all tensors behind it. ``None`` instead of a tensor fits.

    Args:
        **named: each tensor under its name, with the names of its axes.

    Raises:
        ConfigurationError: a tensor does not fit; the message names the first one.

    Example:
        >>> require_axes(queries=(torch.zeros(3, 8), "batch hidden"), keys=(torch.zeros(1, 8), "batch hidden"))
        Traceback (most recent call last):
        isoglot.core.errors.ConfigurationError: keys: got shape (1, 8), expected (batch 3, hidden 8)
    """
    sizes: dict[str, int] = {"2": 2}  # an axis named "2" has this size from the start
    for name, (tensor, axes) in named.items():
        if tensor is None:
            continue
        names = axes.split()
        fits = len(names) == tensor.dim()
        if fits:
            for axis, size in zip(names, tensor.shape, strict=True):
                known_size = sizes.setdefault(axis, size)  # an axis that is new gets this size
                if known_size != size:
                    fits = False
                    break
        if not fits:
            expected = []
            for axis in names:
                has_own_name = axis in sizes and axis != "2"
                expected.append(f"{axis} {sizes[axis]}" if has_own_name else axis)
            raise ConfigurationError(
                f"{name}: got shape {tuple(tensor.shape)}, expected ({', '.join(expected)})"
            )


def no_loss(*states: Tensor) -> Tensor:
    """A zero whose gradient graph reaches ``states``, added so that a batch without items still trains with 0.

    A sum over no row, not ``0 * state.sum()``: that product is NaN where a state is.
    """
    return torch.stack([state[:0].sum().float() for state in states]).sum()


class OptionsModule(nn.Module):
    """A module that is a dataclass (``eq=False, repr=False``) of its options, and checks them.

    Each option is named once, as a field. Options that exclude each other are refused by a method ``check_options``,
    which reads options alone.

    Options are set before modules exist. So a module or parameter must not have the name of an option: the option's
    default is an attribute of the class and would hide it. (:class:`~isoglot.losses.KeyQueueContrast` has the
    only exception, and says how.) A parameter of a loss learns at the rate ``objectives``, with weight decay unless
    its name says bias or norm (``isoglot.training.parts``).
    """

    step: Tensor  # optimiser steps so far: a buffer, registered by the classes that count steps

    def __post_init__(self) -> None:
        self.settle()

    def settle(self) -> None:
        """Initialise the ``nn.Module`` and check the options; first call of a subclass's ``__post_init__``."""
        # The dataclass's `__init__` has set the options and then called `__post_init__`. `nn.Module` is initialised
        # only here, and refuses a module or parameter that is set before; so no option may be one.
        super().__init__()
        require_options(self)


class Loss(OptionsModule, ABC):
    """A loss over tensors: ``loss(...)`` is its mean, :meth:`measure` gives the sum, the count and the metrics.

    ``loss(...)`` has the arguments of :meth:`measure`.
    """

    @abstractmethod
    def measure(self, *tensors: Any, **named: Any) -> LossOutput:
        """Sum the loss over the items of a batch."""

    def forward(self, *tensors: Any, **named: Any) -> Any:
        """The mean over the items of a batch, 0 if there is no item."""
        return self.measure(*tensors, **named).loss

    def advance(self) -> None:
        """Advance momentum copies and draws by a step; call it after each optimiser step.

        Most losses have nothing to advance.
        """
