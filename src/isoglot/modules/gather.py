"""Rows of all ranks in one tensor, however many each rank has."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def gather_rows(rows: Tensor) -> Tensor:
    """All ranks' rows in rank order, without gradient; the argument itself outside a process group.

    Ranks may have different numbers of rows (the last batch of an epoch): sizes are gathered first and the
    rows padded to the longest on the way.

    **Shape**: (own rows, ...) -> (all rows, ...), with the same trailing axes on every rank.
    """
    if not _several_ranks():
        return rows.detach()
    return torch.cat(_gather(rows.detach())[0])


def gather_rows_with_gradient(rows: Tensor) -> tuple[Tensor, int]:
    """All ranks' rows, through which gradients reach the rank that each row came from.

    Where each rank's loss is a sum over its own items, the gradient of the sum over ranks results: each rank
    adds what its own loss says about every row.

    **Shape**: (own rows, ...) -> (all rows, ...).
    """
    if not _several_ranks():
        return rows, 0
    gathered, start = _Gather.apply(rows)  # type: ignore[no-untyped-call]
    return gathered, int(start)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> tuple[Tensor, int]:
        parts, start = _gather(rows.contiguous())
        ctx.own = slice(start, start + len(rows))
        return torch.cat(parts), start

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Any) -> Tensor:
        gradient = gradient.contiguous().clone()
        dist.all_reduce(gradient)
        return gradient[ctx.own]


def _several_ranks() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def _gather(rows: Tensor) -> tuple[list[Tensor], int]:
    """Each rank's rows, and the index of this rank's first among all."""
    world = dist.get_world_size()
    sizes = [torch.zeros((), dtype=torch.int64, device=rows.device) for _ in range(world)]
    dist.all_gather(sizes, torch.tensor(len(rows), dtype=torch.int64, device=rows.device))
    counts = torch.stack(sizes).tolist()
    padded = rows.new_zeros(max(counts), *rows.shape[1:])
    padded[: len(rows)] = rows
    parts = [torch.empty_like(padded) for _ in range(world)]
    dist.all_gather(parts, padded)
    return [p[:c] for p, c in zip(parts, counts, strict=True)], sum(counts[: dist.get_rank()])
