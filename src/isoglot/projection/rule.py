"""The rules by which labels go over word links. :func:`project_word_tags` and :func:`project_spans` apply them.

1. *Majority.* A word takes the tag that most of its links carry. It belongs to a span if at least half of its links
   come from the span's words: *Haustür*, linked to *house* and to *door*, may belong to a span with *door* alone.
2. *Ties.* Of tags or spans with equally many links the one with the greater sum of probabilities wins (a link without
   one counts 1), then the one that stands first in the source. Between a span and words outside it, the span wins.
3. *Exclusion.* Spans without a common source word have no common target word either: a word that could belong to
   several belongs to the one with most links (ties as in 2). Spans that share source words, such as nested elements,
   may share target words.
4. *Contiguity.* A span stays in one piece. Between two of its words up to :data:`GAP` others are filled in, unless
   they belong to another span: *Anna ja Bell* is one name although no link reaches *ja*. Of the pieces that remain the
   one with most links is kept (ties as in 2).

A word without links has no tag. A span without a word is *lost*; one of several pieces is *split*; one that has a
source word without a link into its piece is *shortened*.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:  # it imports numpy, which --help does without
    from isoglot.formats.sentence_pair import SentencePair

GAP = 3
"""Longest gap in a span that is filled in, in words."""

Range = tuple[int, int]
"""First word, and the word after the last."""
Fate = Literal["whole", "shortened", "split", "lost"]


class ProjectedSpan(NamedTuple):
    """A span in the translation."""

    target_range: Range | None  # None where the span is lost
    fate: Fate
    dropped: tuple[int, ...] = ()  # target words of the span's pieces that are not kept


class _Weight(NamedTuple):
    """How strongly a target word is linked to a tag or a span. Compared as rule 2 says: links first."""

    links: int
    probability: float  # sum over these links


_LinksByTarget = list[list[tuple[int, float]]]
"""For each target word its source words with the probability of the link, from left to right."""
_Claims = dict[int, _Weight]
"""Target words that may belong to a span, from left to right."""


def project_word_tags(tags: Sequence[str], pair: SentencePair, length: int) -> list[str | None]:
    """Give each of ``length`` target words the tag that most of its links carry, None where it has no link.

    Example:
        >>> from isoglot.formats.sentence_pair import SentencePair
        >>> project_word_tags(["DET", "NOUN"], SentencePair(links=[(0, 0), (1, 1)]), 3)
        ['DET', 'NOUN', None]
    """
    target_tags: list[str | None] = []
    for links in _links_by_target(pair, length):
        weights: dict[str, _Weight] = {}
        for source, probability in links:
            before = weights.get(tags[source], _Weight(0, 0.0))
            weights[tags[source]] = _Weight(before.links + 1, before.probability + probability)
        # Tags were met from left to right, and of equal ones `max` takes the first: the last tie of rule 2.
        target_tags.append(max(weights, key=weights.__getitem__, default=None))
    return target_tags


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
    """Find the words that spans of source words become in a translation of ``length`` words.

    Args:
        spans: The range of source words of each span.
        pair: Links and their probabilities.
        length: Words of the translation.
        exclusive: Apply rule 3; answers to different questions may share words.
        gap: Words that are filled in between two of a span (rule 4).
        parents: For each span the number of an earlier one that it must not leave, or None.
        marks: The target words without a letter or digit, for markup; None for other labels. With marks, even if there
            are none of them, the rules for markup hold:

            - Rule 1: a span that gets no word takes the words that it shares with others, even if only one of three
              links comes from it.
            - Rule 4: words without links are filled in, however many they are.
            - Rule 4: a mark helps to choose a piece only where the other words do not.

    Example:
        >>> from isoglot.formats.sentence_pair import SentencePair
        >>> links = SentencePair(links=[(0, 1), (1, 3)])
        >>> project_spans([(0, 2)], links, 5)[0].target_range
        (1, 4)
        >>> project_spans([(0, 2)], links, 5, gap=0)[0].target_range
        (1, 2)
    """
    is_markup = marks is not None
    by_target = _links_by_target(pair, length)
    targets_of = defaultdict[int, list[int]](list)
    for source, target in pair.links:
        targets_of[source].append(target)
    claims: dict[Range, _Claims] = {}
    for span in spans:
        majority, minority = _claims_of(span, targets_of, by_target)  # 1
        claims[span] = minority if is_markup and not majority else majority
    allowed = _allowed_spans(claims) if exclusive else {}  # 3
    projected: list[ProjectedSpan] = []
    for number, span in enumerate(spans):
        parent = parents[number] if parents else None
        # The words that the span may have: those of its parent. A lost parent has none.
        first, stop = 0, length
        if parent is not None:
            first, stop = projected[parent].target_range or (0, 0)
        is_barred = partial(_is_barred, span, allowed)
        inside = {word: weight for word, weight in claims[span].items() if first <= word < stop}
        own = {word: weight for word, weight in inside.items() if not is_barred(word)}
        pieces = _pieces(own, by_target, is_barred, gap, fill_unlinked=is_markup)  # 4
        projected.append(_heaviest_piece(span, pieces, own, by_target, marks or ()))
    return projected


def _links_by_target(pair: SentencePair, length: int) -> _LinksByTarget:
    """Group the links of a pair by target word; a link without a probability counts 1."""
    by_target: _LinksByTarget = [[] for _ in range(length)]
    probabilities = pair.probabilities or [1.0] * len(pair.links)
    for (source, target), probability in zip(pair.links, probabilities, strict=True):
        by_target[target].append((source, probability))
    return by_target


def _claims_of(
    span: Range, targets_of: Mapping[int, Sequence[int]], by_target: _LinksByTarget
) -> tuple[_Claims, _Claims]:
    """Rule 1: the target words at least half of whose links come from a span, and the others that are linked to it."""
    first, stop = span
    reached: set[int] = set()
    for source in range(first, stop):
        reached.update(targets_of.get(source, ()))
    majority: _Claims = {}
    minority: _Claims = {}
    for word in sorted(reached):
        probabilities = [value for source, value in by_target[word] if first <= source < stop]
        has_half = 2 * len(probabilities) >= len(by_target[word])
        claims = majority if has_half else minority
        claims[word] = _Weight(len(probabilities), sum(probabilities))
    return majority, minority


class _SpanGroup(NamedTuple):
    """A group of spans, by the last start and the first end among them.

    These two numbers are enough to tell whether another span has no word in common with one of them. The spans (0, 4)
    and (2, 6) have the last start 2 and the first end 4. So they exclude (4, 5), which begins where (0, 4) has ended,
    and (0, 1), which ends before (2, 6) begins.
    """

    last_start: int
    first_end: int

    def with_span(self, span: Range) -> _SpanGroup:
        """The group with one more span."""
        return _SpanGroup(max(self.last_start, span[0]), min(self.first_end, span[1]))

    def excludes(self, span: Range) -> bool:
        """Whether ``span`` has no word in common with at least one span of the group."""
        return span[1] <= self.last_start or self.first_end <= span[0]


def _allowed_spans(claims: Mapping[Range, _Claims]) -> dict[int, _SpanGroup]:
    """Rule 3: for each target word that spans claim, the group of spans that may have it.

    The word is barred for each span that this group excludes, also if that span would only fill it in (rule 4).

    The strongest span may have the word. A weaker one may have it too if it shares a source word with each span that
    may. So of two children of one parent, which are apart from each other, only the stronger may have the word, also
    where the parent is stronger than both.
    """
    claimants = defaultdict[int, list[Range]](list)
    for span, words in claims.items():
        for word in words:
            claimants[word].append(span)
    allowed: dict[int, _SpanGroup] = {}
    for word, spans in claimants.items():
        strongest_first = sorted(spans, key=lambda span: (claims[span][word], -span[0]), reverse=True)
        group = _SpanGroup(*strongest_first[0])
        for span in strongest_first[1:]:
            if not group.excludes(span):
                group = group.with_span(span)
        allowed[word] = group
    return allowed


def _is_barred(span: Range, allowed: Mapping[int, _SpanGroup], word: int) -> bool:
    """Rule 3: whether a span may not have a target word. Words that no span claims are free."""
    return word in allowed and allowed[word].excludes(span)


def _pieces(
    words: _Claims,
    by_target: _LinksByTarget,
    is_barred: Callable[[int], bool],
    gap: int,
    *,
    fill_unlinked: bool,
) -> list[list[int]]:
    """Rule 4: the words of a span, from left to right, in pieces; a gap that is filled in joins two of them."""
    pieces: list[list[int]] = []
    for word in words:
        between = range(pieces[-1][-1] + 1, word) if pieces else range(0)
        # Of markup, words without links do not count: they have no place of their own.
        counted = [skipped for skipped in between if by_target[skipped] or not fill_unlinked]
        if pieces and len(counted) <= gap and not any(map(is_barred, between)):
            pieces[-1].append(word)
        else:
            pieces.append([word])
    return pieces


def _heaviest_piece(
    span: Range,
    pieces: Sequence[list[int]],
    words: _Claims,
    by_target: _LinksByTarget,
    marks: Collection[int],
) -> ProjectedSpan:
    """Rule 4: the piece that is kept, and what became of the span."""
    if not pieces:
        return ProjectedSpan(None, "lost")

    def weight(piece: list[int]) -> tuple[int, int, float]:
        links_without_marks = sum(words[word].links for word in piece if word not in marks)
        links = sum(words[word].links for word in piece)
        return links_without_marks, links, sum(words[word].probability for word in piece)

    kept = max(pieces, key=weight)  # of equal ones the first
    dropped = []
    for piece in pieces:
        if piece is not kept:
            dropped += piece
    target_range = kept[0], kept[-1] + 1
    reached: set[int] = set()
    for target in range(*target_range):
        reached.update(source for source, _ in by_target[target])
    fate: Fate = "whole" if reached.issuperset(range(*span)) else "shortened"
    if dropped:
        fate = "split"
    return ProjectedSpan(target_range, fate, tuple(dropped))
