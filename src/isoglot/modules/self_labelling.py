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

from isoglot.core.errors import ConfigurationError
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

    Pair 0 with the links 1–4 and 2–5 and pair 1 with the link 1–3 are ``rows`` ``[0, 0, 1]``, ``first`` ``[1, 2, 1]``
    and ``second`` ``[4, 5, 3]``.

    ``first`` and ``second`` are one sentence each: source and target in the links of a corpus
    (:func:`corpus_links`), the two in their order in the sequence in the links of :func:`self_label`.
    """

    batch: int  # number of pairs
    rows: Tensor  # the pair of each link, ascending
    first: Tensor  # position of the linked token of the first sentence
    second: Tensor  # position of the linked token of the second sentence

    def partners(self, length: int) -> Tensor:
        """The position that each position is linked to, −1 for none: (batch, length).

        With the links 1–4 and 2–5 in a sequence of 6, a row is ``[-1, 4, 5, -1, 1, 2]``. A token with several links has
        the last linked token of the other sentence as its partner, as in XLM-Align's code.
        """
        partner = torch.full((self.batch * length,), -1, dtype=torch.int64, device=self.rows.device)
        row_start = self.rows * length  # positions of all rows are counted through in `partner`
        partner.scatter_reduce_(0, row_start + self.first, self.second, "amax")
        partner.scatter_reduce_(0, row_start + self.second, self.first, "amax")
        return partner.view(self.batch, length)

    @classmethod
    def of_ids(cls, link_ids: Tensor) -> LinkedPositions:
        """Read links written as one tensor (batch, links, 2), −1 pads: the inverse of :meth:`link_ids`."""
        is_link = (link_ids >= 0).all(-1)
        rows, number_in_pair = is_link.nonzero(as_tuple=True)
        first, second = link_ids[rows, number_in_pair].T
        return cls(len(link_ids), rows, first, second)

    def link_ids(self) -> Tensor:
        """The links as one tensor: (batch, links, 2), −1 pads."""
        links_of_pair = torch.bincount(self.rows, minlength=self.batch)
        most = int(links_of_pair.max()) if self.batch else 0
        # The number of a link within its pair: its number among all links less that of the pair's first link.
        start_of_pair = links_of_pair.cumsum(0) - links_of_pair
        number = torch.arange(len(self.rows), device=self.rows.device)
        number_in_pair = number - start_of_pair[self.rows]
        ids = self.first.new_full((self.batch, most, 2), -1)
        ids[self.rows, number_in_pair] = torch.stack([self.first, self.second], dim=1)
        return ids

    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """The three tensors: the pair of each link, its position in the first sentence, and in the second."""
        return self.rows, self.first, self.second


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

    Rows of the matrices are the tokens of the sentence that stands first, be it source or target. The released code
    does the same, and its data hold every pair in both orders. Which sentence is the rows makes a difference: after a
    few iterations the plan, and so the links, still depend on it.

    ``side_ids``: 1 source, 2 target, 0 special tokens and padding.
    ``filtering``: ``itermax`` (the authors' code) or ``printed`` (Eq. 7-9 to the letter), both in ``passes`` with
    discount ``alpha``; ``intersection`` of π's rows and ξ's columns (the released aligner);
    ``union`` of both argmaxes of the plan (the ablation "without filtering").
    ``**transport``: ``iterations``, ``mu`` and ``epsilon`` of :func:`~isoglot.modules.sinkhorn.sinkhorn`.

    Returns:
        The links; ``first`` has the positions of the sentence that stands first.

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
    plan = pi if order == "official" else xi  # the matrix that was normalised last
    if filtering == "intersection":
        links = intersection_links(pi, mask, xi)
    elif filtering == "union":
        links = union_links(plan, mask)
    else:
        grow = printed_links if filtering == "printed" else itermax_links
        links = grow(plan, mask, alpha=alpha, passes=passes)
    # Rows i and columns j of a matrix count within a sentence; the positions count within the sequence.
    pair, i, j = links.nonzero(as_tuple=True)
    return LinkedPositions(len(links), pair, first[pair, i], second[pair, j])


def corpus_links(link_ids: Tensor, side_ids: Tensor) -> LinkedPositions:
    """Read links that came with the corpus, [source, target] positions, −1 pads; each link once.

    Links whose positions are not a source and a target token are left out.

    **Shape**: link_ids (batch, links, 2), side_ids (batch, length).

    Raises:
        ConfigurationError: a position beyond the inputs.
    """
    require_inside(link_ids, side_ids.shape[1])
    rows, source, target = LinkedPositions.of_ids(link_ids).tensors()
    real = (side_ids[rows, source] == 1) & (side_ids[rows, target] == 2)
    # Each link once. `unique` sorts the columns: by pair, then source, then target position.
    links = torch.stack([rows, source, target])[:, real]
    rows, source, target = torch.unique(links, dim=1)
    return LinkedPositions(len(link_ids), rows, first=source, second=target)


def require_inside(link_ids: Tensor, length: int) -> None:
    """Refuse links with a position beyond inputs of this length, which could be read as one of another row."""
    if bool((link_ids >= length).any()):
        raise ConfigurationError(
            f"links: position {int(link_ids.max())}, but the inputs have {length} tokens"
        )


def _first_and_second(side_ids: Tensor) -> tuple[Tensor, Tensor]:
    """Masks of the positions of the sentence that stands first in its row, and of the other: (batch, length) each."""
    is_source, is_target = side_ids == 1, side_ids == 2
    if not side_ids.numel():
        return is_source, is_target
    # The first token of a sentence, behind [CLS] or padding, says which sentence stands first.
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
    # A stable sort by "is no member" moves the members to the front and keeps their order.
    members_first = (~member).int().argsort(dim=1, stable=True)
    is_real = torch.arange(width, device=member.device) < counts[:, None]
    return members_first[:, :width], is_real


def _states_at(states: Tensor, positions: Tensor) -> Tensor:
    """The states at some positions of each row: (batch, length, hidden), (batch, n) -> (batch, n, hidden)."""
    return states.gather(1, positions[:, :, None].expand(-1, -1, states.shape[2]))
