"""Sentence contrast: MoCo's sequence written out by hand, its limits, its state, two processes."""

from __future__ import annotations

import copy
from contextlib import nullcontext

import pytest
import torch
import torch.distributed as dist
from refusals import refused
from sentence_pairs import make_batch
from torch import nn
from torch.multiprocessing.spawn import spawn

from isoglot.core.errors import ConfigurationError
from isoglot.modules.encoder import encode, layer_modules
from isoglot.modules.encodings import Encodings
from isoglot.objectives.in_batch_contrast import InBatchContrastObjective
from isoglot.objectives.sentence_contrast import SentenceContrastObjective
from isoglot.testing import FAMILIES, tiny_model

SMALL = {"queue_size": 12, "projection_size": 8}


def quiet_model(seed=0, family="bert"):
    """A tiny encoder whose training mode has no randomness."""
    model = tiny_model(family, seed=seed).train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def sgd(modules, loss, lr=0.5):
    parameters = [p for m in modules for p in m.parameters() if p.requires_grad]
    for p in parameters:
        p.grad = None
    loss.backward()
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p.sub_(lr * p.grad)


def test_steps_equal_mocos_sequence():
    """EMA of both parts, key forward, loss with the old queue, enqueue, optimiser step; by hand."""
    model = quiet_model()
    objective = SentenceContrastObjective(model, momentum=0.7, queue_size=5, projection_size=8, bias=True)
    with torch.no_grad():  # weights of 0.02 would leave scores of about 0
        for p in (*objective.projection.parameters(), *objective.momentum_projection.parameters()):
            p.mul_(10).add_(0.05 * (p.dim() == 1))
    ours = copy.deepcopy((model, objective.projection))
    slow = copy.deepcopy((model.base_model, objective.projection))
    queue, pointer = objective.queue.keys.clone(), 0
    for number in range(4):
        batch = make_batch(seed=number, count=3)
        output = objective(Encodings(model, batch), batch)
        sgd((model, objective), output.loss, lr=0.05)
        objective.after_step(model)
        with torch.no_grad():
            for k, q in zip(slow, (ours[0].base_model, ours[1]), strict=True):
                for a, b in zip(k.parameters(), q.parameters(), strict=True):
                    a.copy_(0.7 * a + 0.3 * b)
        z = []
        for (encoder, projection), side in (((ours[0], ours[1]), "query"), (slow, "key")):
            inputs = {n: batch["sentences"][f"{side}_{n}"] for n in ("input_ids", "attention_mask")}
            with torch.no_grad() if side == "key" else nullcontext():
                first = encode(encoder, inputs, layers=(3,))[3][:, 0]
                first = first / first.norm(dim=1, keepdim=True)
                w1, w2 = projection.maps
                z.append(torch.relu(first @ w1.weight.T + w1.bias) @ w2.weight.T + w2.bias)
        logits = torch.cat([(z[0] * z[1]).sum(1, keepdim=True), z[0] @ queue.T], 1) / 0.05
        loss = nn.functional.cross_entropy(logits, torch.zeros(3, dtype=torch.int64))
        torch.testing.assert_close(output.loss.detach(), loss.detach(), atol=1e-5, rtol=1e-4)
        queue = queue.clone()
        for key in z[1]:
            queue[pointer] = key
            pointer = (pointer + 1) % 5
        torch.testing.assert_close(objective.queue.keys, queue, atol=1e-5, rtol=1e-4)
        sgd(ours, loss, lr=0.05)
    assert int(objective.queue.pointer) == pointer == 2 and int(objective.step) == 4


def test_limits_of_momentum_and_queue():
    batch = make_batch()
    for momentum in (0.0, 1.0):
        model = quiet_model(1)
        objective = SentenceContrastObjective(model, momentum=momentum, **SMALL)
        start = [p.clone() for p in objective.momentum_encoder.parameters()]
        for _ in range(2):
            sgd((model, objective), objective(Encodings(model, batch), batch).loss)
            objective.after_step(model)
        target = start if momentum else list(model.base_model.parameters())
        pairs = list(zip(objective.momentum_encoder.parameters(), target, strict=True))
        assert all(torch.equal(a, b) for a, b in pairs)
        changed = zip(start, model.base_model.parameters(), strict=True)
        assert any(not torch.equal(a, b) for a, b in changed)
    model = quiet_model(1)
    none = SentenceContrastObjective(model, queue_size=0, projection_size=8)
    output = none(Encodings(model, batch), batch)
    assert output.total.item() == 0.0 and int(output.count) == 4
    output.total.backward()
    assert not bool(none.projection.maps[0].weight.grad.any())


