"""Synonyms at the level of token ids."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from isoglot.core.errors import ConfigurationError
from isoglot.formats.schema import LEXICON
from isoglot.testing import FAMILIES, tiny_lexicon, tiny_tokenizer
from isoglot.views.lexicon import SynonymTable, TokenLexicon, copied_lexicon, token_lexicon


def draw(table, ids, uniform=0.0):
    ids = np.asarray(ids)
    return table.draw(ids, np.full(ids.size, uniform))


@given(
    entries=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99), st.integers(-1, 2)), max_size=30),
    ids=st.lists(st.integers(0, 500), max_size=20),
    seed=st.integers(0, 2**32 - 1),
)
def test_table_equals_a_dictionary(entries, ids, seed):
    table = SynonymTable.from_entries(entries)
    uniform = np.random.default_rng(seed).random(len(ids))
    synonyms, languages, found = table.draw(np.array(ids, dtype=np.int64), uniform)
    naive = {i: sorted({e[1:] for e in entries if e[0] == i}) for i in ids}
    for k, i in enumerate(ids):
        options = naive[i]
        assert found[k] == bool(options)
        expected = options[int(uniform[k] * len(options))] if options else (i, -1)
        assert (synonyms[k], languages[k]) == expected


def test_synonyms_are_equally_likely():
    table = TokenLexicon({None: SynonymTable.from_entries((3, i, -1) for i in (7, 8, 9))}).table("any")
    uniform = np.random.default_rng(0).random(9000)
    synonyms, _, _ = table.draw(np.full(9000, 3), uniform)
    counts = np.bincount(synonyms, minlength=10)[7:]
    assert (abs(counts - 3000) < 250).all()


def rows(*pairs, languages=("en", "de")):
    return Dataset.from_dict(
        {
            "source": [a for a, _ in pairs],
            "target": [b for _, b in pairs],
            "source_language": [languages[0]] * len(pairs),
            "target_language": [languages[1]] * len(pairs),
        },
        features=LEXICON,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_single_piece_entries_in_both_directions(family):
    tokenizer = tiny_tokenizer(family, vocab_size=600)
    words = [*tiny_lexicon()["source"], *tiny_lexicon()["target"]]
    pieces = {w: tokenizer(f" {w}", add_special_tokens=False)["input_ids"] for w in words}
    first, second = [w for w in words if len(pieces[w]) == 1][:2]
    split = next((w for w in words if len(pieces[w]) > 1), "zzqzz")
    lexicon = token_lexicon(rows((first, second), (split, second), (first, split)), tokenizer)
    synonyms, languages, found = draw(lexicon.table("en"), pieces[first])
    assert (synonyms.tolist(), found.tolist()) == (pieces[second], [True])
    assert lexicon.languages[languages[0]] == "de"
    synonyms, languages, _ = draw(lexicon.table("de"), pieces[second])
    assert synonyms.tolist() == pieces[first]
    assert lexicon.languages[languages[0]] == "en"
    assert draw(lexicon.table("en"), pieces[second])[2].tolist() == [False]
    assert lexicon.tables["en"].counts.sum() == lexicon.tables["de"].counts.sum() == 1
    assert lexicon.table("fr") is None


def test_lexicon_leaves_out_equal_and_unknown_words():
    tokenizer = tiny_tokenizer("bert", vocab_size=600)
    lexicon = token_lexicon(
        rows(("river", "potamo"), ("river", "river"), ("river", "xyzzyqwk"), ("中", "potamo")), tokenizer
    )
    river = tokenizer.convert_tokens_to_ids("river")
    assert lexicon.tables["en"].counts.sum() == 1
    assert draw(lexicon.table("en"), [river])[0].tolist() == [tokenizer.convert_tokens_to_ids("potamo")]


def test_a_lexicon_of_nothing_usable():
    with pytest.raises(ConfigurationError, match="none of its 1 entries"):
        token_lexicon(rows(("xyzzyqwk", "wqkzzyx")), tiny_tokenizer("bert"))


def test_share_is_drawn_from_the_seed():
    tokenizer = tiny_tokenizer("bert", vocab_size=600)
    everything = token_lexicon(tiny_lexicon(), tokenizer).tables["en"].counts.sum()
    half = [token_lexicon(tiny_lexicon(), tokenizer, share=0.5, seed=s).tables["en"] for s in (0, 0, 1)]
    assert half[0].counts.sum() == int(everything * 0.5)
    assert (half[0].synonyms == half[1].synonyms).all()
    assert half[0].synonyms.tolist() != half[2].synonyms.tolist()


def test_copied_vocabulary():
    table = copied_lexicon(100, special=[0, 1, 2], share=0.25, seed=3).table("whatever")
    ids = np.arange(250)
    synonyms, _, found = draw(table, ids)
    assert found[:100].sum() == found[100:200].sum() == int(97 * 0.25)
    assert not found[[0, 1, 2]].any()
    assert not found[200:].any()
    assert (synonyms[:100][found[:100]] == ids[:100][found[:100]] + 100).all()
    assert (found[:100] == found[100:200]).all()
    assert (synonyms[synonyms[found]] == ids[found]).all()


def test_copied_vocabulary_of_specials_alone():
    with pytest.raises(ConfigurationError, match="empty lexicon"):
        copied_lexicon(3, special=[0, 1, 2])


def test_a_language_may_be_written_with_three_letters():
    tokenizer = tiny_tokenizer("bert", vocab_size=600)
    first, second = tiny_lexicon()["source"][:2]
    lexicon = token_lexicon(rows((first, second), languages=("eng", "deu")), tokenizer)
    assert lexicon.table("en") is lexicon.table("eng") is not None
    assert lexicon.table("de") is not None and lexicon.table("fr") is None
