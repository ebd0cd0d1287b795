import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from isoglot.corpus.encode.batch import EncodeOptions, fit_pair
from isoglot.corpus.encode.encode import encode_stream
from isoglot.corpus.encode.store import content_hash, open_stream, stream_manifest
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.corpus.encode.words import split_words
from isoglot.errors import ConfigurationError, InputError
from isoglot.schema import ALIGNED
from isoglot.testing import FAMILIES, tiny_aligned, tiny_bitext, tiny_lexicon, tiny_text, tiny_tokenizer


def stream_words(corpus, stream, index):
    """The words that an example's word ids count, read back from the corpus that it was made from."""
    row = corpus[int(stream[index]["row"])]
    sides = {"source": "source_words", "target": "target_words"} if "source" in row else {"text": "words"}
    return {
        given: list(row[given]) if row.get(given) is not None else split_words(row[text], mode="unicode")
        for text, given in sides.items()
    }


def text_corpus(*texts, language="en"):
    return Dataset.from_dict({"text": list(texts), "language": [language] * len(texts)})


def aligned_corpus(*rows):
    """Rows of (source, target, source words, target words, links)."""
    columns = {
        "source": [r[0] for r in rows],
        "target": [r[1] for r in rows],
        "source_language": ["en"] * len(rows),
        "target_language": ["de"] * len(rows),
        "source_words": [r[2] for r in rows],
        "target_words": [r[3] for r in rows],
        "links": [r[4] for r in rows],
    }
    return Dataset.from_dict(columns, features=ALIGNED)


def counts(stream):
    return stream_manifest(stream)["counts"]


@pytest.mark.parametrize("family", FAMILIES)
def test_ids_are_the_tokenizers_own_and_words_are_whole(family, tmp_path):
    tokenizer, corpus = tiny_tokenizer(family), tiny_bitext(20)
    stream = encode_stream(corpus, tokenizer, cache_dir=tmp_path)
    assert len(stream) == 20
    for i, example in enumerate(stream):
        for side in ("source", "target"):
            expected = tokenizer(corpus[i][side], add_special_tokens=False)["input_ids"]
            assert example[f"{side}_ids"] == expected
            words = stream_words(corpus, stream, i)[f"{side}_words"]
            ids, word_ids = np.array(expected), np.array(example[f"{side}_word_ids"])
            for number, word in enumerate(words):
                spelt = tokenizer.decode(ids[word_ids == number]).replace(" ", "").replace("#", "")
                assert spelt == word, (words, word_ids)
        assert example["length"] == len(example["source_ids"]) + len(example["target_ids"])
        assert example["row"] == i


TRICKY = [
    "हिन्दी में \u200b बोलती हैं।",
    "the 日本 river",
    "\u200bthe\u200b river\ufeff",
    "👩\u200d👩\u200d👧 the 🇩🇪!",
    " the  river ",
    "\u0301 the ﬁ x²",
    "می\u200cخواهم the",
]


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe", "byte_bpe", "unigram"])
def test_word_maps_do_not_shift_on_hard_text(algorithm, tmp_path):
    tokenizer = train_tokenizer([*TRICKY, "the river the river"] * 3, algorithm=algorithm, vocab_size=340)
    corpus = text_corpus(*TRICKY)
    stream = encode_stream(corpus, tokenizer, cache_dir=tmp_path)
    backend = tokenizer.backend_tokenizer
    for i, text in enumerate(TRICKY):
        words = stream_words(corpus, stream, i)["words"]
        encoding = backend.encode(text, add_special_tokens=False)
        assert stream[i]["input_ids"] == encoding.ids
        for piece, word in enumerate(stream[i]["word_ids"]):
            covered = text[slice(*encoding.offsets[piece])]
            if word >= 0 and covered.strip():
                shared = set(covered) & set(words[word])
                assert shared, (
                    f"{encoding.tokens[piece]!r} stands for {covered!r}, not in word {words[word]!r}"
                )
        assert "the" not in words or words.index("the") in stream[i]["word_ids"]


