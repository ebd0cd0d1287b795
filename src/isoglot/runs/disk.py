"""Recognise a full or broken disk in the errors of any library, and report it in one line."""

import errno
import re
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isoglot.core.errors import DiskError, IsoglotError, causes

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your disk quota is used up",
    errno.EIO: "the disk reports an input/output error",
    errno.EFBIG: "a file would be larger than this process may write (`ulimit -f`)",
    errno.EROFS: "the disk is read-only",
}
_NUMBERED = re.compile(r"\((?:os error|errno:?) (\d+)\)|\[errno (\d+)\]", re.IGNORECASE)
"""An errno in a message, as safetensors and tokenizers (Rust) and pyarrow write it."""
_CUT_SHORT = (" requested and ", "PytorchStreamWriter failed", "basic_ios::clear: iostream error")
"""Messages about a failed write without an errno: of NumPy's tofile and of torch's archive writer."""


def disk_problem(error: BaseException | None) -> str | None:
    """Say what is wrong with the disk; ``None`` if neither an exception nor its causes are about the disk.

    Example:
        >>> disk_problem(RuntimeError("I/O error: No space left on device (os error 28)"))
        'the disk is full'
    """
    for cause in causes(error):
        number = cause.errno if isinstance(cause, OSError) else None
        if number not in _REASONS and not isinstance(cause, IsoglotError):
            number = _number_in(str(cause))
        if number in _REASONS:
            return _REASONS[number]
    return None


def _number_in(text: str) -> int | None:
    """Return the errno that a library's message contains or stands for.

    A write that was cut short has two likely reasons: a limit on the size of files, if there is one, or a full disk.
    """
    if (match := _NUMBERED.search(text)) is not None:
        return int(match[1] or match[2])
    if not any(words in text for words in _CUT_SHORT):
        return None
    limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
    return errno.EFBIG if limited else errno.ENOSPC


@contextmanager
def full_disk_named(path: str | Path) -> Iterator[None]:
    """Turn any error about a full or broken disk into a :class:`DiskError` of one line that names the output.

    ``path``: The output, or the folder of temporary files.
    """
    try:
        yield
    except IsoglotError:
        raise
    except Exception as error:
        problem = disk_problem(error)
        if problem is None:
            raise
        temporary = Path(path).resolve().is_relative_to(Path(tempfile.gettempdir()).resolve())
        disk = "disk (TMPDIR=FOLDER, for temporary files)" if temporary else "disk"
        raise DiskError(
            f"{path}: {problem}; the output is not written. Free some space or choose another {disk}, and run again"
        ) from error
