"""Word vectors and word links, against loops over sentences."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoglot.modules.word_vectors import pool_words, word_index, word_links


def naive_words(word_ids):
    words = {}
    for position, word in enumerate(word_ids):
        if word >= 0:
            words.setdefault(word, []).append(position)
    return words


def sides(seed, batch=3, length=9):
    generator = torch.Generator().manual_seed(seed)
    steps = torch.randint(0, 2, (batch, length), generator=generator)
    word_ids = steps.cumsum(1)
    word_ids[torch.rand((batch, length), generator=generator) < 0.2] = -1
    return word_ids, torch.randint(0, 6, (batch, length), generator=generator)


def test_a_batch_without_sentences_has_no_words():
    nothing = torch.zeros(0, 0, dtype=torch.int64)
    index = word_index(nothing, nothing)
    assert index.present.shape == (0, 1)
    assert index.fingerprint.dtype == torch.int64


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_pooling_equals_loops(seed):
    word_ids, input_ids = sides(seed)
    hidden = torch.randn(3, 9, 4)
    index = word_index(word_ids, input_ids)
    for row in range(3):
        words = naive_words(word_ids[row].tolist())
        assert index.present[row].nonzero().flatten().tolist() == sorted(words)
        for word, positions in words.items():
            for pooling, expected in (
                ("last", hidden[row, positions[-1]]),
                ("first", hidden[row, positions[0]]),
                ("mean", hidden[row, positions].mean(0)),
            ):
                torch.testing.assert_close(pool_words(hidden, index, pooling=pooling)[row, word], expected)


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_word_links_equal_loops(seed, one_to_one, drop_identical):
    query_words, query_ids = sides(seed)
    key_words, key_ids = sides(seed + 1)
    links = torch.randint(-1, 9, (3, 6, 2), generator=torch.Generator().manual_seed(seed))
    expected = []
    for row in range(3):
        q, k = naive_words(query_words[row].tolist()), naive_words(key_words[row].tolist())
        found = set()
        for i, j in links[row].tolist():
            if i >= 0 and j >= 0 and query_words[row, i] >= 0 and key_words[row, j] >= 0:
                found.add((int(query_words[row, i]), int(key_words[row, j])))
        if one_to_one:
            found = {
                (a, b)
                for a, b in found
                if sum(x == a for x, _ in found) == 1 and sum(y == b for _, y in found) == 1
            }
        if drop_identical:
            # Pieces of a word may have a gap (a position without a word): compare the ids with their offsets.
            spell = lambda positions, ids: [(p - positions[0], int(ids[p])) for p in positions]  # noqa: E731
            found = {(a, b) for a, b in found if spell(q[a], query_ids[row]) != spell(k[b], key_ids[row])}
        expected += [[row, a, b] for a, b in sorted(found)]
    result = word_links(
        links,
        word_index(query_words, query_ids),
        word_index(key_words, key_ids),
        one_to_one=one_to_one,
        drop_identical=drop_identical,
    )
    assert result.tolist() == expected
