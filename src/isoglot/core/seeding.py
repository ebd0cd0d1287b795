"""Random numbers that depend on a seed and a key alone, never on global state.

A masked position, a shuffled order or a sampled dictionary is drawn for ``(seed, key)``. So a run that is resumed, or
that has another number of loader workers or ranks, draws the same numbers.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def seed_for(seed: int, *key: str | int) -> int:
    """Return a 63-bit seed that depends on ``seed`` and every part of ``key``, the same on every platform.

    The key says what the numbers are for, such as ``("view", "pair", position)``. The parts ``1`` and ``"1"`` differ.
    """
    text = repr((int(seed), *(k if isinstance(k, str) else int(k) for k in key)))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def generator_for(seed: int, *key: str | int) -> torch.Generator:
    """Return a generator of torch, on the CPU, whose numbers depend on ``(seed, *key)`` alone.

    Example:
        >>> import torch
        >>> a = torch.rand(3, generator=generator_for(0, "pair", 7))
        >>> b = torch.rand(3, generator=generator_for(0, "pair", 7))
        >>> bool((a == b).all())
        True
    """
    import torch  # noqa: PLC0415 - heavy, and most callers need only a seed

    generator = torch.Generator()
    generator.manual_seed(seed_for(seed, *key))
    return generator
