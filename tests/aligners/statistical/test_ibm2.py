from __future__ import annotations

import gzip
import math
import os
from pathlib import Path

import numpy as np
import pytest
from references import fast_align_reference
from scipy.special import psi
from small_bitext import words

from isoglot.aligners.statistical.bitext import encode
from isoglot.aligners.statistical.ibm2 import pair_sizes
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.aligners.statistical.options import DiagonalOptions

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


def test_pair_sizes_counts_pairs_of_any_length() -> None:
    """Longer than 65,536 words, as a pair may be whose other side is short."""
    generated = np.array([3, 70_000, 0, 3, 1, 70_000], np.int32)
    condition = np.array([2, 2, 5, 2, 90_000, 2], np.int32)
    found = zip(*(column.tolist() for column in pair_sizes(condition, generated)), strict=True)
    assert list(found) == [(90_000, 1, 1), (2, 3, 2), (2, 70_000, 2)]


def naive(source, target, options):
    """fast_align's program, one entry after the other; `m` target words, `n` source words, as it names them."""
    table, null, tension = {}, {}, options.tension

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
        counts, empirical = {}, 0.0
        for s, t in corpus:
            for j, f in enumerate(t):
                joint, none = row(s, f, j, len(t))
                total = sum(joint) + none
                if options.use_null:
                    counts[None, f] = counts.get((None, f), 0.0) + none / total
                for i, e in enumerate(s):
                    counts[e, f] = counts.get((e, f), 0.0) + joint[i] / total
                    empirical += feature(j, i + 1, len(t), len(s)) * joint[i] / total
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
    return table, tension, links


def run(source, target, options):
    aligner = StatisticalAligner(**dict(options))
    found = aligner.fit_words(source, target).tables(source, target)
    return (aligner.model.forward, aligner.model.reverse), found


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
    long, other = (
        " ".join(side[k] for k in (0, 1, 2, 4, 5, 6) * 3) for side in (source, target)
    )  # over 64 words
    source = words([*source, long, long, source[0], "", "the"])
    target = words([*target, other, target[0], other, "leer", ""])
    (model, _), decoded = run(source, target, options)
    table, tension, expected = naive(source, target, options)
    assert model.tension == pytest.approx(tension, rel=1e-9)
    one, two = encode(source).words, encode(target).words
    if options.iterations > 1:
        for e, f, slot in zip(*model.table.pairs(), strict=True):
            assert model.translation[slot] == pytest.approx(table[one[e], two[f]], rel=1e-8)
    assert [sorted(a.links) for a in decoded.forward.alignments()] == expected
    assert decoded.score[-2:].tolist() == [0.0, 0.0]
    assert decoded.forward.to_pharaoh()[-2:] == ["", ""]


def test_links_of_a_small_text():
    _, decoded = run(words(SOURCE), words(TARGET), DiagonalOptions())
    assert decoded.forward.to_pharaoh() == [
        "0-0 1-1 2-2 3-3 4-4 6-5",
        "0-0 1-1 2-2 3-3",
        "0-0 1-1 2-2 3-3 5-4",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8",
        "0-0 1-1 2-2",
        "0-0 1-1 2-2 3-3 5-4",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8",
        "0-0 1-1 2-2 3-3 4-4",
    ]


def test_posteriors_are_probabilities_and_best():
    _, decoded = run(words(SOURCE), words(TARGET), DiagonalOptions())
    for links in (decoded.forward, decoded.reverse):
        assert ((links.probability > 0) & (links.probability <= 1 + 1e-6)).all()
    assert (decoded.score < 0).all()


