"""Contrastive losses against loops, and against three steps computed with MoCo's released class."""

from __future__ import annotations

import math

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

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

# Random inputs and weights; the rest was computed with MoCo's released builder. Outputs are normalised after
# the projection there.
GOLDEN = {
    "dim": 3,
    "K": 6,
    "m": 0.9,
    "T": 0.05,
    "w_q": [
        [0.630251884, -0.0738890767, 0.707469702, 0.619927049],
        [0.720103443, -0.0833547711, -0.0356084704, 0.537919402],
        [-0.166735351, 0.794184744, 0.406428576, 0.364571273],
    ],
    "w_k": [
        [0.330251873, -0.373889089, 0.40746969, 0.319927037],
        [0.420103431, -0.383354783, -0.335608482, 0.23791939],
        [-0.466735363, 0.494184732, 0.106428564, 0.0645712614],
    ],
    "queue": [
        [0.90052259, 0.0784590319, 0.42767176],
        [-0.194670379, -0.178739682, 0.96444577],
        [0.111089341, 0.342060179, -0.933088422],
        [-0.756661415, 0.197926298, -0.623128235],
        [-0.673332691, -0.0729298741, -0.735733926],
        [-0.0201179814, 0.441204607, 0.897181094],
    ],
    "steps": [
        {
            "x_q": [
                [1.21621799, -1.24401522, 0.732453227, -0.34602809],
                [-2.4620266, 0.871290267, 0.896740854, 0.31359908],
            ],
            "x_k": [
                [-0.321586043, -0.781909764, -1.31841719, -0.510326564],
                [-1.65750742, -0.142244071, 0.316675752, -1.19579196],
            ],
            "logits": [
                [1.48514688, 7.77444124, -15.6036062, 15.5598135, -1.07036531, -1.02648914, -6.9453578],
                [18.7829189, -1.35693789, 16.1431961, -17.4753208, -5.92319965, -4.1395998, 5.53856468],
            ],
            "loss": 7.07201719,
            "queue_after": [
                [-0.687050819, 0.45369941, -0.567554414],
                [-0.550829709, -0.740291715, 0.385428131],
                [0.111089341, 0.342060179, -0.933088422],
                [-0.756661415, 0.197926298, -0.623128235],
                [-0.673332691, -0.0729298741, -0.735733926],
                [-0.0201179814, 0.441204607, 0.897181094],
            ],
            "ptr_after": 2,
            "w_k_after": [
                [0.360251844, -0.343889087, 0.437469661, 0.349927038],
                [0.450103402, -0.353354752, -0.305608481, 0.267919391],
                [-0.436735362, 0.524184704, 0.136428565, 0.0945712626],
            ],
        },
        {
            "x_q": [
                [-0.312663585, -0.0239928719, 1.18232763, 0.295371652],
                [0.97954005, 1.22906315, 0.895017207, 1.06611454],
            ],
            "x_k": [
                [0.217078641, 0.740330815, -0.535382569, -0.17393589],
                [0.753891945, -0.948649943, -0.352513313, 0.588151395],
            ],
            "logits": [
                [-9.34215641, -18.641737, -2.61809158, -10.1098337, -19.8887825, -19.3580742, 9.51938725],
                [5.24636459, -12.1809101, -9.37569332, -6.51719809, -15.9891624, -18.5046997, 14.080863],
            ],
            "loss": 13.8480968,
            "queue_after": [
                [-0.687050819, 0.45369941, -0.567554414],
                [-0.550829709, -0.740291715, 0.385428131],
                [-0.908135235, -0.078502804, 0.411251545],
                [0.462596893, 0.669126689, -0.581612885],
                [-0.673332691, -0.0729298741, -0.735733926],
                [-0.0201179814, 0.441204607, 0.897181094],
            ],
            "ptr_after": 4,
            "w_k_after": [
                [0.387251854, -0.316889077, 0.464469671, 0.376927018],
                [0.477103382, -0.326354742, -0.278608471, 0.294919372],
                [-0.409735352, 0.551184714, 0.16342856, 0.121571265],
            ],
        },
        {
            "x_q": [
                [0.315856814, -1.90838587, 0.643025637, 0.252796501],
                [0.947067201, -0.46620959, -0.410137981, -2.35016108],
            ],
            "x_k": [
                [-1.64246547, -0.00311079714, -0.912282705, 0.740208924],
                [-0.322807401, 0.851022482, 0.881838739, 0.562997758],
            ],
            "logits": [
                [-19.1771927, 3.23349357, -16.7972469, -17.300148, 18.2619648, 2.66934156, -10.956337],
                [-13.8828793, 14.1943235, 4.11467743, 4.20218563, 0.328040719, 19.4804115, -16.1673508],
            ],
            "loss": 35.4037476,
            "queue_after": [
                [-0.687050819, 0.45369941, -0.567554414],
                [-0.550829709, -0.740291715, 0.385428131],
                [-0.908135235, -0.078502804, 0.411251545],
                [0.462596893, 0.669126689, -0.581612885],
                [-0.776126325, -0.333741605, 0.535018206],
                [0.270596713, -0.455941021, 0.847876906],
            ],
            "ptr_after": 0,
            "w_k_after": [
                [0.411551833, -0.292589068, 0.48876965, 0.401226997],
                [0.501403391, -0.302054733, -0.254308462, 0.319219381],
                [-0.385435343, 0.575484693, 0.187728554, 0.145871267],
            ],
        },
    ],
}


def test_golden_three_steps():
    """Average, key forward, loss with the old queue, enqueue: MoCo's order."""
    online = nn.Linear(4, GOLDEN["dim"], bias=False)
    online.weight.data = torch.tensor(GOLDEN["w_k"])
    slow = MomentumCopy(online, GOLDEN["m"])
    online.weight.data = torch.tensor(GOLDEN["w_q"])
    queue = KeyQueue(GOLDEN["K"], GOLDEN["dim"])
    queue.keys.copy_(torch.tensor(GOLDEN["queue"]))
    for step in GOLDEN["steps"]:
        slow.update(online)
        queries = nn.functional.normalize(online(torch.tensor(step["x_q"])), dim=1)
        keys = nn.functional.normalize(slow.module(torch.tensor(step["x_k"])), dim=1)
        losses, correct = key_queue_loss(queries, keys, queue.keys.clone(), temperature=GOLDEN["T"])
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


def test_without_negatives_the_loss_is_zero():
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


def test_in_batch_equals_loops():
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