def test_a_bare_space_piece_belongs_to_the_word_it_leads(tmp_path):
    tokenizer = tiny_tokenizer("xlm-roberta")
    stream = encode_stream(text_corpus("the old 日"), tokenizer, cache_dir=tmp_path)
    tokens = tokenizer.convert_ids_to_tokens(stream[0]["input_ids"])
    assert "▁" in tokens[1:] and -1 not in stream[0]["word_ids"]
    assert [w for t, w in zip(tokens, stream[0]["word_ids"], strict=True) if t == "▁"][-1] == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens_in_a_corpus_are_cut_as_a_plain_call_cuts_them(family, tmp_path):
    tokenizer = tiny_tokenizer(family)
    names = [tokenizer.unk_token, tokenizer.mask_token, tokenizer.sep_token, tokenizer.pad_token]
    text = "the " + " river ".join(names) + " sees <unk> [UNK]"
    plain = tokenizer(text, add_special_tokens=False)["input_ids"]
    stream = encode_stream(
        text_corpus(text), tokenizer, cache_dir=tmp_path, options=EncodeOptions(words="whitespace")
    )[0]
    assert stream["input_ids"] == plain
    assert set(tokenizer.convert_tokens_to_ids(names)) <= set(plain)
    assert -1 not in stream["word_ids"] and sorted(set(stream["word_ids"])) == list(range(len(text.split())))


@pytest.mark.parametrize("algorithm", ["wordpiece", "bpe", "byte_bpe", "unigram"])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_trained_tokenizers_read_the_unknown_token_as_one_piece(algorithm, family, tmp_path):
    texts = [row["text"] for row in tiny_text(64)]
    size = 340 if algorithm == "byte_bpe" else 90
    tokenizer = train_tokenizer(texts, algorithm=algorithm, family=family, vocab_size=size, min_frequency=1)
    text = f"the river {tokenizer.unk_token} sees"
    plain = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert encode_stream(text_corpus(text), tokenizer, cache_dir=tmp_path)[0]["input_ids"] == plain
    assert plain.count(tokenizer.unk_token_id) == 1


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


def test_aligned_text_has_the_pieces_of_the_same_bitext(tmp_path):
    for family in FAMILIES:
        tokenizer = tiny_tokenizer(family)
        aligned = encode_stream(tiny_aligned(10), tokenizer, cache_dir=tmp_path)
        raw = encode_stream(tiny_bitext(10), tokenizer, cache_dir=tmp_path)
        for name in ("source_ids", "target_ids", "source_word_ids"):
            assert aligned[name][:] == raw[name][:]


def test_words_without_pieces_keep_their_number_and_stay_unlinked(tmp_path):
    words = ["the", "\u200b", "", "river"]
    corpus = aligned_corpus(
        ("the \u200b river", "ta potamo", words, ["ta", "potamo"], [[0, 0], [1, 0], [2, 1], [3, 1]])
    )
    stream = encode_stream(corpus, tiny_tokenizer("bert"), cache_dir=tmp_path)
    assert sorted(set(stream[0]["source_word_ids"])) == [0, 3]
    pairs = {
        (stream[0]["source_word_ids"][i], stream[0]["target_word_ids"][j]) for i, j in stream[0]["links"]
    }
    assert pairs == {(0, 0), (3, 1)}
    assert counts(stream)["links"] == 4 and counts(stream)["links_without_pieces"] == 2


def test_words_that_do_not_spell_their_text_are_encoded_themselves(tmp_path):
    tokenizer = tiny_tokenizer("roberta")
    rows = (
        ("the river.", "ta potamo", ["the", "river", "."], ["ta", "potamo"], [[1, 1]]),
        ("the   old—garden", "ta", ["the", "old", "garden"], ["ta"], [[0, 0]]),
        ("a child", "un kindelo", ["a", "child"], ["un", "kindelo"], [[1, 1]]),
    )
    stream = encode_stream(aligned_corpus(*rows), tokenizer, cache_dir=tmp_path)
    assert counts(stream)["words_not_located"] == 1
    assert stream[1]["source_ids"] == tokenizer("the old garden", add_special_tokens=False)["input_ids"]
    assert stream[2]["source_ids"] == tokenizer("a child", add_special_tokens=False)["input_ids"]
    assert sorted(set(stream[1]["source_word_ids"])) == [0, 1, 2]


