"""Contrastive losses against loops, and against three steps computed with MoCo's released class."""

from __future__ import annotations

import math

import pytest
import torch
import torch.distributed as dist
from references import reference
from torch import nn
from torch.multiprocessing.spawn import spawn

from isoglot.modules.contrast import (
    ProjectionHead,
    gather_rows,
    gather_rows_with_gradient,
    in_batch_loss,
    key_queue_loss,
    mixed_inputs,
    pool,
)
from isoglot.modules.momentum import KeyQueue, MomentumCopy


def test_golden_three_steps():
    """Average, key forward, loss with the old queue, enqueue: MoCo's order."""
    values = reference("golden")["moco"]
    start = {name: torch.tensor(value) for name, value in values["initial"].items()}
    online = nn.Linear(4, values["dim"], bias=False)
    online.weight.data = start["w_k"]
    slow = MomentumCopy(online, values["m"])
    online.weight.data = start["w_q"]
    queue = KeyQueue(values["K"], values["dim"])
    queue.keys.copy_(start["queue"])
    for step in values["steps"]:
        slow.update(online)
        queries = nn.functional.normalize(online(torch.tensor(step["x_q"])), dim=1)
        keys = nn.functional.normalize(slow.module(torch.tensor(step["x_k"])), dim=1)
        losses, correct = key_queue_loss(queries, keys, queue.keys.clone(), temperature=values["T"])
        assert losses.mean().item() == pytest.approx(step["loss"], rel=1e-5)
        logits = torch.tensor(step["logits"])
        assert correct.tolist() == (logits.argmax(1) == 0).tolist()
        queue.enqueue(keys)
        torch.testing.assert_close(queue.keys, torch.tensor(step["queue_after"]))
        torch.testing.assert_close(slow.module.weight.detach(), torch.tensor(step["w_k_after"]))
        assert int(queue.pointer) == step["ptr_after"]


def naive_queue_loss(queries, keys, negatives, temperature, positive_in_denominator, excluded):
    queries, losses = queries.detach(), []
    for b in range(len(queries)):
        positive = float(queries[b] @ keys[b]) / temperature
        others = [
            float(queries[b] @ negatives[k]) / temperature
            for k in range(len(negatives))
            if not bool(excluded[b, k])
        ]
        if not positive_in_denominator and not others:
            losses.append(0.0)
            continue
        denominators = others + [positive] * positive_in_denominator
        losses.append(math.log(sum(map(math.exp, denominators))) - positive)
    return losses


@pytest.mark.parametrize("positive_in_denominator", [True, False])
def test_queue_loss_equals_loops(positive_in_denominator):
    generator = torch.Generator().manual_seed(0)
    queries, keys = (torch.randn(5, 3, generator=generator, requires_grad=q) for q in (True, False))
    negatives = torch.randn(7, 3, generator=generator)
    excluded = torch.rand(5, 7, generator=generator) < 0.4
    excluded[3], excluded[4] = True, False
    losses, correct = key_queue_loss(
        queries,
        keys,
        negatives,
        temperature=0.4,
        positive_in_denominator=positive_in_denominator,
        excluded=excluded,
    )
    expected = naive_queue_loss(queries, keys, negatives, 0.4, positive_in_denominator, excluded)
    assert losses.tolist() == pytest.approx(expected, rel=1e-5, abs=1e-6)
    scores = (queries @ negatives.T).masked_fill(excluded, -math.inf)
    assert correct.tolist() == ((queries * keys).sum(1)[:, None] >= scores).all(1).tolist()
    losses.sum().backward()
    assert bool(torch.isfinite(queries.grad).all())


def test_contrast_without_negatives_is_zero():
    queries = torch.randn(4, 3, requires_grad=True)
    for positive_in_denominator in (True, False):
        losses, correct = key_queue_loss(
            queries,
            torch.randn(4, 3),
            torch.zeros(0, 3),
            temperature=0.05,
            positive_in_denominator=positive_in_denominator,
        )
        assert losses.tolist() == [0.0] * 4 and bool(correct.all())
        losses.sum().backward()
        assert bool(torch.isfinite(queries.grad).all())


