"""Vectors by layer against one sentence at a time."""

from __future__ import annotations

import pytest
import torch
from refusals import refused

from isoglot.aligners.embedding.piece_states import cut_words
from isoglot.analysis.vectors import linked_vectors, sentence_vectors, unit_vectors, word_vectors
from isoglot.core.errors import ConfigurationError
from isoglot.core.seeding import generator_for
from isoglot.testing import FAMILIES, tiny_aligned, tiny_bitext, tiny_model, tiny_tokenizer


@torch.no_grad()
def naive_states(model, tokenizer, ids: list[int]) -> list[torch.Tensor]:
    """All hidden states of one sentence, special tokens cut off."""
    framed = torch.tensor([[tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]])
    output = model.base_model(input_ids=framed, output_hidden_states=True)
    return [*(h[0, 1:-1] for h in output.hidden_states[:-1]), output[0][0, 1:-1]]


@pytest.mark.parametrize("family", FAMILIES)
def test_sentence_vectors_are_means_of_pieces(family: str) -> None:
    model, tokenizer = tiny_model(family), tiny_tokenizer(family)
    texts = list(tiny_bitext(9)["source"])
    found = sentence_vectors(model, tokenizer, texts, layers=[0, 2, 3])
    for number, text in enumerate(texts):
        states = naive_states(model, tokenizer, tokenizer(text, add_special_tokens=False)["input_ids"])
        for layer in (0, 2, 3):
            torch.testing.assert_close(found[layer][number], states[layer].mean(0), rtol=1e-4, atol=1e-5)


def test_word_vectors_do_not_depend_on_windows_and_keep_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    corpus = tiny_aligned(7)
    sentences = [*corpus["source_words"], ["the", "\u200b", "river"], []]
    pieces = cut_words(tokenizer, sentences)
    wanted = [[len(words) - 1, 0, 0] for words in corpus["source_words"]] + [[0, 1, 2], []]
    found, present = word_vectors(model, tokenizer, pieces, wanted, layers=[1, 3])
    monkeypatch.setattr("isoglot.analysis.vectors._WINDOW", 2)
    again, _ = word_vectors(model, tokenizer, pieces, wanted, layers=[3, 1])
    row = 0
    for cut, own in zip(pieces, wanted, strict=True):
        states = naive_states(model, tokenizer, cut.ids) if len(cut) else []
        for word in own:
            at = [k for k, w in enumerate(cut.words) if w == word]
            assert bool(present[row]) == bool(at)
            for layer in (1, 3):
                expected = states[layer][at].mean(0) if at else torch.zeros(32)
                torch.testing.assert_close(found[layer][row], expected, rtol=1e-4, atol=1e-5)
                torch.testing.assert_close(again[layer][row], expected, rtol=1e-4, atol=1e-5)
            row += 1
    assert row == len(present)
    assert not bool(present.all())


def test_linked_vectors_stand_side_by_side_and_leave_out_words_without_pieces() -> None:
    model, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    pairs = [(["the", "river"], ["ta", "potamo"]), (["\u200b", "child"], ["kindelo", "un"])]
    links = [[[0, 0], [1, 1]], [[0, 1], [1, 0]]]
    source, target = linked_vectors(model, tokenizer, pairs, links, layers=[2])
    assert len(source[2]) == len(target[2]) == 3
    expected, _ = word_vectors(model, tokenizer, cut_words(tokenizer, [["kindelo", "un"]]), [[0]], layers=[2])
    torch.testing.assert_close(target[2][2], expected[2][0], rtol=1e-4, atol=1e-5)


def test_unit_vectors_are_drawn_alike_at_every_layer() -> None:
    model, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    texts = list(tiny_bitext(12)["target"])
    all_pieces = sum(len(tokenizer(t, add_special_tokens=False)["input_ids"]) for t in texts)
    counts = {"sentence": 12, "word": sum(len(t.split()) for t in texts), "piece": all_pieces}
    for unit, count in counts.items():
        whole = unit_vectors(
            model, tokenizer, texts, unit=unit, layers=[0, 3], limit=10_000, generator=generator_for(0, "u")
        )
        assert whole[0].shape == whole[3].shape == (count, 32)
        some = [
            unit_vectors(
                model, tokenizer, texts, unit=unit, layers=[3], limit=6, generator=generator_for(s, "u")
            )[3]
            for s in (1, 1, 2)
        ]
        assert some[0].shape == (6, 32)
        assert torch.equal(some[0], some[1])
        assert not torch.equal(some[0], some[2])
        distances = torch.cdist(some[0], whole[3], compute_mode="donot_use_mm_for_euclid_dist").min(1).values
        assert float(distances.max()) < 1e-4


def test_vectors_refuse_mistakes() -> None:
    model, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    with refused(ConfigurationError, "sentence 2 ('')"):
        sentence_vectors(model, tokenizer, ["the river", ""], layers=[0])
    with refused(ConfigurationError, "layer: got 4, ", "0 (embeddings) to 3"):
        sentence_vectors(model, tokenizer, ["the river"], layers=[4])
    for unit, texts, message in (("page", ["a"], "unit: got 'page'"), ("word", [""], "no known piece")):
        with pytest.raises(ConfigurationError, match=message):
            unit_vectors(model, tokenizer, texts, unit=unit, layers=[0], limit=3, generator=generator_for(0))
