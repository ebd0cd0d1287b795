"""Change a model for the time of a ``with`` block, also where several threads share the model.

:func:`changed_attribute` sets an attribute of modules, :func:`before_forward` sees and changes the arguments of one,
and :func:`registered_hook` is for any other hook.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.utils.hooks import RemovableHandle

_LOCK = threading.Lock()
_CHANGED: dict[tuple[nn.Module, str], tuple[int, Any]] = {}
"""Attributes that ``with`` blocks have changed: by module and name, how many blocks, and the value to restore."""


@contextmanager
def changed_attribute(modules: Iterable[nn.Module], name: str, *, value: Any) -> Iterator[None]:
    """Change an attribute of modules for the time of a block.

    Blocks of several threads may overlap; the last one to end restores the value from before the first.
    """
    modules = list(modules)
    with _LOCK:
        for module in modules:
            blocks, old = _CHANGED.get((module, name), (0, getattr(module, name)))
            _CHANGED[module, name] = blocks + 1, old
            vars(module)[name] = value  # past a module's own __setattr__, which takes 20 times as long
    try:
        yield
    finally:
        with _LOCK:
            for module in modules:
                blocks, old = _CHANGED.pop((module, name))
                if blocks > 1:
                    _CHANGED[module, name] = blocks - 1, old
                else:
                    vars(module)[name] = old


@contextmanager
def before_forward(
    module: nn.Module, act: Callable[[tuple[Any, ...], dict[str, Any]], Any]
) -> Iterator[None]:
    """Call ``act`` with the arguments of a module whenever this thread runs it inside the block.

    ``act`` may return other arguments, with which the module then runs, or ``None``.
    """
    thread = threading.get_ident()

    # A hook that another thread is setting or removing may be called without keyword arguments.
    def hook(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
        return act(args, kwargs or {}) if threading.get_ident() == thread else None

    with registered_hook(lambda: module.register_forward_pre_hook(hook, with_kwargs=True)):
        yield


@contextmanager
def registered_hook(register: Callable[[], RemovableHandle]) -> Iterator[None]:
    """Register a hook for the time of a block."""
    with _LOCK:  # two hooks registered at once could get one number
        handle = register()
    try:
        yield
    finally:
        with _LOCK:
            handle.remove()
