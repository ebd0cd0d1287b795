"""Compile loops over arrays with numba: ``@compiled`` for loops that Python calls, ``@helper`` for those they call.

A loop is compiled at its first call, which takes seconds, and kept on disk for later processes: in ``__pycache__``
beside its module, or where that cannot be written in the user's cache folder (``NUMBA_CACHE_DIR`` names another).
Compiled loops hold no lock, so threads run them side by side.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pickle import UnpicklingError
from typing import Any

import numba

_LOGGER = logging.getLogger(__name__)
_DAMAGED = (
    AttributeError,
    ImportError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    UnpicklingError,
    ValueError,
)
"""Errors of reading a cached file that is damaged, or was written by another version."""


def _lacking() -> None:
    """Say that there is no BLAS, in place of the function by which numba looks for it."""
    raise ImportError


# numba's array functions import scipy.linalg, a sixth of a short command's time, to know whether np.inner may call
# BLAS. No loop here does. A numba that is built otherwise loads as it likes.
with suppress(ImportError, AttributeError):
    from numba.np import linalg

    _ensure_blas, linalg.ensure_blas = linalg.ensure_blas, _lacking
    try:
        import numba.np.arraymath
    finally:
        linalg.ensure_blas = _ensure_blas


# "numpy": divisions do not test for 0, so loops check their results. No entry point for C, which nothing calls.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def compiled(loop: Callable[..., Any]) -> Any:
    """Compile a function at its first call, and keep the compiled code on disk if a folder for it can be written."""
    try:
        jitted: Any = numba.njit(cache=True, **_OPTIONS)(loop)
    except RuntimeError:  # no folder can be written: compile again in each process
        return numba.njit(**_OPTIONS)(loop)
    # Damaged files must not stop a run. Another version of numba may not have these attributes; it then reads its files
    # as it likes.
    with suppress(AttributeError):
        files = jitted._cache._cache_file
        files._load_index = partial(_readable, files._load_index)
        files.load = partial(_code, files.load)
    return jitted


def helper(loop: Callable[..., Any]) -> Any:
    """Compile a function that only compiled loops call.

    It becomes part of each loop that calls it, and has no entry points for Python and C.
    """
    return numba.njit(**_OPTIONS | {"no_cpython_wrapper": True})(loop)


def _readable(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """Load the list of compiled forms of a function; an empty one if the file is damaged or of another version."""
    try:
        return load()
    except _DAMAGED:
        return {}


def _code(load: Callable[[Any], Any], key: Any) -> Any:
    """Load the compiled code of a function; None if the file is damaged, and then it is compiled again."""
    try:
        return load(key)
    except _DAMAGED as error:
        _LOGGER.warning("a cached compiled loop cannot be read (%s); compiling it again", error)
        return None
