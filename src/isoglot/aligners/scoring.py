"""Scores of word links against gold links: precision, recall, F1 and alignment error rate over a corpus.

A sentence without any link still counts in |S|; see :class:`isoglot.link_counts.AlignmentScore`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import TypeVar

from isoglot.checks import shortened
from isoglot.corpus.links import Alignment
from isoglot.corpus.sentence_pair import SentencePair
from isoglot.errors import ConfigurationError
from isoglot.link_counts import AlignmentScore

Links = frozenset[tuple[int, int]]
T = TypeVar("T")


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
        try:
            return cls(*(frozenset((index(s), index(t)) for s, t in links) for links in (sure, possible)))
        except (TypeError, ValueError):
            raise ConfigurationError(
                f"links are pairs of word numbers such as [(0, 0), (1, 2)], got {shortened(sure)}"
                + (f" and {shortened(possible)}" if possible else "")
            ) from None

    def outside(self, source: int, target: int) -> tuple[int, int] | None:
        """The first link of a word that a pair with this many words does not have."""
        found = (link for link in self.possible if not (0 <= link[0] < source and 0 <= link[1] < target))
        return min(found, default=None)

    def transpose(self) -> GoldAlignment:
        """The same links with the sides exchanged."""
        return GoldAlignment.of(((t, s) for s, t in self.sure), ((t, s) for s, t in self.possible))


GivenLinks = str | Path | Iterable[SentencePair | Alignment | GoldAlignment | str | Iterable[tuple[int, int]]]
"""A file of links, or the links of each sentence in any form."""


def require_sure(sure: bool, path: str | Path) -> None:
    """Refuse gold links without a sure one, against which recall and the error rate say nothing."""
    if not sure:
        raise ConfigurationError(
            f"{path}: has no sure link to measure against; give a file with sure links, or an aligned corpus"
        )


def score(links: GivenLinks, gold: GivenLinks) -> AlignmentScore:
    """Precision, recall, F1 and alignment error rate of links against gold links.

    Args:
        links: A file of links, or for each sentence a ``SentencePair``, an ``Alignment``, any collection of
            ``(source word, target word)``, or a Pharaoh line.
        gold: A file of gold links, or for each sentence a :class:`GoldAlignment` or any of the above, whose links are
            then sure ones; in a Pharaoh line ``3p4`` is a possible link.

    Returns:
        Counts over the corpus, and the rates (from 0 to 1) that follow from them.

    Raises:
        ConfigurationError: Different numbers of sentences, or gold links without a sure one.
        InputError: A file or line that cannot be read; other words, or links of words that the gold sentence lacks.

    Example:
        >>> found = score(["0-0 1-1", "0-0"], [{(0, 0), (1, 1)}, GoldAlignment.of([[0, 1]], [[0, 0]])])
        >>> found.precision, found.recall, round(found.aer, 3), found.links, found.sure
        (1.0, 0.6666666666666666, 0.167, 3, 3)
    """
    found, right = _all(Alignment, links), _all(GoldAlignment, gold)
    if found is None or right is None:
        from isoglot.aligners.score_file import score_given  # noqa: PLC0415 - it reads what is defined here

        return score_given(links, gold)
    if len(found) != len(right):
        raise ConfigurationError(
            f"got {len(found)} alignments but {len(right)} gold alignments; keep empty lines for empty alignments"
        )
    pairs = zip(found, right, strict=True)
    total = sum((score_pair(alignment.links, own) for alignment, own in pairs), AlignmentScore())
    require_sure(total.sure > 0, "gold")
    return total


def _all(kind: type[T], given: GivenLinks) -> Sequence[T] | None:
    """A list that holds nothing else."""
    if not isinstance(given, list | tuple):
        return None
    found = [own for own in given if isinstance(own, kind)]
    return found if len(found) == len(given) else None


def score_pair(links: Links, gold: GoldAlignment) -> AlignmentScore:
    """Score one sentence's links."""
    return AlignmentScore(len(links), len(gold.sure), len(links & gold.sure), len(links & gold.possible))
