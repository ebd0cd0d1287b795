from __future__ import annotations

import doctest
import importlib

import pytest
import torch

from isoglot import losses
from isoglot.core.errors import ConfigurationError
from isoglot.losses import EncodedSentences, Loss
from isoglot.objectives import OBJECTIVES
from isoglot.testing import tiny_model

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


def _sentences(rows: int, length: int, fill: float = 1.0) -> EncodedSentences:
    ids = torch.arange(rows * length).view(rows, length)
    hidden = torch.full((rows, length, 4), fill, dtype=torch.float16, requires_grad=True)
    return EncodedSentences(hidden, torch.ones_like(ids), ids, torch.arange(length).expand(rows, -1))


VECTORS, LABELS, LINKS = torch.ones(3, 4), torch.zeros(2, 5, dtype=torch.long), torch.zeros(2, 1, 2).long()
STATES, SOME = torch.ones(2, 5, 4), torch.ones(2, 5, dtype=torch.bool)
MISFITS = {
    "keys": lambda: losses.InBatchContrast()(VECTORS, VECTORS[:1]),
    "source_ids": lambda: losses.KeyQueueContrast(4, queue_size=8)(VECTORS, VECTORS, torch.zeros(1)),
    "taught": lambda: losses.SentenceDistillation()(VECTORS, VECTORS[0]),
    "labels": lambda: losses.VocabularyLoss()(STATES, LABELS[:, :4], VECTORS),
    "links": lambda: losses.WordExchange(tiny_model())(STATES, LINKS[:1], LABELS, VECTORS),
    "key_mask": lambda: losses.SelfTraining()(STATES, STATES, SOME, SOME[:1], SOME[:, None]),
    "key.hidden": lambda: losses.WordContrast()(_sentences(2, 3), _sentences(1, 3), LINKS),
    "query.hidden": lambda: losses.ContextualAlignment()(_sentences(2, 3), _sentences(2, 3), LINKS[:1]),
    "input_ids": lambda: losses.DenoisingWordAlignment(4)(
        STATES, LABELS, LINKS, LABELS, input_ids=LABELS[:1]
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_tensors_that_do_not_fit_are_named(name: str) -> None:
    """Broadcasting, flattening and indexing would give a number."""
    with pytest.raises(ConfigurationError, match=rf"^{name}: got shape \("):
        MISFITS[name]()


@pytest.mark.parametrize(
    "loss",
    [losses.ContextualAlignment(special_tokens=False), losses.WordContrast()],
    ids=["squares", "contrast"],
)
def test_the_zero_of_a_batch_without_links_is_one_in_half_precision(loss: Loss) -> None:
    query, key = _sentences(2, 3, 6e4), _sentences(2, 3, 6e4)  # whose sum is infinite
    found = loss(query, key, LINKS - 1)
    found.backward()
    assert float(found.detach()) == 0 and not query.hidden.grad.any()
