"""A table of rows that several parts of one forward read, with one buffer for the gradient of all of them."""

# A reader is a part of the forward that uses W, a parameter of V × h numbers: the word embeddings look up rows, a
# masked-LM head multiplies with all of them. Usually each reader hands autograd a dense gradient of its own, and
# autograd adds them up: at V = 120,000 and h = 768 that is 367 MB per reader to make (mostly page faults on a CPU) and
# to read again.
#
# Here the readers form a chain instead, in the order in which they read:
#
#     W ──> reader 1 ──> reader 2 ──> reader 3      forward: each passes a tail on, a tensor without memory
#     W <── reader 1 <── reader 2 <── reader 3      backward: the gradient of a tail is the sum of the later readers'
#                                                   gradients; each adds its own, in place, and passes the sum on
#
# This is ordinary autograd: W gets one dense gradient through one edge, as DDP, FSDP, accumulation and hooks expect.
#
# A reader may compute its gradient in an autograd function of its own. A *slot* is an input of such a function that is
# never read: it only gives the function a place to return a gradient to. There are two kinds:
#
# - `product_slots` are three, for a gradient that is a product: the reader returns the two factors and a scale, and
#   its link of the chain multiplies them out and adds the product in place.
# - `dense_slot` is one, for a gradient that is made already, V × h numbers. The slot is the tail itself, which the next
#   reader reads too, so the reader is no link of the chain:
#
#       W ──> reader 1 ──> tail ──> reader 3
#                           └─────> reader 2, whose dense slot it is
#
# Adding in place is safe because nobody else holds the tensor that comes in: a tail is read by the next link alone. The
# exception is a tail that is also a dense slot. There autograd first adds up the gradients of both readers (2 and 3
# above) in a tensor of its own, and passes that on.
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

_PRODUCT = {"cpu": 1 << 18, "cuda": 1 << 28}
"""Numbers of a half-precision product to hold at a time, before they are added in fp32."""


