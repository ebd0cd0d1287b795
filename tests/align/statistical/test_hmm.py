from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.align.statistical.cooccurrence import directed
from isoglot.align.statistical.forward_backward import Jumps, forward_backward
from isoglot.align.statistical.hmm import HmmOptions, posteriors
from isoglot.align.statistical.hmm_training import _State, estimate
from isoglot.align.statistical.layout import chunks, encode
from isoglot.align.statistical.model import StatisticalAligner
from isoglot.align.statistical.posteriors import agreeing_links, best_links
from isoglot.align.statistical.prefixes import PrefixClasses, prefix
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
    transition, start = jumps.matrices(width, np.float64)
    links, silent = np.zeros((length, width)), np.zeros(length)
    moved, started, total = np.zeros(len(jumps.width)), np.zeros(len(jumps.start)), 0.0
    limit = len(jumps.start) - 1
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


@settings(deadline=None, max_examples=15)
@given(
    st.integers(1, 3),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(0, 2**31),
    st.integers(1, 3),
)
def test_forward_backward_equals_the_sum_over_paths(width, lengths, seed, limit):
    random = np.random.default_rng(seed)
    (chunk,) = chunks(np.full(len(lengths), width), np.array(lengths))
    emission, null = random.random((chunk.rows, width)), random.random(chunk.rows)
    jumps = Jumps(random.random(2 * limit + 1) + 0.01, random.random(limit + 1) + 0.01, 0.3)
    found = forward_backward(chunk, emission.copy(), null, jumps)
    moved, started = np.zeros(2 * limit + 1), np.zeros(limit + 1)
    for member in range(len(lengths)):
        rows = np.flatnonzero(chunk.member == member)
        expected = enumerate_paths(emission[rows], null[rows], jumps)
        assert found.links[rows] == pytest.approx(expected[0], abs=1e-12)
        assert found.null[rows] == pytest.approx(expected[1], abs=1e-12)
        assert found.log_scale[rows].sum() == pytest.approx(expected[4])
        moved += expected[2]
        started += expected[3]
    assert found.jumps == pytest.approx(moved)
    assert found.starts == pytest.approx(started)


def train(options, source=SOURCE, target=TARGET, **layout):
    _, forward, reverse = directed(encode(words(source)), encode(words(target)), **layout)
    return forward, reverse, estimate(forward, reverse, options)


def test_links_of_a_small_text():
    result = StatisticalAligner("hmm").fit_align_words(words(SOURCE * 2), words(TARGET * 2))
    diagonal = [" ".join(f"{k}-{k}" for k in range(len(line.split()))) for line in SOURCE]
    assert result.links.to_pharaoh() == diagonal * 2


def test_agreement_shares_the_counts_and_rows_sum_to_one():
    forward, _, (one, other) = train(HmmOptions())
    assert one.counts.tolist() == other.counts.tolist()
    tables = one.project(forward.types, forward.types)
    found = posteriors(forward, tables)
    for chunk in forward.layout:
        rows = slice(chunk.first_row, chunk.first_row + chunk.rows)
        total = found.links[chunk.entries].reshape(chunk.rows, chunk.width).sum(axis=1) + found.null[rows]
        assert total == pytest.approx(np.ones(chunk.rows), abs=1e-5)
    _, _, (alone, mirrored) = train(HmmOptions(agreement=False))
    assert alone.counts.tolist() != mirrored.counts.tolist()


