from __future__ import annotations

import gzip
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import psi

from isoglot.align.statistical.cooccurrence import directed
from isoglot.align.statistical.ibm2 import DiagonalOptions, decode, estimate
from isoglot.align.statistical.layout import encode
from isoglot.errors import ConfigurationError

SOURCE = """the old house stands by the river
the river is old
a boat lies by the house
the boat is small and the house is old
a small river
the cat sleeps by the boat
a cat is small and the boat is old
the cat and the house""".splitlines()
TARGET = """das alte haus steht am fluss
der fluss ist alt
ein boot liegt am haus
das boot ist klein und das haus ist alt
ein kleiner fluss
die katze schläft am boot
eine katze ist klein und das boot ist alt
die katze und das haus""".splitlines()


def naive(source, target, options):
    """fast_align's program, one entry after the other; `m` target words, `n` source words, as it names them."""
    table, null, tension, likelihoods = {}, {}, options.tension, []

    def feature(j, i, m, n):
        return -abs(i / n - j / m)

    def z(j, m, n):
        floor = math.floor(j * n / m)
        ratio = math.exp(-tension / n)
        above = n - floor
        total = 0.0
        if above:
            power = ratio**above if above > 0 else 0.0
            total += math.exp(feature(j, floor + 1, m, n) * tension) * (1 - power) / (1 - ratio)
        if floor:
            total += math.exp(feature(j, floor, m, n) * tension) * (1 - ratio**floor) / (1 - ratio)
        return total

    def gradient(j, m, n):
        return sum(
            feature(j, i, m, n) * math.exp(feature(j, i, m, n) * tension) for i in range(1, n + 1)
        ) / z(j, n, m)

    def row(words, f, j, m):
        n = len(words)
        if options.favour_diagonal:
            share = (1 - options.null_probability) / z(j + 1, m, n)
            priors = [math.exp(feature(j + 1, i, m, n) * tension) * share for i in range(1, n + 1)]
            none = options.null_probability
        else:
            none = 1 / (n + options.use_null)
            priors = [none] * n
        joint = [table.get((e, f), 1e-9) * p for e, p in zip(words, priors, strict=True)]
        return joint, null.get(f, 1e-9) * none if options.use_null else 0.0

    def normalise(counts):
        totals = {}
        for (e, _), c in counts.items():
            totals[e] = totals.get(e, 0.0) + c + (options.alpha if options.variational_bayes else 0.0)
        if not options.variational_bayes:
            return {(e, f): c / totals[e] for (e, f), c in counts.items()}
        return {(e, f): math.exp(psi(c + options.alpha) - psi(totals[e])) for (e, f), c in counts.items()}

    corpus = [(s, t) for s, t in zip(source, target, strict=True) if s and t]
    tokens = sum(len(t) for _, t in corpus)
    for iteration in range(options.iterations - 1):
        counts, empirical, likelihood = {}, 0.0, 0.0
        for s, t in corpus:
            for j, f in enumerate(t):
                joint, none = row(s, f, j, len(t))
                total = sum(joint) + none
                likelihood += math.log(total)
                if options.use_null:
                    counts[None, f] = counts.get((None, f), 0.0) + none / total
                for i, e in enumerate(s):
                    counts[e, f] = counts.get((e, f), 0.0) + joint[i] / total
                    empirical += feature(j, i + 1, len(t), len(s)) * joint[i] / total
        likelihoods.append(likelihood)
        if options.favour_diagonal and options.optimise_tension and iteration > 0:
            for _ in range(8):
                model = sum(gradient(j, len(t), len(s)) for s, t in corpus for j in range(1, len(t) + 1))
                tension = min(max(tension + (empirical - model) / tokens * 20, 0.1), 14.0)
        shares = normalise(counts)
        null = {f: p for (e, f), p in shares.items() if e is None}
        table = {key: p for key, p in shares.items() if key[0] is not None}
    links = []
    for s, t in zip(source, target, strict=True):
        found = []
        for j, f in enumerate(t):
            if s:
                joint, none = row(s, f, j, len(t))
                best = max(range(len(s)), key=lambda i: (joint[i], -i))
                if joint[best] > none or not options.use_null:
                    found.append((best, j))
        links.append(sorted(found))
    return table, tension, likelihoods, links


def run(source, target, options, **layout):
    types, forward, reverse = directed(encode(source), encode(target), **layout)
    model = estimate(forward, options)
    links, scores = decode(forward, model, options)
    return types, forward, reverse, model, links, scores


def words(lines):
    return [line.split() for line in lines]


