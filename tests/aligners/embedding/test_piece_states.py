from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from refusals import refused
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from isoglot.aligners.embedding import piece_states
from isoglot.aligners.embedding.piece_states import Pieces, cut_words, layer_states
from isoglot.core.errors import ConfigurationError
from isoglot.corpus.encode.pieces import PieceEncoder
from isoglot.corpus.encode.tokenizer import train_tokenizer
from isoglot.modules.encoder import encode
from isoglot.testing import FAMILIES, tiny_model, tiny_text, tiny_tokenizer

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


@pytest.mark.parametrize(("dtype", "widths"), [(torch.bfloat16, {8, 16, 24}), (torch.float32, {21})])
def test_width_of_an_input_in_half_precision_follows_from_itself(
    dtype: torch.dtype, widths: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attention beside other padding rounds differently: the links of a pair would depend on the pairs around it."""
    model, tokenizer = tiny_model("bert").to(dtype), tiny_tokenizer("bert")
    sentences = cut_words(tokenizer, [["the"] * n for n in (3, 19, 5, 6, 7, 14, 1, 18, 2)])
    seen: list[tuple[int, int]] = []

    def spied(model: Any, inputs: dict[str, torch.Tensor], **options: Any) -> Any:
        mask = inputs["attention_mask"]
        seen.extend((int(n), mask.shape[1]) for n in mask.sum(1))
        return encode(model, inputs, **options)

    monkeypatch.setattr(piece_states, "encode", spied)
    for most in (None, 1, 30, 60):
        layer_states(model, tokenizer, sentences, layers=(1,), max_tokens=most)
        if most is None:
            assert {width for _, width in seen} == widths
    of_length = {length: {w for n, w in seen if n == length} for length, _ in seen}
    assert all(len(found) == 1 for found in of_length.values()) == (dtype == torch.bfloat16), of_length


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


@pytest.mark.parametrize("joint", [True, False])
def test_a_tokenizer_of_other_marks_is_used_with_them(joint: bool) -> None:
    """As EuroBERT's, which has a beginning and an end of text, and no padding."""
    usual = tiny_tokenizer("roberta")
    core = Tokenizer.from_str(usual.backend_tokenizer.to_str())
    marks = {"bos_token": "<s>", "eos_token": "</s>", "mask_token": "<mask>"}
    other = PreTrainedTokenizerFast(tokenizer_object=core, **marks)
    model = tiny_model("roberta", tokenizer=usual)
    sentences = [["the", "river"], ["ta", "potamo", "velha"]]
    states = [
        layer_states(model, t, cut_words(t, sentences), layers=[2], joint=joint)[2] for t in (usual, other)
    ]
    torch.testing.assert_close(states[1].table, states[0].table)


def test_a_tokenizer_without_marks_is_refused() -> None:
    tokenizer = byte_level(True, True, True)
    with refused(ConfigurationError, "0 specials before", "0 after", "cls_token", "sep_token"):
        layer_states(tiny_model("roberta"), tokenizer, cut_words(tokenizer, [["the"]]), layers=[1])


def test_a_limit_of_pieces_is_for_sentences_that_are_longer() -> None:
    model, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    short, long = cut_words(tokenizer, [["the", "river"] * 3, ["the", "ta", "river", "potamo"] * 10])
    with torch.no_grad():
        in_parts, whole, head = (
            layer_states(model, tokenizer, sentences, layers=[2], max_pieces=most)[2]
            for sentences, most in (
                ([short, long], 10),
                ([short, long], None),
                ([Pieces(long.ids[:10], long.words[:10])], None),
            )
        )
    assert len(short) <= 10 < len(long)
    assert torch.allclose(in_parts.table[: len(short)], whole.table[: len(short)], atol=1e-5)
    assert torch.allclose(in_parts.table[len(short)], head.table[0], atol=1e-5)
    assert not torch.allclose(in_parts.table[len(short)], whole.table[len(short)], atol=1e-3)
