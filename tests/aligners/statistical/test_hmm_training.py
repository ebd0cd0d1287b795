from __future__ import annotations

import numpy as np
import pytest
from small_bitext import SOURCE, TARGET, train_hmm, words

from isoglot.aligners.statistical import text_passes
from isoglot.aligners.statistical.bitext import encode
from isoglot.aligners.statistical.hmm_training import _Training
from isoglot.aligners.statistical.markov import BothDirections, JumpCounts
from isoglot.aligners.statistical.methods import HmmModel
from isoglot.aligners.statistical.options import PREFIX_STRENGTH, HmmOptions


def test_agreement_shares_the_counts():
    _, (one, other) = train_hmm(HmmOptions())
    given_words, generated_words, slots = one.table.pairs()
    assert (
        one.counts[slots].tolist() == other.counts[other.table.slots(generated_words, given_words)].tolist()
    )


@pytest.mark.parametrize("length", [0, 3])
def test_an_entry_does_not_confirm_itself(length):
    """The predictive probability, one entry after the other: counts of all entries but this one."""
    options = HmmOptions(prefix_length=length, alpha=0.01)
    sides = source, target = encode(words(SOURCE)), encode(words(TARGET))
    training = _Training(source, target, options, None)
    random = np.random.default_rng(0)
    own, entries, links = [], [], np.zeros(len(training.table.key))
    for s, t in zip(words(SOURCE), words(TARGET), strict=True):
        own.append(random.integers(0, 65536, (len(s), len(t)), np.uint16))
        for i, e in enumerate(s):
            for j, f in enumerate(t):
                ends = np.array([source.words.index(e)]), np.array([target.words.index(f)])
                links[training.table.slots(*ends)] += own[-1][i, j] / 65535
                entries.append((e, f, own[-1][i, j] / 65535))
    for state in training.states:
        state.contributed_null[:] = random.random(len(state.contributed_null))
    training.update(links, [JumpCounts.zeros(jumps) for jumps in training.jumps])

    slots = np.zeros(sum(map(np.size, own)), np.int64)
    text_passes._slots(source.flat, target.flat, training.table.flat, slots)
    found = BothDirections(*((np.zeros(len(slots)), np.zeros(len(side.ids))) for side in sides[::-1]))
    nulls = BothDirections(*(state.contributed_null for state in training.states))
    shares = np.concatenate([part.ravel() for part in own])
    text_passes._predict(source.flat, target.flat, slots, shares, nulls, *training.learned, found)

    for turned, (emission, silent) in enumerate(found):
        turn = [(f, e, q) if turned else (e, f, q) for e, f, q in entries]
        tokens = [word for line in words(SOURCE if turned else TARGET) for word in line]
        by_source, before = [], 0
        for part in own:
            here = emission[before : before + part.size].reshape(part.shape if turned else part.shape[::-1])
            by_source += (here if turned else here.T).ravel().tolist()
            before += part.size
        wanted = [predictive(*entry, turn, tokens, options) for entry in turn]
        assert by_source == pytest.approx(wanted, rel=1e-9)
        whole = nulls[turned].sum(dtype=np.float64) + options.alpha * len(set(tokens))
        for k, (f, mine) in enumerate(zip(tokens, nulls[turned], strict=True)):
            share = sum(q for word, q in zip(tokens, nulls[turned], strict=True) if word == f) - mine
            assert silent[k] == pytest.approx((share + options.alpha) / whole, rel=1e-5)


def predictive(e, f, own, entries, tokens, options):
    """p(f | e) by the counts of all entries, less this one's own."""
    length, vocabulary = options.prefix_length, set(tokens)
    top = sum(q for a, b, q in entries if (a, b) == (e, f)) - own + options.alpha
    bottom = sum(q for a, _, q in entries if a == e) - own + options.alpha * len(vocabulary)
    if not length:
        return top / bottom
    same = [(b, q) for a, b, q in entries if a[:length] == e[:length]]
    pair = sum(q for b, q in same if b[:length] == f[:length]) - own + options.alpha
    classes = len({word[:length] for word in vocabulary})
    base = pair / (sum(q for _, q in same) - own + options.alpha * classes)
    base *= tokens.count(f) / sum(word[:length] == f[:length] for word in tokens)
    return (top + PREFIX_STRENGTH * base) / (bottom + PREFIX_STRENGTH)


@pytest.mark.parametrize("threshold", [None, 0.3])
@pytest.mark.parametrize("length", [0, 3])
def test_hmm_links_the_same_with_and_without_kept_counts(length, threshold):
    """The counts of the last update are those that the finished model has."""
    options = HmmOptions(prefix_length=length)
    sides = source, target = encode(words(SOURCE)), encode(words(TARGET))
    model = HmmModel.estimate(source, target, options)
    wanted = model.decode(*sides, options, threshold)
    found = HmmModel.estimate_and_decode(*sides, options, threshold)
    for one, other in zip(found[:2], wanted[:2], strict=True):
        assert one.word.tolist() == other.word.tolist()
        np.testing.assert_allclose(one.probability, other.probability, rtol=1e-6)
        np.testing.assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-12)
    assert (found[2] is None) == (threshold is None)
    if threshold is not None:
        assert found[2].lists() == wanted[2].lists()