class SharedTable:
    """One parameter W for all its readers in a forward pass; ``Encodings.table`` makes it.

    Make a new one for each forward pass, because the chain of readers is kept here. Results and gradients are those of
    reading W itself; the readers' gradients are added up in fp32 even if W is in half precision.

    Args:
        weight: W; its values must stay as they are until the backward.

    **Shape**: weight (V, h).
    """

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight
        self._tail = weight  # the next reader reads this, and its gradient goes there
        self._cast: Tensor | None = None

    @property
    def trained(self) -> bool:
        """Whether a reader has to give a gradient now."""
        return torch.is_grad_enabled() and self.weight.requires_grad

    def values(self, dtype: torch.dtype) -> Tensor:
        """W in some type, without gradient; a conversion to another type is kept for the next reader."""
        values = self.weight.detach()
        if values.dtype == dtype:
            return values
        if self._cast is None or self._cast.dtype != dtype:
            self._cast = values.to(dtype)
        return self._cast

    def rows(self, ids: Tensor, padding: int | None = None) -> Tensor:
        """Look up W[ids], with gradient; an id may come several times.

        ``padding``: an id whose row gets no gradient.

        **Shape**: (n) → (n, h).
        """
        if not self.trained:
            return self.weight.index_select(0, ids)
        self._tail, rows = _Rows.apply(self._tail, self.weight.detach(), ids, padding)  # type: ignore[no-untyped-call]
        return cast(Tensor, rows)

    def dense_slot(self) -> tuple[Tensor, ...]:
        """The slot to which a reader returns its whole (V, h) gradient; none where no gradient is needed.

        The slot is the tail itself, and the next reader reads the same tail. Autograd sums the gradients of both.
        """
        return (self._tail,) if self.trained else ()

    def product_slots(self, count: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """Three slots to which a reader returns its gradient as ``scale · leftᵀ right``, not multiplied out.

        Args:
            count: n, the number of rows of both factors.
            dtype: type of both factors.

        Returns:
            Slots for left (n, V), right (n, h) and scale (fp32 scalar); none where no gradient is needed.
        """
        if not self.trained:
            return ()
        self._tail, *slots = _Product.apply(self._tail, count, dtype)  # type: ignore[no-untyped-call]
        return tuple(slots)


def _slot(like: Tensor, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """A tensor of a shape that takes no memory, for a tail or a slot: only its gradient matters."""
    return torch.zeros((), dtype=dtype, device=like.device).expand(shape)


def _sum_dtype(dtype: torch.dtype) -> torch.dtype:
    """The type in which the gradients of a table of some type are summed."""
    return torch.promote_types(dtype, torch.float32)


class _Rows(torch.autograd.Function):
    """A reader of chosen rows; the backward adds to these rows alone."""

    @staticmethod
    def forward(
        ctx: Any, tail: Tensor, weight: Tensor, ids: Tensor, padding: int | None
    ) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        # Attributes, not `save_for_backward`: a backward frees saved tensors. If the loss of a later reader has its own
        # backward, the gradient passes this link of the chain on the way to W. The backward of these rows comes after
        # that one, and still needs the ids.
        ctx.ids, ctx.padding, ctx.dtype, ctx.shape = ids, padding, tail.dtype, tail.shape
        return _slot(tail, tail.shape, _sum_dtype(tail.dtype)), weight.index_select(0, ids)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor | None) -> tuple[Tensor | None, ...]:
        # The gradient of the tail, the sum of the later readers' gradients; and that of the looked-up rows.
        total, of_rows = outer
        if of_rows is not None:
            if total is None:
                total = torch.zeros(ctx.shape, dtype=_sum_dtype(ctx.dtype), device=of_rows.device)
            total, of_rows = total.contiguous(), of_rows.to(total.dtype)
            if ctx.padding is not None:
                of_rows = of_rows.masked_fill((ctx.ids == ctx.padding)[:, None], 0.0)
            if total.device.type == "cpu":
                total.index_add_(0, ctx.ids, of_rows)
            else:  # sorts first; on a GPU index_add_ adds rows of one id in no fixed order
                total.index_put_((ctx.ids,), of_rows, accumulate=True)
        return None if total is None else total.to(ctx.dtype), None, None, None


class _Product(torch.autograd.Function):
    """A reader that only has slots; its backward multiplies out the factors that were returned to them, and adds."""

    @staticmethod
    def forward(ctx: Any, tail: Tensor, count: int, dtype: torch.dtype) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.dtype = tail.dtype
        entries, width = tail.shape
        return (
            _slot(tail, tail.shape, _sum_dtype(tail.dtype)),
            _slot(tail, (count, entries), dtype),
            _slot(tail, (count, width), dtype),
            _slot(tail, (), torch.float32),
        )

    @staticmethod
    def backward(ctx: Any, *outer: Tensor | None) -> tuple[Tensor | None, ...]:
        # The gradient of the tail; and the factors, which a reader returns as gradients of its slots.
        total, left, right, scale = outer
        if left is not None and right is not None and scale is not None:
            total = add_product(total, left, right, scale=scale, dtype=_sum_dtype(ctx.dtype))
        return None if total is None else total.to(ctx.dtype), None, None


def add_product(
    total: Tensor | None,
    left: Tensor,
    right: Tensor,
    *,
    scale: Tensor | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Add ``scale · leftᵀ right`` to ``total``, in place; the sum is in ``dtype`` whatever the type of the factors.

    ``total``: ``None`` stands for zeros, which need not be made: at 120,000 rows each pass over the matrix counts.
    """
    if total is not None:
        total = total.contiguous()  # a copy only of the stand-ins that torch.compile traces with
    with torch.autocast(left.device.type, enabled=False):
        if left.dtype == dtype:
            if scale is not None:
                right = right * scale.to(dtype)
            return torch.mm(left.t(), right) if total is None else total.addmm_(left.t(), right)
        # Factors in half precision: some rows of the product at a time, so that little of it is held in that type.
        total_is_new = total is None
        if total is None:
            total = torch.empty((left.shape[1], right.shape[1]), dtype=dtype, device=left.device)
        step = max(1, _PRODUCT.get(left.device.type, _PRODUCT["cuda"]) // max(1, right.shape[1]))
        for start in range(0, total.shape[0], step):
            rows = slice(start, start + step)
            part = torch.mm(left[:, rows].t(), right).to(dtype)
            if scale is not None:
                part.mul_(scale.to(dtype))
            if total_is_new:
                total[rows] = part
            else:
                total[rows] += part
        return total
