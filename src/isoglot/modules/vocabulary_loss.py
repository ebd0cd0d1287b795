"""Cross-entropy over a large vocabulary that never holds all logits."""

# torch's own F.linear_cross_entropy (2.13) was measured beside this one on a CPU with N = 300 rows: with its automatic
# chunks 9 times slower (at V = 119,547), with chunks of 128 rows 13 to 24 % slower; it also gives no number correct and
# does not exist before 2.13. So there is one implementation, for every version.
from collections.abc import Set
from typing import Any, cast

import torch
from torch import Tensor

from isoglot.core.errors import ConfigurationError
from isoglot.modules.shared_table import SharedTable, add_product

_LOGITS = {"cpu": 1 << 25, "cuda": 1 << 28}
"""How many logits to hold at a time: 128 MB of fp32 on a CPU, 1 GB on a GPU."""


def vocabulary_loss(
    states: Tensor,
    labels: Tensor,
    weight: Tensor | SharedTable,
    bias: Tensor | None = None,
    *,
    chunk: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Summed cross-entropy of a tied output layer, and how many labels have the highest logit.

    −Σ_i log softmax(W x_i + b)[y_i]. The logits of a chunk of rows are computed, then the loss and the gradients from
    them, then they are dropped. So the memory is chunk × V instead of N × V, and nothing is computed twice.

    The gradient of W is Δᵀ x, with Δ = softmax − one-hot the gradient of the logits (N, V). For N ≤ h rows it is kept
    as these two factors until the backward, where their product is added in place to the gradient that other readers of
    W have made. So a V × h gradient of this loss alone is not made beside it.

    Logits are products in the type of the states (in the autocast type under autocast); softmax, loss and the gradient
    of W accumulate in fp32.

    Args:
        states: x, the transformed hidden states of the positions that carry a loss.
        labels: y, their ids.
        weight: W, usually the word embedding table itself; as a :class:`SharedTable` where several losses of
            one forward read it, so that they make one gradient.
        bias: b.
        chunk: rows at a time; default: as many as make 2^25 logits on a CPU, 2^28 on a GPU.

    Returns:
        The sum (fp32 scalar; an exact 0 connected to states, weight and bias where there is no row) and the
        number of labels that have the highest logit (int64 scalar, no gradient; a tie with another entry counts).

    **Shape**: states (N, h); labels (N,); weight (V, h); bias (V,).

    Raises:
        ConfigurationError: shapes that do not fit.

    Example:
        >>> total, correct = vocabulary_loss(torch.zeros(2, 4), torch.tensor([1, 2]), torch.zeros(8, 4))
        >>> round(float(total), 4) == round(2 * float(torch.tensor(8.0).log()), 4)
        True
    """
    shared = weight if isinstance(weight, SharedTable) else SharedTable(weight)
    _check(states, labels, shared.weight, bias)
    kind = states.device.type
    if torch.is_autocast_enabled(kind):
        states = states.to(torch.get_autocast_dtype(kind))
    if chunk is None:
        chunk = max(1, _LOGITS.get(kind, _LOGITS["cuda"]) // max(1, shared.weight.shape[0]))
    rows, width = states.shape
    # The factors have N × (V + h) numbers. For few rows these are far fewer than the V × h of the gradient itself, and
    # for N = h, the most rows that are kept as factors, only h² more.
    keeps_factors = rows <= width
    slots = shared.product_slots(rows, states.dtype) if keeps_factors else shared.dense_slot()
    wanted: set[str] = set()  # the gradients to compute
    if torch.is_grad_enabled() and states.requires_grad:
        wanted.add("states")
    if torch.is_grad_enabled() and bias is not None and bias.requires_grad:
        wanted.add("bias")
    # W has slots if it is trained. Its gradient is computed whole, or as Δ; the other factor is the states.
    if slots:
        wanted.add("delta" if keeps_factors else "weight")
    table = shared.values(states.dtype)
    result = _Loss.apply(states, labels, bias, shared.weight.detach(), table, chunk, wanted, *slots)  # type: ignore[no-untyped-call]
    return cast(tuple[Tensor, Tensor], result)


class _Loss(torch.autograd.Function):
    """The sum and the number correct. The forward computes the gradients, chunk by chunk; the backward scales them.

    ``weight`` is W as it is stored, ``table`` the same in the type of the states. ``slots`` are the places to which the
    gradient of W is returned (``shared_table.py``).
    """

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        labels: Tensor,
        bias: Tensor | None,
        weight: Tensor,
        table: Tensor,
        chunk: int,
        wanted: Set[str],
        *slots: Tensor,
    ) -> tuple[Tensor, Tensor]:
        total, correct, gradients = _run(states, labels, table, bias, chunk, wanted)
        ctx.save_for_backward(states, labels, weight, bias)
        ctx.chunk, ctx.wanted, ctx.gradients = chunk, wanted, gradients
        ctx.mark_non_differentiable(correct)
        return total, correct

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        scale = outer[0]  # the gradient of the sum
        states, labels, weight, bias = ctx.saved_tensors
        gradients, ctx.gradients = ctx.gradients, None
        # A second backward through a retained graph computes them again: the first one gave the buffers away.
        if gradients is None:
            *_, gradients = _run(states, labels, weight.to(states.dtype), bias, ctx.chunk, ctx.wanted)
        of_states = gradients["states"].mul_(scale).to(states.dtype) if "states" in gradients else None
        of_bias = gradients["bias"].mul_(scale).to(bias.dtype) if "bias" in gradients else None
        of_slots: tuple[Tensor | None, ...] = ()
        if "weight" in gradients:
            of_slots = (gradients["weight"].mul_(scale),)  # autograd converts it to the slot's type
        elif "delta" in gradients:
            of_slots = (gradients["delta"], states, scale)
        # In the order of forward's arguments.
        return of_states, None, of_bias, None, None, None, None, *of_slots


def _run(
    states: Tensor, labels: Tensor, table: Tensor, bias: Tensor | None, chunk: int, wanted: Set[str]
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """One pass over the rows: the sum, the number correct and the gradients of the sum that are wanted, by name.

    ``wanted``: names of gradients. ``states``, ``bias`` and ``weight`` are those of x, b and W, in fp32. ``delta``, in
    place of ``weight``, is the gradient of the logits (N, V), in the type of the products.
    """
    offset = None if bias is None else bias.detach().to(states.dtype)
    total = states.new_zeros((), dtype=torch.float32)
    correct = states.new_zeros((), dtype=torch.int64)
    single_chunk = 0 < states.shape[0] <= chunk
    gradients: dict[str, Tensor] = {}
    if "states" in wanted:
        gradients["states"] = torch.empty(states.shape, dtype=torch.float32, device=states.device)
    if bias is not None and "bias" in wanted:
        gradients["bias"] = torch.zeros(bias.shape, dtype=torch.float32, device=bias.device)
    if "delta" in wanted and not single_chunk:
        gradients["delta"] = states.new_empty((states.shape[0], table.shape[0]))
    with torch.autocast(states.device.type, enabled=False):
        for start in range(0, states.shape[0], chunk):
            rows = slice(start, start + chunk)
            part, gold = states[rows], labels[rows, None]
            logits = torch.mm(part, table.t()) if offset is None else torch.addmm(offset, part, table.t())
            correct += (logits.gather(1, gold)[:, 0] == logits.amax(dim=1)).sum()
            log_p = torch.log_softmax(logits, dim=1, dtype=torch.float32)
            total -= log_p.gather(1, gold).sum()
            if not wanted:
                continue
            # The gradient of the logits, softmax − one-hot, in the memory of the logarithms.
            delta = log_p.exp_()
            delta.scatter_add_(1, gold, delta.new_full(gold.shape, -1.0))
            if "bias" in gradients:
                gradients["bias"] += delta.sum(dim=0)
            delta = delta.to(table.dtype)
            if "states" in gradients:
                gradients["states"][rows] = torch.mm(delta, table)
            if "weight" in wanted:
                gradients["weight"] = add_product(gradients.get("weight"), delta, part)
            elif "delta" in wanted and single_chunk:  # the usual case, without a copy
                gradients["delta"] = delta
            elif "delta" in wanted:
                gradients["delta"][rows] = delta
    return total, correct, gradients


def _check(states: Tensor, labels: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Refuse shapes that do not fit, which broadcasting could hide."""
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
            f", bias {None if bias is None else tuple(bias.shape)}; expected (N, h), (N,), (V, h), (V,): "
            "select the positions and flatten them first"
        )
