"""Gathering rows over two gloo processes with unequal batches."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from isoglot.modules.gather import gather_rows, gather_rows_with_gradient

SIZES = (3, 5)


def _rows():
    return torch.arange(sum(SIZES) * 2, dtype=torch.float32).reshape(-1, 2) / 10


def _loss(rows, own):
    """A sum over own rows that depends on every row, differently."""
    weights = torch.arange(1.0, len(rows) + 1)[:, None]
    return ((rows[own] @ (rows * weights).T) ** 2).sum()


def _work(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    begin = (0, SIZES[0])[rank]
    own = _rows()[begin : begin + SIZES[rank]].clone().requires_grad_()
    assert torch.equal(gather_rows(own), _rows())
    ids = torch.arange(begin, begin + SIZES[rank])
    assert gather_rows(ids).tolist() == list(range(sum(SIZES)))
    assert gather_rows(own[:0] if rank else own).shape == (SIZES[0], 2)
    gathered, start = gather_rows_with_gradient(own)
    assert start == begin and torch.equal(gathered, _rows())
    _loss(gathered, slice(begin, begin + SIZES[rank])).backward()
    torch.save(own.grad, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_ranks_gather_like_one_process(tmp_path):
    mp.spawn(_work, args=(str(tmp_path),), nprocs=2)
    rows = _rows().requires_grad_()
    _loss(rows, slice(None)).backward()
    gradients = torch.cat([torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1)])
    torch.testing.assert_close(gradients, rows.grad)


def test_one_process_keeps_its_rows():
    rows = torch.randn(3, 2, requires_grad=True)
    gathered, start = gather_rows_with_gradient(rows)
    assert gathered is rows and start == 0
    assert torch.equal(gather_rows(rows), rows) and not gather_rows(rows).requires_grad
