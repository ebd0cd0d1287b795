"""Memory that runs out, as the libraries word it."""

import errno
import re

from isoglot.errors import causes

_WORDINGS = re.compile(
    r"can't allocate memory|not enough memory|out of memory|Cannot allocate memory|failed to map segment|"
    r"std::bad_alloc",
    re.IGNORECASE,
)
"""torch on a CPU, torch on a device, system calls, the loader of libraries."""


def memory_problem(error: BaseException) -> str | None:
    """One line where an exception, or one of its causes, says that memory ran out.

    Example:
        >>> memory_problem(MemoryError())
        'there is not enough memory; use smaller batches, fewer processes or a smaller file, or raise `ulimit -v`'
    """
    for cause in causes(error):
        number = cause.errno if isinstance(cause, OSError) else None
        worded = isinstance(cause, RuntimeError | ImportError | OSError) and _WORDINGS.search(str(cause))
        if isinstance(cause, MemoryError) or number == errno.ENOMEM or worded:
            return (
                "there is not enough memory; use smaller batches, fewer processes or a smaller file, or raise "
                "`ulimit -v`"
            )
    return None
