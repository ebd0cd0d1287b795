"""Random numbers that are a function of what is drawn for, not of when: integer hashes on the device.

Draws that a view cannot make, because they depend on what the encoder found, still have to be the same after
a resume, for another number of ranks and for another split into micro-batches. Hashing (seed, step, the
sentence itself, the position) gives that without any state.
"""

import torch
from torch import Tensor

_LOW = 0xFFFFFFFF


def hashed_uniform(key: Tensor, *parts: Tensor | int) -> Tensor:
    """Multiples of 2⁻²⁴ in [0, 1) from integers; equal integers give equal numbers on every device."""
    state = _mix(key)
    for part in parts:
        state = _mix(state * 0x9E3779B1 + _mix(torch.as_tensor(part, device=key.device, dtype=torch.int64)))
    return (state >> 8).float() / 2**24


def sentence_key(ids: Tensor, mask: Tensor) -> Tensor:
    """One 32-bit number for each row's real ids and where they stand; padding to the right changes nothing.

    **Shape**: (batch, length) -> int64 (batch,).
    """
    positions = torch.arange(ids.shape[1], device=ids.device)
    mixed = _mix(_mix(ids.long()) + 0x9E3779B1 * (positions + 1))
    return _mix((mixed * mask).sum(1))


def _mix(x: Tensor) -> Tensor:
    """MurmurHash3's 32-bit finaliser on the low halves (int64 products wrap, their low halves are exact)."""
    x = x & _LOW
    x = ((x ^ (x >> 16)) * 0x85EBCA6B) & _LOW
    x = ((x ^ (x >> 13)) * 0xC2B2AE35) & _LOW
    return x ^ (x >> 16)
