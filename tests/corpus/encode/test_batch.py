import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from small_corpora import aligned_corpus, counts, text_corpus

from isoglot.core.errors import ConfigurationError, InputError
from isoglot.corpus.encode.batch import EncodeOptions, fit_pair
from isoglot.corpus.encode.encode import encode_stream
from isoglot.testing import FAMILIES, tiny_aligned, tiny_bitext, tiny_tokenizer


@pytest.mark.parametrize("family", FAMILIES)
def test_links_join_translations(family, tmp_path):
    tokenizer, corpus = tiny_tokenizer(family), tiny_aligned(20)
    stream = encode_stream(corpus, tokenizer, cache_dir=tmp_path)
    for row, example in zip(corpus, stream, strict=True):
        linked = {(example["source_word_ids"][i], example["target_word_ids"][j]) for i, j in example["links"]}
        assert linked == {tuple(link) for link in row["links"]}
        sizes = [np.bincount(example[f"{side}_word_ids"]) for side in ("source", "target")]
        assert len(example["links"]) == sum(sizes[0][i] * sizes[1][j] for i, j in row["links"])
        assert example["links"] == sorted(example["links"])


def test_piece_links_and_link_filters(tmp_path):
    tokenizer = tiny_tokenizer("bert")
    rows = (("the river", "ta river", ["the", "river"], ["ta", "river"], [[0, 0], [0, 1], [1, 1]]),)

    def encoded(**options):
        return encode_stream(
            aligned_corpus(*rows), tokenizer, cache_dir=tmp_path, options=EncodeOptions(**options)
        )

    assert encoded(align_on="pieces")[0]["links"] == [[0, 0], [0, 1], [1, 1]]
    assert encoded(drop_identical=True, subword="first")[0]["links"] == [[0, 0], [0, 1]]
    assert counts(encoded(drop_identical=True, subword="first"))["links_filtered"] == 1


@pytest.mark.parametrize(("link", "side"), [([2, 0], "source"), ([0, 5], "target"), ([-1, 0], "source")])
@pytest.mark.parametrize("align_on", ["words", "pieces"])
def test_links_outside_the_sentence(link, side, align_on, tmp_path):
    good = ("a .", "un .", ["a", "."], ["un", "."], [[0, 0]])
    bad = ("a .", "un .", ["a", "."], ["un", "."], [[1, 1], link])
    with refused(InputError, f"row 1: link {link} ", f"{side} side ", f"2 {align_on} "):
        encode_stream(
            aligned_corpus(good, bad),
            tiny_tokenizer("bert", vocab_size=200),
            cache_dir=tmp_path,
            options=EncodeOptions(align_on=align_on),
        )
    assert list(tmp_path.iterdir()) == [], "nothing half-written stays"


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=8),
    st.one_of(st.none(), st.integers(1, 30)),
    st.one_of(st.none(), st.integers(2, 50)),
)
def test_fit_pair_cuts_the_longer_side_one_by_one(pairs, side, budget):
    source, target = (np.array(column) for column in zip(*pairs, strict=True))
    found = fit_pair(source, target, max_side=side, budget=budget)
    for k, pair in enumerate(pairs):
        s, t = (min(n, side if side is not None else n) for n in pair)
        while budget is not None and s + t > budget:
            s, t = (s - 1, t) if s > t else (s, t - 1)
        assert (found[0][k], found[1][k]) == (s, t)


def test_max_length_counts_specials(tmp_path):
    tokenizer = tiny_tokenizer("xlm-roberta")
    corpus = tiny_bitext(30)
    lengths = [len(tokenizer(r["source"], r["target"])["input_ids"]) for r in corpus]
    limit = int(np.median(lengths))

    def kept(**options):
        stream = encode_stream(
            corpus, tokenizer, cache_dir=tmp_path, options=EncodeOptions(max_length=limit, **options)
        )
        return stream["row"][:]

    assert kept() == [i for i, n in enumerate(lengths) if n <= limit]
    assert kept(pair_template="single") == [i for i, n in enumerate(lengths) if n - 1 <= limit]


def test_truncation_drops_links_beyond(tmp_path):
    corpus, tokenizer = tiny_aligned(30), tiny_tokenizer("bert")
    whole = encode_stream(corpus, tokenizer, cache_dir=tmp_path)
    options = EncodeOptions(overlong="truncate", max_side=12, max_length=20)
    cut = encode_stream(corpus, tokenizer, cache_dir=tmp_path, options=options)
    assert len(cut) == 30 and counts(cut)["truncated"] > 0 and counts(cut)["links_cut"] > 0
    for long, short in zip(whole, cut, strict=True):
        n, m = len(short["source_ids"]), len(short["target_ids"])
        assert n <= 12 and m <= 12 and short["length"] == n + m <= 17
        assert short["source_ids"] == long["source_ids"][:n]
        assert short["links"] == [[i, j] for i, j in long["links"] if i < n and j < m]
    assert counts(cut)["piece_links"] + counts(cut)["links_cut"] == counts(whole)["piece_links"]


def test_batch_of_empty_sides_or_of_nothing(tmp_path):
    corpus, tokenizer = tiny_bitext(5), tiny_tokenizer()
    with refused(ConfigurationError, "of 5 ", "5 longer than max_length=8", "overlong: truncate"):
        encode_stream(corpus, tokenizer, options=EncodeOptions(max_length=8), cache_dir=tmp_path)
    with refused(ConfigurationError, "max_length=4 ", "3 specials"):
        encode_stream(corpus, tokenizer, options=EncodeOptions(max_length=4), cache_dir=tmp_path)
    with refused(ConfigurationError, "of 0 ", "max_length=128", "overlong: truncate"):
        encode_stream(corpus.select([]), tokenizer, cache_dir=tmp_path)
    mixed = text_corpus("", "the river", "\u200b")
    stream = encode_stream(mixed, tokenizer, cache_dir=tmp_path)
    assert stream["row"][:] == [1] and counts(stream)["empty"] == 2


def test_a_pair_is_cut_at_its_longer_side_and_then_in_halves():
    lengths = np.array([9, 9]), np.array([3, 8])
    assert [side.tolist() for side in fit_pair(*lengths, max_side=None, budget=8)] == [[5, 4], [3, 4]]
    assert [side.tolist() for side in fit_pair(*lengths, max_side=None, budget=7)] == [[4, 4], [3, 3]]
    assert [side.tolist() for side in fit_pair(*lengths, max_side=6, budget=None)] == [[6, 6], [3, 6]]
