"""An exponential moving average of a module's weights, itself a module (MoCo, He et al. 2020)."""

import copy
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)


class MomentumCopy(nn.Module, Generic[M]):
    r"""A copy of a module whose parameters follow it slowly and take no gradient (PPA, Eq. 1).

    .. math:: \theta_k \leftarrow m\,\theta_k + (1 - m)\,\theta_q

    Parameters in half precision are held in float32: at m = 0.999 an update is below half a unit in
    the last place of bfloat16 and would be lost. Buffers are copied once and not averaged.
    """

    def __init__(self, online: M, momentum: float) -> None:
        super().__init__()
        self.momentum = momentum
        self.module: M = copy.deepcopy(online)
        for parameter in self.module.parameters():
            parameter.requires_grad_(False)
            if parameter.dtype in (torch.float16, torch.bfloat16):
                parameter.data = parameter.data.float()

    @torch.no_grad()
    def update(self, online: nn.Module) -> None:
        """One step of the average towards ``online``, whose parameters are those of the copied module."""
        slow: list[Tensor] = list(self.module.parameters())
        fast = [p.detach().to(s.device, s.dtype) for p, s in zip(online.parameters(), slow, strict=True)]
        if slow:
            # lerp is exact at both ends: m = 1 keeps every bit, m = 0 copies every bit.
            torch._foreach_lerp_(slow, fast, 1.0 - self.momentum)
