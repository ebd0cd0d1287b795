import numpy as np
import pytest
from datasets import Dataset, concatenate_datasets
from refusals import refused

from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.batch import EncodeOptions
from isoglot.corpus.encode.encode import encode_stream
from isoglot.corpus.encode.store import stream_manifest
from isoglot.corpus.pack.packing import PackOptions, pack_stream
from isoglot.testing import FAMILIES, tiny_bitext, tiny_text, tiny_tokenizer

WHOLE = EncodeOptions(max_length=None)


@pytest.fixture
def packed(tmp_path):
    """(stream, packed stream, tokenizer) of a corpus."""

    def run(corpus, family="bert", **options):
        tokenizer = tiny_tokenizer(family)
        stream = encode_stream(corpus, tokenizer, options=WHOLE, cache_dir=tmp_path)
        return (
            stream,
            pack_stream(stream, tokenizer, options=PackOptions(**options), cache_dir=tmp_path),
            tokenizer,
        )

    return run


def surrounded(tokenizer, ids):
    return [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]


def test_group_texts_is_hugging_faces_recipe(packed, monkeypatch):
    monkeypatch.setattr("isoglot.corpus.pack.packing._MAP_ROWS", 30)
    stream, blocks, tokenizer = packed(tiny_text(95), mode="group_texts", block=64)
    expected = []
    for start in range(0, 95, 30):
        flat = [t for ids in stream["input_ids"][start : start + 30] for t in surrounded(tokenizer, ids)]
        expected += [flat[i : i + 64] for i in range(0, len(flat) - 63, 64)]
    assert blocks["input_ids"][:] == expected
    assert "document_ids" not in blocks.column_names
    assert all(set(mask) == {1} for mask in blocks["attention_mask"])
    assert blocks["length"][:] == [len(c) for c in expected]


@pytest.mark.parametrize("family", FAMILIES)
def test_documents_are_whole_numbered_and_restart(packed, family):
    stream, blocks, tokenizer = packed(tiny_text(80), family, mode="documents", block=90)
    texts = []
    for block in blocks:
        ids, documents = np.array(block["input_ids"]), np.array(block["document_ids"])
        assert len(ids) == block["length"] <= 90
        assert documents[0] == 1 and set(np.diff(documents)) <= {0, 1}
        for number in range(1, documents.max() + 1):
            part = documents == number
            texts.append(ids[part].tolist())
            assert np.array(block["position_ids"])[part].tolist() == list(range(part.sum()))
    assert texts == [surrounded(tokenizer, ids) for ids in stream["input_ids"]]
    sizes = blocks["length"][:]
    firsts = [block["document_ids"].count(1) for block in blocks]
    assert all(size + nxt > 90 for size, nxt in zip(sizes, firsts[1:], strict=False)), (
        "a text that fits was put off"
    )


@pytest.mark.parametrize("mode", ["group_texts", "documents"])
def test_word_ids_are_unique_in_a_block(packed, mode):
    stream, blocks, tokenizer = packed(tiny_text(40), mode=mode, block=128)
    special = set(tokenizer.all_special_ids)
    words = 0
    for block in blocks:
        ids, numbers = block["input_ids"], np.array(block["word_ids"])
        assert [n == -1 for n in numbers] == [i in special for i in ids]
        real = numbers[numbers >= 0]
        assert real[0] == 0 and set(np.diff(real)) <= {0, 1}
        words += real[-1] + 1
    if mode == "documents":
        assert words == sum(max(w) + 1 for w in stream["word_ids"])


def test_a_text_longer_than_a_block_is_split(packed):
    rows = tiny_text(30)["text"]
    corpus = Dataset.from_dict({"text": [" ".join(rows), "the river ."], "language": ["en", "en"]})
    stream, blocks, _ = packed(corpus, mode="documents", block=50)
    assert sum(w >= 0 for block in blocks for w in block["word_ids"]) == sum(map(len, stream["input_ids"]))
    assert stream_manifest(blocks)["counts"]["split"] == 1


def naive_xlm_pairs(stream, tokenizer, half):
    """Tang et al. 2022, G.3, sentence by sentence."""
    instances, source, target = [], [], []
    for s, t in zip(stream["source_ids"], stream["target_ids"], strict=True):
        first, second = surrounded(tokenizer, s), surrounded(tokenizer, t)
        if len(first) >= half or len(second) >= half:
            continue
        if len(source) + len(first) > half or len(target) + len(second) > half:
            instances.append((source, target))
            source, target = [], []
        source, target = source + first, target + second
    return [*instances, (source, target)]


