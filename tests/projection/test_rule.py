"""The rule of projection against a naive reading of its four sentences, and by invariance."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.formats.sentence_pair import SentencePair
from isoglot.projection.rule import project_spans, project_word_tags

LINKS = st.dictionaries(
    st.tuples(st.integers(0, 7), st.integers(0, 9)), st.sampled_from([0.2, 0.5, 0.9]), max_size=20
)
SPANS = st.lists(st.tuples(st.integers(0, 7), st.integers(1, 3)), max_size=4).map(
    lambda several: [(a, min(a + n, 8)) for a, n in several]
)


def found(links: dict[tuple[int, int], float]) -> SentencePair:
    return SentencePair(links=sorted(links), probabilities=[links[link] for link in sorted(links)])


@given(LINKS)
def test_project_word_tags_takes_the_tag_of_most_links(links: dict[tuple[int, int], float]) -> None:
    tags = ["A", "B", "C", "A", "B", "C", "A", "B"]
    got = project_word_tags(tags, found(links), 10)
    for word in range(10):
        own = sorted(i for i, j in links if j == word)
        counts = Counter(tags[i] for i in own)
        if not own:
            assert got[word] is None
            continue
        assert got[word] is not None and counts[got[word]] == max(counts.values())
        best = [tag for tag in counts if counts[tag] == max(counts.values())]
        mass = {tag: sum(links[i, word] for i in own if tags[i] == tag) for tag in best}
        assert mass[got[word]] == pytest.approx(max(mass.values()))


@given(LINKS, SPANS, st.integers(0, 3))
def test_project_spans_keeps_spans_in_one_piece_and_apart(
    links: dict[tuple[int, int], float], spans: list[tuple[int, int]], gap: int
) -> None:
    got = project_spans(spans, found(links), 10, gap=gap)
    for (a, b), own in zip(spans, got, strict=True):
        reached = {j for i, j in links if a <= i < b}
        if own.target_range is None:
            assert own.fate == "lost" and not own.dropped
            continue
        first, stop = own.target_range
        assert 0 <= first < stop <= 10 and {first, stop - 1} <= reached
        assert set(own.dropped) <= reached - set(range(first, stop))
        assert (own.fate == "split") == bool(own.dropped)
        inside = sorted(reached & set(range(first, stop)))
        assert all(later - word <= gap + 1 for word, later in pairwise(inside))
        linked = {i for i, j in links if a <= i < b and first <= j < stop}
        assert own.fate != "whole" or len(linked) == b - a
    for one, own in zip(spans, got, strict=True):
        for other, theirs in zip(spans, got, strict=True):
            if (one[1] <= other[0] or other[1] <= one[0]) and own.target_range and theirs.target_range:
                assert not set(range(*own.target_range)) & set(range(*theirs.target_range))


@given(LINKS, SPANS)
def test_project_spans_without_exclusion_takes_each_as_if_alone(
    links: dict[tuple[int, int], float], spans: list[tuple[int, int]]
) -> None:
    together = project_spans(spans, found(links), 10, exclusive=False)
    assert together == [project_spans([span], found(links), 10)[0] for span in spans]


def test_majority_is_half_of_the_links_of_a_word() -> None:
    half = SentencePair(links=[(0, 0), (1, 0)])  # Haustür: house, door
    assert project_spans([(0, 1)], half, 1)[0].target_range == (0, 1)
    less = SentencePair(links=[(0, 0), (1, 0), (2, 0)])
    assert project_spans([(0, 1)], less, 1)[0].fate == "lost"


def test_ties_of_spans_go_by_links_then_probability_then_place() -> None:
    def owners(links: list[tuple[int, int]], probabilities: list[float]) -> list[str]:
        return [
            own.fate
            for own in project_spans(
                [(2, 4), (0, 2)], SentencePair(links=links, probabilities=probabilities), 1
            )
        ]

    assert owners([(0, 0), (2, 0), (3, 0)], [0.9, 0.1, 0.1]) == ["whole", "lost"]
    assert owners([(0, 0), (2, 0)], [0.5, 0.6]) == ["shortened", "lost"]
    assert owners([(0, 0), (2, 0)], [0.5, 0.5]) == ["lost", "shortened"]


def test_gap_with_a_word_of_another_span_is_not_filled() -> None:
    links = SentencePair(links=[(0, 0), (1, 2), (2, 1)])
    assert project_spans([(0, 2), (2, 3)], links, 3)[0] == ((0, 1), "split", (2,))
    assert project_spans([(0, 2)], links, 3)[0].target_range == (0, 3)


def test_piece_with_most_links_is_kept() -> None:
    links = SentencePair(links=[(0, 0), (1, 5), (1, 6), (2, 6)], probabilities=[0.9, 0.1, 0.1, 0.1])
    assert project_spans([(0, 3)], links, 7, gap=1)[0] == ((5, 7), "split", (0,))


def test_project_spans_keeps_a_span_inside_its_parent() -> None:
    links = SentencePair(links=[(0, 0), (1, 1), (2, 8)])
    got = project_spans([(0, 3), (2, 3)], links, 9, parents=[None, 0])
    assert got[0].target_range == (0, 2) and got[1].fate == "lost"


def test_strongest_of_separate_spans_inside_a_stronger_one_alone_has_a_word() -> None:
    # In `<c>x</c> <p><a>p</a> q <b>r</b></p>` the words x, p and r are linked to one word. It belongs to <p>, which has
    # two of the links, so <c> may not have it; of the children of <p> only the first one may.
    links = SentencePair(links=[(0, 0), (1, 0), (3, 0)])
    spans, parents = [(0, 1), (1, 4), (1, 2), (3, 4)], [None, None, 1, 1]
    got = project_spans(spans, links, 1, parents=parents, marks=())
    assert [span.target_range for span in got] == [None, (0, 1), (0, 1), None]
