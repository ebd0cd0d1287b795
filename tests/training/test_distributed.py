"""Two ranks train as one process does with twice the batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import activation_checkpointing
import pytest
import torch
from ddp_run import trained, two_ranks

from isoglot.recipe.sections import PartsSection


def same(one: Any, two: Any) -> None:
    for step, (a, b) in enumerate(zip(one[0], two[0], strict=True)):
        assert a.keys() == b.keys()
        for name in a:
            assert torch.allclose(a[name], b[name], atol=1e-6), (step, name, (a[name] - b[name]).abs().max())
    assert one[1] == pytest.approx(two[1], abs=1e-5)


PLAIN = {"queue": False, "normalisation": "token"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [pytest.param(False, marks=pytest.mark.slow), True], ids=["known-items", "own-links"]
)
@pytest.mark.parametrize("normalisation", ["token", pytest.param("joint_token", marks=pytest.mark.slow)])
def test_accumulation_equals_a_larger_batch(tmp_path: Path, normalisation: str, words: bool) -> None:
    settings = {"queue": False, "words": words, "normalisation": normalisation}
    large = trained(tmp_path / "a", {"examples": 16}, **settings)
    parts = trained(tmp_path / "b", {"examples": 4}, gradient_accumulation_steps=4, **settings)
    assert len(large[0]) == 6
    same(large, parts)


CONCATENATED = {"queue": False, "normalisation": "joint_token", "examples": 12, "text": 36}
WAITING = {**PLAIN, "parts": PartsSection(head=3, layer_decay=0.5, freeze_encoder_steps=2)}
ALL_USED = {"ddp_find_unused_parameters": False}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What each of two ranks found in several runs, which share the time that two processes take to begin."""
    runs = {
        "one reader": ({"examples": 4}, PLAIN),
        "waiting": ({"examples": 4}, {**WAITING, **ALL_USED}),
        "concatenated": ({"examples": 2}, {**CONCATENATED, **ALL_USED}),
    }
    return two_ranks(tmp_path_factory.mktemp("ranks"), runs)


def same_as_a_double_batch(tmp_path: Path, ranks: list[Any], settings: dict[str, Any]) -> None:
    one = trained(tmp_path / "one", {"examples": 8}, **settings)
    first, second = ranks
    same(one, first)
    same(one, second)
    assert all(torch.equal(first[2][n], second[2][n]) for n in first[2])  # ranks end identical


def test_two_ranks_equal_a_double_batch(tmp_path: Path) -> None:
    """Several readers of the embeddings add to one gradient."""
    settings = {**PLAIN, "dictionary": True}
    ranks = two_ranks(tmp_path, {"several readers": ({"examples": 4}, settings)})["several readers"]
    same_as_a_double_batch(tmp_path, ranks, settings)


@pytest.mark.slow
def test_two_ranks_equal_a_double_batch_with_one_reader(tmp_path: Path, both: dict[str, list[Any]]) -> None:
    same_as_a_double_batch(tmp_path, both["one reader"], PLAIN)


@pytest.mark.slow
def test_two_ranks_with_an_encoder_that_waits(tmp_path: Path, both: dict[str, list[Any]]) -> None:
    one = trained(tmp_path / "one", {"examples": 8}, **WAITING, **ALL_USED)
    gradients = [any(name.startswith("model.bert") for name in step) for step in one[0]]
    assert gradients == [False] * 2 + [True] * (len(gradients) - 2)
    for rank in both["waiting"]:
        same(one, rank)


@pytest.mark.slow
def test_concatenated_streams_accumulate_as_a_larger_batch(tmp_path: Path) -> None:
    """Most parts of four examples have no pair at all; what they divide by is the whole step's."""
    large = trained(tmp_path / "a", {"examples": 16}, **CONCATENATED)
    parts = trained(tmp_path / "b", {"examples": 2}, gradient_accumulation_steps=8, **CONCATENATED)
    assert len(large[0]) == 3
    same(large, parts)


@pytest.mark.slow
def test_concatenated_streams_over_two_ranks(tmp_path: Path, both: dict[str, list[Any]]) -> None:
    """A rank without a pair runs what the other one runs: no parameter is unused, none drifts."""
    one = trained(tmp_path / "one", {"examples": 4}, **CONCATENATED)
    for rank in both["concatenated"]:
        same(one, rank)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("batch", "settings", "ranks_too"),
    [
        ({"tokens": 200}, {"queue": False, "normalisation": "joint_token"}, {}),
        ({"tokens": 200}, {"queue": False, "normalisation": "token"}, {activation_checkpointing.NAME: True}),
        ({"tokens": 200}, {"queue": False, "normalisation": "token"}, {"ddp_find_unused_parameters": False}),
    ],
    ids=["tokens", "activation-checkpointing", "no-unused"],
)
def test_two_ranks_equal_two_accumulated(
    tmp_path: Path, batch: dict[str, int], settings: dict[str, Any], ranks_too: dict[str, Any]
) -> None:
    one = trained(tmp_path / "one", batch, gradient_accumulation_steps=4, **settings)
    settings = {"gradient_accumulation_steps": 2, **settings, **ranks_too}
    for rank in two_ranks(tmp_path, {"two": (batch, settings)})["two"]:
        same(one, rank)


@pytest.mark.slow
def test_an_uncounted_objective_over_two_ranks(tmp_path: Path) -> None:
    """Its queue differs per rank here (it gathers nothing), but the ranks' parameters must not drift apart."""
    run = {"examples": 4}, {"queue": True, "normalisation": "token"}
    ranks = two_ranks(tmp_path, {"queue": run})["queue"]
    parameters = [n for n in ranks[0][2] if "queue.queue" not in n]
    assert all(torch.equal(ranks[0][2][n], ranks[1][2][n]) for n in parameters)
