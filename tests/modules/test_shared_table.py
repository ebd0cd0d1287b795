"""Several readers of one table: the gradients are those of plain autograd, made in one buffer."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch.utils._python_dispatch import TorchDispatchMode

from isoglot.modules.shared_table import SharedTable
from isoglot.modules.vocabulary_loss import vocabulary_loss

V, H = 23, 7
SCALES = {"few": 0.5, "many": -2.0, "rows": 3.0, "again": 0.25}


class Case:
    """Two output layers (one with fewer rows than the table is wide, one with more) and two look-ups."""

    def __init__(self, dtype=torch.float32):
        generator = torch.Generator().manual_seed(0)
        random = lambda *shape: torch.randn(*shape, generator=generator).to(dtype).requires_grad_()  # noqa: E731
        self.weight, self.bias = random(V, H), random(V)
        self.states = {"few": random(5, H), "many": random(17, H)}
        self.labels = {n: torch.randint(0, V, (len(x),), generator=generator) for n, x in self.states.items()}
        self.ids = {"rows": torch.tensor([3, 0, 3, 22]), "again": torch.tensor([3, 1])}
        self.to = {n: torch.randn(len(x), H, generator=generator) for n, x in self.ids.items()}

    def leaves(self):
        return [x for x in (self.weight, self.bias, *self.states.values()) if x.requires_grad]

    def plain(self, name):
        if name in self.ids:
            return (F.embedding(self.ids[name], self.weight).tanh() * self.to[name]).sum() * SCALES[name]
        logits = F.linear(self.states[name], self.weight, self.bias)
        return F.cross_entropy(logits.float(), self.labels[name], reduction="sum") * SCALES[name]

    def ours(self, name, table, chunk=4):
        if name in self.ids:
            return (table.rows(self.ids[name]).tanh() * self.to[name]).sum() * SCALES[name]
        states, labels = self.states[name], self.labels[name]
        return vocabulary_loss(states, labels, table, self.bias, chunk=chunk)[0] * SCALES[name]

    def both(self, names, **kwargs):
        table = SharedTable(self.weight)
        return sum(self.ours(n, table, **kwargs) for n in names), sum(self.plain(n) for n in names)


@pytest.mark.parametrize("names", list(permutations(SCALES)))
def test_any_order_of_readers_gives_the_gradients_of_plain_autograd(names):
    case = Case()
    ours, plain = case.both(names)
    torch.testing.assert_close(ours, plain)
    for a, b in zip(
        torch.autograd.grad(ours, case.leaves()), torch.autograd.grad(plain, case.leaves()), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("chunk", [2, 5, 100])
def test_a_tied_table_collects_the_inputs_gradient_as_well(chunk):
    case = Case()
    ids = torch.tensor([4, 4, 9, 11, 0])
    case.states["few"] = F.embedding(ids, case.weight).sin()
    ours, plain = case.both(["rows", "few"], chunk=chunk)
    ours, plain = (torch.autograd.grad(x, case.weight, retain_graph=True)[0] for x in (ours, plain))
    torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-5)


def test_padding_gets_no_gradient_from_its_rows_but_from_other_readers():
    case = Case()
    ids, padding = case.ids["rows"], 3
    table = SharedTable(case.weight)
    ours = (table.rows(ids, padding).tanh() * case.to["rows"]).sum() + case.ours("few", table)
    plain = (F.embedding(ids, case.weight, padding).tanh() * case.to["rows"]).sum() + case.plain("few")
    ours, plain = (torch.autograd.grad(loss, case.weight)[0] for loss in (ours, plain))
    torch.testing.assert_close(ours, plain, rtol=1e-5, atol=1e-5)


def test_gradients_accumulate_over_micro_batches():
    case = Case()
    plain = 2 * case.both(SCALES)[1]
    wanted = torch.autograd.grad(plain, case.leaves())
    for _ in range(2):
        case.both(SCALES)[0].backward()
    for leaf, want in zip(case.leaves(), wanted, strict=True):
        torch.testing.assert_close(leaf.grad, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("frozen", ["weight", "bias", "states"])
def test_frozen_parts_get_no_gradient_and_change_no_other(frozen):
    case = Case()
    for tensor in case.states.values() if frozen == "states" else [getattr(case, frozen)]:
        tensor.requires_grad_(False)
    ours, plain = case.both(SCALES)
    found = torch.autograd.grad(ours, case.leaves())
    for a, b in zip(found, torch.autograd.grad(plain, case.leaves()), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    ours, _ = case.both(SCALES)
    ours.backward()
    assert all(x.grad is None for x in (case.weight, case.bias, *case.states.values()) if not x.requires_grad)


def test_a_reader_without_gradient_in_between_changes_nothing():
    case = Case()
    table = SharedTable(case.weight)
    first = case.ours("few", table)
    with torch.no_grad():
        assert not case.ours("many", table).requires_grad
        assert not table.rows(torch.tensor([1])).requires_grad
    ours = first + case.ours("rows", table)
    wanted = torch.autograd.grad(case.plain("few") + case.plain("rows"), case.weight)
    torch.testing.assert_close(torch.autograd.grad(ours, case.weight), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("names", [("few", "rows", "many"), ("rows", "many", "few"), ("many", "few", "rows")])
def test_one_reader_alone_can_be_walked_back_in_any_order(names):
    """No part's backward needs another's graph: each is freed by its own."""
    case = Case()
    table = SharedTable(case.weight)
    losses = {n: case.ours(n, table) for n in ("rows", "few", "many")}
    for name in names:
        ours = torch.autograd.grad(losses[name], case.weight)
        torch.testing.assert_close(
            ours, torch.autograd.grad(case.plain(name), case.weight), rtol=1e-5, atol=1e-5
        )


def test_a_walk_that_stops_before_the_table_leaves_nothing_behind():
    case = Case()
    ours, plain = case.both(SCALES)
    torch.autograd.grad(ours, case.states["few"], retain_graph=True)
    for _ in range(2):
        found = torch.autograd.grad(ours, case.leaves(), retain_graph=True)
        for a, b in zip(found, torch.autograd.grad(plain, case.leaves(), retain_graph=True), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_autocast_to_bf16_sums_in_fp32():
    case = Case()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours, _ = case.both(SCALES)
    _, plain = case.both(SCALES)
    for a, b in zip(
        torch.autograd.grad(ours, case.leaves()), torch.autograd.grad(plain, case.leaves()), strict=True
    ):
        assert a.dtype == torch.float32
        assert (a - b).norm() / b.norm() < 1e-2


def test_gradients_of_a_table_in_bf16_are_summed_in_fp32():
    weight = torch.zeros(V, H, dtype=torch.bfloat16, requires_grad=True)
    table = SharedTable(weight)
    ids = torch.tensor([2, 5])
    part = torch.full((2, H), 1.3)
    sum((table.rows(ids).float() * part).sum() for _ in range(100)).backward()
    assert weight.grad.dtype == torch.bfloat16
    wanted = 100 * part.bfloat16().float()
    torch.testing.assert_close(weight.grad[ids].float(), wanted, rtol=4e-3, atol=0)
    assert weight.grad.count_nonzero() == part.numel()


class _Tables(TorchDispatchMode):
    """Counts the tensors of the table's shape that are made; views and results in place are none."""

    def __init__(self):
        super().__init__()
        self.made = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        fresh = all(r.alias_info is None for r in func._schema.returns)
        for tensor in result if isinstance(result, tuple | list) else (result,):
            self.made += fresh and isinstance(tensor, torch.Tensor) and tensor.shape == (V, H)
        return result


