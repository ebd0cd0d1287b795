"""Contrast of linked words: a naive loop beside it, and what must not change it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from isoglot.losses import EncodedSentences, WordContrast

LINKS = torch.tensor([[[1, 1], [3, 4]], [[1, 2], [-1, -1]]])
WORDS = {
    "query": torch.tensor([[-1, 0, 0, 1, 2, -1], [-1, 0, 1, -1, -1, -1]]),
    "key": torch.tensor([[-1, 0, 1, 1, 2, -1], [-1, 0, 1, 2, -1, -1]]),
}


def sides(*, padding: int = 0, seed: int = 0) -> list[EncodedSentences]:
    """Two sentences a side with random states; padding adds positions that hold something else."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for number, words in enumerate(WORDS.values()):
        states = torch.randn(2, 6, 4, generator=generator)
        ids = torch.arange(12).view(2, 6) + 100 * number
        more = nn.functional.pad(words, (0, padding), value=-1)
        states = torch.cat([states, torch.full((2, padding, 4), 7.0)], 1).requires_grad_()
        ids = nn.functional.pad(ids, (0, padding))
        found.append(EncodedSentences(states, (more >= 0).long(), ids, more))
    return found


def naive(query: EncodedSentences, key: EncodedSentences, *, temperature: float, both: bool) -> Tensor:
    """The definition, word by word."""
    vectors: dict[tuple[int, int, int], Tensor] = {}
    for side, encoded in enumerate((query, key)):
        for row in range(2):
            for word in range(3):
                pieces = encoded.word_ids[row] == word
                if pieces.any():
                    vectors[side, row, word] = encoded.hidden[row][pieces].mean(0)
    links = [((0, 0, 0), (1, 0, 0)), ((0, 0, 1), (1, 0, 2)), ((0, 1, 0), (1, 1, 1))]
    total = torch.zeros(())
    for source, target in links:
        for asked, answer in ((source, target), (target, source)):
            others = [w for w in vectors if w != asked and (both or w[0] != asked[0])]
            scores = torch.stack([torch.cosine_similarity(vectors[asked], vectors[w], dim=0) for w in others])
            total = total - torch.log_softmax(scores / temperature, 0)[others.index(answer)]
    return total


@pytest.mark.parametrize("negatives", ["both", "other"])
def test_word_contrast_equals_its_definition(negatives: Any) -> None:
    query, key = sides()
    output = WordContrast(temperature=0.3, negatives=negatives).measure(query, key, LINKS)
    expected = naive(query, key, temperature=0.3, both=negatives == "both")
    torch.testing.assert_close(output.total, expected)
    assert int(output.count) == 6
    gradient = torch.autograd.grad(output.total, query.hidden)[0]
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, query.hidden)[0])


def test_padding_changes_nothing() -> None:
    loss = WordContrast()
    torch.testing.assert_close(loss(*sides(), LINKS), loss(*sides(padding=3), LINKS))


def test_the_sides_may_change_places() -> None:
    loss, (query, key) = WordContrast(), sides()
    torch.testing.assert_close(loss(query, key, LINKS), loss(key, query, LINKS.flip(-1)))


def test_perfect_translations_rank_first() -> None:
    words = torch.tensor([[-1, 0, 1, 2, -1]])
    states = torch.zeros(1, 5, 8)
    states[0, 1:4, 1:4] = torch.eye(3)
    one = EncodedSentences(states, torch.ones_like(words), torch.arange(5)[None], words)
    other = one._replace(input_ids=one.input_ids + 50)
    links = torch.tensor([[[1, 1], [2, 2], [3, 3]]])
    metrics = WordContrast().measure(one, other, links).metrics
    assert float(metrics["accuracy"]) == 1 and float(metrics["cosine"]) == pytest.approx(1)


def test_no_link_is_an_exact_zero_with_a_gradient() -> None:
    query, key = sides()
    output = WordContrast().measure(query, key, torch.full((2, 1, 2), -1))
    assert output.total.item() == 0 and int(output.count) == 0
    output.total.backward()
    assert query.hidden.grad is not None and not query.hidden.grad.any()
