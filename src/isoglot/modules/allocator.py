"""Keep the memory of long runs small, and let training on a CPU reuse freed memory at once.

The means are settings of glibc's allocator and of oneDNN's cache of kernels. By default both keep some memory for each
new length of sentences. Over 8,000 pairs, multilingual-e5-small in bfloat16 grew by 145 MB after its first window; with
few cached kernels and with freed memory returned, by 34 MB, most of it within the first thousands, at the same speed.

Other C libraries are left alone, and so are settings in the user's environment.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_MMAP_THRESHOLD, _TRIM_THRESHOLD, _MMAP_MAX = -3, -1, -4
"""Numbers of the parameters M_MMAP_THRESHOLD, M_TRIM_THRESHOLD and M_MMAP_MAX in glibc's malloc.h."""
_LARGE = 1 << 20


def adjustable_glibc() -> Any:
    """glibc; ``None`` if the C library is another one, or if the user has set the allocator up."""
    # glibc's names of thresholds end in _, such as MALLOC_TRIM_THRESHOLD_. MALLOC_ARENA_MAX does not concern them.
    tunables = "glibc.malloc." in os.environ.get("GLIBC_TUNABLES", "")
    if tunables or any(name.startswith("MALLOC_") and name.endswith("_") for name in os.environ):
        return None
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # Windows
        return None
    return library if hasattr(library, "gnu_get_libc_version") else None


def give_back_large_blocks() -> None:
    """Let every block of a megabyte or more go back to the system when it is freed.

    By default, glibc puts blocks of up to 32 MiB into its heap after the first block of that size was freed, and a heap
    with holes does not shrink.
    """
    library = adjustable_glibc()
    if library is not None:
        library.mallopt(_MMAP_THRESHOLD, _LARGE)


@contextmanager
def freed_memory_kept(device: str) -> Iterator[None]:
    """Keep freed memory inside a ``with`` block, for training on a ``cpu``; return it to the system at its end.

    By default, glibc asks the system for each large block of memory and returns it when it is freed, so the system
    clears the same pages at every step. With mBERT's shape and 16 pairs in bfloat16 that was 300,000 page faults and a
    quarter of a step's CPU time. Here large blocks lie in the heap too, and the free end of the heap is not returned.
    """
    library = adjustable_glibc() if device == "cpu" else None
    if library is None:
        yield
        return
    library.mallopt(_MMAP_MAX, 0)
    library.mallopt(_TRIM_THRESHOLD, -1)
    try:
        yield
    finally:
        library.mallopt(_MMAP_MAX, 65_536)  # glibc's defaults
        library.mallopt(_TRIM_THRESHOLD, 131_072)
        library.malloc_trim(0)


def keep_few_primitives() -> None:
    """Let oneDNN cache few of the kernels that it makes, one for each shape; call this before torch is used.

    A variable that the user has set is left alone.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8")


def return_free_memory() -> None:
    """Return the memory to the system that the C library's allocator holds free, also between used blocks."""
    try:
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):  # Windows
        return
    if trim is not None:
        trim(0)