def test_given_words_get_the_space_that_a_byte_level_tokenizer_lacks(tmp_path):
    from tokenizers.pre_tokenizers import ByteLevel

    tokenizer = tiny_tokenizer("roberta")
    tokenizer.backend_tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    corpus = Dataset.from_dict({"words": [["the", "old", "river"]], "language": ["en"]})
    stream = encode_stream(corpus, tokenizer, cache_dir=tmp_path)
    assert stream[0]["input_ids"] == tokenizer("the old river", add_special_tokens=False)["input_ids"]
    lexicon = encode_stream(
        tiny_lexicon(), tokenizer, options=EncodeOptions(kind="lexicon"), cache_dir=tmp_path
    )
    river = list(tiny_lexicon()["source"]).index("river")
    assert lexicon[river]["source_ids"] == tokenizer(" river", add_special_tokens=False)["input_ids"]


def test_piece_links_and_link_filters(tmp_path):
    tokenizer = tiny_tokenizer("bert")
    rows = (("the river", "ta river", ["the", "river"], ["ta", "river"], [[0, 0], [0, 1], [1, 1]]),)

    def encoded(**options):
        return encode_stream(
            aligned_corpus(*rows), tokenizer, cache_dir=tmp_path, options=EncodeOptions(**options)
        )

    assert encoded(align_on="pieces")[0]["links"] == [[0, 0], [0, 1], [1, 1]]
    assert encoded(align_on="pieces", many="one_to_one")[0]["links"] == []
    assert encoded(drop_identical=True, subword="first")[0]["links"] == [[0, 0], [0, 1]]
    assert counts(encoded(drop_identical=True, subword="first"))["links_filtered"] == 1


@pytest.mark.parametrize(("link", "side"), [([2, 0], "source"), ([0, 5], "target"), ([-1, 0], "source")])
@pytest.mark.parametrize("align_on", ["words", "pieces"])
def test_links_outside_the_sentence(link, side, align_on, tmp_path):
    good = ("a .", "un .", ["a", "."], ["un", "."], [[0, 0]])
    bad = ("a .", "un .", ["a", "."], ["un", "."], [[1, 1], link])
    with pytest.raises(InputError, match=rf"row 1: link .* {side} side has 2"):
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
    found = fit_pair(source, target, side=side, budget=budget)
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


def test_nothing_left_and_empty_sides(tmp_path):
    corpus, tokenizer = tiny_bitext(5), tiny_tokenizer()
    with pytest.raises(ConfigurationError, match=r"no example of 5 left.*max_length=8"):
        encode_stream(corpus, tokenizer, options=EncodeOptions(max_length=8), cache_dir=tmp_path)
    with pytest.raises(ConfigurationError, match="max_length=4"):
        encode_stream(corpus, tokenizer, options=EncodeOptions(max_length=4), cache_dir=tmp_path)
    with pytest.raises(ConfigurationError, match="no example of 0 left"):
        encode_stream(corpus.select([]), tokenizer, cache_dir=tmp_path)
    mixed = text_corpus("", "the river", "\u200b")
    stream = encode_stream(mixed, tokenizer, cache_dir=tmp_path)
    assert stream["row"][:] == [1] and counts(stream)["empty"] == 2


def test_slow_tokenizers_and_wrong_columns(tmp_path):
    from transformers import CanineTokenizer

    with pytest.raises(ConfigurationError, match=r"slow.*AutoTokenizer"):
        encode_stream(tiny_text(3), CanineTokenizer(), cache_dir=tmp_path)
    with pytest.raises(ConfigurationError, match="columns"):
        encode_stream(Dataset.from_dict({"x": ["a"]}), tiny_tokenizer(), cache_dir=tmp_path)
    with pytest.raises(ConfigurationError, match="'language'"):
        encode_stream(Dataset.from_dict({"text": ["a"]}), tiny_tokenizer(), cache_dir=tmp_path)


