import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoglot.corpus.encode.links import index_words, project_links, sort_links


def naive(links, source_words, target_words, subword):
    """One sentence's piece links, by the definitions."""
    found = set()
    for i, j in links:
        a = [p for p, w in enumerate(source_words) if w == i]
        b = [p for p, w in enumerate(target_words) if w == j]
        if not a or not b:
            continue
        if subword == "all":
            found |= {(x, y) for x in a for y in b}
        elif subword == "first":
            found.add((a[0], b[0]))
        elif subword == "last":
            found.add((a[-1], b[-1]))
        else:
            found |= {(a[min(k, len(a) - 1)], b[min(k, len(b) - 1)]) for k in range(max(len(a), len(b)))}
    return sorted(map(list, found))


@st.composite
def sentences(draw):
    sides = []
    for _ in range(2):
        counts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
        words = []
        for w, count in enumerate(counts):
            words += [-1] * draw(st.integers(0, 1)) + [w] * count
        sides.append((words, len(counts)))
    pairs = st.tuples(st.integers(0, sides[0][1] - 1), st.integers(0, sides[1][1] - 1))
    return sides[0], sides[1], draw(st.lists(pairs, max_size=6))


@pytest.mark.fast_variants(2)
@pytest.mark.parametrize("subword", ["all", "first", "last", "monotone"])
@given(batch=st.lists(sentences(), min_size=1, max_size=4))
def test_projection_equals_the_loop(subword, batch):
    sides = []
    for s in (0, 1):
        flat = np.array([w for row in batch for w in row[s][0]], dtype=np.int32)
        lengths = np.array([len(row[s][0]) for row in batch], dtype=np.int64)
        sides.append(index_words(flat, lengths, np.array([row[s][1] for row in batch], dtype=np.int64)))
    links = [(number, *link) for number, row in enumerate(batch) for link in row[2]]
    found = project_links(np.array(links, dtype=np.int64).reshape(-1, 3), *sides, subword=subword)
    for number, row in enumerate(batch):
        assert found[found[:, 0] == number, 1:].tolist() == naive(row[2], row[0][0], row[1][0], subword)


def test_monotone_holds_the_shorter_side_at_its_last_piece():
    source = index_words(np.array([0, 0, 0]), np.array([3]), np.array([1]))
    target = index_words(np.array([0, 0]), np.array([2]), np.array([1]))
    found = project_links(np.array([[0, 0, 0]]), source, target, subword="monotone")
    assert found.tolist() == [[0, 0, 0], [0, 1, 1], [0, 2, 1]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_sort_links_is_a_sorted_set(triples):
    links = np.array(triples, dtype=np.int64).reshape(-1, 3)
    assert list(map(tuple, sort_links(links).tolist())) == sorted(set(triples))
