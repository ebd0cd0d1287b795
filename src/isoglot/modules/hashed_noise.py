"""Random numbers without a generator: hashes of the seed, the step, the sentence and the position.

Draws that a view cannot make, because they depend on the links that the encoder found, still have to be the same after
a resume, for another number of ranks and for another split into micro-batches. A hash gives that without any state; it
is computed on the device that holds the sentences.
"""

import torch
from torch import Tensor

_LOW = 0xFFFFFFFF


def hashed_uniform(key: Tensor, *parts: Tensor | int) -> Tensor:
    """Numbers in [0, 1) from integers, multiples of 2⁻²⁴; equal integers give equal numbers on every device.

    ``hashed_uniform(sentence_key(ids, mask), seed, step)`` draws one number for each sentence of a batch.

    ``key``: int64, one for each number.
    ``parts``: further integers, one for all numbers or one for each.
    """
    state = _mix(key)
    for part in parts:
        state = _mix(state * 0x9E3779B1 + _mix(torch.as_tensor(part, device=key.device, dtype=torch.int64)))
    return (state >> 8).float() / 2**24


def sentence_key(ids: Tensor, mask: Tensor) -> Tensor:
    """A 32-bit hash of each row's ids and their order; padding to the right changes nothing.

    ``mask``: 1 for ids that count, 0 for padding.

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