def test_the_cache_is_found_by_content(tmp_path, monkeypatch):
    tokenizer, corpus = tiny_tokenizer(), tiny_bitext(12)
    first = encode_stream(corpus, tokenizer, cache_dir=tmp_path)
    monkeypatch.setattr("isoglot.corpus.encode.encode.write_batches", None)  # encoding again would fail
    tokenizer("a call with truncation must not matter", truncation=True, max_length=4, padding="max_length")
    same = Dataset.from_dict(corpus.to_dict(), features=corpus.features)
    again = encode_stream(same, tokenizer, cache_dir=tmp_path)
    assert again[:] == first[:] and len(list(tmp_path.iterdir())) == 1
    for other in (
        lambda: encode_stream(corpus.select(range(11)), tokenizer, cache_dir=tmp_path),
        lambda: encode_stream(corpus, tiny_tokenizer(vocab_size=170), cache_dir=tmp_path),
        lambda: encode_stream(corpus, tokenizer, cache_dir=tmp_path, options=EncodeOptions(max_length=64)),
    ):
        with pytest.raises(TypeError):
            other()


def test_content_hash_sees_values_and_not_their_storage(tmp_path):
    corpus = tiny_aligned(40)
    names = corpus.column_names
    path = tmp_path / "corpus.parquet"
    corpus.to_parquet(str(path))
    stored = Dataset.from_parquet(str(path), cache_dir=str(tmp_path / "cache"))
    shuffled = corpus.select(list(range(39, -1, -1))).select(list(range(39, -1, -1)))
    assert content_hash(corpus, names) == content_hash(stored, names) == content_hash(shuffled, names)
    changed = corpus.to_dict()
    changed["links"][7] = changed["links"][7][1:]
    assert content_hash(Dataset.from_dict(changed, features=ALIGNED), names) != content_hash(corpus, names)
    split = text_corpus("ab", "c"), text_corpus("a", "bc")
    assert content_hash(split[0], ["text"]) != content_hash(split[1], ["text"])


def test_shards_and_progress(tmp_path, monkeypatch):
    corpus, tokenizer, seen = tiny_aligned(50), tiny_tokenizer("xlm-roberta"), []
    one = encode_stream(corpus, tokenizer, cache_dir=tmp_path / "1", progress=lambda *p: seen.append(p))
    monkeypatch.setattr("isoglot.corpus.encode.encode._SHARD", 30)
    two = encode_stream(corpus, tokenizer, cache_dir=tmp_path / "2")
    assert one[:] == two[:] and counts(one) == counts(two)
    assert seen[-1] == (50, 50)
    assert len(list((tmp_path / "2").glob("*/*.arrow"))) == 2


def test_an_unfinished_stream_is_no_stream(tmp_path, monkeypatch):
    from isoglot.corpus.encode.batch import BatchEncoder

    def fail(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(BatchEncoder, "encode", fail)
        with pytest.raises(KeyboardInterrupt):
            encode_stream(tiny_text(5), tiny_tokenizer(), cache_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []
    stream = encode_stream(tiny_text(5), tiny_tokenizer(), cache_dir=tmp_path)
    folder = Path(stream.cache_files[0]["filename"]).parent
    (folder / "manifest.json").unlink()
    with pytest.raises(InputError, match="no whole stream"):
        open_stream(folder)


@pytest.mark.skipif("ISOGLOT_DATA" not in os.environ, reason="needs ISOGLOT_DATA")
@pytest.mark.parametrize("language", ["de", "zh", "hi"])
def test_real_bitext(language, tmp_path):
    path = Path(os.environ["ISOGLOT_DATA"]) / "parallel" / f"en-{language}.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t")[:2] for _, line in zip(range(1500), lines, strict=False)]
    columns = {"source": [p[0] for p in pairs], "target": [p[1] for p in pairs]}
    languages = {"source_language": ["en"] * len(pairs), "target_language": [language] * len(pairs)}
    corpus = Dataset.from_dict(columns | languages)
    tokenizer = train_tokenizer([*columns["source"], *columns["target"]], algorithm="bpe", vocab_size=6000)
    stream = encode_stream(corpus, tokenizer, cache_dir=tmp_path, options=EncodeOptions(max_length=None))
    assert len(stream) == len(pairs)
    bare = total = 0
    for i in range(0, len(stream), 50):
        words = stream_words(corpus, stream, i)["target_words"]
        ids = stream[i]["target_word_ids"]
        total, bare = total + len(ids), bare + ids.count(-1)
        real = [w for w in ids if w >= 0]
        assert max(real) < len(words) and real == sorted(real)
    assert bare / total < 0.01
