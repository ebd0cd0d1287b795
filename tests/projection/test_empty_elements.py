"""Each rule of where an element without words goes, alone."""

from __future__ import annotations

import pytest
from tagged_lines import projection

from isoglot.projection.empty_elements import (
    EmptyElement,
    Vote,
    Votes,
    agreed,
    chosen,
    clear_of_marks,
    empty_element,
    glued,
    least_wrong,
    nearest_sentence_end,
    votes_around,
)
from isoglot.projection.linked_line import LinkedLine, group_spaces

Links = list[tuple[int, int]]


def empty(marked: str, text: str, links: Links, number: int = 0) -> tuple[LinkedLine, EmptyElement, Votes]:
    """An element without words, and the votes for its place."""
    found = projection(marked, text, links)
    line, parent = found.line, found.line.marked.elements[number].parent
    siblings = sorted(
        words for child, words in found.ranges.items() if line.marked.elements[child].parent == parent
    )
    target = line.target_range(parent, found.ranges)
    assert target is not None
    element = empty_element(line, number, target, siblings, group_spaces(line.marked))
    return line, element, votes_around(line, element, sorted(line.targets_of))


def ordered(count: int) -> Links:
    return [(n, n) for n in range(count)]


def test_votes_1_come_from_up_to_four_linked_words_on_each_side() -> None:
    _, _, votes = empty("a b c d e <x/> f", "A B C D E F", ordered(6))
    assert votes.left == [Vote(1, 4), Vote(1 / 2, 3), Vote(1 / 3, 2), Vote(1 / 4, 1)]
    assert votes.right == [Vote(1, 5)]


def test_votes_1_come_from_the_same_parent() -> None:
    _, _, votes = empty("a <b>c <x/> d</b> e", "A C D E", ordered(4), number=1)
    assert (votes.left, votes.right) == ([Vote(1, 1)], [Vote(1, 2)])


@pytest.mark.parametrize(
    ("marked", "doubled"),
    [
        ("a <br/>Close", "right"),
        ("a<br/> Close", "left"),
        ("a <br/> Close", ""),
        ("a<br/>Close", ""),
        ("Save. <br/>Close", "left"),
        ("a <br/><x/>Close", "right"),  # beside another tag, as the group of both is written
    ],
)
def test_glued_2_the_neighbour_that_a_tag_touches_votes_twice(marked: str, doubled: str) -> None:
    _, element, votes = empty(marked, "A. B", ordered(3 if "." in marked else 2))
    counted = glued(element, votes)
    assert [len(counted.left) > len(votes.left), len(counted.right) > len(votes.right)] == [
        doubled == "left",
        doubled == "right",
    ]


def test_agreed_3_on_every_boundary_between_the_votes_of_both_sides() -> None:
    _, element, votes = empty("Press <img/> to", "Drücken Sie jetzt zu", [(0, 0), (1, 3)])
    assert agreed(element, votes) == (1, 3)
    _, element, votes = empty("Press <img/> to", "zu Drücken", [(0, 1), (1, 0)])
    assert agreed(element, votes) is None
    _, element, votes = empty("Press <img/> <b>to save</b>", "Drücken zum Sichern", ordered(3))
    assert element.siblings == [(1, 3)] and agreed(element, votes) == (1, 1)
    assert agreed(element, Votes([Vote(1, 1)], [Vote(1, 2)])) is None  # inside the sibling


def test_least_wrong_4_has_the_least_weight_on_its_wrong_side() -> None:
    _, element, votes = empty("a b <x/> c", "C A B", [(0, 1), (1, 2), (2, 0)])
    # behind B the word C is wrong (weight 1), before C the words A and B are (1 + 1/2)
    assert least_wrong(element, votes) == ((3, 3), True)
    assert projection("a b <x/> c", "C A B", [(0, 1), (1, 2), (2, 0)]).moved == {0}
    _, element, votes = empty("<img/> a <b>c d</b>", "C A D", [(0, 1), (1, 0), (2, 2)])
    assert least_wrong(element, votes) == ((0, 0), False)


def test_nearest_sentence_end_4_for_a_tag_behind_a_sentence() -> None:
    text = "Wir gehen jetzt. Es regnet."  # 0 1 2 3 4 5 6
    line, element, _ = empty("It rains. <br/>We go.", text, [(0, 4), (1, 5), (3, 0), (4, 1)])
    assert element.follows_sentence
    assert nearest_sentence_end(line, element, (6, 6)) == (7, 7)
    assert nearest_sentence_end(line, element, (2, 2)) == (4, 4)


def test_nearest_sentence_end_4_is_not_inside_a_sibling() -> None:
    text = "Geh isst. Auch viel er."  # 0 1 2 3 4 5 6
    line, element, _ = empty("Go. <br/>He <b>eats much</b>", text, [(0, 0), (1, 5), (2, 4), (3, 1), (4, 3)])
    assert element.siblings == [(1, 4)] and line.target.ends_sentence(3)
    assert nearest_sentence_end(line, element, (4, 4)) == (7, 7)  # though boundary 3 is nearer
    assert nearest_sentence_end(line, element, (1, 1)) == (1, 1)  # no other end is near


@pytest.mark.parametrize(
    ("marked", "boundary"),
    [
        ("<x/> a c", 1),  # at the start of the parent the first
        ("a c <x/>", 3),  # at its end the last
        ("a <x/>c", 3),  # before the word that it touches
        ("a<x/> c", 1),  # behind it
        ("a <x/> c", 3),  # before its right neighbour
        ("a, <x/> c", 2),  # but behind a mark, also behind its translation
    ],
)
def test_chosen_5_is_one_of_the_right_boundaries(marked: str, boundary: int) -> None:
    line, element, votes = empty(marked, "A, B C", [(0, 0), (1 + ("," in marked), 3)])
    assert chosen(line, element, votes, (1, 3)) == boundary


def test_clear_of_marks_6_keeps_a_tag_between_spaces_behind_closing_marks() -> None:
    line, element, _ = empty("I know <ph/> that", "Ich weiß, dass", [(0, 0), (1, 1), (2, 3)])
    assert clear_of_marks(line, element, 2) == 3
    line, element, _ = empty("I know <ph/>, that", "Ich weiß, dass", [(0, 0), (1, 1), (3, 3)])
    assert clear_of_marks(line, element, 2) == 2  # the source has the mark behind it
    line, element, _ = empty("I <ph/> go", "Ich gehe.", [(0, 0), (1, 1)])
    assert clear_of_marks(line, element, 2) == 2  # the end of the line is no place inside it