def test_first_step_has_equal_copies_and_the_head_is_left_out():
    model = quiet_model()
    objective = SentenceContrastObjective(model, **SMALL)
    slow = dict(objective.momentum_encoder.module.named_parameters())
    assert all(torch.equal(slow[n], p) for n, p in model.base_model.named_parameters())
    assert len(slow) == len(list(model.base_model.parameters())) < len(list(model.parameters()))
    assert not any(p.requires_grad for p in objective.momentum_encoder.parameters())
    batch = make_batch()
    output = objective(Encodings(model, batch), batch)
    output.total.backward()
    trained = {n for n, p in objective.named_parameters() if p.grad is not None}
    assert trained == {"projection.maps.0.weight", "projection.maps.1.weight"}
    assert model.base_model.get_input_embeddings().weight.grad is not None


def test_evaluation_changes_no_state():
    model = quiet_model()
    objective = SentenceContrastObjective(model, **SMALL).eval()
    before = copy.deepcopy(objective.state_dict())
    objective(Encodings(model.eval(), make_batch()), make_batch())
    assert all(torch.equal(before[n], v) for n, v in objective.state_dict().items())


def test_key_dropout_can_be_off():
    model = tiny_model("bert").train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.3
    batch = make_batch()
    for key_dropout in (True, False):
        objective = SentenceContrastObjective(model, key_dropout=key_dropout, **SMALL).train()
        keys = [objective._keys(Encodings(model, batch)) for _ in range(2)]
        assert torch.equal(*keys) is not key_dropout
        assert objective.momentum_encoder.training


def test_resume_is_bit_identical():
    batches = [make_batch(5, seed=n) for n in range(4)]

    def run(model, objective, part):
        losses = []
        for batch in part:
            output = objective(Encodings(model, batch), batch)
            sgd((model, objective), output.loss, lr=0.1)
            objective.after_step(model)
            losses.append(output.total.item())
        return losses

    model = quiet_model(2)
    objective = SentenceContrastObjective(model, mixup=True, momentum=0.5, **SMALL)
    run(model, objective, batches[:2])
    saved = copy.deepcopy((model.state_dict(), objective.state_dict()))
    rest = run(model, objective, batches[2:])
    other = quiet_model(7)
    fresh = SentenceContrastObjective(other, mixup=True, momentum=0.5, seed=0, **SMALL)
    other.load_state_dict(saved[0])
    fresh.load_state_dict(saved[1])
    assert run(other, fresh, batches[2:]) == rest
    assert {"queue.keys", "queue.pointer", "queue.source_ids", "step"} <= set(saved[1])


def test_duplicates_of_the_same_source_are_no_negatives():
    model = quiet_model()
    batch = make_batch(6)
    options = {"queue_size": 6, "projection_size": 8}  # after one batch the queue holds that batch alone
    plain = SentenceContrastObjective(model, **options)
    masked = SentenceContrastObjective(model, mask_duplicates="same_source_id", **options)
    with torch.no_grad():
        for objective in (plain, masked):
            objective(Encodings(model, batch), batch)
        second = [o(Encodings(model, batch), batch) for o in (plain, masked)]
        z = masked.project(Encodings(model, batch).last("sentences", "query")[:, 0], masked.head)
        keys, ids = masked.queue.keys, batch["sentences"]["source_key_ids"].flatten()
        expected = 0.0
        for i in range(6):
            own = z[i] @ keys[i] / 0.05
            others = [z[i] @ keys[k] / 0.05 for k in range(6) if ids[k] != ids[i]]
            expected += float(torch.stack([own, *others]).logsumexp(0) - own)
    assert second[1].total.item() == pytest.approx(expected, rel=1e-4)
    assert second[1].total.item() < second[0].total.item()


def test_xlco_and_pooling_and_normalisation():
    model, batch = quiet_model(), make_batch()
    xlco = SentenceContrastObjective(
        model, layer=1, projection="linear", projection_size=32, normalize_h=False, queue_size=16
    )
    assert [tuple(p.shape) for p in xlco.projection.parameters()] == [(32, 32)]
    encodings = Encodings(model, batch)
    first = encodings.hidden("sentences", 1, side="query")[:, 0]
    keys = xlco._keys(encodings)
    output = xlco(encodings, batch)
    z = first @ xlco.projection.maps[0].weight.T, keys @ xlco.projection.maps[0].weight.T
    torch.testing.assert_close(output.metrics["positive"], (z[0] * z[1]).sum(1).mean().detach())
    assert encodings.forwards == 1
    mean = SentenceContrastObjective(model, pooling="mean", normalize_z=True, **SMALL)
    vectors = mean.project(mean._keys(Encodings(model, batch)), mean.head)
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(4))
    literal = SentenceContrastObjective(model, positive_in_denominator=False, temperature=1.0, **SMALL)
    official = SentenceContrastObjective(model, temperature=1.0, **SMALL)
    losses = [o(Encodings(model, batch), batch).total.item() for o in (literal, official)]
    assert losses[0] < losses[1]


