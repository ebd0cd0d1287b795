from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.aligners.statistical import decoding, markov
from isoglot.aligners.statistical.bitext import encode
from isoglot.aligners.statistical.hmm import Jumps, PrefixClasses, prefix
from isoglot.aligners.statistical.hmm_training import _State, estimate
from isoglot.aligners.statistical.model import StatisticalAligner
from isoglot.aligners.statistical.options import HmmOptions
from isoglot.aligners.statistical.pair_table import PairTable
from isoglot.errors import ConfigurationError

SOURCE = """der hund schläft
die katze schläft
der hund sieht die katze
ein hund
eine katze schläft und ein hund sieht die katze""".splitlines()
TARGET = """the dog sleeps
the cat sleeps
the dog sees the cat
a dog
a cat sleeps and a dog sees the cat""".splitlines()


def words(lines):
    return [line.split() for line in lines]


def enumerate_paths(emission, null, jumps):
    """Posteriors of one sentence by summing over every path; a state is (linked word or memory, is null)."""
    length, width = emission.shape
    limit = len(jumps.start) - 1
    places = np.subtract.outer(np.arange(width), np.arange(width)).T
    transition = jumps.width[np.clip(places, -limit, limit) + limit]
    transition = transition / transition.sum(axis=1, keepdims=True)
    start = jumps.start[np.minimum(np.arange(width), limit)]
    start = start / start.sum()
    links, silent = np.zeros((length, width)), np.zeros(length)
    moved, started, total = np.zeros(len(jumps.width)), np.zeros(len(jumps.start)), 0.0
    states = list(itertools.product(range(width), (False, True)))
    for path in itertools.product(states, repeat=length):
        weight = 1.0
        for j, (i, is_null) in enumerate(path):
            if is_null:
                before = start[i] if j == 0 else float(path[j - 1][0] == i)
                weight *= before * jumps.null * null[j]
            else:
                before = start[i] if j == 0 else transition[path[j - 1][0], i]
                weight *= before * (1 - jumps.null) * emission[j, i]
        total += weight
        for j, (i, is_null) in enumerate(path):
            if is_null:
                silent[j] += weight
            else:
                links[j, i] += weight
                if j == 0:
                    started[min(i, limit)] += weight
                else:
                    moved[np.clip(i - path[j - 1][0], -limit, limit) + limit] += weight
    return links / total, silent / total, moved / total, started / total, np.log(total)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**31), st.integers(1, 3))
def test_forward_backward_equals_the_sum_over_paths(width, length, seed, limit):
    random = np.random.default_rng(seed)
    emission, null = random.random((length, width)), random.random(length)
    jumps = Jumps(random.random(2 * limit + 1) + 0.01, random.random(limit + 1) + 0.01, 0.3)
    moved, started = np.zeros(2 * limit + 1), np.zeros(limit + 1)
    silent = null.copy()
    found, likelihood = markov.forward_backward(
        emission.copy(), silent, jumps, markov.JumpCounts(moved, started)
    )
    links, nulls, jumped, began, total = enumerate_paths(emission, null, jumps)
    assert found == pytest.approx(links, abs=1e-12)
    assert silent == pytest.approx(nulls, abs=1e-12)
    assert likelihood == pytest.approx(total)
    assert moved == pytest.approx(jumped)
    assert started == pytest.approx(began)


def train(options, source=SOURCE, target=TARGET):
    sides = encode(words(source)), encode(words(target))
    return sides, estimate(*sides, options)


def test_links_of_a_small_text():
    result = StatisticalAligner("hmm").fit_align_words(words(SOURCE * 2), words(TARGET * 2))
    diagonal = [" ".join(f"{k}-{k}" for k in range(len(line.split()))) for line in SOURCE]
    assert result.links.to_pharaoh() == diagonal * 2