TIES = [  # sentences, and fast_align's links of one thread forward and reverse
    ("red a dog a coat in sees a coat a red a",
     "roten ein hund ein mantel in sieht ein mantel ein roten ein",
     "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9 10-10 11-11",
     "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9 10-10 11-11"),
    ("dog a a near in a coat in",
     "hund ein ein in ein mantel in",
     "0-0 1-1 2-2 4-3 5-4 6-5 7-6",
     "0-0 1-1 2-2 3-2 4-3 5-4 6-5 7-6"),
    ("near a a man dog",
     "nahe ein ein mann hund",
     "0-0 1-1 2-2 3-3 4-4",
     "0-0 1-1 2-2 3-3 4-4"),
    ("a sees and a man a cat a a cat",
     "ein sieht und ein mann ein katze ein ein katze",
     "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9",
     "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9"),
    ("man sees a man a sees in dog",
     "mann sieht mann ein sieht in hund",
     "0-0 1-1 3-2 4-3 5-4 6-5 7-6",
     "0-0 1-1 2-3 3-2 4-3 5-4 6-5 7-6"),
    ("dog in dog a man",
     "hund in hund mann",
     "0-0 1-1 2-2 4-3",
     "0-0 1-1 2-2 4-3"),
    ("a near sees dog a a house man a and a red",
     "ein nahe sieht hund ein haus mann ein und ein roten",
     "0-0 1-1 2-2 3-3 4-4 6-5 7-6 8-7 9-8 10-9 11-10",
     "0-0 1-1 2-2 3-3 4-4 5-4 6-5 7-6 8-7 9-8 10-9 11-10"),
    ("a red man red a coat coat coat dog near and",
     "ein roten mann roten ein mantel mantel mantel hund nahe und",
     "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9 10-10",
     "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9 10-10"),
    ("a sees a a sees a dog",
     "ein sieht ein ein sieht hund",
     "0-0 1-1 2-2 3-3 4-4 6-5",
     "0-0 1-1 2-2 3-2 4-4 5-3 6-5"),
    ("a sees a and near man and dog a in man",
     "ein sieht ein und nahe mann und hund ein in mann",
     "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9 10-10",
     "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9 10-10"),
    ("sees red a coat near",
     "sieht roten ein mantel nahe",
     "0-0 1-1 2-2 3-3 4-4",
     "0-0 1-1 2-2 3-3 4-4"),
    ("dog a coat a coat",
     "hund ein mantel mantel",
     "0-0 1-1 2-2 4-3",
     "0-0 1-1 2-2 3-1 4-3"),
]  # fmt: skip


def linked(lines, source, target):
    """The linked words of each line of links, sorted: which of two equal words is linked does not matter."""
    return [
        sorted((s.split()[int(i)], t.split()[int(j)]) for i, j in (link.split("-") for link in line.split()))
        for line, s, t in zip(lines, source, target, strict=True)
    ]


def test_ties_link_the_same_words_as_in_the_program():
    """A word stands twice at equal distances from the diagonal: the last bits, so the order of sums, would decide."""
    source, target, forward, reverse = zip(*TIES, strict=True)
    (one, _), decoded = run(words(source), words(target), DiagonalOptions())
    assert one.tension == pytest.approx(5.5456, abs=5e-6)
    for found, expected in ((decoded.forward, forward), (decoded.reverse, reverse)):
        assert linked(found.to_pharaoh(), source, target) == linked(expected, source, target)


def test_links_and_tensions_are_fast_aligns():
    expected = fast_align_reference()
    (one, other), decoded = run(words(expected["source"]), words(expected["target"]), DiagonalOptions())
    assert (one.tension, other.tension) == pytest.approx((4.09212, 4.00528), abs=5e-6)
    for found, side in ((decoded.forward, "forward"), (decoded.reverse, "reverse")):
        assert [sorted(line.split()) for line in found.to_pharaoh()] == [
            sorted(line.split()) for line in expected[side]
        ]


def test_fewer_than_one_line_in_200_differs_from_fast_aligns():
    data = os.environ.get("ISOGLOT_DATA")
    folder = Path(data).resolve().parent / "reference" / "fast_align" if data else None
    if folder is None or not folder.is_dir():
        pytest.skip("ISOGLOT_DATA has no reference folder beside it")

    def lines(name):
        return gzip.decompress((folder / f"{name}.gz").read_bytes()).decode().splitlines()

    pairs = [line.split(" ||| ") for line in lines("input.en-de")]
    source, target = (words(pair[side] for pair in pairs) for side in (0, 1))
    (model, _), decoded = run(source, target, DiagonalOptions())
    assert model.tension == pytest.approx(7.22992, abs=5e-6)
    for found, side in ((decoded.forward, "forward"), (decoded.reverse, "reverse")):
        expected = [sorted(line.split()) for line in lines(side)]
        assert len(expected) == 5000
        assert (
            sum(sorted(line.split()) != e for line, e in zip(found.to_pharaoh(), expected, strict=True)) < 25
        )
    assert np.isfinite(decoded.score).all()