@pytest.mark.parametrize(
    "options",
    [
        DiagonalOptions(),
        DiagonalOptions(optimise_tension=False, tension=6.0),
        DiagonalOptions(variational_bayes=False, null_probability=0.2),
        DiagonalOptions(favour_diagonal=False, alpha=0.1, iterations=7),
        DiagonalOptions(use_null=False, iterations=3),
        DiagonalOptions(favour_diagonal=False, use_null=False, variational_bayes=False),
        DiagonalOptions(iterations=1),
    ],
)
@pytest.mark.parametrize("turn", [False, True])
def test_equals_the_program_written_as_loops(options, turn):
    source, target = (TARGET, SOURCE) if turn else (SOURCE, TARGET)
    source, target = words([*source, "", "the"]), words([*target, "leer", ""])
    types, forward, _, model, links, scores = run(source, target, options)
    table, tension, likelihoods, expected = naive(source, target, options)
    assert model.tension == pytest.approx(tension, rel=1e-9)
    assert model.log_likelihood == pytest.approx(likelihoods, rel=1e-9)
    one, other = forward.given.words, forward.generated.words
    if options.iterations > 1:
        for e, f, p in zip(types.source, types.target, model.translation, strict=True):
            assert p == pytest.approx(table[one[e], other[f]], rel=1e-8)
    assert [sorted(a.links) for a in links.alignments()] == expected
    assert scores[-2:].tolist() == [0.0, 0.0]
    assert links.to_pharaoh()[-2:] == ["", ""]


def test_links_of_a_small_text():
    *_, links, _ = run(words(SOURCE), words(TARGET), DiagonalOptions())
    assert links.to_pharaoh() == [
        "0-0 1-1 2-2 3-3 4-4 6-5",
        "0-0 1-1 2-2 3-3",
        "0-0 1-1 2-2 3-3 5-4",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8",
        "0-0 1-1 2-2",
        "0-0 1-1 2-2 3-3 5-4",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8",
        "0-0 1-1 2-2 3-3 4-4",
    ]


corpora = st.lists(
    st.tuples(st.lists(st.sampled_from("abcd"), max_size=6), st.lists(st.sampled_from("vwxyz"), max_size=6)),
    min_size=1,
    max_size=8,
)


@settings(deadline=None, max_examples=30)
@given(corpora, st.integers(1, 50))
def test_chunking_changes_nothing(corpus, size):
    source, target = [s for s, _ in corpus], [t for _, t in corpus]
    *_, whole, links, scores = run(source, target, DiagonalOptions())
    *_, parts, other, other_scores = run(source, target, DiagonalOptions(), chunk_entries=size)
    assert parts.translation == pytest.approx(whole.translation, rel=1e-9)
    assert other_scores == pytest.approx(scores, rel=1e-9)
    assert len(other) == len(links)


@settings(deadline=None, max_examples=30)
@given(corpora)
def test_reverse_is_the_forward_model_of_the_exchanged_sides(corpus):
    source, target = [s for s, _ in corpus], [t for _, t in corpus]
    _, _, reverse, *_ = run(source, target, DiagonalOptions())
    _, forward, *_ = run(target, source, DiagonalOptions())
    one, other = estimate(reverse, DiagonalOptions()), estimate(forward, DiagonalOptions())
    assert one.tension == pytest.approx(other.tension, rel=1e-9)
    assert one.null == pytest.approx(other.null, rel=1e-9)
    assert sorted(one.translation) == pytest.approx(sorted(other.translation), rel=1e-8)


def test_posteriors_are_probabilities_and_best():
    *_, links, scores = run(words(SOURCE), words(TARGET), DiagonalOptions())
    assert ((links.probability > 0) & (links.probability <= 1 + 1e-6)).all()
    assert (scores < 0).all()


def test_bad_options_name_all_mistakes():
    with pytest.raises(ConfigurationError) as caught:
        DiagonalOptions(iterations=0, null_probability=1.0, alpha=0.0, tension=-1.0)
    assert len(caught.value.problems) == 4


def test_equals_fast_align_on_the_reference():
    data = os.environ.get("ISOGLOT_DATA")
    folder = Path(data).resolve().parent / "reference" / "fast_align" if data else None
    if folder is None or not folder.is_dir():
        pytest.skip("ISOGLOT_DATA has no reference folder beside it")

    def lines(name):
        return gzip.decompress((folder / f"{name}.gz").read_bytes()).decode().splitlines()

    pairs = [line.split(" ||| ") for line in lines("input.en-de")]
    source, target = (words(pair[side] for pair in pairs) for side in (0, 1))
    options = DiagonalOptions()
    _, _, reverse, model, links, scores = run(source, target, options)
    assert model.tension == pytest.approx(7.22992, abs=5e-6)
    assert scores.sum() == pytest.approx(-177267, abs=1)
    expected = [sorted(line.split()) for line in lines("forward")]
    assert len(expected) == 5000
    assert [sorted(line.split()) for line in links.to_pharaoh()] == expected
    mirrored, _ = decode(reverse, estimate(reverse, options), options)
    expected = [sorted(line.split()) for line in lines("reverse")]
    assert [sorted(line.split()) for line in mirrored.transpose().to_pharaoh()] == expected
    assert np.isfinite(scores).all()
