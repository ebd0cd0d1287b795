"""A first-in first-out queue of keys for contrast with many negatives (MoCo, He et al. 2020)."""

import torch
from torch import Tensor, nn


class KeyQueue(nn.Module):
    """The last ``size`` keys, in float32, in persistent buffers; random unit vectors at first, as in MoCo.

    ``source_ids`` says what each key is a translation of, −1 where unknown; ``pointer`` where the next key goes.
    """

    keys: Tensor
    source_ids: Tensor
    pointer: Tensor

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
        """Replace the oldest keys; of more keys than the queue holds the last ones stay."""
        count = len(keys)
        if self.size == 0 or count == 0:
            return
        if source_ids is None:
            source_ids = torch.full((count,), -1, dtype=torch.int64, device=keys.device)
        slots = (self.pointer + torch.arange(count, device=self.keys.device)) % self.size
        # Index assignment with repeated slots has no defined order, so the keys that would be overwritten go
        # first.
        kept = slice(max(0, count - self.size), None)
        self.keys[slots[kept]] = keys[kept].to(self.keys)
        self.source_ids[slots[kept]] = source_ids[kept].to(self.source_ids)
        self.pointer.copy_((self.pointer + count) % self.size)
