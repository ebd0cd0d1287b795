"""Places for elements without words: each stands at a boundary between two words of the translation.

:func:`place_empty_elements` goes through them, and :func:`place_of_empty` has the rules for one, a function each.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from isoglot.projection.linked_line import LinkedLine, Ranges, Spaces, children_of, group_spaces
from isoglot.projection.rule import Range

_VOTERS = 4
"""Linked words on either side of an element that vote."""
_NEAR = 4
"""How many words away an end of a sentence is still near."""

Candidates = tuple[int, int]
"""The first and the last boundary at which an element may stand, both included."""


class Vote(NamedTuple):
    """A target word that is linked to a source word near an element; nearer words have more weight."""

    weight: float
    word: int


class EmptyElement(NamedTuple):
    """An element without words in the translation, and what its place depends on."""

    source_range: Range  # empty for a tag that stands alone
    parent_source_range: Range
    parent_target_range: Range
    siblings: list[Range]  # target words of elements with the same parent, from left to right
    # Whether the tag is written together with the word before it, and with the word behind it. Behind the end of a
    # sentence only the word before it counts as touched, however the tag is written (rule 2).
    touches_left: bool
    touches_right: bool
    follows_sentence: bool  # the word before it ends a sentence

    @property
    def touches_one_side(self) -> bool:
        """Whether the tag is written together with one of its neighbours and not with the other."""
        return self.touches_left != self.touches_right

    def sibling_around(self, boundary: int) -> Range | None:
        """The sibling that a boundary is inside of, with words of it on both sides."""
        begun_before = bisect_left(self.siblings, boundary, key=lambda sibling: sibling[0])
        if begun_before == 0:
            return None
        nearest = self.siblings[begun_before - 1]
        return nearest if boundary < nearest[1] else None

    def is_free(self, boundary: int) -> bool:
        """Whether an element may stand at a boundary: it must not tear a sibling apart."""
        return self.sibling_around(boundary) is None

    def free_boundaries(self, boundary: int) -> Sequence[int]:
        """The boundary if it is free, else those before and behind the sibling around it."""
        around = self.sibling_around(boundary)
        if around is None:
            return (boundary,)
        first_word, word_behind = around
        return (first_word, word_behind)  # a boundary has the number of the word behind it


class Votes(NamedTuple):
    """Votes of the linked words on both sides of an element."""

    left: list[Vote]
    right: list[Vote]


def place_empty_elements(line: LinkedLine, ranges: Ranges) -> tuple[dict[int, int], set[int]]:
    """Find the boundary of each element that has no words in the translation, but whose parent has some.

    ``ranges``: The target words of the elements that have some.

    Returns:
        The boundaries by element, and the elements that have words on another side than in the source.
    """
    in_translation = sorted(ranges, key=ranges.__getitem__)
    siblings: dict[int | None, list[Range]] = {}
    for parent, children in children_of(line.marked, in_translation).items():
        siblings[parent] = [ranges[child] for child in children]
    linked_words, spaces = sorted(line.targets_of), group_spaces(line.marked)
    boundaries: dict[int, int] = {}
    moved: set[int] = set()
    for number, element in enumerate(line.marked.elements):
        parent_target_range = line.target_range(element.parent, ranges)
        if number in ranges or parent_target_range is None:
            continue
        beside = siblings.get(element.parent, [])
        empty = empty_element(line, number, parent_target_range, beside, spaces)
        boundaries[number], is_moved = place_of_empty(line, empty, linked_words)
        if is_moved:
            moved.add(number)
    return boundaries, moved


def empty_element(
    line: LinkedLine, number: int, parent_target_range: Range, siblings: list[Range], spaces: Sequence[Spaces]
) -> EmptyElement:
    """Collect what the place of an element depends on; ``spaces`` are :func:`group_spaces` of the line."""
    element = line.marked.elements[number]
    source_range = line.extents[number].source_range
    parent_source_range = line.source_range(element.parent)
    begins_later = source_range[0] > parent_source_range[0]
    follows_sentence = begins_later and line.source.ends_sentence(source_range[0])
    touches_left = spaces[element.opening].before == ""
    touches_right = spaces[element.closing].after == ""
    if follows_sentence:  # rule 2: it belongs to the end of the sentence, however it is written
        touches_left, touches_right = True, False
    return EmptyElement(
        source_range,
        parent_source_range,
        parent_target_range,
        siblings,
        touches_left,
        touches_right,
        follows_sentence,
    )


def place_of_empty(line: LinkedLine, empty: EmptyElement, linked_words: Sequence[int]) -> tuple[int, bool]:
    """Choose the boundary of an element without words; and say whether words are on another side than in the source.

    ``Press <img/> to save.`` has no word inside ``<img/>``, so the words around it decide:

    1. *Votes.* Up to four linked words on each side, inside the same parent, vote for a boundary: those on the left for
       the one behind their translations, those on the right for the one before theirs. The n-th nearest word weighs
       1/n.
    2. *Glued tags.* In ``<br/>Close`` the tag touches only its right neighbour, so that neighbour's vote counts twice.
       Behind the end of a sentence (``Save. <br/>Close``) the tag belongs to the left.
    3. *Agreement.* If all votes of the left lie before all votes of the right, every boundary between them is right.
    4. *Disagreement.* Word order changed around the tag: the boundaries with the least weight of words on the wrong
       side remain; if the tag stood behind the end of a sentence, only the nearest end of a sentence does. If that
       weight is not 0, the element was moved.
    5. *Choice.* The first boundary at the start of the parent, the last one at its end; else the one beside the word
       that the tag belongs to (:func:`chosen`).
    6. *Closing marks.* A tag that touches no word stays behind closing marks (:func:`clear_of_marks`).

    ``linked_words``: The source words that have links, from left to right.
    """
    votes = glued(empty, votes_around(line, empty, linked_words))  # 1, 2
    candidates, moved = agreed(empty, votes), False  # 3
    if candidates is None:
        candidates, moved = least_wrong(empty, votes)  # 4
        if empty.follows_sentence:
            candidates = nearest_sentence_end(line, empty, candidates)
    boundary = chosen(line, empty, votes, candidates)  # 5
    if not empty.touches_left and not empty.touches_right:
        boundary = clear_of_marks(line, empty, boundary)  # 6
    return boundary, moved


def votes_around(line: LinkedLine, empty: EmptyElement, linked_words: Sequence[int]) -> Votes:
    """Rule 1: the votes of the nearest linked words on both sides, inside the parent."""
    first, stop = empty.parent_source_range
    # `linked_words[begin:end]` are inside the element: none, unless the element lost its words in projection.
    begin = bisect_left(linked_words, empty.source_range[0])
    end = bisect_left(linked_words, empty.source_range[1])
    before = [word for word in linked_words[max(begin - _VOTERS, 0) : begin] if word >= first]
    behind = [word for word in linked_words[end : end + _VOTERS] if word < stop]
    before.reverse()  # the nearest first
    return Votes(_votes_of(line, empty, before), _votes_of(line, empty, behind))


def _votes_of(line: LinkedLine, empty: EmptyElement, nearest_first: Sequence[int]) -> list[Vote]:
    """The votes of source words: the translations of the n-th nearest word weigh 1/n each."""
    first, stop = empty.parent_target_range
    votes = []
    for rank, source in enumerate(nearest_first, 1):
        inside = [word for word in line.targets_of[source] if first <= word < stop]
        votes += [Vote(1 / rank, word) for word in inside]
    return votes


def glued(empty: EmptyElement, votes: Votes) -> Votes:
    """Rule 2: the nearest word votes twice if the tag is written together with it alone."""
    if not empty.touches_one_side:
        return votes
    if empty.touches_left:
        return Votes(_nearest_twice(votes.left), votes.right)
    return Votes(votes.left, _nearest_twice(votes.right))


def _nearest_twice(votes: list[Vote]) -> list[Vote]:
    """The votes, with those of the nearest word, whose weight is 1, once more."""
    return [*votes, *(vote for vote in votes if vote.weight == 1)]


def agreed(empty: EmptyElement, votes: Votes) -> Candidates | None:
    """Rule 3: the first and the last boundary that all votes agree on; None if there is none, or it is in a sibling."""
    start, end = empty.parent_target_range  # its outermost boundaries
    first = max((vote.word + 1 for vote in votes.left), default=start)
    last = min((vote.word for vote in votes.right), default=end)
    if first > last or not empty.is_free(first) or not empty.is_free(last):
        return None
    return first, last


def least_wrong(empty: EmptyElement, votes: Votes) -> tuple[Candidates, bool]:
    """Rule 4: the first and the last boundary with the least weight on the wrong side, and whether that is above 0."""
    # The weight changes only at words that vote, so no other boundary can be better.
    boundaries = [*empty.parent_target_range]
    for vote in [*votes.left, *votes.right]:
        boundaries += [vote.word, vote.word + 1]
    costs: dict[int, float] = {}
    for near in boundaries:
        for boundary in empty.free_boundaries(near):
            wrong_left = sum(vote.weight for vote in votes.left if vote.word >= boundary)
            wrong_right = sum(vote.weight for vote in votes.right if vote.word < boundary)
            costs[boundary] = round(wrong_left + wrong_right, 6)  # equal sums may differ in their last digit
    least = min(costs.values())
    best = [boundary for boundary, cost in costs.items() if cost == least]
    return (min(best), max(best)), least > 0


def nearest_sentence_end(line: LinkedLine, empty: EmptyElement, candidates: Candidates) -> Candidates:
    """Rule 4: the end of a sentence that is nearest to the first candidate; the candidates if none is near.

    An end inside a sibling does not count, because the element must not tear the sibling apart.
    """
    start, end = empty.parent_target_range
    around = range(max(start, candidates[0] - _NEAR), min(end, candidates[0] + _NEAR) + 1)
    ends = [
        boundary for boundary in around if line.target.ends_sentence(boundary) and empty.is_free(boundary)
    ]
    if not ends:
        return candidates
    nearest = min(ends, key=lambda boundary: abs(boundary - candidates[0]))
    return nearest, nearest


def chosen(line: LinkedLine, empty: EmptyElement, votes: Votes, candidates: Candidates) -> int:
    """Rule 5: one of the boundaries from the first to the last candidate.

    ``File<x/> could`` keeps the tag behind its left neighbour, ``File <x/>could`` before its right one. Without either,
    the tag goes before its right neighbour, but behind a mark that it follows: ``a (<x/>) c``.
    """
    first, last = candidates
    is_at_start = empty.source_range[0] == empty.parent_source_range[0]
    is_at_end = empty.source_range[1] == empty.parent_source_range[1]
    if is_at_start:
        return first
    if is_at_end or not votes.left:
        return last
    word_before = line.source.words[empty.source_range[0] - 1]
    follows_mark = not word_before[-1].isalnum()
    belongs_left = empty.touches_left if empty.touches_one_side else follows_mark
    if votes.right and not belongs_left:
        return last
    if not follows_mark:
        return first
    # The translation of the mark may have no link: the tag stays behind marks that close.
    # Rule 4 may have left one boundary, the end of a sentence; there closing marks may go beyond it.
    limit = empty.parent_target_range[1] if empty.follows_sentence else last
    behind = line.target.behind_closing_marks(first, limit)
    return behind if empty.is_free(behind) else first


def clear_of_marks(line: LinkedLine, empty: EmptyElement, boundary: int) -> int:
    """Rule 6: the boundary behind closing marks, for a tag that has spaces on both sides and no mark behind it.

    ``I know <ph/> that`` becomes ``Ich weiß, <ph/> dass`` and not ``Ich weiß <ph/>, dass``.
    """
    start, end = empty.parent_target_range
    is_inside = (
        empty.parent_source_range[0] < empty.source_range[0]
        and empty.source_range[1] < empty.parent_source_range[1]
    )
    if not is_inside or boundary == start or line.source.is_mark(empty.source_range[1]):
        return boundary
    behind = line.target.behind_closing_marks(boundary, end)
    # The tag is inside its parent in the source, so it does not move to the end of the parent.
    return behind if behind < end and empty.is_free(behind) else boundary
