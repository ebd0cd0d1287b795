"""How labels go over word links: majority, ties, contiguity.

1. *Majority.* A word takes the tag that most of its links carry. It belongs to a span if at least half of its links
   come from the span's words.
2. *Ties.* Of tags or spans with equally many links the one with the greater sum of probabilities wins (a link without
   one counts 1), then the one that stands first in the source. Between a span and words outside it, the span wins.
3. *Exclusion.* Spans without a common word have none in the translation either: a word that could belong to several
   belongs to the one with most links.
4. *Contiguity.* A span stays in one piece. Between two of its words up to :data:`GAP` others are filled in, unless
   they belong to another span. Of the pieces that remain the one with most links is kept (ties as above).

A word without links has no tag. A span without a word is *lost*; one of several pieces is *split*; one that has a
source word without a link into the piece is *shortened*.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:  # it imports numpy, which --help does without
    from isoglot.formats.sentence_pair import SentencePair

GAP = 3
"""Longest gap in a span that is filled in, in words."""

Range = tuple[int, int]
"""First word, and the word after the last."""
Fate = Literal["whole", "shortened", "split", "lost"]
_Weight = tuple[int, float]
"""Links, and the sum of their probabilities."""
_Links = list[list[tuple[int, float]]]
"""For each target word the source word and the probability of its links, from left to right."""


class ProjectedSpan(NamedTuple):
    """A span in the translation."""

    words: Range | None  # none where it is lost
    fate: Fate
    cut: tuple[int, ...] = ()  # words of the pieces that are not kept


def project_word_tags(tags: Sequence[str], pair: SentencePair, length: int) -> list[str | None]:
    """A tag for each of ``length`` words of the translation, none where a word has no link.

    Example:
        >>> from isoglot.formats.sentence_pair import SentencePair
        >>> project_word_tags(["DET", "NOUN"], SentencePair(links=[(0, 0), (1, 1)]), 3)
        ['DET', 'NOUN', None]
    """
    result: list[str | None] = []
    for links in _by_target(pair, length):
        weights: dict[str, _Weight] = {}
        for source, probability in links:  # from left to right: of equal ones `max` takes the first
            count, mass = weights.get(tags[source], (0, 0.0))
            weights[tags[source]] = (count + 1, mass + probability)
        result.append(max(weights, key=lambda tag: weights[tag]) if weights else None)
    return result


def project_spans(
    spans: Sequence[Range],
    pair: SentencePair,
    length: int,
    *,
    exclusive: bool = True,
    gap: int = GAP,
    parents: Sequence[int | None] = (),
    marks: Collection[int] | None = None,
) -> list[ProjectedSpan]:
    """Where spans of source words stand in a translation of ``length`` words.

    Args:
        spans: First source word, and the one after the last, of each span.
        pair: Links and their probabilities.
        length: Words of the translation.
        exclusive: Apply the rule's third part; answers to different questions may share words.
        gap: Words that are filled in between two of a span.
        parents: For each span the number of an earlier one that it must not leave, or none.
        marks: Of markup, the words of the translation without a letter. They choose between pieces of a span only where
            no other word does. Words without links are filled in whatever their number. A span that has no word by the
            rule's first part has the words that it shares with others, if only one of three links comes from it.

    Example:
        >>> from isoglot.formats.sentence_pair import SentencePair
        >>> links = SentencePair(links=[(0, 1), (1, 3)])
        >>> project_spans([(0, 2)], links, 5)[0].words, project_spans([(0, 2)], links, 5, gap=0)[0].words
        ((1, 4), (1, 2))
    """
    by_target, targets = _by_target(pair, length), defaultdict[int, list[int]](list)
    for source, target in pair.links:
        targets[source].append(target)
    claims: dict[Range, dict[int, _Weight]] = {}
    for span in spans:
        majority, minority = _claims(span, targets, by_target)
        claims[span] = minority if marks is not None and not majority else majority
    owners = _owners(claims) if exclusive else {}
    result: list[ProjectedSpan] = []
    for number, span in enumerate(spans):
        parent = parents[number] if parents else None
        low, high = (0, length) if parent is None else result[parent].words or (0, 0)

        def barred(word: int, span: Range = span) -> bool:
            return _apart(span, owners.get(word, span))

        words = {w: weight for w, weight in claims[span].items() if low <= w < high and not barred(w)}
        result.append(_contiguous(span, words, by_target, barred, gap, marks))
    return result


def _claims(
    span: Range, targets: Mapping[int, Sequence[int]], by_target: _Links
) -> tuple[dict[int, _Weight], dict[int, _Weight]]:
    """The target words that are linked to a span, from left to right, with the weight of these links.

    First the words at least half of whose links come from the span, then the others.
    """
    reached: set[int] = set()
    for source in range(*span):
        reached.update(targets.get(source, ()))
    majority: dict[int, _Weight] = {}
    minority: dict[int, _Weight] = {}
    for word in sorted(reached):
        probabilities = [value for source, value in by_target[word] if span[0] <= source < span[1]]
        claims = majority if 2 * len(probabilities) >= len(by_target[word]) else minority
        claims[word] = (len(probabilities), sum(probabilities))
    return majority, minority


def _by_target(pair: SentencePair, length: int) -> _Links:
    result: _Links = [[] for _ in range(length)]
    probabilities = pair.probabilities or [1.0] * len(pair.links)
    for (source, target), probability in zip(pair.links, probabilities, strict=True):
        result[target].append((source, probability))
    return result


def _owners(claims: Mapping[Range, dict[int, _Weight]]) -> dict[int, Range]:
    """The common words of the spans that may have each word.

    They are those that no other one without a common word outweighs.
    """
    claimants = defaultdict[int, list[Range]](list)
    for span, words in claims.items():
        for word in words:
            claimants[word].append(span)
    owners: dict[int, Range] = {}
    for word, spans in claimants.items():
        strongest = sorted(spans, key=lambda span: (claims[span][word], -span[0]), reverse=True)
        stronger = strongest[0]
        for span in strongest:
            if not _apart(span, stronger):
                owners[word] = _common(span, owners.get(word, span))
            stronger = _common(span, stronger)
    return owners


def _common(span: Range, second: Range) -> Range:
    """The last start and the first end: the common words of spans, or the other way round what is between two."""
    return max(span[0], second[0]), min(span[1], second[1])


def _apart(span: Range, common: Range) -> bool:
    """Whether a span has no word in common with one of the spans that :func:`_common` came from."""
    return span[1] <= common[0] or common[1] <= span[0]


def _contiguous(
    span: Range,
    weights: dict[int, _Weight],
    by_target: _Links,
    barred: Callable[[int], bool],
    gap: int,
    marks: Collection[int] | None,
) -> ProjectedSpan:
    """The piece with most links, and what became of the span."""
    pieces: list[list[int]] = []
    for word in weights:  # from left to right
        between = range(pieces[-1][-1] + 1, word) if pieces else range(0)
        filled = len(between) if marks is None else sum(bool(by_target[word]) for word in between)
        if pieces and filled <= gap and not any(map(barred, between)):
            pieces[-1].append(word)
        else:
            pieces.append([word])
    if not pieces:
        return ProjectedSpan(None, "lost")

    def weight(piece: list[int]) -> tuple[int, int, float]:
        links, mass = (sum(weights[word][n] for word in piece) for n in (0, 1))
        return sum(weights[word][0] for word in piece if word not in (marks or ())), int(links), mass

    heaviest = max(pieces, key=weight)  # of equal ones the first
    cut = tuple(word for piece in pieces if piece is not heaviest for word in piece)
    words = heaviest[0], heaviest[-1] + 1
    reached = {source for word in range(*words) for source, _ in by_target[word]}
    fate: Fate = "split" if cut else "whole" if reached >= {*range(*span)} else "shortened"
    return ProjectedSpan(words, fate, cut)