@pytest.mark.parametrize("length", [0, 3])
def test_an_entry_does_not_confirm_itself(length):
    """The predictive probability, one entry after the other: counts of all entries but this one."""
    options = HmmOptions(prefix_length=length, prefix_strength=2.0, alpha=0.01, agreement=False)
    _, forward, _ = directed(encode(words(SOURCE)), encode(words(TARGET)), chunk_entries=12)
    state = _State.of(forward, options)
    random = np.random.default_rng(0)
    state.own[:] = random.integers(0, 65536, len(state.own))
    state.own_null[:] = random.random(len(state.own_null))
    given_words, generated_words = forward.given.words, forward.generated.words
    entries, nulls = [], []
    for chunk in forward.layout:
        own = state.own[chunk.entries].reshape(chunk.rows, chunk.width) / 65535
        for row, kinds in enumerate(forward.types_of(chunk)):
            f = generated_words[forward.words_of(chunk)[row]]
            nulls.append((f, state.own_null[chunk.first_row + row]))
            entries += [
                (given_words[forward.given_word[k]], f, own[row, i]) for i, k in enumerate(kinds.tolist())
            ]
    counts = np.zeros(len(forward.given_word))
    np.add.at(counts, forward.entry_type, state.own / 65535)
    rows = np.concatenate([forward.words_of(chunk) for chunk in forward.layout])
    null = np.bincount(rows, state.own_null, len(generated_words))
    state.update(counts, null, np.zeros(len(state.jumps.width)), np.zeros(len(state.jumps.start)))
    found = [state.emissions(chunk) for chunk in forward.layout]
    frequency = [f for f, _ in nulls]

    def expected(e, f, own):
        size = len(generated_words)
        top = sum(q for a, b, q in entries if (a, b) == (e, f)) - own + options.alpha
        bottom = sum(q for a, _, q in entries if a == e) - own + options.alpha * size
        if length:
            same = [(a, b, q) for a, b, q in entries if a[:length] == e[:length]]
            pair = sum(q for _, b, q in same if b[:length] == f[:length]) - own + options.alpha
            classes = len({word[:length] for word in generated_words})
            base = pair / (sum(q for _, _, q in same) - own + options.alpha * classes)
            base *= frequency.count(f) / sum(word[:length] == f[:length] for word in frequency)
            top += options.prefix_strength * base
            bottom += options.prefix_strength
        return top / bottom

    assert np.concatenate([emission.ravel() for emission, _ in found]) == pytest.approx(
        [expected(*entry) for entry in entries], rel=1e-3
    )
    whole = sum(q for _, q in nulls) + options.alpha * len(generated_words)
    share = [sum(q for word, q in nulls if word == f) - own + options.alpha for f, own in nulls]
    assert np.concatenate([null for _, null in found]) == pytest.approx(np.array(share) / whole, rel=1e-3)


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
    classes = PrefixClasses.of(["helper", "helping", "dog"], 4)
    assert (classes.names, classes.of_word.tolist()) == (("help", "dog"), [0, 0, 1])
    assert classes.locate(["HELPED", "cat"], 4).tolist() == [0, -1]


@settings(deadline=None, max_examples=10)
@given(st.integers(1, 60))
def test_chunking_changes_nothing_but_rounding(size):
    _, _, (whole, _) = train(HmmOptions())
    _, _, (parts, _) = train(HmmOptions(), chunk_entries=size)
    assert parts.counts == pytest.approx(whole.counts, abs=2e-4)
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-4)


def test_agreeing_links_are_those_of_both_posteriors():
    forward, reverse, (one, other) = train(HmmOptions())
    ahead = posteriors(forward, one.project(forward.types, forward.types))
    back = posteriors(reverse, other.project(reverse.types, reverse.types))
    loose = agreeing_links(forward, reverse, (ahead, back), threshold=1e-9)
    tight = agreeing_links(forward, reverse, (ahead, back), threshold=0.5)
    assert (tight.probability >= 0.5).all()
    for few, many in zip(tight.alignments(), loose.alignments(), strict=True):
        assert few.links <= many.links
    sure = best_links(forward, ahead).alignments(), best_links(reverse, back).transpose().alignments()
    for own, best, mirrored in zip(tight.alignments(), *sure, strict=True):
        assert own.links <= (best | mirrored).links


def test_bad_options_name_all_mistakes():
    with pytest.raises(ConfigurationError) as caught:
        HmmOptions(iterations=0, alpha=0.0, null_probability=1.5)
    assert len(caught.value.problems) == 3
    with pytest.raises(ConfigurationError, match="threshold"):
        StatisticalAligner("hmm", threshold=1.0)
