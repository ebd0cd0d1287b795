"""Scores of word links against gold links: precision, recall, F1 and alignment error rate over a corpus.

A sentence without any link still counts in |S|; see :class:`isoglot.link_counts.AlignmentScore`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from isoglot.aligners.alignment import Alignment
from isoglot.errors import ConfigurationError
from isoglot.link_counts import AlignmentScore

Links = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class GoldAlignment:
    """Gold links of one sentence pair; sure links are possible too, whether the file repeats them or not."""

    sure: frozenset[tuple[int, int]]  # links on which annotators agree
    possible: frozenset[tuple[int, int]] = frozenset()  # links that are not wrong

    def __post_init__(self) -> None:
        object.__setattr__(self, "possible", self.possible | self.sure)

    @classmethod
    def of(cls, sure: Iterable[Sequence[int]], possible: Iterable[Sequence[int]] = ()) -> GoldAlignment:
        """From lists of ``[source, target]``."""
        return cls(frozenset((s, t) for s, t in sure), frozenset((s, t) for s, t in possible))

    def transpose(self) -> GoldAlignment:
        """The same links with the sides exchanged."""
        return GoldAlignment.of(((t, s) for s, t in self.sure), ((t, s) for s, t in self.possible))


def require_sure(gold: Iterable[GoldAlignment], path: str | Path) -> None:
    """Refuse gold links without a sure one, against which recall and the error rate say nothing."""
    if not any(own.sure for own in gold):
        raise no_sure_link(path)


def no_sure_link(path: str | Path) -> ConfigurationError:
    """The error for gold links without a sure one."""
    return ConfigurationError(
        f"{path}: has no sure link to measure against; give a file with sure links, or an aligned corpus"
    )


def score(alignments: Sequence[Alignment], gold: Sequence[GoldAlignment]) -> AlignmentScore:
    """Score a corpus.

    Example:
        >>> gold = [GoldAlignment.of([[0, 0]], [[1, 1]])]
        >>> score([Alignment.from_pharaoh("0-0 1-1")], gold).aer
        0.0
    """
    if len(alignments) != len(gold):
        raise ConfigurationError(
            f"{len(alignments)} alignments and {len(gold)} gold alignments given; keep empty lines for empty ones"
        )
    total = AlignmentScore()
    for alignment, own in zip(alignments, gold, strict=True):
        total += score_pair(alignment.links, own)
    return total


def score_pair(links: Links, gold: GoldAlignment) -> AlignmentScore:
    """Score one sentence's links."""
    return AlignmentScore(len(links), len(gold.sure), len(links & gold.sure), len(links & gold.possible))
