from __future__ import annotations

import numpy as np
import pytest
from small_bitext import SOURCE, TARGET, train_hmm, words

from isoglot.aligners.statistical import markov
from isoglot.aligners.statistical.bitext import encode
from isoglot.aligners.statistical.hmm_training import _DirectionState
from isoglot.aligners.statistical.options import HmmOptions
from isoglot.aligners.statistical.pair_table import PairTable


def test_agreement_shares_the_counts():
    _, (one, other) = train_hmm(HmmOptions())
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
    state = _DirectionState(*sides, pairs, options)
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
    found = np.zeros(sum(map(np.size, own)), np.int64)
    markov._slots(source.flat, target.flat, table.flat, found)
    emission, silent = np.zeros(len(found)), np.zeros(len(nulls))
    flat = (side.flat for side in sides)
    shares = np.concatenate([part.ravel() for part in own])
    markov._predict(*flat, found, shares, turned, nulls, state.predictive, (emission, silent))
    by_source, before = [], 0
    for part in own:
        here = emission[before : before + part.size].reshape(part.shape if turned else part.shape[::-1])
        by_source += (here if turned else here.T).ravel().tolist()
        before += part.size
    assert by_source == pytest.approx([expected(*entry) for entry in entries], rel=1e-9)
    for k, (f, mine) in enumerate(zip(generated, nulls, strict=True)):
        share = sum(q for word, q in zip(generated, nulls, strict=True) if word == f) - mine
        assert silent[k] == pytest.approx((share + options.alpha) / whole, rel=1e-5)
