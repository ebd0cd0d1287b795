import pytest
from small_corpora import aligned_corpus, counts, stream_words, text_corpus

from isoglot.corpus.encode.encode import encode_stream
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.testing import tiny_text, tiny_tokenizer

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
