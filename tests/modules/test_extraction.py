"""Link extraction against per-sentence loops and against links of SimAlign 0.4."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from references import reference
from refusals import refused
from scipy.ndimage import binary_propagation

from isoglot.core.errors import ConfigurationError
from isoglot.modules.extraction import (
    backward_links,
    distort,
    first_argmax,
    forward_links,
    intersection_links,
    itermax_links,
    joined_links,
    max_weight_links,
    pair_mask,
    printed_links,
    softmax_probabilities,
    union_links,
)


def reference_argmax(scores):
    """Mutual argmax of one unpadded matrix as a set of links, with numpy's first-maximum rule."""
    rows, columns = scores.argmax(axis=1), scores.argmax(axis=0)
    return {(i, int(j)) for i, j in enumerate(rows) if columns[j] == i}


def reference_itermax(similarity, *, alpha=0.9, passes=2):
    """SimAlign's rule for one unpadded sentence pair, cell by cell."""
    n, m = similarity.shape
    links = reference_argmax(similarity)
    if min(n, m) <= 2:
        return links
    for _ in range(1, passes):
        free_rows = set(range(n)) - {i for i, _ in links}
        free_columns = set(range(m)) - {j for _, j in links}
        if not free_rows or not free_columns:
            break
        scores = np.zeros((n, m))
        for i, j in itertools.product(range(n), range(m)):
            weight = alpha * float(i in free_rows) + alpha * float(j in free_columns)
            scores[i, j] = similarity[i, j] * min(weight, 1.0)
        new = {(i, j) for i, j in reference_argmax(scores) if i in free_rows or j in free_columns} - links
        if not new:
            break
        links = links | new
    return links


def reference_printed(similarity, *, alpha=0.9, passes=2):
    """Eq. 7-9 of XLM-Align, cell by cell."""
    plan, links = similarity.copy(), set()
    n, m = plan.shape
    for _ in range(passes):
        forward = {(i, max(range(m), key=lambda k, i=i: (plan[i, k], -k))) for i in range(n)}
        backward = {(max(range(n), key=lambda k, j=j: (plan[k, j], -k)), j) for j in range(m)}
        links |= forward & backward
        updated = plan.copy()
        for i, j in itertools.product(range(n), range(m)):
            if (i, j) in links:
                updated[i, j] = 0.0
            elif any((i, k) in links for k in range(m)) or any((k, j) in links for k in range(n)):
                updated[i, j] = alpha * plan[i, j]
        plan = updated
    return links


EXTRACTORS = {
    "argmax": intersection_links,
    "forward": forward_links,
    "backward": backward_links,
    "intersection": intersection_links,
    "union": union_links,
    "itermax": itermax_links,
    "printed": printed_links,
    "match": max_weight_links,
}


def pack(matrices, *, extra=2, fill=99.0):
    """Pad matrices to one batch; padding holds a value that would win every argmax."""
    n, m = (max(s.shape[d] for s in matrices) + extra for d in (0, 1))
    batch = torch.full((len(matrices), n, m), fill, dtype=torch.from_numpy(matrices[0]).dtype)
    mask = torch.zeros(batch.shape, dtype=torch.bool)
    for b, s in enumerate(matrices):
        batch[b, : s.shape[0], : s.shape[1]] = torch.from_numpy(s)
        mask[b, : s.shape[0], : s.shape[1]] = True
    return batch, mask


def as_sets(links):
    return [{(i, j) for i, j in row.nonzero().tolist()} for row in links]


def random_matrices(count, *, seed, dtype=np.float32):
    """Sides of 1 to 9 tokens; many ties, zero rows and zero columns, constant matrices."""
    rng = np.random.default_rng(seed)
    matrices = []
    for k in range(count):
        n, m = rng.integers(1, 10, size=2)
        s = rng.random((n, m))
        if k % 3 == 0:
            s = np.round(s, 1)
        elif k % 3 == 1:
            s = rng.integers(0, 3, size=(n, m)) / 2.0
        if k % 5 == 0:
            s[rng.integers(n)] = 0.0
        if k % 7 == 0:
            s[:, rng.integers(m)] = 0.0
        if k % 97 == 0:
            s[:] = 0.5 if k % 2 else 0.0
        matrices.append(s.astype(dtype))
    return matrices