def test_agreement_shares_the_counts():
    _, (one, other) = train(HmmOptions())
    given_words, generated_words, slots = one.table.pairs()
    assert (
        one.counts[slots].tolist() == other.counts[other.table.slots(generated_words, given_words)].tolist()
    )


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("length", [0, 3])
def test_an_entry_does_not_confirm_itself(length, turned):
    """The predictive probability, one entry after the other: counts of all entries but this one."""
    options = HmmOptions(prefix_length=length, prefix_strength=2.0, alpha=0.01)
    source, target = encode(words(SOURCE)), encode(words(TARGET))
    table = PairTable.of(source, target)
    one, other, slots = table.pairs()
    random = np.random.default_rng(0)
    sides, pairs = ((target, source), (other, one)) if turned else ((source, target), (one, other))
    state = _State(*sides, pairs, options)
    state.own_null[:] = random.random(len(state.own_null))
    own, entries, counts = [], [], np.zeros(len(table.key))
    for s, t in zip(words(SOURCE), words(TARGET), strict=True):
        own.append(random.integers(0, 65536, (len(s), len(t)), np.uint16))
        for i, e in enumerate(s):
            for j, f in enumerate(t):
                place = table.slots(np.array([source.words.index(e)]), np.array([target.words.index(f)]))
                counts[place] += own[-1][i, j] / 65535
                entries.append((*((f, e) if turned else (e, f)), own[-1][i, j] / 65535))
    state.update(slots, counts, np.zeros(len(state.jumps.width)), np.zeros(len(state.jumps.start)))
    size, generated = len(sides[1].words), [sides[1].words[k] for k in sides[1].ids]

    def expected(e, f, own):
        top = sum(q for a, b, q in entries if (a, b) == (e, f)) - own + options.alpha
        bottom = sum(q for a, _, q in entries if a == e) - own + options.alpha * size
        if length:
            same = [(a, b, q) for a, b, q in entries if a[:length] == e[:length]]
            pair = sum(q for _, b, q in same if b[:length] == f[:length]) - own + options.alpha
            classes = len({word[:length] for word in sides[1].words})
            base = pair / (sum(q for _, _, q in same) - own + options.alpha * classes)
            base *= generated.count(f) / sum(word[:length] == f[:length] for word in generated)
            top += options.prefix_strength * base
            bottom += options.prefix_strength
        return top / bottom

    nulls = state.own_null
    whole = nulls.sum(dtype=np.float64) + options.alpha * size
    expected_links = iter(expected(*entry) for entry in entries)
    for s in range(len(source)):
        a, b = source.offsets[s : s + 2], target.offsets[s : s + 2]
        pair = source.ids[slice(*a)], target.ids[slice(*b)]
        here = table.slots(*(side.ravel() for side in np.meshgrid(*pair, indexing="ij"))).reshape(
            own[s].shape
        )
        at = slice(*(a if turned else b))
        if turned:
            emission, silent = markov._predict(*pair[::-1], here.T, own[s].T, nulls[at], state.predictive)
        else:
            emission, silent = markov._predict(*pair, here, own[s], nulls[at], state.predictive)
        for value in (emission if turned else emission.T).ravel():
            assert value == pytest.approx(next(expected_links), rel=1e-9)
        for k, (f, mine) in enumerate(zip(generated[at], nulls[at], strict=True)):
            share = sum(q for word, q in zip(generated, nulls, strict=True) if word == f) - mine
            assert silent[k] == pytest.approx((share + options.alpha) / whole, rel=1e-5)


def test_prefixes_lend_translations_to_unseen_forms():
    source = ["kleiner hund", "kleine katze", "alter hund", "alte katze", "hund", "katze"] * 4
    target = ["small dog", "small cat", "old dog", "old cat", "dog", "cat"] * 4
    aligner = StatisticalAligner("hmm").fit_words(words(source), words(target))
    found = aligner.align_words([["hund", "kleinster"]], [["small", "dog"]])
    assert found.links.to_pharaoh() == ["0-1 1-0"]


@pytest.mark.parametrize(
    ("word", "expected"), [("Économique", "econ"), ("ab", "ab"), ("Ärger", "arge"), ("\u0301", "\u0301")]
)
def test_prefix(word, expected):
    assert prefix(word, 4) == expected


def test_prefix_classes():
    classes = PrefixClasses(["helper", "helping", "dog"], 4)
    assert (list(classes.numbers), classes.of_word.tolist()) == (["help", "dog"], [0, 0, 1])
    assert classes.locate(["HELPED", "cat"]).tolist() == [0, -1]


@pytest.mark.parametrize("count", [1, 3, 7])
def test_parts_change_nothing_but_rounding(count, monkeypatch):
    _, (whole, _) = train(HmmOptions())
    monkeypatch.setattr(decoding, "_PARTS", count)
    _, (other, _) = train(HmmOptions())
    assert other.counts == pytest.approx(whole.counts, abs=2e-4)


@pytest.mark.parametrize("method", ["hmm", "fast_align"])
def test_agreeing_links_are_those_of_both_posteriors(method):
    aligner = StatisticalAligner(method, symmetrisation="agreement").fit_words(words(SOURCE), words(TARGET))
    aligner.threshold = 1e-9
    loose = aligner.align_words(words(SOURCE), words(TARGET))
    aligner.threshold = 0.5
    tight = aligner.align_words(words(SOURCE), words(TARGET))
    assert (tight.links.probability >= 0.5).all()
    assert len(loose.links.source) > len(tight.links.source) > 0
    sides = (tight.links, loose.links, tight.forward, tight.reverse)
    for few, many, ahead, back in zip(*(side.alignments() for side in sides), strict=True):
        assert few.links <= many.links
        assert few.links <= (ahead | back).links


def test_bad_options_name_all_mistakes():
    with pytest.raises(ConfigurationError) as caught:
        StatisticalAligner("hmm", iterations=0, alpha=0.0, null_probability=1.5)
    assert len(caught.value.problems) == 3
    with pytest.raises(ConfigurationError, match="threshold"):
        StatisticalAligner("hmm", threshold=1.0)