def test_mixup_halves_the_batch_and_counts_so():
    model, batch = quiet_model(), make_batch(5)
    objective = SentenceContrastObjective(model, mixup=True, **SMALL)
    output = objective(Encodings(model, batch), batch)
    assert int(output.count) == 3 == int(objective.count(batch)) == int(objective.queue.pointer)
    single = make_batch(1)
    assert int(objective(Encodings(model, single), single).count) == 1 == int(objective.count(single))
    output.total.backward()
    assert model.base_model.get_input_embeddings().weight.grad.abs().sum() > 0


def test_mixed_sentences_are_encoded_up_to_the_layer_that_is_read():
    model, batch = quiet_model(), make_batch(5)
    runs = [0] * len(layer_modules(model))
    for number, layer in enumerate(layer_modules(model)):
        layer.register_forward_hook(lambda *_, number=number: runs.__setitem__(number, runs[number] + 1))
    objective = SentenceContrastObjective(model, layer=1, mixup=True, momentum=0.5, **SMALL)
    objective(Encodings(model, batch, top=1), batch)
    assert runs[0] > 0 and not any(runs[1:])


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_in_half_precision(family):
    model, batch = tiny_model(family).train(), make_batch()
    objective = SentenceContrastObjective(model, **SMALL)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = objective(Encodings(model, batch), batch)
    assert output.total.dtype == torch.float32 and bool(torch.isfinite(output.total))
    output.total.backward()
    objective.after_step(model)
    assert objective.queue.keys.dtype == torch.float32


def test_mistakes_are_named():
    model, batch = quiet_model(), make_batch()
    for options, message in (
        ({"layer": 8}, "layer: got 8, but this encoder has layers 0"),
        ({"temperature": 0.0}, "temperature: got 0.0"),
        ({"momentum": 2}, "momentum: got 2"),
        ({"queue_size": -1}, "queue_size: got -1"),
        ({"projection": "cubic"}, "projection: got 'cubic'; known: linear, mlp, none"),
        ({"mixup": True, "mask_duplicates": "same_source_id"}, "two sources"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            SentenceContrastObjective(model, **options)
    small = SentenceContrastObjective(model, queue_size=3, projection_size=8)
    with refused(ConfigurationError, "queue_size: 3 ", "4 pairs", "queue_size: 4"):
        small(Encodings(model, batch), batch)
    del batch["sentences"]["source_key_ids"]
    duplicates = SentenceContrastObjective(model, mask_duplicates="same_source_id", **SMALL)
    with refused(ConfigurationError, "'sentences'", "source_key_ids", "`view:`", "sentence_pair"):
        duplicates(Encodings(model, batch), batch)


def _train(part, kind):
    """Two steps on a part of each batch; the summed gradients are what DDP would reduce."""
    model = quiet_model(5)
    objective = (
        InBatchContrastObjective(model)
        if kind == "in_batch"
        else SentenceContrastObjective(model, momentum=0.5, **SMALL)
    )
    losses = []
    for number in range(2):
        whole = make_batch(7, seed=number)["sentences"]
        batch = {"sentences": {k: v[part] for k, v in whole.items()}}
        total = objective(Encodings(model, batch), batch).total
        parameters = [p for p in (*model.parameters(), *objective.parameters()) if p.requires_grad]
        for p in parameters:
            p.grad = None
        total.backward()
        for p in parameters:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            if dist.is_initialized():
                dist.all_reduce(p.grad)
            p.data.sub_(0.01 * p.grad)
        objective.after_step(model)
        total = total.detach()
        if dist.is_initialized():
            dist.all_reduce(total)
        losses.append(total)
    weights = nn.utils.parameters_to_vector(p for p in model.parameters() if p.requires_grad).detach()
    queue = None if kind == "in_batch" else objective.queue.keys
    return {"losses": torch.stack(losses), "weights": weights, "queue": queue}


def _work(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    result = {v: _train((slice(0, 3), slice(3, 7))[rank], v) for v in ("moco", "in_batch")}
    torch.save(result, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.slow
def test_two_ranks_equal_one_process_with_the_whole_batch(tmp_path):
    spawn(_work, args=(str(tmp_path),), nprocs=2)
    ranks = [torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1)]
    for variant in ("moco", "in_batch"):
        alone = _train(slice(None), variant)
        for result in ranks:
            torch.testing.assert_close(result[variant], alone, atol=2e-5, rtol=1e-4)
        assert torch.equal(ranks[0][variant]["weights"], ranks[1][variant]["weights"])
