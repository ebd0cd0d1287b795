"""Cross-entropy over a large vocabulary that never holds all logits."""

from __future__ import annotations

# torch's own F.linear_cross_entropy (2.13) was measured beside this one on a CPU with N = 300 rows: with its automatic
# chunks 9 times slower (at V = 119,547), with chunks of 128 rows 13 to 24 % slower; it also gives no number correct and
# does not exist before 2.13. So there is one implementation, for every version.
from typing import Any, cast

import torch
from torch import Tensor

from isoglot.errors import ConfigurationError

__all__ = ["vocabulary_loss"]

_LOGITS = {"cpu": 1 << 25, "cuda": 1 << 28}
"""How many logits to hold at a time: 128 MB of fp32 on a CPU, 1 GB on a GPU."""


def vocabulary_loss(
    states: Tensor,
    labels: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    chunk: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Summed cross-entropy of a tied output layer, and how many labels have the highest logit.

    −Σ_i log softmax(W x_i + b)[y_i]. The rows go through in chunks, and each chunk's gradient is computed
    with its logits at hand, so that the memory is chunk × V instead of N × V and nothing is computed twice.
    Logits are products in the states' type (in the autocast type under autocast); softmax, loss and the
    weight's gradient accumulate in fp32.

    Args:
        states: x, the transformed hidden states of the positions that carry a loss.
        labels: y, their ids.
        weight: W, usually the word embedding table itself.
        bias: b.
        chunk: rows at a time; default: as many as make 2^25 logits on a CPU, 2^28 on a GPU.

    Returns:
        The sum (fp32 scalar; an exact 0 connected to states, weight and bias where there is no row) and the
        number correct (int64 scalar, no gradient; a tie with another entry counts).

    **Shape**: states (N, h); labels (N,); weight (V, h); bias (V,).

    Raises:
        ConfigurationError: shapes that do not fit.

    Example:
        >>> total, correct = vocabulary_loss(torch.zeros(2, 4), torch.tensor([1, 2]), torch.zeros(8, 4))
        >>> round(float(total), 4) == round(2 * float(torch.tensor(8.0).log()), 4)
        True
    """
    _check(states, labels, weight, bias)
    kind = states.device.type
    if torch.is_autocast_enabled(kind):
        states = states.to(torch.get_autocast_dtype(kind))
    if chunk is None:
        chunk = max(1, _LOGITS.get(kind, _LOGITS["cuda"]) // max(1, weight.shape[0]))
    grad = torch.is_grad_enabled()
    result = _Loss.apply(states, labels, weight, bias, chunk, grad)  # type: ignore[no-untyped-call]
    return cast(tuple[Tensor, Tensor], result)


class _Loss(torch.autograd.Function):
    """Sum and number correct; gradients are made in the forward, chunk by chunk, and scaled in the backward."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, labels: Tensor, weight: Tensor, bias: Tensor | None, chunk: int, grad: bool
    ) -> tuple[Tensor, Tensor]:
        wanted = tuple(bool(n) and grad for n in (ctx.needs_input_grad[0], *ctx.needs_input_grad[2:4]))
        total, correct, gradients = _run(states, labels, weight, bias, chunk, wanted)
        ctx.save_for_backward(states, labels, weight, bias)
        ctx.chunk, ctx.wanted, ctx.gradients = chunk, wanted, gradients
        ctx.mark_non_differentiable(correct)
        return total, correct

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        scale = outer[0]
        states, labels, weight, bias = ctx.saved_tensors
        gradients, ctx.gradients = ctx.gradients, None
        if (
            gradients is None
        ):  # a second backward through a retained graph: the first one gave the buffers away
            *_, gradients = _run(states, labels, weight, bias, ctx.chunk, ctx.wanted)
        scaled = [None if g is None else g.mul_(scale.to(g.dtype)) for g in gradients]
        types = (states.dtype, weight.dtype, None if bias is None else bias.dtype)
        of_states, of_weight, of_bias = (
            None if g is None else g.to(t) for g, t in zip(scaled, types, strict=True)
        )
        return of_states, None, of_weight, of_bias, None, None


def _run(
    states: Tensor,
    labels: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    chunk: int,
    wanted: tuple[bool, ...],
) -> tuple[Tensor, Tensor, list[Tensor | None]]:
    """One pass over the rows: sum, number correct and the unscaled gradients that are wanted (fp32)."""
    table = weight.detach().to(states.dtype)
    offset = None if bias is None else bias.detach().to(states.dtype)
    total = states.new_zeros((), dtype=torch.float32)
    correct = states.new_zeros((), dtype=torch.int64)
    of_states = torch.empty(states.shape, dtype=torch.float32, device=states.device) if wanted[0] else None
    of_weight: Tensor | None = None
    of_bias = None if bias is None or not wanted[2] else _zeros(bias)
    with torch.autocast(states.device.type, enabled=False):
        for start in range(0, states.shape[0], chunk):
            rows = slice(start, start + chunk)
            part, gold = states[rows], labels[rows, None]
            logits = torch.mm(part, table.t()) if offset is None else torch.addmm(offset, part, table.t())
            correct += (logits.gather(1, gold)[:, 0] == logits.amax(dim=1)).sum()
            log_p = torch.log_softmax(logits, dim=1, dtype=torch.float32)
            total -= log_p.gather(1, gold).sum()
            if not any(wanted):
                continue
            delta = log_p.exp_()  # softmax − one-hot is the gradient of the logits
            delta.scatter_add_(1, gold, delta.new_full(gold.shape, -1.0))
            if of_bias is not None:
                of_bias += delta.sum(dim=0)
            delta = delta.to(table.dtype)
            if of_states is not None:
                of_states[rows] = torch.mm(delta, table)
            if wanted[1]:
                of_weight = _add_product(of_weight, delta.t(), part)
    if wanted[1] and of_weight is None:
        of_weight = _zeros(weight)  # no rows at all
    return total, correct, [of_states, of_weight, of_bias]


def _zeros(like: Tensor) -> Tensor:
    return torch.zeros(like.shape, dtype=torch.float32, device=like.device)


def _add_product(total: Tensor | None, left: Tensor, right: Tensor) -> Tensor:
    """``total + left @ right``, in place and in fp32 whatever the type of the factors.

    The first product needs no zeros to be added to: at 120,000 rows each pass over the matrix is worth saving.
    """
    if total is None:
        return torch.mm(left, right).float()
    if left.dtype == torch.float32:
        return total.addmm_(left, right)
    return total.add_(torch.mm(left, right))


def _check(states: Tensor, labels: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    fits = (
        states.dim() == 2
        and labels.shape == states.shape[:1]
        and weight.dim() == 2
        and weight.shape[1] == states.shape[1]
        and (bias is None or bias.shape == weight.shape[:1])
    )
    if not fits:
        raise ConfigurationError(
            f"vocabulary_loss: states {tuple(states.shape)}, labels {tuple(labels.shape)}, weight {tuple(weight.shape)}"
            f", bias {None if bias is None else tuple(bias.shape)} given, (N, h), (N,), (V, h), (V,) needed; "
            "select the positions and flatten them first"
        )
