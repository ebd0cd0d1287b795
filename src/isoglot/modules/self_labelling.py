"""Word links of a concatenated pair from the encoder's own states (XLM-Align, section 3.1)."""

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
    """Links between the two sentences of each row, by the positions of their tokens; rows ascend."""

    batch: int
    rows: Tensor
    source: Tensor
    target: Tensor

    def partners(self, length: int) -> Tensor:
        """One linked position for each position, −1 for none; of several links the last one, as in XLM-Align's code."""
        partner = torch.full((self.batch * length,), -1, dtype=torch.int64, device=self.rows.device)
        for side, opposite in ((self.source, self.target), (self.target, self.source)):
            partner.scatter_reduce_(0, self.rows * length + side, opposite, "amax")
        return partner.view(self.batch, length)

    @classmethod
    def of_ids(cls, link_ids: Tensor) -> LinkedPositions:
        """The links of :meth:`link_ids`."""
        rows, item = (link_ids >= 0).all(-1).nonzero(as_tuple=True)
        return cls(len(link_ids), rows, *link_ids[rows, item].T)

    def link_ids(self) -> Tensor:
        """The links as one tensor: (batch, links, 2), −1 pads."""
        counts = torch.bincount(self.rows, minlength=self.batch)
        ids = self.source.new_full((self.batch, int(counts.max()) if self.batch else 0, 2), -1)
        first = (counts.cumsum(0) - counts)[self.rows]
        offset = torch.arange(len(self.rows), device=self.rows.device) - first
        ids[self.rows, offset] = torch.stack([self.source, self.target], dim=1)
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
    """Self-labelled links of a batch of concatenated, unmasked pairs.

    Similarities are raw dot products in float32; Sinkhorn and the filter run on the whole padded batch at
    once. Pieces, not words, are aligned; special tokens take no part. Rows of the matrices are the tokens of
    the sentence that stands first, as in the released code, whose data hold every pair in both orders: a plan
    after a few iterations, and so its links, depend on which side is which.

    ``filtering``: ``itermax`` (the authors' code) or ``printed`` (Eq. 7-9 to the letter), both in ``passes`` with
    discount ``alpha``; ``intersection`` of π's rows and ξ's columns (the released aligner);
    ``union`` of both argmaxes of the plan (the ablation "without filtering").
    ``**transport``: ``iterations``, ``mu`` and ``epsilon`` of :func:`~isoglot.modules.sinkhorn.sinkhorn`.

    **Shape**: states (batch, length, hidden), side_ids (batch, length).
    """
    (source, source_mask), (target, target_mask) = (_positions(side) for side in _as_they_stand(side_ids))
    mask = pair_mask(source_mask, target_mask)
    with torch.autocast(states.device.type, enabled=False):
        first, second = (
            states.gather(1, positions[:, :, None].expand(-1, -1, states.shape[2])).float()
            for positions in (source, target)
        )
        similarity = first @ second.transpose(1, 2)
    pi, xi = sinkhorn(similarity, mask, order=order, **transport)  # type: ignore[arg-type]
    plan = pi if order == "official" else xi
    if filtering == "intersection":
        links = intersection_links(pi, mask, xi)
    elif filtering == "union":
        links = union_links(plan, mask)
    else:
        grow = printed_links if filtering == "printed" else itermax_links
        links = grow(plan, mask, alpha=alpha, max_count=passes)
    rows, i, j = links.nonzero(as_tuple=True)
    return LinkedPositions(len(links), rows, source[rows, i], target[rows, j])


def corpus_links(link_ids: Tensor, side_ids: Tensor) -> LinkedPositions:
    """Links that came with the corpus, pairs of a source and a target position or −1, each once.

    **Shape**: link_ids (batch, links, 2), side_ids (batch, length).
    """
    named = LinkedPositions.of_ids(link_ids)
    rows, source, target = named.pairs()
    real = (side_ids[rows, source] == 1) & (side_ids[rows, target] == 2)
    return LinkedPositions(len(link_ids), *torch.unique(torch.stack([rows, source, target])[:, real], dim=1))


def _as_they_stand(side_ids: Tensor) -> tuple[Tensor, Tensor]:
    """Which positions belong to the sentence that stands first in its row, and which to the other one."""
    sides = side_ids == 1, side_ids == 2
    if not side_ids.numel():
        return sides
    opening = side_ids.gather(1, first_argmax((side_ids > 0).int(), 1)[:, None])
    turned = opening == 2
    return torch.where(turned, sides[1], sides[0]), torch.where(turned, sides[0], sides[1])


def _positions(member: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of a side, real ones first, cut to the longest row, and which are real."""
    counts = member.sum(1)
    width = int(counts.max()) if len(counts) else 0
    order = (~member).int().argsort(dim=1, stable=True)[:, :width]
    return order, torch.arange(width, device=member.device) < counts[:, None]
