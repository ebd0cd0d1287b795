"""Scores of word links against gold links: precision, recall, F1 and alignment error rate over a corpus.

A sentence without any link still counts in |S|; see :class:`isoglot.link_counts.AlignmentScore`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from isoglot.corpus.links import Alignment, Link
from isoglot.corpus.sentence_pair import SentencePair
from isoglot.errors import ConfigurationError
from isoglot.link_counts import AlignmentScore

Links = frozenset[Link]
T = TypeVar("T")


GivenLinks = str | Path | Iterable[SentencePair | Alignment | str | Iterable[Link]]
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
        gold: A file of gold links, or for each sentence a ``SentencePair`` with gold links, or any of the above, whose
            links are then sure ones; in a Pharaoh line ``3p4`` is a possible link.

    Returns:
        Counts over the corpus, and the rates (from 0 to 1) that follow from them.

    Raises:
        ConfigurationError: Different numbers of sentences, or gold links without a sure one.
        InputError: A file or line that cannot be read; other words, or links of words that the gold sentence lacks.

    Example:
        >>> found = score(["0-0 1-1", "0-0"], [{(0, 0), (1, 1)}, SentencePair.of_gold([[0, 1]], [[0, 0]])])
        >>> found.precision, found.recall, round(found.aer, 3), found.links, found.sure
        (1.0, 0.6666666666666666, 0.167, 3, 3)
    """
    found, right = _all(Alignment, links), _all(SentencePair, gold)
    if found is None or right is None or any(pair.sure is None for pair in right):
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


def score_pair(links: Links, gold: SentencePair) -> AlignmentScore:
    """Score one sentence's links against the gold links of a pair."""
    sure = gold.sure or frozenset()
    return AlignmentScore(len(links), len(sure), len(links & sure), len(links & gold.possible))
