"""glibc's allocator, where it may be set: other C libraries, and settings in the user's environment, stand."""

import ctypes
import os
from collections.abc import Mapping
from typing import Any

MMAP_THRESHOLD, TRIM_THRESHOLD, MMAP_MAX = -3, -1, -4
"""Numbers of parameters in its malloc.h."""
_LARGE = 1 << 20


def adjustable_glibc() -> Any:
    """The C library, or ``None`` where it is another one or the user has set up the allocator."""
    tunables = "glibc.malloc." in os.environ.get("GLIBC_TUNABLES", "")
    if tunables or any(name.startswith("MALLOC_") and name.endswith("_") for name in os.environ):
        return None
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # Windows
        return None
    return library if hasattr(library, "gnu_get_libc_version") else None


def set_parameters(library: Any, values: Mapping[int, int]) -> None:
    """Set parameters of the allocator."""
    for parameter, value in values.items():
        library.mallopt(parameter, value)


def give_back_large_blocks() -> None:
    """Have every block of a megabyte and more go back to the system when it is freed.

    By default glibc puts blocks of up to 32 MiB into its heap after the first of that size was freed, and a heap
    with holes does not shrink.
    """
    library = adjustable_glibc()
    if library is not None:
        set_parameters(library, {MMAP_THRESHOLD: _LARGE})
