"""What a caller has set stays set, and changes no result."""

import os
import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from isoglot.modules.isolation import isolated_computation, isolated_state


def _global_state() -> tuple[object, ...]:
    return (
        random.getstate(),
        np.random.get_state()[1].tobytes(),
        torch.get_rng_state().numpy().tobytes(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_float32_matmul_precision(),
        {name: value for name, value in os.environ.items() if name.startswith("ACCELERATE_")},
        dict(AcceleratorState._shared_state),
        torch.is_grad_enabled(),
        torch.is_autocast_enabled("cpu"),
    )


def test_global_settings_are_given_back() -> None:
    before = _global_state()
    with pytest.raises(RuntimeError), isolated_state():
        random.seed(3)
        np.random.seed(3)
        torch.manual_seed(3)
        torch.use_deterministic_algorithms(True)
        torch.set_float32_matmul_precision("medium")
        os.environ["ACCELERATE_DYNAMO_BACKEND"] = "INDUCTOR"
        Accelerator(mixed_precision="bf16", cpu=True)
        assert all(now != old for now, old in list(zip(_global_state(), before, strict=True))[:-2])
        raise RuntimeError
    assert _global_state() == before


def test_the_random_numbers_of_every_gpu_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    given_back: list[object] = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: ["of GPU 0", "of GPU 1"])
    monkeypatch.setattr(torch.cuda, "set_rng_state_all", given_back.append)
    with isolated_state():
        assert not given_back
    assert given_back == [["of GPU 0", "of GPU 1"]]


@pytest.mark.parametrize("block", [nullcontext, torch.no_grad, torch.inference_mode])
def test_gradients_can_be_taken(block: Callable[[], AbstractContextManager[object]]) -> None:
    with block(), isolated_state():
        weight = torch.nn.Parameter(torch.ones(2))
        weight.sum().backward()
    assert weight.grad is not None and not torch.is_inference_mode_enabled()


@pytest.mark.parametrize("own", [isolated_computation, isolated_state])
def test_a_callers_autocast_is_left_aside(own: Callable[[], AbstractContextManager[object]]) -> None:
    table = torch.ones(2, 2)
    with torch.autocast("cpu", torch.bfloat16):
        with own():
            assert (table @ table).dtype == torch.float32
        assert (table @ table).dtype == torch.bfloat16


@pytest.mark.parametrize("own", [isolated_computation, isolated_state])
@pytest.mark.parametrize("allowed", [True, False])
def test_attention_is_not_planned_for_each_shape(
    own: Callable[[], AbstractContextManager[object]], allowed: bool
) -> None:
    before = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(allowed)
    try:
        with own():
            with own():
                pass
            assert not torch.backends.cuda.cudnn_sdp_enabled()
        assert torch.backends.cuda.cudnn_sdp_enabled() == allowed
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)
