from __future__ import annotations

import itertools

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from isoglot.align.embedding.piece_states import cut_words
from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.testing import FAMILIES, tiny_text, tiny_tokenizer

SENTENCES = [
    ["日本", "a", "Übung", "the", "日"],
    ["the", "", "日", "river", "\u200b", "ß", "."],
    ["x" * 40, "€", "the", "日本", "😀"],
    ["<unk>", "the", "[UNK]", "日", "<mask>", "[MASK]"],
]


def byte_level(prefix: bool, trim: bool, post: bool) -> PreTrainedTokenizerFast:
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix, trim_offsets=trim)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<unk>", "<mask>"], initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator([row["text"] for row in tiny_text(32)], trainer)
    if post:
        core.post_processor = processors.ByteLevel(trim_offsets=trim)
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", mask_token="<mask>")


TOKENIZERS = {
    **{family: lambda family=family: tiny_tokenizer(family) for family in FAMILIES},
    "trained": lambda: train_tokenizer(
        [row["text"] for row in tiny_text(32)], algorithm="byte_bpe", family="roberta", vocab_size=300
    ),
    **{
        f"{prefix} {trim} {post}": lambda how=(prefix, trim, post): byte_level(*how)
        for prefix, trim, post in itertools.product([True, False], repeat=3)
    },
}


@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("located", [True, False])
def test_every_piece_belongs_to_the_word_that_it_writes(name: str, located: bool) -> None:
    tokenizer = TOKENIZERS[name]()
    for words in SENTENCES:
        text = " ".join(words)
        if located:
            pieces = cut_words(tokenizer, [words])[0]
            ids, found = pieces.ids, pieces.words
        else:
            side = PieceEncoder(tokenizer, words="whitespace").word_lists([words])
            ids, found = side.ids.tolist(), side.word_ids.tolist()
        alone = {
            number for number, word in enumerate(words) if word.strip("\u200b") and word in text.split(" ")
        }
        spare = [tokenizer.convert_ids_to_tokens(i) for i, word in zip(ids, found, strict=True) if word < 0]
        # the space before an empty word is nobody's; byte-level pieces spell it, and the zero-width space too
        assert not spare or ("" in words and set(spare) <= {"Ġ", "▁"}), spare
        assert alone <= set(found)
        assert [w for w in found if w >= 0] == sorted(w for w in found if w >= 0)
