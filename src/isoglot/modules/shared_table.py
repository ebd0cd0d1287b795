"""A table of rows that several parts of one forward read, with one buffer for the gradient of all of them."""

# Each use of a V × h parameter hands autograd a dense gradient of its own, and autograd sums them: at V = 120,000 and
# h = 768 that is 367 MB a use to make (mostly page faults on a CPU) and to read again. Here the uses stand in a chain
# instead. Every link of it has an output that only says "the gradient of later uses comes in here": in the backward
# it adds its own part to that gradient in place and passes it on. That is ordinary autograd: what reaches the
# parameter is one dense gradient through one edge, as DDP, FSDP, accumulation and hooks expect it.
#
# In place is safe because nobody else can hold the incoming tensor: these outputs never leave this module and are
# read by one later link, or summed by autograd into a tensor of its own.
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

_PRODUCT = {"cpu": 1 << 18, "cuda": 1 << 28}
"""Numbers of a half-precision product to hold at a time, before they are added in fp32."""


class SharedTable:
    """One parameter W for all its readers in a forward; ``Encodings.table`` gives it.

    Make a new one for each forward: it remembers who has read. Results and gradients are those of reading W
    itself; sums over readers are in fp32 also where W is in half precision.

    Args:
        weight: W; its values must stay as they are until the backward.

    **Shape**: weight (V, h).
    """

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self._tail = weight  # what the next reader's gradient goes to
        self._cast: Tensor | None = None

    @property
    def trained(self) -> bool:
        """Whether a reader has to give a gradient now."""
        return torch.is_grad_enabled() and self.weight.requires_grad

    def values(self, dtype: torch.dtype) -> Tensor:
        """W without gradient; a conversion to another type is kept for the next reader."""
        values = self.weight.detach()
        if values.dtype == dtype:
            return values
        if self._cast is None or self._cast.dtype != dtype:
            self._cast = values.to(dtype)
        return self._cast

    def rows(self, ids: Tensor, padding: int | None = None) -> Tensor:
        """W[ids], with gradient; an id may stand several times, and ``padding`` is one that gets no gradient.

        **Shape**: (n) → (n, h).
        """
        if not self.trained:
            return self.weight.index_select(0, ids)
        self._tail, rows = _Rows.apply(self._tail, self.weight.detach(), ids, padding)  # type: ignore[no-untyped-call]
        return cast(Tensor, rows)

    def dense_slot(self) -> tuple[Tensor, ...]:
        """What a reader hands its whole (V, h) gradient to: an input of its autograd function, never read."""
        return (self._tail,) if self.trained else ()

    def product_slots(self, rows: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """What a reader hands its gradient to as ``scale · leftᵀ right``, so that it need not be multiplied out.

        Args:
            rows: n.
            dtype: of the two factors.

        Returns:
            Inputs of the reader's autograd function, never read, whose gradients are left (n, V), right (n, h) and
            scale (fp32 scalar); nothing where no gradient is needed.
        """
        if not self.trained:
            return ()
        self._tail, *slots = _Product.apply(self._tail, rows, dtype)  # type: ignore[no-untyped-call]
        return tuple(slots)


def _slot(like: Tensor, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """A tensor of a shape that takes no memory: only its gradient matters."""
    return torch.zeros((), dtype=dtype, device=like.device).expand(shape)


def _sums(dtype: torch.dtype) -> torch.dtype:
    """The type in which the gradients of a table of some type are summed."""
    return torch.promote_types(dtype, torch.float32)


class _Rows(torch.autograd.Function):
    """Chosen rows; the backward adds to these rows only."""

    @staticmethod
    def forward(
        ctx: Any, tail: Tensor, weight: Tensor, ids: Tensor, padding: int | None
    ) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        # Not among the saved tensors: a backward that only passes by would free those.
        ctx.ids, ctx.padding, ctx.dtype, ctx.shape = ids, padding, tail.dtype, tail.shape
        return _slot(tail, tail.shape, _sums(tail.dtype)), weight.index_select(0, ids)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor | None) -> tuple[Tensor | None, ...]:
        total, rows = outer
        if rows is not None:
            if total is None:
                total = torch.zeros(ctx.shape, dtype=_sums(ctx.dtype), device=rows.device)
            total, rows = total.contiguous(), rows.to(total.dtype)
            if ctx.padding is not None:
                rows = rows.masked_fill((ctx.ids == ctx.padding)[:, None], 0.0)
            if total.device.type == "cpu":
                total.index_add_(0, ctx.ids, rows)
            else:  # sorts first; on a GPU index_add_ adds rows of one id in no fixed order
                total.index_put_((ctx.ids,), rows, accumulate=True)
        return None if total is None else total.to(ctx.dtype), None, None, None


class _Product(torch.autograd.Function):
    """Nothing in the forward; the backward multiplies out the factors that the reader's backward hands over."""

    @staticmethod
    def forward(ctx: Any, tail: Tensor, rows: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.dtype = tail.dtype
        table, width = tail.shape
        return (
            _slot(tail, tail.shape, _sums(tail.dtype)),
            _slot(tail, (rows, table), dtype),
            _slot(tail, (rows, width), dtype),
            _slot(tail, (), torch.float32),
        )

    @staticmethod
    def backward(ctx: Any, *outer: Tensor | None) -> tuple[Tensor | None, ...]:
        total, left, right, scale = outer
        if left is not None and right is not None and scale is not None:
            total = add_product(total, left, right, scale=scale, dtype=_sums(ctx.dtype))
        return None if total is None else total.to(ctx.dtype), None, None


def add_product(
    total: Tensor | None,
    left: Tensor,
    right: Tensor,
    *,
    scale: Tensor | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """``total + scale · leftᵀ right``, in place; the sum is in ``dtype`` whatever the type of the factors.

    The first product needs no zeros to be added to: at 120,000 rows each pass over the matrix is worth saving.
    """
    if total is not None:
        total = total.contiguous()  # no copy, but for the stand-ins that torch.compile traces with
    with torch.autocast(left.device.type, enabled=False):
        if left.dtype == dtype:
            right = right if scale is None else right * scale.to(dtype)
            return torch.mm(left.t(), right) if total is None else total.addmm_(left.t(), right)
        new = total is None
        if total is None:
            total = torch.empty((left.shape[1], right.shape[1]), dtype=dtype, device=left.device)
        step = max(1, _PRODUCT.get(left.device.type, _PRODUCT["cuda"]) // max(1, right.shape[1]))
        for start in range(0, total.shape[0], step):
            rows = slice(start, start + step)
            part = torch.mm(left[:, rows].t(), right).to(dtype)
            if scale is not None:
                part.mul_(scale.to(dtype))
            if new:
                total[rows] = part
            else:
                total[rows] += part
        return total
