from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import fast_align_reference
from refusals import refused

from isoglot.aligners.alignment import LinkTable
from isoglot.aligners.statistical.options import SYMMETRISERS
from isoglot.aligners.symmetrise import symmetrise_table
from isoglot.core.errors import ConfigurationError
from isoglot.formats.links import Alignment

Links = frozenset[tuple[int, int]]
links = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 7)), max_size=14)


def naive(forward: Links, reverse: Links, method: str) -> Links:
    """The rule, one candidate after the other."""
    result = set(forward & reverse)
    union = forward | reverse
    if method == "intersect":
        return frozenset(result)
    if method == "union":
        return frozenset(union)

    def covered(i: int, j: int) -> tuple[bool, bool]:
        return any(s == i for s, _ in result), any(t == j for _, t in result)

    grew = True
    while grew:
        grew = False
        for i, j in sorted(union - result):
            near = any((i + a, j + b) in result for a in (-1, 0, 1) for b in (-1, 0, 1))
            if near and not all(covered(i, j)):
                result.add((i, j))
                grew = True
    if method != "grow-diag":
        for side in (forward, reverse):
            for i, j in sorted(side - result):
                one, other = covered(i, j)
                if not (one and other) if method == "grow-diag-final" else not (one or other):
                    result.add((i, j))
    return frozenset(result)


def symmetrise(forward: Alignment, reverse: Alignment, method: str) -> Alignment:
    tables = LinkTable.from_alignments([forward]), LinkTable.from_alignments([reverse])
    return symmetrise_table(*tables, method).alignments()[0]


@settings(deadline=None)
@given(st.lists(st.tuples(links, links), max_size=6), st.sampled_from(SYMMETRISERS[2:]))
def test_equals_the_naive_rule(pairs, method):
    forward, reverse = (LinkTable.from_alignments(Alignment(pair[side]) for pair in pairs) for side in (0, 1))
    result = symmetrise_table(forward, reverse, method)
    assert [a.links for a in result.alignments()] == [naive(f, r, method) for f, r in pairs]


@settings(deadline=None)
@given(st.integers(2, 30), st.booleans())
def test_a_chain_grows_against_the_order_of_the_passes(length, up):
    """Each pass adds one link, if it grows upwards: what takes most passes."""
    first = (length, length) if up else (0, 0)
    union = frozenset((k, k) for k in range(length + 1))
    assert symmetrise(Alignment(union), Alignment(frozenset({first})), "grow-diag").links == union


def test_time_and_memory_grow_with_the_links_not_with_the_words():
    """Words 0 and 10**6 of both sides are linked; a matrix of the sentence would hold 10**12 cells."""
    far = 10**6
    forward = Alignment(frozenset({(0, 0), (far, far)}) | {(k, 0) for k in range(1, 2000)})
    reverse = Alignment(frozenset({(0, 0), (far - 1, far)}))
    grown = symmetrise(forward, reverse, "grow-diag").links
    assert (1, 0) in grown
    assert (far, far) not in grown


@settings(deadline=None)
@given(links, links)
def test_intersect_and_union_do_not_depend_on_the_sides(forward, reverse):
    one, other = Alignment(forward), Alignment(reverse)
    for method in ("intersect", "union"):
        turned = symmetrise(other.transpose(), one.transpose(), method)
        assert turned.transpose() == symmetrise(one, other, method) == symmetrise(other, one, method)


@settings(deadline=None)
@given(links, links, st.sampled_from(SYMMETRISERS[4:]))
def test_grown_links_lie_between_intersection_and_union(forward, reverse, method):
    one, other = Alignment(forward), Alignment(reverse)
    assert (one & other).links <= symmetrise(one, other, method).links <= (one | other).links
    assert symmetrise(one, one, method) == one


def test_the_three_finals_differ_where_they_should():
    forward, reverse = Alignment.from_pharaoh("0-0 0-3 2-2"), Alignment.from_pharaoh("0-0 3-0 1-1 5-5")
    expected = {
        "intersect": "0-0",
        "grow-diag": "0-0 1-1 2-2",
        "grow-diag-final": "0-0 0-3 1-1 2-2 3-0 5-5",
        "grow-diag-final-and": "0-0 1-1 2-2 5-5",
        "union": "0-0 0-3 1-1 2-2 3-0 5-5",
        "forward": "0-0 0-3 2-2",
    }
    assert {m: symmetrise(forward, reverse, m).to_pharaoh() for m in expected} == expected


def test_probabilities_reward_agreement():
    forward = Alignment.from_pharaoh("0-0 1-1"), [0.9, 0.4]
    reverse = Alignment.from_pharaoh("0-0 2-2"), [0.4, 0.8]
    tables = []
    for alignment, values in (forward, reverse):
        table = LinkTable.from_alignments([alignment])
        tables.append(LinkTable(table.offsets, table.source, table.target, values_of(values)))
    result = symmetrise_table(tables[0], tables[1], "union")
    assert result.probability.tolist() == pytest.approx([0.6, 0.2, 0.4])


def values_of(values):
    return np.array(values, np.float32)


def test_unknown_method_and_unequal_sides_are_explained():
    table = LinkTable.from_pharaoh(["0-0"])
    with refused(ConfigurationError, "'grow'", "'grow-diag'"):
        symmetrise_table(table, table, "grow")
    with refused(ConfigurationError, "1 forward", "2 reverse"):
        symmetrise_table(table, LinkTable.from_pharaoh(["0-0", ""]), "union")


@pytest.mark.parametrize("method", SYMMETRISERS[2:])
def test_links_are_those_of_atools(method):
    links = fast_align_reference()
    forward, reverse = (LinkTable.from_pharaoh(links[side]) for side in ("forward", "reverse"))
    assert symmetrise_table(forward, reverse, method).to_pharaoh() == links[method]


@pytest.mark.fast_variants(2)
@pytest.mark.parametrize("method", SYMMETRISERS[2:])
def test_equals_atools_on_thousands_of_captions(method):
    data = os.environ.get("ISOGLOT_DATA")
    folder = Path(data).resolve().parent / "reference" / "fast_align" if data else None
    if folder is None or not folder.is_dir():
        pytest.skip("ISOGLOT_DATA has no reference folder beside it")

    def lines(name):
        return gzip.decompress((folder / f"{name}.gz").read_bytes()).decode().splitlines()

    forward, reverse = (LinkTable.from_pharaoh(lines(side)) for side in ("forward", "reverse"))
    expected = lines(method)
    assert len(expected) == 5000
    assert symmetrise_table(forward, reverse, method).to_pharaoh() == expected
