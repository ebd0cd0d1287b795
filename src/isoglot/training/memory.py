"""Memory that a training step frees stays with the process for the next step.

glibc maps each large block anew and returns it when it is freed, so the kernel clears the same pages at every step. On
mBERT's shape with 16 pairs in bfloat16 that was 300,000 page faults and a quarter of a step's CPU time.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from isoglot.runs.allocator import MMAP_MAX, TRIM_THRESHOLD, adjustable_glibc, set_parameters

# Large blocks lie in the heap as well, and its free end is not given back.
_KEEP = {MMAP_MAX: 0, TRIM_THRESHOLD: -1}
_DEFAULT = {MMAP_MAX: 65_536, TRIM_THRESHOLD: 131_072}


@contextmanager
def freed_memory_kept(device: torch.device) -> Iterator[None]:
    """Keep freed memory inside the block, for training on a CPU with glibc; give it back to the system at the end.

    Other C libraries, and an allocator that the user has set up by environment variables, are left alone.
    """
    library = adjustable_glibc()
    if library is None or device.type != "cpu":
        yield
        return
    set_parameters(library, _KEEP)
    try:
        yield
    finally:
        set_parameters(library, _DEFAULT)
        library.malloc_trim(0)
