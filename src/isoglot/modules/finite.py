"""The one check for NaN and infinity in values that become a result, a link or a checkpoint."""

from collections.abc import Iterable

import torch
from torch import Tensor

from isoglot.core.errors import IsoglotError


def all_finite(values: Tensor) -> bool:
    """Whether no value is NaN or infinite."""
    if not values.is_floating_point() or not values.numel():
        return True
    # aminmax passes NaN on and, unlike isfinite, needs no memory of the tensor's size.
    return bool(torch.isfinite(torch.stack(values.detach().aminmax())).all())


def non_finite(named: Iterable[tuple[str, Tensor]]) -> list[str]:
    """Names of the tensors in which a value is NaN or infinite."""
    return [name for name, values in named if not all_finite(values)]


def require_finite(values: Tensor, what: str) -> Tensor:
    """Return the values, or raise an error if one is NaN or infinite; the message begins with ``what``."""
    if not all_finite(values):
        # [[…]] is an option, shown as Python or as the command line spells it (core/named_options.py).
        raise IsoglotError(
            f"{what}: NaN or infinite values, from which no result can be made; use "
            "[[precision='float32']], or a checkpoint of a training that did not diverge"
        )
    return values
