"""Contrastive losses on sentence vectors: projections, keys of all ranks, and concatenated (mixed) sentences."""

from itertools import pairwise
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn


class ProjectionHead(nn.Module):
    """Map from a sentence state to the space of the contrast.

    ``kind``: With ``mlp`` z = W₂ ReLU(W₁ h) (PPA, Eq. 2), where W₁ maps hidden to hidden numbers and W₂ hidden to size;
    with ``linear`` it is one matrix (InfoXLM); with ``none`` z is h. A ``bias`` starts at 0; the papers write none.

    :class:`~isoglot.losses.KeyQueueContrast` builds it. Do not change the maps of a kind, add another kind: checkpoints
    have the weights by the numbers of the maps, ``projection.maps.0.weight``.
    """

    def __init__(
        self,
        hidden_size: int,
        size: int,
        *,
        kind: Literal["mlp", "linear", "none"] = "mlp",
        bias: bool = False,
        std: float = 0.02,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        # The width of h, then the width behind each map.
        widths = {
            "mlp": [hidden_size, hidden_size, size],
            "linear": [hidden_size, size],
            "none": [hidden_size],
        }[kind]
        self.maps = nn.ModuleList(nn.Linear(a, b, bias=bias) for a, b in pairwise(widths))
        for parameter in self.maps.parameters():
            with torch.no_grad():
                if parameter.dim() == 1:  # a bias
                    parameter.zero_()
                else:
                    parameter.normal_(0.0, std, generator=generator)

    def forward(self, states: Tensor) -> Tensor:
        """Map h to z. **Shape**: (batch, hidden) -> (batch, size)."""
        if len(self.maps) > 0:
            states = states.to(next(self.maps.parameters()).dtype)
        for number, layer in enumerate(self.maps):
            if number > 0:  # between two maps
                states = states.relu()
            states = layer(states)
        return states


def pool(states: Tensor, attention_mask: Tensor, kind: Literal["cls", "mean"]) -> Tensor:
    """The first token's state, or the mean over all real tokens: (batch, length, hidden) -> (batch, hidden)."""
    if kind == "cls":
        return states[:, 0]
    weights = attention_mask.to(states.dtype)[:, :, None]
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def key_queue_loss(
    queries: Tensor,
    keys: Tensor,
    negatives: Tensor,
    *,
    temperature: float,
    positive_in_denominator: bool = True,
    excluded: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""InfoNCE of each query with its own key against a queue, in float32.

    .. math:: -\log \frac{\exp(q \cdot k^+ / \tau)}{[\exp(q \cdot k^+ / \tau)] + \sum_{i=1}^{K} \exp(q \cdot
    k_i / \tau)}

    ``negatives``: the queue before the keys of this batch enter.
    ``positive_in_denominator``: add the bracketed term, as MoCo's code does. PPA's Eq. 3 sums over the queue alone:
    then the loss can be negative, and it is 0 for a query that has no negative at all.
    ``excluded``: negatives that do not count for a query, such as other translations of its own sentence.

    Returns:
        Loss of each query, and whether its positive scores at least as high as every negative.

    **Shape**: queries and keys (batch, size), negatives (K, size), excluded (batch, K) or (K,); results (batch,).
    """
    with torch.autocast(queries.device.type, enabled=False):
        queries, keys = queries.float(), keys.float()
        positive = (queries * keys).sum(1, keepdim=True) / temperature
        scores = queries @ negatives.float().T / temperature
        if excluded is not None:
            scores = scores.masked_fill(excluded, -torch.inf)
        if positive_in_denominator:
            losses = torch.cat([positive, scores], 1).logsumexp(1) - positive[:, 0]
        else:
            # A row with a NaN is not `without_negatives`: its loss stays NaN, for the trainer to find.
            without_negatives = (scores == -torch.inf).all(1)
            # logsumexp of −inf alone has a gradient of NaN, which masking the result would not remove; so such rows
            # get finite scores first.
            finite_scores = scores.masked_fill(without_negatives[:, None], 0.0)
            # K = 0: no column.
            denominator = finite_scores.logsumexp(1) if scores.shape[1] else positive[:, 0]
            losses = (denominator - positive[:, 0]).masked_fill(without_negatives, 0.0)
        return losses, (positive.detach() >= scores.detach()).all(1)


def in_batch_loss(
    queries: Tensor, keys: Tensor, start: int, count: int, *, temperature: float
) -> tuple[Tensor, Tensor]:
    r"""Symmetric contrast in the batch: each sentence against all of the other language, both ways, halved.

    .. math:: \tfrac12 [\mathrm{CE}(q_i K^\top / \tau, i) + \mathrm{CE}(k_i Q^\top / \tau, i)]

    ``queries`` and ``keys``: those of all ranks; the ``count`` pairs from number ``start`` on are this rank's.

    Returns:
        Loss of each pair of this rank, and whether its query scores its own key at least as high as any other.

    **Shape**: queries and keys (all pairs, size); results (count,).
    """
    with torch.autocast(queries.device.type, enabled=False):
        queries, keys = queries.float(), keys.float()
        own = slice(start, start + count)
        answers = torch.arange(start, start + count, device=queries.device)
        scores_of_queries = queries[own] @ keys.T / temperature
        scores_of_keys = keys[own] @ queries.T / temperature
        losses = nn.functional.cross_entropy(scores_of_queries, answers, reduction="none")
        losses = losses + nn.functional.cross_entropy(scores_of_keys, answers, reduction="none")
        scores = scores_of_queries.detach()
        return losses / 2, (scores.gather(1, answers[:, None]) >= scores).all(1)


def mixed_inputs(
    inputs: dict[str, Tensor], swap: Tensor, *, padding_id: int, longest: int | None
) -> dict[str, Tensor]:
    """Concatenate sentences 2i and 2i + 1 of a batch (InfoXLM's mixup contrast) to ⌈batch / 2⌉ inputs.

    ``[CLS] a b [SEP]`` and ``[CLS] c [SEP]`` become ``[CLS] a b [SEP] c [SEP]``: the second sentence loses its first
    token. The last sentence of an odd batch is joined with the first of the batch. Inputs are padded on the right, and
    cut at ``longest``; position ids are left to the encoder.

    ``inputs``: encoder inputs of the sentences, at least one, (batch, length) each, among them ``attention_mask``.
    ``swap``: a bool for each mixed input: whether sentence 2i + 1 stands first; (⌈batch / 2⌉,).
    """
    mask = inputs["attention_mask"].bool()
    batch, length = mask.shape
    even = torch.arange(0, batch, 2, device=mask.device)
    odd = (even + 1) % batch
    first, second = torch.where(swap, odd, even), torch.where(swap, even, odd)
    first_size, second_size = mask.sum(1)[first, None], mask.sum(1)[second, None]
    # Where each column of the result is read. `[CLS] a b [SEP]` (4 tokens) and `[CLS] c [SEP]` (3 tokens):
    #
    #     result             [CLS] a b [SEP] c [SEP]
    #     column               0   1 2   3   4   5     < 4 + 3 − 1
    #     column_of_first      0   1 2   3             < 4: `in_first`
    #     column_of_second                   1   2     column − 4 + 1, which skips the second [CLS]
    #
    # Both columns are clamped, as `gather` below reads both sentences at every column and `where` chooses.
    width = int((first_size + second_size).max()) - 1
    column = torch.arange(min(width, longest or width), device=mask.device).expand(len(first), -1)
    in_first = column < first_size
    is_token = column < first_size + second_size - 1
    column_of_first = column.clamp(max=length - 1)
    column_of_second = (column - first_size + 1).clamp(min=0, max=length - 1)
    mixed = {}
    for name, tensor in inputs.items():
        # An input without a value for each token cannot be joined; the views of this package have none.
        if name == "position_ids" or tensor.dim() != 2:
            continue
        # The first or the second sentence's value in each column, and padding behind both.
        joined = torch.where(
            in_first,
            tensor[first].gather(1, column_of_first),
            tensor[second].gather(1, column_of_second),
        )
        mixed[name] = torch.where(is_token, joined, padding_id if name == "input_ids" else 0)
    return mixed


def gather_rows(rows: Tensor) -> Tensor:
    """All ranks' rows, as many as each has, in rank order and without gradient.

    **Shape**: (own rows, ...) -> (all rows, ...), with the same trailing axes on every rank.
    """
    if not _several_ranks():
        return rows.detach()
    return torch.cat(_gather(rows.detach())[0])


def gather_rows_with_gradient(rows: Tensor) -> tuple[Tensor, int]:
    """All ranks' rows, and the index of this rank's first row among them.

    The gradient of each row reaches the rank that it came from.

    **Shape**: (own rows, ...) -> (all rows, ...).
    """
    if not _several_ranks():
        return rows, 0
    gathered, start = _Gather.apply(rows)  # type: ignore[no-untyped-call]
    return gathered, int(start)


class _Gather(torch.autograd.Function):
    """The rows of all ranks; the backward adds up the gradients that all ranks have for this rank's rows."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> tuple[Tensor, int]:
        parts, start = _gather(rows.contiguous())
        ctx.rows = slice(start, start + len(rows))
        return torch.cat(parts), start

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Any) -> Tensor:
        gradient = gradient.contiguous().clone()
        dist.all_reduce(gradient)
        return gradient[ctx.rows]


def _several_ranks() -> bool:
    """Whether this process is one of several that train together."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def _gather(rows: Tensor) -> tuple[list[Tensor], int]:
    """The rows of each rank, and the index of this rank's first row among all.

    ``all_gather`` wants equal shapes, so ranks with fewer rows pad theirs, and the padding is cut off again.
    """
    world = dist.get_world_size()
    sizes = [torch.zeros((), dtype=torch.int64, device=rows.device) for _ in range(world)]
    dist.all_gather(sizes, torch.tensor(len(rows), dtype=torch.int64, device=rows.device))
    counts = torch.stack(sizes).tolist()
    padded = rows.new_zeros(max(counts), *rows.shape[1:])
    padded[: len(rows)] = rows
    parts = [torch.empty_like(padded) for _ in range(world)]
    dist.all_gather(parts, padded)
    real_parts = [part[:count] for part, count in zip(parts, counts, strict=True)]
    return real_parts, sum(counts[: dist.get_rank()])
