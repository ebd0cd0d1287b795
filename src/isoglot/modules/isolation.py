"""Set a caller's settings of torch aside while isoglot computes, and restore them afterwards."""

import os
import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch

from isoglot.runs.process_wide import ProcessWide, Restore
from isoglot.runs.reporter import without_library_bars

_LAUNCHER = "ACCELERATE_"
"""How names of variables begin by which the library hands settings of a run to itself."""


def _without_cudnn() -> Restore:
    """Attention by torch's kernels: cuDNN's are planned anew, for 0.1 seconds, at each new shape of a batch."""
    allowed = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    return lambda: torch.backends.cuda.enable_cudnn_sdp(allowed)


_WITHOUT_CUDNN = ProcessWide(_without_cudnn)


@cache
def _prepare_forks() -> None:
    """Let processes that are forked from now on compute with one thread.

    The threads of OpenMP do not exist in them, and a computation would wait for these for ever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


@contextmanager
def isolated_precision() -> Iterator[None]:
    """Compute in the types that the options name, inside a caller's ``torch.autocast`` too, at any shape alike."""
    _prepare_forks()
    accelerator = torch.accelerator.current_accelerator()
    kinds = {"cpu", "cpu" if accelerator is None else accelerator.type}
    with _WITHOUT_CUDNN.block(), ExitStack() as stack:
        for kind in kinds:
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        yield


@contextmanager
def isolated_state() -> Iterator[None]:
    """Train and measure as a fresh process does, whatever block the caller is in.

    A trainer seeds the global generators and sets switches of the libraries. The caller's are restored, so that the
    numbers that follow do not depend on whether a run was trained or recognised as finished. Bars of `datasets` are not
    shown: verbs report their progress themselves.
    """
    with (
        _SAVED_STATE.block(),
        without_library_bars(),
        torch.inference_mode(mode=False),
        torch.enable_grad(),
        isolated_precision(),
    ):
        yield


def _saved_state() -> Restore:
    draws, numbers, ours = random.getstate(), np.random.get_state(), torch.get_rng_state()
    # a GPU that was never used has no state to give back, and asking for it would take its memory
    theirs = torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
    exact = torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    products, launched, shared = torch.get_float32_matmul_precision(), _variables(), dict(_shared_state())

    def restore() -> None:
        random.setstate(draws)
        np.random.set_state(numbers)
        torch.set_rng_state(ours)
        if theirs is not None:
            torch.cuda.set_rng_state(theirs)
        torch.use_deterministic_algorithms(exact, warn_only=warns)
        torch.set_float32_matmul_precision(products)
        for name in _variables():
            del os.environ[name]
        os.environ.update(launched)
        _shared_state().clear()
        _shared_state().update(shared)

    return restore


_SAVED_STATE = ProcessWide(_saved_state)


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(_LAUNCHER)}


def _shared_state() -> dict[str, Any]:
    """What every ``Accelerator`` of the process shares, its precision among it; a trainer replaces it."""
    library = sys.modules.get("accelerate.state")
    state: dict[str, Any] = {} if library is None else library.AcceleratorState._shared_state
    return state
