"""Loops over arrays that numba compiles.

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


def _lacking() -> None:
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


# No test of divisors (who divides checks the result) and no entry point for C, which numba's types do not know.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def compiled(loop: Callable[..., Any]) -> Any:
    """The compiled form of a function, kept on disk where a place for it can be written."""
    try:
        jitted: Any = numba.njit(cache=True, **_OPTIONS)(loop)
    except RuntimeError:  # no folder can be written: compile anew in each process
        return numba.njit(**_OPTIONS)(loop)
    with suppress(AttributeError):  # of another numba, which reads its files as it likes
        files = jitted._cache._cache_file
        files._load_index = partial(_readable, files._load_index)
        files.load = partial(_code, files.load)
    return jitted


def helper(loop: Callable[..., Any]) -> Any:
    """A function that only compiled loops call.

    Kept with each loop that calls it, and compiled without entry points for Python and C, which nothing calls.
    """
    return numba.njit(**_OPTIONS | {"no_cpython_wrapper": True})(loop)


def _readable(load: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
    """What is kept of a function: nothing where the file is damaged, or names a class that another version had."""
    try:
        return load()
    except _DAMAGED:
        return {}


def _code(load: Callable[[Any], Any], key: Any) -> Any:
    """A function's compiled code; none where the file is damaged, and then it is compiled and kept anew."""
    try:
        return load(key)
    except _DAMAGED as error:
        _LOGGER.warning("a cached compiled loop cannot be read (%s); compiling it again", error)
        return None


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
_LOGGER = logging.getLogger(__name__)
