"""Scores of word links against gold links: precision, recall, F1 and alignment error rate over a corpus.

With the links A, the sure gold links S and the possible ones P ⊇ S, summed over all sentences,

    precision = |A ∩ P| / |A|,   recall = |A ∩ S| / |S|,   AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

A sentence without any link still counts in |S|.

Source: Och & Ney 2003 (*A systematic comparison of various statistical alignment models*), §7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from isoglot.aligners.alignment import Alignment
from isoglot.errors import ConfigurationError

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


@dataclass(frozen=True, slots=True)
class AlignmentScore:
    """Counts over any number of sentences, and what follows from them; counts add up with ``+``."""

    links: int = 0  # |A|
    sure: int = 0  # |S|
    sure_hits: int = 0  # |A ∩ S|
    possible_hits: int = 0  # |A ∩ P|

    def __add__(self, other: AlignmentScore) -> AlignmentScore:
        return AlignmentScore(
            self.links + other.links,
            self.sure + other.sure,
            self.sure_hits + other.sure_hits,
            self.possible_hits + other.possible_hits,
        )

    @property
    def precision(self) -> float:
        """Share of the links that are possible; 0 without links."""
        return self.possible_hits / self.links if self.links else 0.0

    @property
    def recall(self) -> float:
        """Share of the sure links that were found; 0 without sure links."""
        return self.sure_hits / self.sure if self.sure else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0

    @property
    def aer(self) -> float:
        """Alignment error rate, 0 the best; 0 where there is neither a link nor a sure one."""
        total = self.links + self.sure
        return 1 - (self.sure_hits + self.possible_hits) / total if total else 0.0


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
