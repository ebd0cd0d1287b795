"""MoCo's parts (He et al. 2020): an averaged copy of a module, and a first-in first-out queue of keys."""

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
        """Move the copy one step towards ``online``, the module that was copied."""
        slow: list[Tensor] = list(self.module.parameters())  # θ_k
        fast = [  # θ_q
            parameter.detach().to(copied.device, copied.dtype)
            for parameter, copied in zip(online.parameters(), slow, strict=True)
        ]
        if slow:
            # lerp is exact at both ends: m = 1 keeps every bit, m = 0 copies every bit.
            torch._foreach_lerp_(slow, fast, 1.0 - self.momentum)


class KeyQueue(nn.Module):
    """The last ``size`` keys, in float32; random unit vectors at first, as in MoCo. Its buffers are saved."""

    keys: Tensor  # (size, dimension), a ring: the next key overwrites the oldest
    # (size,), an id that all translations of one sentence share, −1 where unknown. A stream's column of the same name
    # has something else: the pieces of the source.
    source_ids: Tensor
    pointer: Tensor  # scalar, the row of the oldest key, where the next key goes

    def __init__(
        self,
        size: int,
        dimension: int,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        keys = nn.functional.normalize(torch.randn(size, dimension, generator=generator), dim=1)
        self.register_buffer("keys", keys)
        self.register_buffer("source_ids", torch.full((size,), -1, dtype=torch.int64))
        self.register_buffer("pointer", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def enqueue(self, keys: Tensor, source_ids: Tensor | None = None) -> None:
        """Replace the oldest keys by new ones; if there are more than the queue holds, by the last of them.

        **Shape**: keys (any number, dimension); source_ids (any number,), int64.
        """
        count = len(keys)
        if self.size == 0 or count == 0:
            return
        if source_ids is None:
            source_ids = torch.full((count,), -1, dtype=torch.int64, device=keys.device)
        rows = (self.pointer + torch.arange(count, device=self.keys.device)) % self.size
        # Index assignment with repeated rows has no defined order, so keys that would be overwritten at once are left
        # out.
        newest = slice(max(0, count - self.size), None)
        self.keys[rows[newest]] = keys[newest].to(self.keys)
        self.source_ids[rows[newest]] = source_ids[newest].to(self.source_ids)
        self.pointer.copy_((self.pointer + count) % self.size)