def test_more_readers_make_no_more_tables():
    case, readers = Case(), ("few", "rows", "few", "again", "few")
    with _Tables() as one:
        case.ours("few", SharedTable(case.weight)).backward()
    case.weight.grad = None
    with _Tables() as several:
        table = SharedTable(case.weight)
        sum(case.ours(n, table) for n in readers).backward()
    case.weight.grad = None
    with _Tables() as plain:
        sum(case.plain(n) for n in readers).backward()
    assert several.made == one.made == 1
    assert plain.made >= len(readers)


def test_the_half_precision_table_is_made_once():
    table = SharedTable(torch.randn(V, H))
    assert table.values(torch.bfloat16) is table.values(torch.bfloat16)
    assert table.values(torch.bfloat16).dtype == torch.bfloat16
    assert torch.equal(table.values(torch.float32), table.weight)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", pytest.param("aot_eager", marks=pytest.mark.slow)])
def test_compiled_code_gives_the_same(backend):
    case = Case()

    def loss():
        table = SharedTable(case.weight)
        return sum(case.ours(n, table) for n in ("few", "rows", "many"))

    ours = torch.autograd.grad(torch.compile(loss, backend=backend)(), case.leaves())
    torch.testing.assert_close(ours, torch.autograd.grad(loss(), case.leaves()), rtol=1e-5, atol=1e-5)
