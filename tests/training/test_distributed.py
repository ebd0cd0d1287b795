"""Two ranks train as one process does with twice the batch."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import activation_checkpointing
import pytest
import torch
from ddp_run import trained, two_ranks

from isoglot.recipe.sections import PartsSection


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def same(one: Any, two: Any) -> None:
    for step, (a, b) in enumerate(zip(one[0], two[0], strict=True)):
        assert a.keys() == b.keys()
        for name in a:
            assert torch.allclose(a[name], b[name], atol=1e-6), (step, name, (a[name] - b[name]).abs().max())
    assert one[1] == pytest.approx(two[1], abs=1e-5)


PLAIN = {"queue": False, "normalisation": "token"}


@pytest.mark.parametrize("words", [False, True], ids=["known-items", "own-links"])
@pytest.mark.parametrize("normalisation", ["token", "joint_token"])
def test_accumulation_equals_a_larger_batch(tmp_path: Path, normalisation: str, words: bool) -> None:
    settings = {"queue": False, "words": words, "normalisation": normalisation}
    large = trained(tmp_path / "a", {"examples": 16}, **settings)
    parts = trained(tmp_path / "b", {"examples": 4}, gradient_accumulation_steps=4, **settings)
    assert len(large[0]) == 6
    same(large, parts)


@pytest.mark.parametrize("dictionary", [False, True], ids=["one-reader", "several-readers"])
def test_two_ranks_equal_a_double_batch(tmp_path: Path, dictionary: bool) -> None:
    settings = {**PLAIN, "dictionary": dictionary}  # several readers of the embeddings add to one gradient
    one = trained(tmp_path / "one", {"examples": 8}, **settings)
    first, second = two_ranks(tmp_path, free_port(), {"examples": 4}, settings)
    same(one, first)
    same(one, second)
    assert all(torch.equal(first[2][n], second[2][n]) for n in first[2])  # ranks end identical


def test_two_ranks_with_an_encoder_that_waits(tmp_path: Path) -> None:
    parts = PartsSection(head=3, layer_decay=0.5, freeze_encoder_steps=2)
    settings = {**PLAIN, "parts": parts, "ddp_find_unused_parameters": False}
    one = trained(tmp_path / "one", {"examples": 8}, **settings)
    gradients = [any(name.startswith("model.bert") for name in step) for step in one[0]]
    assert gradients == [False] * 2 + [True] * (len(gradients) - 2)
    for rank in two_ranks(tmp_path, free_port(), {"examples": 4}, settings):
        same(one, rank)


CONCATENATED = {"queue": False, "normalisation": "joint_token", "examples": 12, "text": 36}


def test_concatenated_streams_accumulate_as_a_larger_batch(tmp_path: Path) -> None:
    """Most parts of four examples have no pair at all; what they divide by is the whole step's."""
    large = trained(tmp_path / "a", {"examples": 16}, **CONCATENATED)
    parts = trained(tmp_path / "b", {"examples": 2}, gradient_accumulation_steps=8, **CONCATENATED)
    assert len(large[0]) == 3
    same(large, parts)


def test_concatenated_streams_over_two_ranks(tmp_path: Path) -> None:
    """A rank without a pair runs what the other one runs: no parameter is unused, none drifts."""
    settings = {**CONCATENATED, "ddp_find_unused_parameters": False}
    one = trained(tmp_path / "one", {"examples": 4}, **CONCATENATED)
    first, second = two_ranks(tmp_path, free_port(), {"examples": 2}, settings)
    same(one, first)
    same(one, second)


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
    ranks = two_ranks(
        tmp_path, free_port(), batch, {"gradient_accumulation_steps": 2, **settings, **ranks_too}
    )
    for rank in ranks:
        same(one, rank)


@pytest.mark.slow
def test_an_uncounted_objective_over_two_ranks(tmp_path: Path) -> None:
    """Its queue differs per rank here (it gathers nothing), but the ranks' parameters must not drift apart."""
    ranks = two_ranks(tmp_path, free_port(), {"examples": 4}, {"queue": True, "normalisation": "token"})
    parameters = [n for n in ranks[0][2] if "queue.queue" not in n]
    assert all(torch.equal(ranks[0][2][n], ranks[1][2][n]) for n in parameters)
