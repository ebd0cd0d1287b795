"""Where elements of a line stand in its translation: words that pairs of tags hold, and gaps where tags stand alone.

What is between two tags of a pair is a span, which :mod:`isoglot.projection.rule` projects inside that of the element
that holds it. An element of all words of another has all words of it in the translation, and so have several elements
that have all words together. A tag that stands alone, a pair without words, and a pair whose words are lost stand in
the gap of the element that holds them which has the words before and after them on their sides; where no gap has all,
the nearest words count most. Between several such gaps a tag stays with the word that it is written together with, and
at the end of a sentence with that end.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple
from unicodedata import category

from isoglot.formats.sentence_pair import SentencePair
from isoglot.projection.rule import Fate, Words, project_spans
from isoglot.projection.tags import MarkedText, spaces_around

_NEAR = 4
"""Linked words on either side of a tag that have a say where it stands."""
_SPACED_MARKS = "!?:;»"
"""Marks that close what is before them although French has a space between."""
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？", "؟", "۔", "।")
_Vote = tuple[float, int]
"""Weight of a linked word near a tag, and its translation."""
Position = tuple[int, int]
"""A word, and how many of its characters come before; with 0 the gap before the word."""


class Span(NamedTuple):
    """What an element holds in the source."""

    parent: int | None
    words: Words  # that share a character with it; none of a tag that stands alone
    opening: Position
    closing: Position

    @property
    def whole(self) -> bool:
        """Whether it begins and ends between words."""
        return not self.opening[1] and not self.closing[1]

    @property
    def empty(self) -> bool:
        """Whether it has no word."""
        return self.words[0] == self.words[1]


def spans_of(marked: MarkedText, words: Sequence[Words]) -> list[Span]:
    """The elements of a text whose words have these characters."""
    starts, ends = [start for start, _ in words], [end for _, end in words]
    positions = []
    for tag in marked.tags:
        word = bisect_right(ends, tag.offset)
        start = starts[word] if word < len(starts) else tag.offset
        positions.append((word, max(tag.offset - start, 0)))
    spans = []
    for element in marked.elements:
        opening, closing = positions[element.opening], positions[element.closing]
        if element.opening == element.closing:
            opening = closing = opening[0] + (opening[1] > 0), 0
        spans.append(Span(element.parent, (opening[0], closing[0] + (closing[1] > 0)), opening, closing))
    return spans


class MarkupProjection:
    """The elements of a line in its translation.

    Args:
        marked: The line.
        pair: Its text and the translation, with their words and links.
        gap: Words that are filled in between two of an element.
    """

    def __init__(self, marked: MarkedText, pair: SentencePair, gap: int) -> None:
        self.marked, self.pair = marked, pair
        self.spans = spans_of(marked, pair.texts_and_spans[1][0])
        self.words: dict[int, Words] = {}
        """Words of the elements that have some in the translation."""
        self.fates: dict[int, Fate] = {}
        """What became of the elements that have words in the source."""
        self.gaps: dict[int, int] = {}
        """The words before each element without words; missing where the element that holds it has none either."""
        self.moved: set[int] = set()
        """Those of them that have words on another side than in the source."""
        self._targets = defaultdict[int, list[int]](list)
        for word, translation in pair.links:
            self._targets[word].append(translation)
        self._linked = sorted(self._targets)
        self._marks = {n for n, word in enumerate(pair.target_words) if not any(map(str.isalnum, word))}
        self._spaces = spaces_around(marked.tags)
        words, parents = [span.words for span in self.spans], [span.parent for span in self.spans]
        count = len(pair.target_words)
        projected = project_spans(words, pair, count, gap=gap, parents=parents, marks=self._marks)
        for number, (span, projection) in enumerate(zip(self.spans, projected, strict=True)):
            if not span.empty:
                self.fates[number] = projection.fate
                if projection.words is not None:
                    self.words[number] = projection.words
        self._children = defaultdict[int | None, list[int]](list)
        for number in self.fates:
            self._children[self.spans[number].parent].append(number)
        for holder in [None, *range(len(self.spans))]:
            self._cover(holder)
        for number in self.words:
            if self.fates[number] == "lost":  # no word of it is linked, and it has words of its parent
                self.fates[number] = "shortened"
        for holder in [None, *self.words]:
            self._children[holder] = sorted(
                filter(self.words.get, self._children[holder]), key=self.words.__getitem__
            )
        for number, span in enumerate(self.spans):
            if number not in self.words and (span.parent is None or span.parent in self.words):
                self.gaps[number] = self._gap(number)

    def linked(self, source: int, target: int) -> bool:
        """Whether two words are linked."""
        return target in self._targets.get(source, ())

    def tags(self) -> Iterator[tuple[Position, int]]:
        """The tags in their order, each with its position; codes of a pair that cross elements keep their order."""
        children = defaultdict[int | None, list[tuple[int, bool, int]]](list)
        for number, element in enumerate(self.marked.elements):
            if number in self.words:
                children[element.parent].append((self.words[number][0], True, number))
            elif number in self.gaps:  # the others are inside such a one, and written with it
                children[element.parent].append((self.gaps[number], False, number))
        nested: list[tuple[Position, int]] = []
        left = [(number, True) for *_, number in sorted(children[None], reverse=True)]
        while left:
            number, begins = left.pop()
            element = self.marked.elements[number]
            if number in self.gaps:
                nested += [
                    ((self.gaps[number], 0), tag) for tag in range(element.opening, element.closing + 1)
                ]
            elif begins:
                nested.append((self.opening(number), element.opening))
                left.append((number, False))
                left += [(child, True) for *_, child in sorted(children[number], reverse=True)]
            else:
                nested.append((self.closing(number), element.closing))
        openings = {closing: opening for opening, closing in self.marked.crossing}
        latest: Position = (0, 0)
        written, waiting = set[int](), dict[int, int]()
        for position, tag in nested:
            if tag in openings and openings[tag] not in written:
                waiting[openings[tag]] = tag
                continue
            latest = max(latest, position)
            written.add(tag)
            yield latest, tag
            if tag in waiting:
                yield latest, waiting.pop(tag)

    def opening(self, element: int) -> Position:
        """Where an element that has words begins."""
        first = self.words[element][0]
        return first, self._inside(*self.spans[element].opening, first)

    def closing(self, element: int) -> Position:
        """Where it ends."""
        last = self.words[element][1] - 1
        inside = self._inside(*self.spans[element].closing, last)
        return (last, inside) if inside else (last + 1, 0)

    def _inside(self, source: int, characters: int, target: int) -> int:
        """Where a tag inside a word stands in its translation, if both are alike before or behind it; else 0."""
        if not characters or not self.linked(source, target):
            return 0
        word, translation = self.pair.source_words[source], self.pair.target_words[target]
        if len(translation) > characters and translation.startswith(word[:characters]):
            return characters
        rest = len(word) - characters
        return (
            len(translation) - rest if rest < len(translation) and translation.endswith(word[-rest:]) else 0
        )

    def bounds(self, element: int | None) -> tuple[Words, Words | None]:
        """The words of an element in the source and in the translation; without an element those of the line."""
        if element is None:
            return (0, len(self.pair.source_words)), (0, len(self.pair.target_words))
        return self.spans[element].words, self.words.get(element)

    def _cover(self, holder: int | None) -> None:
        """Give elements that have all words of another one all its words in the translation.

        Marks that close go to the element before them, other words to the one behind them, or to a lost one between
        both.
        """
        (first, stop), target = self.bounds(holder)
        children = self._children[holder]
        edges = [first, *(edge for child in children for edge in self.spans[child].words), stop]
        if target is None or edges[::2] != edges[1::2] or not all(self.spans[n].whole for n in children):
            return
        rank = {child: number for number, child in enumerate(children)}
        placed: list[int] = sorted(filter(self.words.get, children), key=self.words.__getitem__)
        for left, right in pairwise([None, *placed, None]):
            begin = target[0] if left is None else self.words[left][1]
            end = target[1] if right is None else self.words[right][0]
            cut = begin if left is None else self._behind_marks(begin, end)
            if left is not None and self._ends_sentence(0, self.spans[left].words[1]):
                stops = [gap for gap in range(begin, end + 1) if self._ends_sentence(1, gap)]
                cut = self._behind_marks(stops[0], end) if stops else cut
            following = 0 if left is None else rank[left] + 1
            if left is not None:
                lost = following < len(children) and children[following] not in self.words
                self.words[left] = self.words[left][0], cut if lost or right is not None else end
            if cut < end and following < len(children) and children[following] not in self.words:
                self.words[children[following]] = cut, end
            elif cut < end and right is not None:
                self.words[right] = cut, self.words[right][1]

    def _gap(self, number: int) -> int:
        """The gap of an element without words."""
        span = self.spans[number]
        (first, stop), target = self.bounds(span.parent)
        low, high = target or (0, 0)
        # the nearest linked words on both sides, among those of the element that holds it
        end, begin = (bisect_left(self._linked, word) for word in span.words)
        near = (
            [word for word in self._linked[max(end - _NEAR, 0) : end] if word >= first][::-1],
            [word for word in self._linked[begin : begin + _NEAR] if word < stop],
        )
        sides = [
            [
                (1 / rank, translation)
                for rank, word in enumerate(words, 1)
                for translation in self._targets[word]
                if low <= translation < high
            ]
            for words in near
        ]
        element = self.marked.elements[number]
        touches = self._spaces[element.opening][0] == "", self._spaces[element.closing][1] == ""
        before = self.pair.source_words[span.words[0] - 1] if span.words[0] > first else ""
        ends = bool(before) and self._ends_sentence(0, span.words[0])
        if ends:
            touches = True, False
        if touches[0] != touches[1]:  # written together with a word, a tag stays with it
            sides[touches[1]] += [(weight, word) for weight, word in sides[touches[1]] if weight == 1]
        left, right = sides
        best = (
            max((word + 1 for _, word in left), default=low),
            min((word for _, word in right), default=high),
        )
        if best[0] > best[1] or any(self._outside(span.parent, gap) != (gap,) for gap in best):
            best = self._least_wrong(number, left, right, [low, high])
            around = range(max(low, best[0] - _NEAR), min(high, best[0] + _NEAR) + 1)
            if stops := [gap for gap in around if ends and self._ends_sentence(1, gap)]:
                stop_gap = min(stops, key=lambda gap: abs(gap - best[0]))
                best = stop_gap, stop_gap
        gap = self._chosen_gap(span, best, touches, ends, bool(left), bool(right))
        return gap if touches[0] or touches[1] else self._clear_of_marks(span, gap)

    def _chosen_gap(
        self, span: Span, best: Words, touches: tuple[bool, bool], ends: bool, left: bool, right: bool
    ) -> int:
        """One of the gaps from the first to the last of the best.

        ``touches``: Whether the tag is written together with what is on its left and on its right.
        ``ends``: Whether it stands at the end of a sentence.
        ``left``, ``right``: Whether there are linked words on these sides.
        """
        (first, stop), target = self.bounds(span.parent)
        if span.words[0] == first:
            return best[0]
        if span.words[1] == stop or not left:
            return best[1]
        before = self.pair.source_words[span.words[0] - 1]
        mark = not before[-1].isalnum()
        if right and not (touches[0] if touches[0] != touches[1] else mark):
            return best[1]
        high = (target or (0, 0))[1]
        behind = self._behind_marks(best[0], high if ends else best[1]) if mark else best[0]
        return behind if self._outside(span.parent, behind) == (behind,) else best[0]

    def _clear_of_marks(self, span: Span, gap: int) -> int:
        """The gap behind closing marks for a tag that has spaces on both sides and no mark behind it in the source.

        ``I know <ph/> that`` becomes ``Ich weiß, <ph/> dass`` and not ``Ich weiß <ph/>, dass``.
        """
        (first, stop), target = self.bounds(span.parent)
        inside = first < span.words[0] and span.words[1] < stop
        if not inside or target is None or gap == target[0]:
            return gap
        following = self.pair.source_words[span.words[1]]
        if not any(map(str.isalnum, following)):
            return gap
        behind = self._behind_marks(gap, target[1])
        at_end = behind == target[1]
        return gap if at_end or self._outside(span.parent, behind) != (behind,) else behind

    def _ends_sentence(self, side: int, gap: int) -> bool:
        """Whether the word before a gap ends a sentence."""
        return gap > 0 and self.pair.words[side][gap - 1].endswith(_SENTENCE_ENDS)

    def _behind_marks(self, gap: int, stop: int) -> int:
        """The gap behind the marks that stand here and close what is before them, as ``.`` and ``)`` do, not ``(``."""
        (_, text), (_, spans) = self.pair.texts_and_spans
        while gap < stop and gap in self._marks:
            start, end = spans[gap]
            kind, touching = category(text[start]), start > 0 and not text[start - 1].isspace()
            opens = kind == "Ps" or (kind == "Pi" and text[end : end + 1].isalnum())
            if opens or not (touching or text[start] in _SPACED_MARKS):
                break
            gap += 1
        return gap

    def _least_wrong(self, number: int, left: list[_Vote], right: list[_Vote], edges: list[int]) -> Words:
        """The first and the last of the gaps that have the least weight of words on the other side."""
        costs = {
            gap: round(
                sum(weight for weight, word in left if word >= gap)
                + sum(weight for weight, word in right if word < gap),
                6,
            )
            for edge in [*edges, *(word + side for _, word in [*left, *right] for side in (0, 1))]
            for gap in self._outside(self.spans[number].parent, edge)
        }
        least = min(costs.values())
        if least:
            self.moved.add(number)
        best = [gap for gap, cost in costs.items() if cost == least]
        return min(best), max(best)

    def _outside(self, holder: int | None, gap: int) -> Words | tuple[int]:
        """The gap, or where it is inside an element those around this."""
        children = self._children[holder]
        rank = bisect_left(children, gap, key=lambda child: self.words[child][0]) - 1
        if rank >= 0 and gap < self.words[children[rank]][1]:
            return self.words[children[rank]]
        return (gap,)
