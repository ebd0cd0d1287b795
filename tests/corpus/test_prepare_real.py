"""`prepare` on real bitext, a dictionary, a treebank and word alignments."""

import gzip
import os
import unicodedata

import pytest
from reading import PAIR, texts

from isoglot.corpus.manifest import load_corpus
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.prepare import prepare
from isoglot.formats.sources import Source

DATA = os.environ.get("ISOGLOT_DATA")
pytestmark = pytest.mark.skipif(DATA is None, reason="ISOGLOT_DATA is not set")


@pytest.mark.fast_variants(1)
@pytest.mark.parametrize(
    ("language", "count"),
    [
        *(pytest.param(*of, marks=pytest.mark.slow) for of in (("de", 56681), ("fr", 35838), ("es", 35238))),
        ("hi", 9606),
        ("ro", 7507),
    ],
)
def test_real_bitext_without_what_is_held_out(tmp_path, language, count):
    path = f"{DATA}/parallel/en-{language}.tsv.gz"
    source = Source(path=path, source_language="en", target_language=language, columns={"flags": 3})
    options = PrepareOptions(held_out_flags=("laser_tatoeba",))
    summary = prepare(source, tmp_path / "out", options=options)
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]

    def cleaned(text):  # a few sentences hold control characters, quotes of another encoding once
        return " ".join("".join(c for c in text if c.isspace() or unicodedata.category(c) != "Cc").split())

    expected = [r for r in rows if "laser_tatoeba" not in r[3].split(",") and r[0].strip() and r[1].strip()]
    assert summary.read == count == len(rows)
    assert texts(tmp_path / "out") == [(cleaned(r[0]), cleaned(r[1])) for r in expected]


@pytest.mark.slow
def test_real_bitext_by_ppas_lengths(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    path = f"{DATA}/parallel/en-ro.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        rows = [line.split("\t")[:2] for line in file]
    trainer = trainers.WordPieceTrainer(
        vocab_size=4000, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False
    )
    tokenizer.train_from_iterator((text for row in rows for text in row), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    source = Source(path=path, source_language="en", target_language="ro")
    options = PrepareOptions(tokenizer=str(tmp_path), min_pieces=10, max_pair_pieces=128)
    summary = prepare(source, tmp_path / "out", options=options)
    expected = 0
    for s, t in rows:
        n, m = (len(tokenizer.encode(" ".join(x.split()), add_special_tokens=False)) for x in (s, t))
        expected += min(n, m) >= 10 and n + m + 3 <= 128
    assert 0 < summary.rows == expected < len(rows)
    pairs = [len(tokenizer.encode(s, t)) for s, t in texts(tmp_path / "out")]
    assert max(pairs) <= 128


@pytest.mark.slow
def test_real_lexicon_treebank_and_alignments(tmp_path):
    lexicon = Source(path=f"{DATA}/lexicon/muse.en-de.txt", **PAIR)
    assert prepare(lexicon, tmp_path / "l", options=PrepareOptions(kind="lexicon")).rows == 101_931
    trees = Source(path=f"{DATA}/ud/en_pud-ud-test.conllu", language="en")
    assert prepare(trees, tmp_path / "t", options=PrepareOptions(kind="treebank")).rows == 1000
    assert all(sum(h == 0 for h in row["heads"]) == 1 for row in load_corpus(tmp_path / "t"))
    base = f"{DATA}/wordalign/awesome/enfr"
    links = Source(
        path=f"{base}.src-tgt",
        links_path=f"{base}.awesome-align.out",
        source_language="en",
        target_language="fr",
    )
    assert prepare(links, tmp_path / "a", options=PrepareOptions(kind="aligned")).rows == 447
    small = Source(
        path=f"{DATA}/multi30k/test_2016_flickr.en.gz",
        target_path=f"{DATA}/multi30k/test_2016_flickr.de.gz",
        **PAIR,
    )
    assert prepare(small, tmp_path / "m").rows == 1000
