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
class SentencePositions:
    """Where the two sentences of each row stand."""

    # positions of the source tokens, (batch, n); past a row's own count they are any other positions
    source: Tensor
    target: Tensor
    source_mask: Tensor
    target_mask: Tensor

    @classmethod
    def of(cls, side_ids: Tensor) -> SentencePositions:
        """From side ids (batch, length): 1 source, 2 target, else special token or padding."""
        parts = [_positions(side_ids == side) for side in (1, 2)]
        return cls(parts[0][0], parts[1][0], parts[0][1], parts[1][1])

    @classmethod
    def as_they_stand(cls, side_ids: Tensor) -> SentencePositions:
        """The sentence that stands first in its row as the source, the other one as the target."""
        if not side_ids.numel():
            return cls.of(side_ids)
        opening = side_ids.gather(1, first_argmax((side_ids > 0).int(), 1)[:, None])
        return cls.of(torch.where((opening == 2) & (side_ids > 0), 3 - side_ids, side_ids))

    @property
    def mask(self) -> Tensor:
        """Real cells, (batch, n, m)."""
        return pair_mask(self.source_mask, self.target_mask)


@dataclass(frozen=True)
class LinkGrid:
    """Links between the two sentences of each row."""

    sides: SentencePositions
    links: Tensor

    def partners(self, length: int) -> Tensor:
        """One linked position for each position, −1 for none; of several links the last one, as in XLM-Align's code."""
        links, sides = self.links, self.sides
        partner = torch.full((links.shape[0], length), -1, dtype=torch.int64, device=links.device)
        if not links.numel():
            return partner
        for dim, own, own_mask, other in (
            (2, sides.source, sides.source_mask, sides.target),
            (1, sides.target, sides.target_mask, sides.source),
        ):
            last = links.shape[dim] - 1 - first_argmax(links.flip(dim).int(), dim)
            chosen = other.gather(1, last)
            found = links.any(dim) & own_mask
            # Positions past a row's count belong to the other side or to none: they must not overwrite it.
            rows, index = found.nonzero(as_tuple=True)
            partner[rows, own[rows, index]] = chosen[rows, index]
        return partner

    def pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Every link: batch rows (ascending), source positions, target positions (as ``sides`` has them)."""
        rows, i, j = self.links.nonzero(as_tuple=True)
        return rows, self.sides.source[rows, i], self.sides.target[rows, j]


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
) -> LinkGrid:
    """Self-labelled links of a batch of concatenated, unmasked pairs.

    Similarities are raw dot products in float32; Sinkhorn and the filter run on the whole padded batch at
    once. Pieces, not words, are aligned; special tokens take no part. Rows of the matrices are the tokens of
    the sentence that stands first, as in the released code, whose data hold every pair in both orders: a plan
    after a few iterations, and so its links, depend on which side is which.

    ``filtering``: ``itermax`` (the authors' code) or ``printed`` (Eq. 7-9 to the letter), both in ``passes`` with
    discount ``alpha``; ``intersection`` of π's rows and ξ's columns (the released aligner);
    ``union`` of both argmaxes of the plan (the ablation "without filtering").
    ``**transport``: ``iterations``, ``mu`` and ``epsilon`` of :func:`~isoglot.modules.sinkhorn.sinkhorn`.

    **Shape**: states (batch, length, hidden), side_ids (batch, length); links (batch, n, m) for the longest
    first and second sentence.
    """
    sides = SentencePositions.as_they_stand(side_ids)
    with torch.autocast(states.device.type, enabled=False):
        source, target = (_gather(states, p).float() for p in (sides.source, sides.target))
        similarity = source @ target.transpose(1, 2)
    pi, xi = sinkhorn(similarity, sides.mask, order=order, **transport)  # type: ignore[arg-type]
    plan = pi if order == "official" else xi
    if filtering == "intersection":
        return LinkGrid(sides, intersection_links(pi, sides.mask, xi))
    if filtering == "union":
        return LinkGrid(sides, union_links(plan, sides.mask))
    grow = printed_links if filtering == "printed" else itermax_links
    return LinkGrid(sides, grow(plan, sides.mask, alpha=alpha, max_count=passes))


def corpus_grid(link_ids: Tensor, side_ids: Tensor) -> LinkGrid:
    """Links that came with the corpus, pairs of positions or −1, on the same grid as :func:`self_label`.

    **Shape**: link_ids (batch, links, 2), side_ids (batch, length).
    """
    sides = SentencePositions.of(side_ids)
    i = _inverse(side_ids == 1, link_ids[..., 0])
    j = _inverse(side_ids == 2, link_ids[..., 1])
    links = torch.zeros(sides.mask.shape, dtype=torch.bool, device=link_ids.device)
    rows, item = ((i >= 0) & (j >= 0)).nonzero(as_tuple=True)
    links[rows, i[rows, item], j[rows, item]] = True
    return LinkGrid(sides, links)


def _positions(member: Tensor) -> tuple[Tensor, Tensor]:
    """Positions of a side, real ones first, cut to the longest row, and which are real."""
    counts = member.sum(1)
    width = int(counts.max()) if len(counts) else 0
    order = (~member).int().argsort(dim=1, stable=True)[:, :width]
    return order, torch.arange(width, device=member.device) < counts[:, None]


def _inverse(member: Tensor, positions: Tensor) -> Tensor:
    """Index within the side of each position, −1 where it is padding or not on that side."""
    rank = torch.where(member, member.long().cumsum(1) - 1, -1)
    return torch.where(positions >= 0, rank.gather(1, positions.clamp(min=0)), -1)


def _gather(states: Tensor, positions: Tensor) -> Tensor:
    return states.gather(1, positions[:, :, None].expand(-1, -1, states.shape[2]))