@pytest.mark.parametrize("passes", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_itermax_equals_the_loop_on_thousands(passes, dtype):
    matrices = random_matrices(1200, seed=passes, dtype=dtype)
    links = itermax_links(*pack(matrices), passes=passes)
    expected = [reference_itermax(s.astype(np.float64), passes=passes) for s in matrices]
    assert as_sets(links) == expected


def test_distortion_needs_a_ratio_and_two_rows():
    batch, mask = pack(random_matrices(20, seed=4))
    assert torch.equal(distort(batch, mask, ratio=0.0), batch)
    one_row = mask & (torch.arange(mask.shape[1]) == 0)[None, :, None]
    assert torch.equal(distort(batch, one_row), batch)


@pytest.mark.parametrize("alpha", [0.3, 0.5, 0.7, 1.0])
def test_itermax_other_discounts(alpha):
    matrices = random_matrices(300, seed=11, dtype=np.float64)
    links = itermax_links(*pack(matrices), alpha=alpha, passes=3)
    assert as_sets(links) == [reference_itermax(s, alpha=alpha, passes=3) for s in matrices]


@pytest.mark.parametrize("passes", [1, 2, 3, 5])
@pytest.mark.parametrize("alpha", [0.5, 0.9])
def test_the_printed_filter_equals_the_loop_on_hundreds(passes, alpha):
    matrices = random_matrices(400, seed=passes, dtype=np.float64)
    links = printed_links(*pack(matrices), alpha=alpha, passes=passes)
    assert as_sets(links) == [reference_printed(s, alpha=alpha, passes=passes) for s in matrices]


def test_printed_filter_alone_links_words_that_are_covered_on_both_sides():
    """Pass 1 links the diagonal; itermax then stops, Eq. 9 leaves 0.9 of the cells beside it and goes on."""
    plan = torch.tensor([[[1.0, 0.9, 0.1], [0.2, 1.0, 0.1], [0.1, 0.1, 1.0]]], dtype=torch.float64)
    mask, diagonal = torch.ones_like(plan, dtype=torch.bool), {(0, 0), (1, 1), (2, 2)}
    assert as_sets(itermax_links(plan, mask)) == [diagonal]
    assert as_sets(printed_links(plan, mask)) == [diagonal | {(0, 1), (1, 0)}]
    short, both = plan[:, :2, :2], mask[:, :2, :2]
    assert as_sets(itermax_links(short, both)) == [{(0, 0), (1, 1)}]
    assert as_sets(printed_links(short, both)) == [{(0, 0), (1, 1), (0, 1), (1, 0)}]


def test_under_the_printed_filter_most_random_pairs_have_a_word_with_two_links():
    plans = torch.rand(500, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    links = printed_links(plans, torch.ones_like(plans, dtype=torch.bool))
    twice = (links.sum(1) > 1).any(1) | (links.sum(2) > 1).any(1)
    assert int(twice.sum()) > 450


def test_itermax_passes_grow_and_links_stay():
    batch, mask = pack([s + 0.01 for s in random_matrices(200, seed=5, dtype=np.float64)])
    passes = [itermax_links(batch, mask, passes=k) for k in (1, 2, 3)]
    assert bool((passes[0] <= passes[1]).all()) and bool((passes[1] <= passes[2]).all())
    assert passes[0].sum() < passes[1].sum() < passes[2].sum()


@given(st.integers(0, 10_000), st.integers(0, 6))
@settings(max_examples=30, deadline=None)
def test_padding_changes_nothing(seed, extra):
    matrices = random_matrices(6, seed=seed)
    small, small_mask = pack(matrices, extra=0)
    large, large_mask = pack(matrices, extra=extra, fill=-5.0)
    for name, function in EXTRACTORS.items():
        links = function(small, small_mask)
        padded = function(large, large_mask)
        assert torch.equal(padded[:, : links.shape[1], : links.shape[2]], links), name
        assert int(padded.sum()) == int(links.sum()), name
        assert bool((links <= small_mask).all()), name


@given(st.integers(0, 10_000), st.sampled_from([1, 2, 3]))
@settings(max_examples=40, deadline=None)
def test_transposed_similarities_give_transposed_links(seed, passes):
    batch, mask = pack(random_matrices(6, seed=seed))
    turned, turned_mask = batch.transpose(1, 2).contiguous(), mask.transpose(1, 2)
    for name in ("argmax", "intersection", "union"):
        links = EXTRACTORS[name](batch, mask)
        assert torch.equal(EXTRACTORS[name](turned, turned_mask).transpose(1, 2), links), name
    assert torch.equal(backward_links(turned, turned_mask).transpose(1, 2), forward_links(batch, mask))
    links = itermax_links(batch, mask, passes=passes)
    assert torch.equal(itermax_links(turned, turned_mask, passes=passes).transpose(1, 2), links)


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_transposed_matching_weighs_the_same(seed):
    batch, mask = pack(random_matrices(6, seed=seed, dtype=np.float64))
    links = max_weight_links(batch, mask)
    back = max_weight_links(batch.transpose(1, 2), mask.transpose(1, 2)).transpose(1, 2)
    weights = [batch.masked_fill(~chosen, 0.0).sum((1, 2)) for chosen in (links, back)]
    assert torch.allclose(*weights)  # with ties the links themselves may differ
    assert links.sum((1, 2)).tolist() == back.sum((1, 2)).tolist()


@given(st.integers(0, 10_000), st.permutations(range(6)))
@settings(max_examples=20, deadline=None)
def test_the_order_of_a_batch_changes_nothing(seed, order):
    batch, mask = pack(random_matrices(6, seed=seed))
    for name, function in EXTRACTORS.items():
        assert torch.equal(function(batch[order], mask[order]), function(batch, mask)[order]), name


def test_padding_may_stand_anywhere():
    s = torch.rand(1, 5, 6, generator=torch.Generator().manual_seed(3))
    rows, columns = torch.tensor([[0, 1, 0, 1, 1, 1, 1]]).bool(), torch.tensor([[1, 0, 1, 1, 1, 1, 1]]).bool()
    wide = torch.full((1, 7, 7), 9.0)
    wide[0, rows[0].nonzero(), columns[0].nonzero().T] = s[0]
    mask = pair_mask(rows, columns)
    for name, function in EXTRACTORS.items():
        expected = function(s, torch.ones_like(s, dtype=torch.bool))
        assert torch.equal(function(wide, mask)[0][rows[0]][:, columns[0]], expected[0]), name


def test_directions_combine():
    batch, mask = pack(random_matrices(100, seed=31))
    forward, backward = forward_links(batch, mask), backward_links(batch, mask)
    assert torch.equal(intersection_links(batch, mask), forward & backward)
    assert torch.equal(union_links(batch, mask), forward | backward)
    other = batch.flip(1).masked_fill(~mask, 0.0)
    assert torch.equal(intersection_links(batch, mask, other), forward & backward_links(other, mask))
    assert torch.equal(forward.sum(2), mask.any(2).long()) and torch.equal(
        backward.sum(1), mask.any(1).long()
    )


def test_first_maximum_wins():
    scores = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [-1.0, -2.0, -1.0]])
    assert first_argmax(scores, 1).tolist() == [1, 0, 0]
    assert first_argmax(scores, 0).tolist() == [1, 0, 0]
    many = torch.randint(0, 4, (50, 300), generator=torch.Generator().manual_seed(0)).float()
    assert first_argmax(many, 1).tolist() == many.numpy().argmax(1).tolist()


