"""Losses in a plain loop: the examples run, the mean is the sum by the count, an objective is its loss."""

from __future__ import annotations

import doctest
import importlib

import pytest
import torch
from torch import nn

from isoglot import losses
from isoglot.errors import ConfigurationError
from isoglot.losses import (
    DenoisingWordAlignment,
    EmbeddingAlignment,
    InBatchContrast,
    KeyQueueContrast,
    Loss,
    SelfTraining,
    VocabularyLoss,
    link_matrix,
)
from isoglot.objectives import OBJECTIVES

NAMES = [
    name
    for name in losses.__all__
    if isinstance(kind := getattr(losses, name), type) and issubclass(kind, Loss) and kind is not Loss
]


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_each_loss_is_a_loop_that_runs(name: str) -> None:
    kind = getattr(losses, name)
    torch.manual_seed(0)
    module = importlib.import_module(kind.__module__)
    found = doctest.DocTestFinder(recurse=False).find(kind, name, globs=dict(vars(module)))
    assert sum(len(test.examples) for test in found) > 3 and "optimizer.step()" in kind.__doc__
    for test in found:
        assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_source_are_written(name: str) -> None:
    kind = getattr(losses, name)
    assert "Source:" in kind.__doc__ and "**Shape**" in kind.measure.__doc__


def test_objectives_are_their_losses() -> None:
    adapters = {
        name: [b for b in kind.__mro__[1:] if issubclass(b, Loss)] for name, kind in OBJECTIVES.items()
    }
    assert [name for name, bases in adapters.items() if not bases] == ["anchor"]
    assert {bases[0].__name__ for bases in adapters.values() if bases} == set(NAMES)
    for name, kind in OBJECTIVES.items():
        assert adapters[name] == [] or "measure" not in vars(kind), "the mathematics stands once"


def test_in_batch_contrast_is_symmetric_and_ignores_lengths() -> None:
    queries, keys = torch.randn(5, 8), torch.randn(5, 8)
    loss = InBatchContrast(temperature=0.1)
    q, k = (nn.functional.normalize(x, dim=1) for x in (queries, keys))
    scores = q @ k.T / 0.1
    expected = sum(nn.functional.cross_entropy(s, torch.arange(5)) for s in (scores, scores.T)) / 2
    torch.testing.assert_close(loss(queries, keys), expected)
    torch.testing.assert_close(loss(3 * queries, keys), loss(keys, queries))
    output = loss.measure(queries, keys)
    assert int(output.count) == 5 and torch.equal(output.loss, loss(queries, keys))
    with pytest.raises(ConfigurationError, match=r"temperature: 0\.0 given"):
        InBatchContrast(temperature=0.0)


def test_a_queue_without_projection_takes_vectors_as_they_are() -> None:
    loss = KeyQueueContrast(6, projection="none", normalize_h=False, queue_size=4, temperature=0.5)
    assert not list(loss.parameters())
    before, queries, keys = loss.queue.keys.clone(), torch.randn(2, 6), torch.randn(2, 6)
    logits = torch.cat([(queries * keys).sum(1, keepdim=True), queries @ before.T], 1) / 0.5
    torch.testing.assert_close(
        loss(queries, keys), nn.functional.cross_entropy(logits, torch.zeros(2).long())
    )
    assert torch.equal(loss.queue.keys[:2], keys)
    loss.eval()(queries, keys)
    assert int(loss.queue.pointer) == 2, "evaluation enqueues nothing"
    with pytest.raises(ConfigurationError, match="queue_size: 4 given for a global batch of 5 pairs"):
        loss.train()(torch.randn(5, 6), torch.randn(5, 6))


def test_vocabulary_loss_is_pytorchs_cross_entropy() -> None:
    hidden, weight, bias = torch.randn(2, 4, 6), torch.randn(9, 6), torch.randn(9)
    labels = torch.tensor([[-100, 3, -100, 8], [0, -100, -100, -100]])
    expected = nn.functional.cross_entropy((hidden @ weight.T + bias).flatten(0, 1), labels.flatten())
    torch.testing.assert_close(VocabularyLoss()(hidden, labels, weight, bias), expected)
    doubled = VocabularyLoss()(hidden / 2, labels, weight, bias, transform=lambda states: 2 * states)
    torch.testing.assert_close(doubled, expected)


def test_a_dictionary_needs_pairs_and_is_kept_as_buffers() -> None:
    loss = EmbeddingAlignment([([1], [2]), ([3, 4], [5])])
    table = torch.randn(6, 3, requires_grad=True)
    expected = [(table[1], table[2]), (table[3:5].mean(0), table[5])]
    cosine = torch.stack([torch.cosine_similarity(a, b, dim=0) for a, b in expected]).mean()
    torch.testing.assert_close(loss(table), -cosine)
    assert {"source_pieces", "target_pieces", "step"} == set(loss.state_dict())
    with pytest.raises(ConfigurationError, match="no pair"):
        EmbeddingAlignment([])


def test_links_become_a_matrix_of_pieces() -> None:
    ids = torch.tensor([[[1, 2], [2, 0], [-1, -1]]])
    masks = torch.tensor([[False, True, True]]), torch.tensor([[False, True, True]])
    assert link_matrix(ids, *masks).nonzero().tolist() == [[0, 1, 2]], "position 0 is a special token"
    assert SelfTraining().items(link_matrix(ids, *masks)) == 1


def test_queries_that_are_drawn_need_the_pair() -> None:
    loss = DenoisingWordAlignment(4, queries="all_aligned")
    side_ids = torch.tensor([[0, 1, 2, 0]])
    with pytest.raises(ConfigurationError, match="all_aligned needs input_ids"):
        loss(torch.randn(1, 4, 4), side_ids, torch.tensor([[[1, 2]]]))
