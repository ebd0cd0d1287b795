"""Pointer network over the tokens of the other sentence (XLM-Align, Chi et al. 2021, Eq. 11-13)."""

import math

import torch
from torch import Tensor, nn

from isoglot.modules.extraction import pair_mask


class Pointer(nn.Module):
    r"""Scores of key positions for query positions by scaled dot-product attention.

    .. math:: a_i = \mathrm{softmax}(q_i^\top K / \sqrt{d_h}),\quad q_i = W_q h_i + b_q,\quad K = W_k H + b_k

    W_q and W_k are two linear maps, each with bias; both directions use the same two, as in the released code. Weights
    start uniform in ±1/√d_h.
    """

    def __init__(self, hidden_size: int, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        bound = 1.0 / math.sqrt(hidden_size)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.uniform_(-bound, bound, generator=generator)

    def forward(self, hidden: Tensor, rows: Tensor, positions: Tensor, allowed: Tensor) -> Tensor:
        """Score every position of its row for each query, in float32; −inf where not ``allowed``.

        ``rows`` are ascending; a position may ask more than once.

        **Shape**: hidden (batch, length, hidden); rows and positions (queries,); allowed and result (queries, length).
        """
        hidden = hidden.to(self.key.weight.dtype)
        queries, keys = self.query(hidden[rows, positions]), self.key(hidden)
        # The queries of a row stand side by side in a block (batch, slots, hidden), so that one batched product
        # serves all; gathering the keys of each query instead would hold queries · length · hidden numbers.
        # The slot of a query: its number among all queries less that of the first query of its row.
        queries_of_row = torch.bincount(rows, minlength=hidden.shape[0])
        first_of_row = queries_of_row.cumsum(0) - queries_of_row
        slots = torch.arange(len(rows), device=rows.device) - first_of_row[rows]
        width = int(queries_of_row.max()) if len(queries_of_row) else 0
        with torch.autocast(hidden.device.type, enabled=False):
            block = queries.new_zeros(hidden.shape[0], width, hidden.shape[2], dtype=torch.float32)
            block = block.index_put((rows, slots), queries.float())
            scores: Tensor = block @ keys.float().transpose(1, 2) / math.sqrt(hidden.shape[2])
        return scores[rows, slots].masked_fill(~allowed, -torch.inf)


@torch.no_grad()
def pointer_alignment(
    pointer: Pointer, source: Tensor, target: Tensor, source_mask: Tensor, target_mask: Tensor
) -> tuple[Tensor, Tensor]:
    """Alignment probabilities of a trained pointer for whole sentences, in both directions.

    Forward, each source token asks: its row sums to 1 over the target. Backward, each target token asks: its column
    sums to 1 over the source. Cells of padding are 0.

    **Shape**: source (batch, n, hidden), target (batch, m, hidden), masks (batch, n) and (batch, m); results
    (batch, n, m) in float32.
    """
    mask = pair_mask(source_mask, target_mask)
    source, target = source.to(pointer.key.weight.dtype), target.to(pointer.key.weight.dtype)
    scale = math.sqrt(source.shape[2])
    forward = pointer.query(source).float() @ pointer.key(target).float().transpose(1, 2) / scale
    backward = pointer.key(source).float() @ pointer.query(target).float().transpose(1, 2) / scale
    forward = forward.masked_fill(~mask, -torch.inf).softmax(2).masked_fill(~mask, 0.0)
    backward = backward.masked_fill(~mask, -torch.inf).softmax(1).masked_fill(~mask, 0.0)
    return forward, backward
