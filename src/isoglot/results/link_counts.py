"""Counts of word links against gold links: precision, recall, F1 and alignment error rate, in %.

With the links A, the sure gold links S and the possible ones P ⊇ S, summed over all sentences,

    precision = |A ∩ P| / |A|,   recall = |A ∩ S| / |S|,   AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

All shares that isoglot reports are in %, those here too; probabilities and similarities of links are from 0 to 1.

Source: Och & Ney 2003 (*A systematic comparison of various statistical alignment models*), §7.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from isoglot.core.errors import ConfigurationError
from isoglot.core.frames import Tabular


@dataclass(frozen=True, slots=True, repr=False)
class AlignmentScore(Tabular):
    """Counts over any number of sentences, and values in % that follow from them; counts add up with ``+``."""

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

    def __repr__(self) -> str:
        figures = ", ".join(
            f"{name}={getattr(self, name):.2f}" for name in ("precision", "recall", "f1", "aer")
        )
        return f"AlignmentScore({figures}, links={self.links}, sure={self.sure})"

    @property
    def precision(self) -> float:
        """Share of the links that are possible, in %; 0 without links."""
        return 100 * (self.possible_hits / self.links) if self.links else 0.0

    @property
    def recall(self) -> float:
        """Share of the sure links that were found, in %; 0 without sure links."""
        return 100 * (self.sure_hits / self.sure) if self.sure else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, in %."""
        if not self.sure_hits:
            return 0.0
        precision, recall = self.possible_hits / self.links, self.sure_hits / self.sure
        return 100 * (2 * precision * recall / (precision + recall))

    @property
    def aer(self) -> float:
        """Alignment error rate in %, 0 is best; 0 if there are neither links nor sure links."""
        total = self.links + self.sure
        return 100 * (1 - (self.sure_hits + self.possible_hits) / total) if total else 0.0

    def to_dict(self) -> dict[str, float]:
        """Return the values that ``isoglot score --json`` prints.

        They are the values in %, and the numbers of links and of sure links, not those of the hits.
        """
        return {name: getattr(self, name) for name in ("precision", "recall", "f1", "aer", "links", "sure")}


def require_sure(sure: bool, path: str | Path) -> None:
    """Refuse gold links without a sure link: without one, recall and the error rate mean nothing."""
    if not sure:
        raise ConfigurationError(
            f"{path}: has no sure link to measure against; give a file with sure links, or an aligned corpus"
        )
