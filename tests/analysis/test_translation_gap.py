"""Masked words beside their translation, against a loop that runs one pair at a time."""

from __future__ import annotations

import pytest
import torch

from isoglot.analysis.translation_gap import translation_gap
from isoglot.seeding import generator_for
from isoglot.testing import tiny_bitext, tiny_model, tiny_tokenizer


@torch.no_grad()
def naive(model, tokenizer, masked, whole, probability, seed):
    right = count = 0
    for i, (one, other) in enumerate(zip(masked, whole, strict=True)):
        a, b = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (one, other))
        gone = torch.rand(len(a), generator=generator_for(seed, "translation gap", i)) < probability
        shown = [tokenizer.mask_token_id if g else p for p, g in zip(a, gone, strict=True)]
        ids = [tokenizer.cls_token_id, *shown, tokenizer.sep_token_id, *b, tokenizer.sep_token_id]
        best = model(torch.tensor([ids])).logits[0].argmax(-1)
        right += sum(int(best[1 + k]) == a[k] for k in range(len(a)) if gone[k])
        count += int(gone.sum())
    return right, count


@pytest.mark.parametrize("family", ["bert", "xlm-roberta"])
def test_equals_one_pair_at_a_time(family):
    model, tokenizer = tiny_model(family).eval(), tiny_tokenizer(family)
    corpus = tiny_bitext(20)
    source, target = list(corpus["source"]), list(corpus["target"])
    result = translation_gap(model, tokenizer, source, target, probability=0.4, batch_size=7)
    right, count = naive(model, tokenizer, source, target, 0.4, 0)
    other, _ = naive(model, tokenizer, source, target[1:] + target[:1], 0.4, 0)
    assert result.pieces == count > 20
    assert result.translated == right / count
    assert result.shuffled == other / count
    assert result.gap == result.translated - result.shuffled


def test_a_copying_encoder_has_a_gap():
    """An encoder that reads nothing but the pair's own pieces is worth nothing beside another sentence."""
    model, tokenizer = tiny_model("bert"), tiny_tokenizer("bert")
    corpus = tiny_bitext(8)
    target = list(corpus["target"])
    with torch.no_grad():
        before = translation_gap(model, tokenizer, target, target, probability=0.5)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for step in range(60):
        batch = [tokenizer(t, t) for t in target]
        padded = tokenizer.pad(batch, return_tensors="pt")
        labels = padded["input_ids"].clone()
        gone = torch.rand(labels.shape, generator=generator_for(step, "train")) < 0.3
        padded["input_ids"][gone] = tokenizer.mask_token_id
        model(**padded, labels=labels).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    after = translation_gap(model, tokenizer, target, target, probability=0.5)
    assert after.translated > before.translated