def test_in_batch_contrast_equals_loops():
    generator = torch.Generator().manual_seed(1)
    queries, keys = torch.randn(6, 4, generator=generator), torch.randn(6, 4, generator=generator)
    losses, correct = in_batch_loss(queries, keys, 0, 6, temperature=0.3)
    for i in range(6):
        forward = [float(queries[i] @ keys[j]) / 0.3 for j in range(6)]
        backward = [float(keys[i] @ queries[j]) / 0.3 for j in range(6)]
        expected = sum(math.log(sum(map(math.exp, s))) - s[i] for s in (forward, backward)) / 2
        assert losses[i].item() == pytest.approx(expected, rel=1e-5)
        assert bool(correct[i]) == (forward[i] == max(forward))
    part, _ = in_batch_loss(queries, keys, 2, 3, temperature=0.3)
    torch.testing.assert_close(part, losses[2:5])


def test_projection_kinds():
    h = torch.randn(3, 6)
    mlp = ProjectionHead(6, 4, bias=True)
    first, second = mlp.maps
    torch.testing.assert_close(mlp(h), second(torch.relu(first(h))))
    assert [p.shape for p in ProjectionHead(6, 4).parameters()] == [(6, 6), (4, 6)]
    linear = ProjectionHead(6, 6, kind="linear")
    torch.testing.assert_close(linear(h), h @ linear.maps[0].weight.T)
    same = [ProjectionHead(6, 4, generator=torch.Generator().manual_seed(2)) for _ in range(2)]
    assert torch.equal(same[0](h), same[1](h))


def test_pooling_ignores_padding():
    states, mask = torch.randn(2, 5, 3), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    assert torch.equal(pool(states, mask, "cls"), states[:, 0])
    means = pool(states, mask, "mean")
    torch.testing.assert_close(means[0], states[0, :3].mean(0))
    torch.testing.assert_close(means[1], states[1].mean(0))


def test_mixed_sentences():
    rows = [[2, 11, 12, 3], [2, 21, 3], [2, 31, 32, 33, 3], [2, 41, 3], [2, 51, 52, 3]]
    ids = torch.tensor([r + [0] * (5 - len(r)) for r in rows])
    inputs = {"input_ids": ids, "attention_mask": (ids != 0).long(), "language_ids": (ids != 0) * 4}
    mixed = mixed_inputs(inputs, torch.tensor([False, True, False]), padding_id=1, longest=None)
    assert mixed["input_ids"].tolist() == [
        [2, 11, 12, 3, 21, 3, 1],
        [2, 41, 3, 31, 32, 33, 3],
        [2, 51, 52, 3, 11, 12, 3],
    ]
    assert mixed["attention_mask"].tolist() == [[1] * 6 + [0], [1] * 7, [1] * 7]
    assert torch.equal(mixed["language_ids"], mixed["attention_mask"] * 4)
    cut = mixed_inputs(inputs, torch.tensor([False] * 3), padding_id=1, longest=5)
    assert cut["input_ids"].shape == (3, 5) and cut["input_ids"][0].tolist() == [2, 11, 12, 3, 21]


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
    spawn(_work, args=(str(tmp_path),), nprocs=2)
    rows = _rows().requires_grad_()
    _loss(rows, slice(None)).backward()
    gradients = torch.cat([torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1)])
    torch.testing.assert_close(gradients, rows.grad)


def test_one_process_keeps_its_rows():
    rows = torch.randn(3, 2, requires_grad=True)
    gathered, start = gather_rows_with_gradient(rows)
    assert gathered is rows and start == 0
    assert torch.equal(gather_rows(rows), rows) and not gather_rows(rows).requires_grad


@pytest.mark.parametrize("positive_in_denominator", [True, False])
def test_queue_loss_does_not_hide_vectors_that_are_not_finite(positive_in_denominator):
    queries = torch.tensor([[1.0, 0.0], [torch.nan, 0.0]])
    keys, negatives = torch.ones(2, 2), torch.ones(3, 2)
    losses, _ = key_queue_loss(
        queries, keys, negatives, temperature=1.0, positive_in_denominator=positive_in_denominator
    )
    assert losses[0].isfinite() and losses[1].isnan()
