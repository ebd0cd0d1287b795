"""Filters against plain loops, PPA's length rule, and what counts as held out or in the right script."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from isoglot.corpus.filter.chunk import filter_rows
from isoglot.corpus.filter.filters import RowTests, clean, hash_texts, held_out_key
from isoglot.corpus.options import FILTERS, PrepareOptions
from isoglot.formats.records import Records


def word_tokenizer() -> str:
    """One piece a word, three special tokens for a pair."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding()
    return tokenizer.to_str()


def pairs(*rows, flags=None):
    return Records({"source": [r[0] for r in rows], "target": [r[1] for r in rows]}, flags)


def apply(records, languages=("en", "de"), held_out=(), **options):
    if any(k in options for k in ("min_pieces", "max_pieces", "max_pair_pieces")):
        options["tokenizer"] = "given"
    settings = PrepareOptions(**options)
    hashes = np.unique(hash_texts(map(held_out_key, held_out)))
    tests = RowTests(settings, tokenizer_json=word_tokenizer(), held_out=hashes)
    outcome = filter_rows(records, tests, settings, languages)
    return list(zip(records.columns["source"], records.columns["target"], strict=True)), outcome


def test_empty_sides_go():
    kept, outcome = apply(pairs(("a", "b"), ("", "b"), ("a", " \t"), ("\u3000", "\u00a0")))
    assert kept == [("a", "b")]
    assert outcome.removed == {"empty": 3}


def test_ppa_lengths_at_their_borders():
    def of(n):
        return " ".join("a" * n)

    border = 125
    rows = [
        (of(9), of(50)),
        (of(50), of(9)),
        (of(10), of(10)),
        (of(60), of(border - 60)),
        (of(60), of(border - 59)),
    ]
    kept, outcome = apply(pairs(*rows), min_pieces=10, max_pair_pieces=128)
    assert kept == rows[2:4]
    assert outcome.removed == {"length": 3}


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=12),
    least=st.integers(1, 4),
    most=st.integers(2, 9),
    both=st.integers(4, 16),
    ratio=st.sampled_from([1.5, 2.0, 3.0]),
)
def test_filters_equal_a_loop_over_rows(lengths, least, most, both, ratio):
    rows = [(" ".join("a" * s), " ".join(["bb"] * t)) for s, t in lengths]
    kept, removed = [], Counter()
    for (s, t), row in zip(lengths, rows, strict=True):
        measure = tuple(map(len, row))
        if not s or not t:
            removed["empty"] += 1
        elif min(s, t) < least or max(s, t) + 2 > most or s + t + 3 > both:
            removed["length"] += 1
        elif max(measure) > ratio * min(measure):
            removed["ratio"] += 1
        else:
            kept.append(row)
    found, outcome = apply(
        pairs(*rows),
        min_pieces=least,
        max_pieces=most,
        max_pair_pieces=both,
        max_length_ratio=ratio,
    )
    assert found == kept
    assert outcome.removed == removed
    assert list(outcome.removed) == [n for n in FILTERS if n in removed]


def test_held_out_sentences_match_lightly():
    rows = [
        ("Hello,  World!", "x"),
        ("x", "straße"),
        ("Hello worlds", "x"),
        ("ﬁne", "x"),
        ("?!", "x"),
        ("!?", "x"),
    ]
    kept, outcome = apply(pairs(*rows), held_out=["hello world", "STRASSE", "fine", "?!"])
    assert kept == [("Hello worlds", "x"), ("!?", "x")]
    assert outcome.removed == {"held_out": 4}


def test_a_document_with_a_held_out_line_goes():
    rows = [("one\nHello, world!\ntwo", "x"), ("one\ntwo", "x\ny"), ("Hello world two", "x")]
    kept, outcome = apply(pairs(*rows), held_out=["hello world", "one two"], clean_whitespace=False)
    assert kept == rows[2:]
    assert outcome.removed == {"held_out": 2}


def test_held_out_flags():
    records = pairs(*[(str(i), "x") for i in range(4)], flags=["", "ntrex", "ntrex,laser_tatoeba", "ntrex2"])
    kept, outcome = apply(records, held_out_flags=("ntrex",))
    assert [s for s, _ in kept] == ["0", "3"]
    assert set(outcome.flags_seen) == {"ntrex", "laser_tatoeba", "ntrex2"}
    records = pairs(*[(str(i), "x") for i in range(3)], flags=["", "a", "b"])
    assert [s for s, _ in apply(records, held_out_flags=("*",))[0]] == ["0"]


def test_wrong_script_goes():
    rows = [("House", "Дом"), ("Дом", "Дом"), ("42", "42"), ("the word дома", "слово дом")]
    kept, outcome = apply(pairs(*rows), languages=("en", "ru"), min_script_share=0.7)
    assert kept == [rows[0], rows[2]]
    assert outcome.removed == {"script": 2}


def test_cleaning():
    assert clean(" a\u00a0\u3000b\x00\ufeff\t\x07c ") == "a b c"
    assert clean("a \n\n b  c\n") == "a\n\nb c"
    assert apply(pairs(("a\n b", "c\r\nd\n")))[0] == [("a b", "c d")]
    assert clean("क्\u200dष") == "क्\u200dष"
    assert apply(pairs(("  a ", "b")), clean_whitespace=False)[0] == [("  a ", "b")]


def test_words_of_aligned_rows_stay_where_they_are():
    columns = {
        "source": ["e\u0301 \u00a0x"], "target": ["b"], "source_words": [["e\u0301", "\u00a0x"]],
        "target_words": [["b"]], "links": [[[0, 0]]],
    }  # fmt: skip
    records, options = Records(dict(columns)), PrepareOptions(kind="aligned")
    filter_rows(records, RowTests(options), options, ("en", "de"))
    assert records.columns == columns


@pytest.mark.parametrize(("by", "same"), [("pair", False), ("source", True), ("target", False)])
def test_keys_of_duplicates(by, same):
    _, outcome = apply(pairs(("a", "b"), ("a", "c")), duplicates=by)
    assert (outcome.keys[0] == outcome.keys[1]) == same
    _, other = apply(pairs(("a", "b")), languages=("en", "fr"), duplicates=by)
    assert other.keys[0] != outcome.keys[0]
    assert apply(pairs(("a", "b")))[1].keys is None


def test_hash_is_the_same_everywhere():
    key = hashlib.blake2b(b"en\tde", digest_size=16).digest()
    expected = [
        int.from_bytes(hashlib.blake2b(t, digest_size=8, key=key).digest(), "little")
        for t in (b"a", b"\xc3\xbc")
    ]
    assert hash_texts(["a", "ü"], salt="en\tde").tolist() == expected
