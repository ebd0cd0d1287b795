from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from torch.utils._python_dispatch import TorchDispatchMode

from isoglot.core.errors import ConfigurationError
from isoglot.modules.vocabulary_loss import vocabulary_loss


def _data(n, h, v, seed=0, dtype=torch.float64, bias=True):
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(n, h, generator=generator).to(dtype).requires_grad_()
    weight = torch.randn(v, h, generator=generator).to(dtype).requires_grad_()
    offset = torch.randn(v, generator=generator).to(dtype).requires_grad_() if bias else None
    return states, torch.randint(0, v, (n,), generator=generator), weight, offset


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 9),
    h=st.integers(1, 5),
    v=st.integers(2, 11),
    chunk=st.integers(1, 12),
    bias=st.booleans(),
    scale=st.sampled_from([1.0, 0.25, -3.0]),
)
def test_equals_the_plain_loss_and_its_gradients(n, h, v, chunk, bias, scale):
    states, labels, weight, offset = _data(n, h, v, dtype=torch.float32, bias=bias)
    inputs = [x for x in (states, weight, offset) if x is not None]
    logits = F.linear(states, weight, offset)
    plain = F.cross_entropy(logits, labels, reduction="sum")
    total, correct = vocabulary_loss(states, labels, weight, offset, chunk=chunk)
    torch.testing.assert_close(total, plain, rtol=1e-5, atol=1e-5)
    assert int(correct) == int((logits.argmax(1) == labels).sum())
    ours = torch.autograd.grad(total * scale, inputs)
    for a, b in zip(ours, torch.autograd.grad(plain * scale, inputs), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_a_tied_weight_collects_both_gradients():
    _, labels, weight, offset = _data(6, 4, 10, dtype=torch.float32)
    ids = torch.arange(6)
    ours = torch.autograd.grad(
        vocabulary_loss(F.embedding(ids, weight), labels, weight, offset, chunk=4)[0], weight
    )
    plain = F.cross_entropy(F.linear(F.embedding(ids, weight), weight, offset), labels, reduction="sum")
    torch.testing.assert_close(ours, torch.autograd.grad(plain, weight), rtol=1e-4, atol=1e-5)


def test_no_row_gives_an_exact_zero_that_reaches_every_parameter():
    states, _, weight, offset = _data(0, 4, 10, dtype=torch.float32)
    total, correct = vocabulary_loss(states, torch.zeros(0, dtype=torch.long), weight, offset)
    assert total.item() == 0.0
    assert int(correct) == 0
    total.backward()
    assert torch.equal(weight.grad, torch.zeros_like(weight))
    assert torch.equal(offset.grad, torch.zeros_like(offset))
    assert states.grad.shape == (0, 4)


class _Largest(TorchDispatchMode):
    """Remembers the largest tensor that any operation made."""

    def __init__(self) -> None:
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, torch.Tensor):
                self.numel = max(self.numel, tensor.numel())
        return result


def test_the_logits_are_never_held_whole():
    states, labels, weight, offset = _data(400, 4, 1000, dtype=torch.float32)
    with _Largest() as watch:
        vocabulary_loss(states, labels, weight, offset, chunk=50)[0].backward()
    assert watch.numel == 50 * 1000
    with _Largest() as watch:
        F.cross_entropy(F.linear(states, weight, offset), labels).backward()
    assert watch.numel == 400 * 1000


def test_a_retained_graph_can_be_walked_twice():
    states, labels, weight, offset = _data(5, 3, 7, dtype=torch.float32)
    total, _ = vocabulary_loss(states, labels, weight, offset, chunk=2)
    first = torch.autograd.grad(total * 2, (states, weight, offset), retain_graph=True)
    kept = [g.clone() for g in first]
    second = torch.autograd.grad(total * 2, (states, weight, offset))
    for a, b, c in zip(first, second, kept, strict=True):
        torch.testing.assert_close(a, b)
        assert torch.equal(a, c)


def test_vocabulary_loss_makes_only_wanted_gradients():
    states, labels, weight, offset = _data(5, 3, 7, dtype=torch.float32)
    weight.requires_grad_(False)
    total, _ = vocabulary_loss(states, labels, weight, offset)
    total.backward()
    assert weight.grad is None
    assert states.grad is not None
    with torch.no_grad():
        assert not vocabulary_loss(states, labels, weight, offset)[0].requires_grad


@pytest.mark.parametrize("autocast", [True, False])
def test_bf16_accumulates_in_fp32(autocast):
    states, labels, weight, offset = _data(300, 32, 50, dtype=torch.float32)
    exact = F.cross_entropy(F.linear(states, weight, offset), labels, reduction="sum")
    wanted = torch.autograd.grad(exact, (states, weight, offset))
    if autocast:
        inputs = (states, weight, offset)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            total, _ = vocabulary_loss(*inputs[:1], labels, *inputs[1:], chunk=16)
    else:
        inputs = tuple(x.detach().bfloat16().requires_grad_() for x in (states, weight, offset))
        total, _ = vocabulary_loss(*inputs[:1], labels, *inputs[1:], chunk=16)
    assert total.dtype == torch.float32
    assert abs((total / exact).item() - 1) < 5e-3
    for got, want, given_input in zip(torch.autograd.grad(total, inputs), wanted, inputs, strict=True):
        assert got.dtype == given_input.dtype
        assert (got.float() - want).norm() / want.norm() < 2e-2


@pytest.mark.parametrize(
    ("labels", "weight", "bias"),
    [((4,), (7, 3), (7,)), ((5,), (7, 2), (7,)), ((5,), (7, 3), (6,)), ((5, 1), (7, 3), (7,))],
)
def test_shapes_that_do_not_fit_are_an_error(labels, weight, bias):
    with refused(
        ConfigurationError,
        f"vocabulary_loss: states (5, 3), labels {labels}, weight {weight}, bias {bias}; ",
        "expected (N, h), (N,)",
    ):
        vocabulary_loss(torch.zeros(5, 3), torch.zeros(labels).long(), torch.zeros(weight), torch.zeros(bias))


def test_compiled_code_gives_the_same():
    states, labels, weight, offset = _data(5, 3, 7, dtype=torch.float32)
    compiled = torch.compile(lambda *x: vocabulary_loss(*x)[0] * 2, backend="eager")
    ours = torch.autograd.grad(compiled(states, labels, weight, offset), (states, weight))
    plain = torch.autograd.grad(vocabulary_loss(states, labels, weight, offset)[0] * 2, (states, weight))
    torch.testing.assert_close(ours, plain)