def test_match_is_the_best_assignment():
    for s in random_matrices(60, seed=2, dtype=np.float64):
        if max(s.shape) > 5:
            continue
        n, m = s.shape
        small, swap = (s, False) if n <= m else (s.T, True)
        best = max(
            sum(small[i, j] for i, j in enumerate(columns))
            for columns in itertools.permutations(range(small.shape[1]), small.shape[0])
        )
        links = max_weight_links(*pack([s]))[0].nonzero().tolist()
        assert len(links) == min(n, m) and sum(s[i, j] for i, j in links) == pytest.approx(best), swap


def test_softmax_threshold_against_numpy():
    for s in [12 * s for s in random_matrices(40, seed=8, dtype=np.float64)]:
        forward = np.exp(s) / np.exp(s).sum(1, keepdims=True)
        backward = np.exp(s) / np.exp(s).sum(0, keepdims=True)
        expected = {(int(i), int(j)) for i, j in np.argwhere((forward > 1e-3) & (backward > 1e-3))}
        batch, mask = pack([s], fill=1e4)
        rows, columns = softmax_probabilities(batch, mask)
        assert as_sets((rows > 1e-3) & (columns > 1e-3)) == [expected]
        np.testing.assert_allclose(rows[0, : s.shape[0], : s.shape[1]].numpy(), forward, atol=1e-12)
        np.testing.assert_allclose(columns[0, : s.shape[0], : s.shape[1]].numpy(), backward, atol=1e-12)


