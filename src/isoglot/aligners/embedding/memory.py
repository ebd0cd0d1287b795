"""Memory of a long run kept flat: sentences of ever new lengths leave something behind for each in the libraries below.

Over 8,000 pairs multilingual-e5-small in bfloat16 grew by 145 MB from its first window on; with both of these by 34 MB,
most of them within the first thousands, at the same speed.
"""

import ctypes
import os
from functools import cache
from typing import Any


def keep_few_primitives() -> None:
    """Have oneDNN keep few of the kernels that it makes for each shape; before torch is used. A set variable stands."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "8")


def return_free_memory() -> None:
    """Give what the C library's allocator holds free, in pieces between what is used, back to the system."""
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Any:
    """``malloc_trim`` of glibc; ``None`` with another C library."""
    try:
        return getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):  # Windows
        return None
