import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from refusals import refused
from small_corpora import stream_words, text_corpus

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.encode import encode_stream
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.testing import FAMILIES, tiny_aligned, tiny_bitext, tiny_lexicon, tiny_text, tiny_tokenizer


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


def test_aligned_text_has_the_pieces_of_the_same_bitext(tmp_path):
    for family in FAMILIES:
        tokenizer = tiny_tokenizer(family)
        aligned = encode_stream(tiny_aligned(10), tokenizer, cache_dir=tmp_path)
        raw = encode_stream(tiny_bitext(10), tokenizer, cache_dir=tmp_path)
        for name in ("source_ids", "target_ids", "source_word_ids"):
            assert aligned[name][:] == raw[name][:]


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


def test_slow_tokenizers_and_wrong_columns(tmp_path):
    from transformers import CanineTokenizer

    with refused(ConfigurationError, "CanineTokenizer", "tokenizer.json", "AutoTokenizer"):
        encode_stream(tiny_text(3), CanineTokenizer(), cache_dir=tmp_path)
    with refused(ConfigurationError, "columns", "`isoglot prepare`", "['x']"):
        encode_stream(Dataset.from_dict({"x": ["a"]}), tiny_tokenizer(), cache_dir=tmp_path)
    with refused(ConfigurationError, "text corpus to encode: ", "'language'", "['text']"):
        encode_stream(Dataset.from_dict({"text": ["a"]}), tiny_tokenizer(), cache_dir=tmp_path)


@pytest.mark.fast_variants(1)
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