def test_half_precision_and_empty_sides():
    batch, mask = pack(random_matrices(20, seed=4))
    for function in EXTRACTORS.values():
        assert function(batch.bfloat16(), mask).dtype == torch.bool
        assert function(torch.zeros(2, 0, 3), torch.zeros(2, 0, 3, dtype=torch.bool)).shape == (2, 0, 3)
        assert function(torch.zeros(0, 4, 3), torch.zeros(0, 4, 3, dtype=torch.bool)).shape == (0, 4, 3)
        assert not bool(function(batch, torch.zeros_like(mask)).any())


def test_mistakes_are_named():
    one = torch.ones(1, 1, 1)
    with refused(ConfigurationError, "itermax", "passes 0"):
        itermax_links(one, one.bool(), passes=0)
    with refused(ConfigurationError, "printed needs", "passes 0"):
        printed_links(one, one.bool(), passes=0)


@given(st.integers(0, 2**31), st.integers(0, 3), st.integers(0, 9), st.integers(0, 9), st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_joined_links_grow_as_in_scipy(seed: int, batch: int, n: int, m: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    links, sure = rng.random((batch, n, m)) < share, rng.random((batch, n, m)) < 0.2
    found = joined_links(torch.from_numpy(links), torch.from_numpy(sure))
    for b in range(batch):
        expected = binary_propagation(links[b] & sure[b], structure=np.ones((3, 3)), mask=links[b])
        assert (found[b].numpy() == expected).all()


def test_joined_links_follow_a_chain_to_its_end() -> None:
    links = torch.eye(40, dtype=torch.bool)[None]
    sure = torch.zeros_like(links)
    assert not joined_links(links, sure).any()
    sure[0, 0, 0] = True
    assert joined_links(links, sure).equal(links)


@pytest.mark.parametrize("extra", [0, 2])
def test_matchers(extra: int) -> None:
    cases = reference("golden")["simalign"]["cases"]
    batch, mask = pack([np.array(case["similarity"]) for case in cases], extra=extra, fill=9.0)
    found = {
        "fwd": forward_links,
        "rev": backward_links,
        "inter": intersection_links,
        "itermax2": itermax_links,
        "itermax3": partial(itermax_links, passes=3),
        "mwmf": max_weight_links,
    }
    distorted = distort(batch, mask, ratio=0.5)
    for name, extract in found.items():
        links = extract(batch, mask)
        for b, case in enumerate(cases):
            assert links[b].nonzero().tolist() == sorted(case[name]), (name, b)
    for b, case in enumerate(cases):
        n, m = np.array(case["similarity"]).shape
        np.testing.assert_allclose(distorted[b, :n, :m], case["distortion_0_5"], atol=1e-9)