@pytest.mark.parametrize(("family", "half"), [("bert", 25), ("roberta", 45)])
def test_xlm_pairs(packed, family, half):
    languages = {"en": 2, "xx": 3}
    stream, blocks, tokenizer = packed(
        tiny_bitext(80), family, mode="xlm_pairs", block=2 * half, language_ids=languages, language_padding=1
    )
    expected = naive_xlm_pairs(stream, tokenizer, half)
    assert len(blocks) == len(expected)
    assert stream_manifest(blocks)["counts"]["dropped"] > 0, "the corpus has a pair that is too long"
    pad = tokenizer.pad_token_id
    for block, sides in zip(blocks, expected, strict=True):
        ids, mask, positions, langs = [], [], [], []
        for side, language in zip(sides, (2, 3), strict=True):
            spare = half - len(side)
            ids += side + [pad] * spare
            mask += [1] * len(side) + [0] * spare
            positions += list(range(len(side))) + [0] * spare
            langs += [language] * len(side) + [1] * spare
        assert (block["input_ids"], block["attention_mask"]) == (ids, mask)
        assert (block["position_ids"], block["language_ids"]) == (positions, langs)
        special = {tokenizer.cls_token_id, tokenizer.sep_token_id, pad}
        assert block["side_ids"] == [0 if t in special else 1 + (k >= half) for k, t in enumerate(ids)]
        words = np.array(block["word_ids"])
        assert words[:half].max() < words[half:][words[half:] >= 0].min()
        assert (block["source_language"], block["target_language"], block["length"]) == ("en", "xx", 2 * half)


def test_xlm_text(packed):
    stream, blocks, tokenizer = packed(tiny_text(60), "xlm-roberta", mode="xlm_text", block=40)
    expected, now = [], []
    for ids in stream["input_ids"]:
        sentence = surrounded(tokenizer, ids)
        if len(sentence) >= 40:
            continue
        if len(now) + len(sentence) > 40:
            expected.append(now)
            now = []
        now = now + sentence
    expected.append(now)
    pad = tokenizer.pad_token_id
    assert blocks["input_ids"][:] == [e + [pad] * (40 - len(e)) for e in expected]
    assert blocks["attention_mask"][:] == [[1] * len(e) + [0] * (40 - len(e)) for e in expected]
    assert blocks["position_ids"][:] == [[*range(len(e))] + [0] * (40 - len(e)) for e in expected]


def test_a_block_holds_one_language(packed):
    texts = concatenate_datasets([tiny_text(20), tiny_text(20, language="xx")]).shuffle(seed=1)
    _, blocks, _ = packed(texts, mode="documents", block=100, language_ids={"en": 1, "xx": 2})
    assert set(blocks["language"]) == {"en", "xx"}
    for block in blocks:
        assert set(block["language_ids"]) == {{"en": 1, "xx": 2}[block["language"]]}


def test_packing_is_cached_and_repeats(packed, tmp_path, monkeypatch):
    stream, blocks, tokenizer = packed(tiny_text(20), mode="documents", block=64)
    monkeypatch.setattr("isoglot.corpus.pack.packing.write_batches", None)
    again = pack_stream(
        stream, tokenizer, options=PackOptions(mode="documents", block=64), cache_dir=tmp_path
    )
    assert again[:] == blocks[:]


def test_mistakes(packed):
    with refused(ConfigurationError, "'xlm_pairs'", "lacks source_ids"):
        packed(tiny_text(4), mode="xlm_pairs")
    with refused(ConfigurationError, "language_ids: ", "'en'", "{'de': 1}", "`en: 2`"):
        packed(tiny_text(4), mode="documents", language_ids={"de": 1})
    with refused(ConfigurationError, "pack: 2 examples", "512 tokens"):
        packed(tiny_text(2), mode="group_texts", block=512)


def test_sentences_of_xlm_are_never_isolated():
    with refused(ValueError, "isolate: true", "mode xlm_pairs"):
        PackOptions(mode="xlm_pairs", isolate=True)
