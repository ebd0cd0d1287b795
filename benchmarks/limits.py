"""What a device can do at most, and so what some work takes there at least.

Two figures: the rate of a large matrix product, and the bytes a second that a large copy reads and writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from isoglot.modules.encoder import hidden_size, num_layers

_SIDE = {"cpu": 2048, "cuda": 8192}
_COPIED = {"cpu": 1 << 27, "cuda": 1 << 30}


class Limits(NamedTuple):
    """Floating-point operations and bytes a second."""

    flops: float
    bytes: float

    def __str__(self) -> str:
        return f"{self.flops / 1e12:,.2f} TFLOP/s in products, {self.bytes / 1e12:.3f} TB/s in copies"

    def least(self, flops: float, moved: float) -> str:
        """The least time of so many operations, and of so many bytes, in milliseconds."""
        return (
            f"{1000 * flops / self.flops:,.2f} ms of products, {1000 * moved / self.bytes:,.2f} ms of memory"
        )


def limits(device: str, dtype: torch.dtype) -> Limits:
    """Measured, as the best of ten."""
    side = _SIDE[device]
    one, other = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    product = 2 * side**3 / best(lambda: torch.mm(one, other))
    whole = torch.randn(_COPIED[device] // 4, device=device)
    into = torch.empty_like(whole)
    return Limits(product, 2 * _COPIED[device] / best(lambda: into.copy_(whole)))


def step_flops(model: Any, shape: tuple[int, ...], masked: int) -> float:
    """Multiply-adds, times 2, of the matrix products of one step, forward and backward."""
    rows, length = shape
    h, inner = hidden_size(model), model.config.intermediate_size
    layer = 2 * rows * length * (4 * h * h + 2 * h * inner) + 4 * rows * length * length * h
    head = 2 * masked * (h * h + h * model.config.vocab_size)
    return float(3 * (num_layers(model) * layer + head))


def best(run: Callable[[], object]) -> float:
    """Seconds of the fastest of ten runs, after two that do not count."""
    times = []
    for _ in range(12):
        began = time.perf_counter()
        run()
        synchronise()
        times.append(time.perf_counter() - began)
    return min(times[2:])


def synchronise() -> None:
    """Wait for what a GPU has been given to do."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
