from __future__ import annotations

import doctest
import importlib

import pytest
import torch

from isoglot import losses
from isoglot.losses import (
    Loss,
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
