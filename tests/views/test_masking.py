"""Which tokens are selected, and what replaces them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for
from isoglot.testing import tiny_tokenizer
from isoglot.views.base import IGNORE_INDEX
from isoglot.views.masking import MaskingOptions, mask_tokens, special_table

TOKENIZER = tiny_tokenizer("bert")
LARGE = 40_000


def settle(**options):
    masking = MaskingOptions(**options)
    masking.settle(TOKENIZER)
    return masking


def mask(ids, *, seed=0, candidates=None, word_ids=None, **options):
    ids = np.asarray(ids, dtype=np.int64)
    candidates = np.ones(ids.size, dtype=bool) if candidates is None else np.asarray(candidates)
    words = None if word_ids is None else np.asarray(word_ids, dtype=np.int64)
    return mask_tokens(ids, candidates, settle(**options), generator=generator_for(seed), word_ids=words)


def close(count, total, share):
    """Within five standard deviations of a binomial."""
    return abs(count - total * share) <= 5 * math.sqrt(total * share * (1 - share)) + 1


def loop_reference(ids, candidates, masking, *, generator, word_ids=None):
    """The same rule, token by token, from the same uniforms."""
    n = len(ids)
    uniform = torch.rand(3 * n + 1, generator=generator, dtype=torch.float64).tolist()
    units, unit = [], -1
    for i in range(n):
        same = masking.whole_word and i and word_ids[i] >= 0 and word_ids[i] == word_ids[i - 1]
        unit += 0 if same else 1
        units.append(unit)
    eligible = sorted({uniform[units[i]] for i in range(n) if candidates[i]})
    if masking.count == "exact":
        chosen = set(eligible[: int(masking.probability * len(eligible) + uniform[-1])])
    else:
        chosen = {u for u in eligible if u < masking.probability}
    inputs, labels = list(ids), [IGNORE_INDEX] * n
    for i in range(n):
        if not candidates[i] or uniform[units[i]] not in chosen:
            continue
        labels[i] = ids[i]
        kind = uniform[n + i]
        if kind < masking.mask_share:
            inputs[i] = masking._mask_token_id
        elif kind < masking.mask_share + masking.random_share:
            inputs[i] = int(masking._pool[int(uniform[2 * n + i] * len(masking._pool))])
    return inputs, labels


OPTIONS = st.fixed_dictionaries(
    {
        "probability": st.sampled_from([0.0, 0.15, 0.3, 0.5, 1.0]),
        "mask_share": st.sampled_from([0.0, 0.5, 0.8]),
        "random_share": st.sampled_from([0.0, 0.1, 0.2]),
        "count": st.sampled_from(["bernoulli", "exact"]),
        "whole_word": st.booleans(),
        "random_pool": st.sampled_from(["nonspecial", "all", (20, 30)]),
    }
)
TOKENS = st.lists(
    st.tuples(st.integers(5, 150), st.booleans(), st.sampled_from([-1, 0, 1, 2])), min_size=0, max_size=40
)


@given(options=OPTIONS, tokens=TOKENS, seed=st.integers(0, 2**32))
def test_equals_the_loop(options, tokens, seed):
    masking = settle(**options)
    ids = np.array([t[0] for t in tokens], dtype=np.int64)
    candidates = np.array([t[1] for t in tokens], dtype=bool)
    words = np.array([t[2] for t in tokens], dtype=np.int64)
    result = mask_tokens(ids, candidates, masking, generator=generator_for(seed), word_ids=words)
    inputs, labels = loop_reference(
        ids.tolist(), candidates.tolist(), masking, generator=generator_for(seed), word_ids=words.tolist()
    )
    assert result.input_ids.tolist() == inputs
    assert result.labels.tolist() == labels


@given(options=OPTIONS, tokens=TOKENS, seed=st.integers(0, 2**32))
def test_labels_are_originals_and_others_are_untouched(options, tokens, seed):
    ids = np.array([t[0] for t in tokens], dtype=np.int64)
    candidates = np.array([t[1] for t in tokens], dtype=bool)
    words = np.array([t[2] for t in tokens], dtype=np.int64)
    result = mask(ids, seed=seed, candidates=candidates, word_ids=words, **options)
    assert not (result.selected & ~candidates).any()
    assert (result.labels[result.selected] == ids[result.selected]).all()
    assert (result.labels[~result.selected] == IGNORE_INDEX).all()
    assert (result.input_ids[~result.selected] == ids[~result.selected]).all()


@pytest.mark.parametrize("probability", [0.15, 0.3])
@pytest.mark.parametrize("whole_word", [False, True])
def test_shares_are_those_asked_for(probability, whole_word):
    ids = np.full(LARGE, 7)
    words = np.arange(LARGE) // 2
    result = mask(ids, probability=probability, whole_word=whole_word, word_ids=words, random_pool=(200, 300))
    selected = int(result.selected.sum())
    units, size = (LARGE // 2, 2) if whole_word else (LARGE, 1)
    assert close(selected / size, units, probability)
    seen = result.input_ids[result.selected]
    assert close((seen == TOKENIZER.mask_token_id).sum(), selected, 0.8)
    assert close(((seen >= 200) & (seen < 300)).sum(), selected, 0.1)
    assert close((seen == 7).sum(), selected, 0.1)


def test_words_are_selected_whole_but_their_pieces_replaced_one_by_one():
    words = np.repeat(np.arange(LARGE // 4), 4)
    result = mask(np.full(LARGE, 7), probability=0.3, whole_word=True, word_ids=words)
    groups = result.selected.reshape(-1, 4)
    assert (groups.all(axis=1) == groups.any(axis=1)).all()
    masked = (result.input_ids == TOKENIZER.mask_token_id).reshape(-1, 4)[groups[:, 0]]
    assert (masked.any(axis=1) & ~masked.all(axis=1)).any()


@pytest.mark.parametrize(("length", "probability"), [(100, 0.15), (37, 0.3), (9, 0.15)])
def test_exact_counts_and_their_mean(length, probability):
    counts = [
        int(mask(np.full(length, 7), seed=s, count="exact", probability=probability).selected.sum())
        for s in range(800)
    ]
    expected = probability * length
    assert set(counts) <= {math.floor(expected), math.ceil(expected)}
    assert abs(np.mean(counts) - expected) < 0.1


def test_exact_draws_every_position_alike():
    total = sum(mask(np.full(20, 7), seed=s, count="exact").selected.astype(int) for s in range(3000))
    assert all(close(count, 3000, 0.15) for count in total)


def test_random_pools():
    options = {"probability": 1.0, "mask_share": 0.0, "random_share": 1.0}
    special = set(TOKENIZER.all_special_ids)
    drawn = {
        pool: set(mask(np.full(LARGE, 7), random_pool=pool, **options).input_ids.tolist())
        for pool in ("nonspecial", "all", (0, 12), (1000, 1003))
    }
    everything = set(range(len(TOKENIZER)))
    assert drawn["all"] == everything
    assert drawn["nonspecial"] == everything - special
    assert drawn[0, 12] == set(range(12)) - special
    assert drawn[1000, 1003] == {1000, 1001, 1002}


def test_the_unknown_token_is_text_and_copied_ids_are_not_special():
    table = special_table(TOKENIZER)
    ids = np.array([TOKENIZER.pad_token_id, TOKENIZER.cls_token_id, TOKENIZER.unk_token_id, 9, 100_000])
    assert table.take(ids, mode="clip").tolist() == [True, True, False, False, False]


def test_an_empty_sequence():
    result = mask([])
    assert result.input_ids.size == result.labels.size == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"probability": 1.5}, "probability: got 1.5"),
        ({"mask_share": 0.9, "random_share": 0.2}, "add up to more than 1"),
        ({"count": "all"}, "count: got 'all'"),
        ({"random_pool": "some"}, "random_pool: got 'some'"),
        ({"random_pool": [5, 5]}, "random_pool: got \\[5, 5\\]"),
        ({"random_pool": [0, 3]}, "special ids alone"),
    ],
)
def test_options_out_of_range(options, words):
    with pytest.raises(ConfigurationError, match=words):
        settle(**options)


def test_several_mistakes_are_listed_together():
    with pytest.raises(ConfigurationError) as caught:
        settle(probability=-1, count="x")
    assert len(caught.value.problems) == 2


def test_whole_word_needs_word_ids():
    with pytest.raises(ConfigurationError, match="no word_ids"):
        mask([7, 8], whole_word=True)


def test_a_tokenizer_without_mask_token():
    tokenizer = tiny_tokenizer("bert")
    tokenizer.mask_token = None
    with pytest.raises(ConfigurationError, match="no mask token"):
        MaskingOptions().settle(tokenizer)
