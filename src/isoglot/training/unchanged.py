"""Whether a run has changed its encoder at all."""

import logging
from collections.abc import Mapping

import torch
from torch import Tensor

from isoglot.training.model import AlignmentModel

_LOGGER = logging.getLogger(__name__)
_WHOLE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def encoder_sums(model: AlignmentModel) -> dict[str, int]:
    """The sum of the bits of each tensor of the encoder and its embeddings, by name in the model's state.

    A few bytes a tensor, so that a run need not keep the weights that it began with.
    """
    own = {id(tensor) for tensor in model.model.base_model.state_dict(keep_vars=True).values()}
    named = model.state_dict(keep_vars=True).items()
    return {name: _bits(tensor) for name, tensor in named if id(tensor) in own}


def warn_if_unchanged(began: Mapping[str, int], state: Mapping[str, Tensor]) -> None:
    """Warn where every tensor of a model's state has the sum that it began with."""
    if all(_bits(state[name]) == value for name, value in began.items()):
        _LOGGER.warning(
            "the encoder did not change: all its %d tensors are as they were before this run; raise "
            "train.learning_rate, train for more steps than warm up or are frozen, or give a part of the encoder a "
            "rate (--set parts.encoder=1)",
            len(began),
        )


def _bits(tensor: Tensor) -> int:
    values = tensor.detach().contiguous()
    if values.is_complex():
        values = torch.view_as_real(values)
    return int(values.view(_WHOLE[values.element_size()]).sum(dtype=torch.int64))
