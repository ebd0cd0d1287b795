"""Tables of more word pairs than are kept exactly."""

from __future__ import annotations

import random

import numpy as np
import pytest

from isoglot.aligners.statistical import ibm2, pair_table
from isoglot.aligners.statistical.bitext import encode
from isoglot.aligners.statistical.model import StatisticalAligner


@pytest.fixture
def sides():
    draw = random.Random(3)
    words = "abcdefghij"
    source = [[draw.choice(words) for _ in range(draw.randint(0, 9))] for _ in range(200)]
    return encode(source), encode([[w.upper() for w in sentence] for sentence in source])


def test_large_tables_are_in_single_precision_and_give_the_same_links(sides, monkeypatch):
    exact = StatisticalAligner().fit_align_sides(*sides)
    monkeypatch.setattr(ibm2, "MOST_PAIRS", 10)
    aligner = StatisticalAligner()
    large = aligner.fit_align_sides(*sides)
    assert aligner.model.forward.translation.dtype == np.float32
    assert large.links.to_pharaoh() == exact.links.to_pharaoh()
    assert large.score == pytest.approx(exact.score, rel=1e-5)


def test_links_do_not_depend_on_the_parts_that_threads_take(sides, monkeypatch):
    many = StatisticalAligner().fit_align_sides(*sides)
    monkeypatch.setattr(pair_table, "_RANGES", 1)
    one = StatisticalAligner().fit_align_sides(*sides)
    assert one.links.probability.tolist() == many.links.probability.tolist()
    assert one.score.tolist() == many.score.tolist()


@pytest.mark.parametrize("method", ["fast_align", "hmm"])
@pytest.mark.parametrize("symmetrisation", ["union", "agreement"])
def test_a_model_that_is_not_kept_gives_the_same_links(sides, method, symmetrisation):
    kept = StatisticalAligner(method, symmetrisation=symmetrisation).fit_align_sides(*sides)
    other = StatisticalAligner(method, symmetrisation=symmetrisation).fit_align_sides(*sides, keep=False)
    for one, two in ((kept.links, other.links), (kept.forward, other.forward), (kept.reverse, other.reverse)):
        assert one.to_pharaoh() == two.to_pharaoh()
        assert one.probability.tolist() == two.probability.tolist()
    assert kept.score.tolist() == other.score.tolist()
