"""Word links of a concatenated pair from the encoder's own states (XLM-Align, section 3.1).

    states of the pair ──split by side──> similarity (batch, n, m) ──sinkhorn──> plan ──filter──> LinkedPositions

Positions in a :class:`LinkedPositions` count within the whole sequence; rows and columns of the matrices count within
one sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from isoglot.modules.extraction import (
    first_argmax,
    intersection_links,
    itermax_links,
    pair_mask,
    printed_links,
    union_links,
)
from isoglot.modules.sinkhorn import Order, sinkhorn

Filtering = Literal["itermax", "printed", "intersection", "union"]


@dataclass(frozen=True)
class LinkedPositions:
    """Links between the two sentences of each pair of a batch. **Shape**: (links,) each.

    Pair 0 with the links 1–4 and 2–5 and pair 1 with the link 1–3 are ``rows`` ``[0, 0, 1]``, ``source`` ``[1, 2, 1]``
    and ``target`` ``[4, 5, 3]``.
    """

    batch: int  # number of pairs
    rows: Tensor  # the pair of each link, ascending
    source: Tensor  # position of the linked source token in the sequence
    target: Tensor  # position of the linked target token

    def partners(self, length: int) -> Tensor:
        """For each position the one that it is linked to, −1 for none: (batch, length).

        Of several links of a token the last in the other sentence, as in XLM-Align's code: the largest position.
        """
        partner = torch.full((self.batch * length,), -1, dtype=torch.int64, device=self.rows.device)
        row_start = self.rows * length
        partner.scatter_reduce_(0, row_start + self.source, self.target, "amax")
        partner.scatter_reduce_(0, row_start + self.target, self.source, "amax")
        return partner.view(self.batch, length)

    @classmethod
    def of_ids(cls, link_ids: Tensor) -> LinkedPositions:
        """Read links written as one tensor (batch, links, 2), −1 pads: the inverse of :meth:`link_ids`."""
        rows, item = (link_ids >= 0).all(-1).nonzero(as_tuple=True)
        source, target = link_ids[rows, item].T
        return cls(len(link_ids), rows, source, target)

    def link_ids(self) -> Tensor:
        """The links as one tensor: (batch, links, 2), −1 pads."""
        links_of_pair = torch.bincount(self.rows, minlength=self.batch)
        most = int(links_of_pair.max()) if self.batch else 0
        # The n-th link of its pair: its number among all links less that of the pair's first link.
        first_of_pair = links_of_pair.cumsum(0) - links_of_pair
        number = torch.arange(len(self.rows), device=self.rows.device) - first_of_pair[self.rows]
        ids = self.source.new_full((self.batch, most, 2), -1)
        ids[self.rows, number] = torch.stack([self.source, self.target], dim=1)
        return ids

    def pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Every link: batch rows, source positions, target positions."""
        return self.rows, self.source, self.target


@torch.no_grad()
def self_label(
    states: Tensor,
    side_ids: Tensor,
    *,
    order: Order = "official",
    filtering: Filtering = "itermax",
    alpha: float = 0.9,
    passes: int = 2,
    **transport: float,
) -> LinkedPositions:
    """Find links in the encoder's states of a batch of concatenated, unmasked pairs.

    Similarities are raw dot products in float32 (Eq. 1). Sinkhorn (Eq. 3-6) and the filter (Eq. 7-9) run on the whole
    padded batch at once. Pieces, not words, are aligned; special tokens take no part.

    Rows of the matrices are the tokens of the sentence that stands first, whichever side it is. The released code does
    the same, and its data hold every pair in both orders. After a few iterations a plan, and so its links, still
    depends on which side the rows are.

    ``side_ids``: 1 source, 2 target, 0 special tokens and padding.
    ``filtering``: ``itermax`` (the authors' code) or ``printed`` (Eq. 7-9 to the letter), both in ``passes`` with
    discount ``alpha``; ``intersection`` of π's rows and ξ's columns (the released aligner);
    ``union`` of both argmaxes of the plan (the ablation "without filtering").
    ``**transport``: ``iterations``, ``mu`` and ``epsilon`` of :func:`~isoglot.modules.sinkhorn.sinkhorn`.

    Returns:
        The links. ``source`` has the positions of the first sentence, ``target`` those of the second.

    **Shape**: states (batch, length, hidden), side_ids (batch, length).
    """
    in_first, in_second = _first_and_second(side_ids)
    first, first_mask = _positions(in_first)
    second, second_mask = _positions(in_second)
    mask = pair_mask(first_mask, second_mask)
    with torch.autocast(states.device.type, enabled=False):
        first_states = _states_at(states, first).float()
        second_states = _states_at(states, second).float()
        similarity = first_states @ second_states.transpose(1, 2)
    pi, xi = sinkhorn(similarity, mask, order=order, **transport)  # type: ignore[arg-type]
    plan = pi if order == "official" else xi  # the one that was normalised last
    if filtering == "intersection":
        links = intersection_links(pi, mask, xi)
    elif filtering == "union":
        links = union_links(plan, mask)
    else:
        grow = printed_links if filtering == "printed" else itermax_links
        links = grow(plan, mask, alpha=alpha, max_count=passes)
    rows, i, j = links.nonzero(as_tuple=True)
    return LinkedPositions(len(links), rows, first[rows, i], second[rows, j])


def corpus_links(link_ids: Tensor, side_ids: Tensor) -> LinkedPositions:
    """Read links that came with the corpus, [source, target] positions, −1 pads; each link once.

    Links whose positions are not a source and a target token are left out.

    **Shape**: link_ids (batch, links, 2), side_ids (batch, length).
    """
    rows, source, target = LinkedPositions.of_ids(link_ids).pairs()
    real = (side_ids[rows, source] == 1) & (side_ids[rows, target] == 2)
    # Sorted by pair, then position.
    distinct = torch.unique(torch.stack([rows, source, target])[:, real], dim=1)
    return LinkedPositions(len(link_ids), *distinct)


def _first_and_second(side_ids: Tensor) -> tuple[Tensor, Tensor]:
    """Masks of the positions of the sentence that stands first in its row, and of the other: (batch, length) each."""
    is_source, is_target = side_ids == 1, side_ids == 2
    if not side_ids.numel():
        return is_source, is_target
    first_token = first_argmax((side_ids > 0).int(), 1)
    target_is_first = side_ids.gather(1, first_token[:, None]) == 2
    in_first = torch.where(target_is_first, is_target, is_source)
    in_second = torch.where(target_is_first, is_source, is_target)
    return in_first, in_second


def _positions(member: Tensor) -> tuple[Tensor, Tensor]:
    """The positions at which ``member`` is true, row by row, and a mask: 1 for these, 0 for padding.

    ``[[0, 1, 1, 0], [0, 0, 1, 0]]`` gives ``[[1, 2], [2, _]]`` and ``[[1, 1], [1, 0]]``.
    """
    counts = member.sum(1)
    width = int(counts.max()) if len(counts) else 0
    members_first = (~member).int().argsort(dim=1, stable=True)
    return members_first[:, :width], torch.arange(width, device=member.device) < counts[:, None]


def _states_at(states: Tensor, positions: Tensor) -> Tensor:
    """The states at some positions of each row: (batch, length, hidden), (batch, n) -> (batch, n, hidden)."""
    return states.gather(1, positions[:, :, None].expand(-1, -1, states.shape[2]))
