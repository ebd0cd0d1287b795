from pathlib import Path

import pytest
from datasets import Dataset
from small_corpora import counts, text_corpus

from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.encode import encode_stream
from isoglot.corpus.encode.store import content_hash
from isoglot.formats.schema import ALIGNED
from isoglot.testing import tiny_aligned, tiny_bitext, tiny_text, tiny_tokenizer


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


def test_batches_and_progress(tmp_path, monkeypatch):
    corpus, tokenizer, seen = tiny_aligned(50), tiny_tokenizer("xlm-roberta"), []
    one = encode_stream(corpus, tokenizer, cache_dir=tmp_path / "1", progress=lambda *p: seen.append(p))
    monkeypatch.setattr("isoglot.corpus.encode.encode._BATCH", 30)
    two = encode_stream(corpus, tokenizer, cache_dir=tmp_path / "2")
    assert one[:] == two[:] and counts(one) == counts(two)
    assert seen[-1] == (50, 50)


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
    assert encode_stream(tiny_text(5), tiny_tokenizer(), cache_dir=tmp_path)[:] == stream[:]
    assert (folder / "manifest.json").is_file()
