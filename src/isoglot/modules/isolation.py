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
"""Beginning of the environment variables in which ``accelerate`` passes the settings of a run to itself."""


def _without_cudnn() -> Restore:
    """Let attention use torch's own kernels: cuDNN plans its kernels again, for 0.1 seconds, at each new shape."""
    allowed = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    return lambda: torch.backends.cuda.enable_cudnn_sdp(allowed)


_WITHOUT_CUDNN = ProcessWide(_without_cudnn)


@cache
def _prepare_forks() -> None:
    """Let processes that are forked after this compute with one thread.

    A forked process does not have the threads of OpenMP, and a computation would wait for them forever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


@contextmanager
def isolated_computation() -> Iterator[None]:
    """Compute in the types that the options name inside the block, whatever ``torch.autocast`` the caller is in.

    Attention uses torch's own kernels there. Processes that are forked later, also after the block, compute with one
    thread.
    """
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
    """Train and evaluate as in a fresh process, whatever context the caller is in, for the time of a block.

    A trainer seeds the global generators and sets switches of the libraries. The caller's are restored, so that the
    numbers that follow do not depend on whether a run was trained or recognised as finished. Progress bars
    of `datasets` are not shown, because isoglot reports progress itself.
    """
    with (
        _SAVED_STATE.block(),
        without_library_bars(),
        torch.inference_mode(mode=False),
        torch.enable_grad(),
        isolated_computation(),
    ):
        yield


def _saved_state() -> Restore:
    """Note the caller's settings that a trainer changes; return the function that restores them."""
    of_python, of_numpy, of_torch = random.getstate(), np.random.get_state(), torch.get_rng_state()
    # GPUs that were never used have no state to restore, and asking for one would take memory there. A trainer seeds
    # all of them, so all are saved.
    of_gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    precision = torch.get_float32_matmul_precision()
    variables, shared = _variables(), dict(_shared_state())

    def restore() -> None:
        random.setstate(of_python)
        np.random.set_state(of_numpy)
        torch.set_rng_state(of_torch)
        if of_gpus is not None:
            torch.cuda.set_rng_state_all(of_gpus)
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        torch.set_float32_matmul_precision(precision)
        for name in _variables():
            del os.environ[name]
        os.environ.update(variables)
        _shared_state().clear()
        _shared_state().update(shared)

    return restore


_SAVED_STATE = ProcessWide(_saved_state)


def _variables() -> dict[str, str]:
    """The environment variables of ``accelerate``."""
    return {name: value for name, value in os.environ.items() if name.startswith(_LAUNCHER)}


def _shared_state() -> dict[str, Any]:
    """The state that all ``Accelerator`` objects of the process share, such as the precision; a trainer replaces it."""
    library = sys.modules.get("accelerate.state")
    state: dict[str, Any] = {} if library is None else library.AcceleratorState._shared_state
    return state
