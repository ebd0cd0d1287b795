"""A disk that is full or broken, as every library words it."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isoglot.errors import DiskError, IsoglotError

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your disk quota is used up",
    errno.EIO: "the disk reports an input/output error",
}
# Where no errno is left: safetensors, tokenizers (Rust), pyarrow, NumPy's tofile, and torch's archive writer.
_WORDINGS = {
    "No space left on device": errno.ENOSPC,
    " requested and ": errno.ENOSPC,
    "PytorchStreamWriter failed": errno.ENOSPC,
    "basic_ios::clear: iostream error": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "Input/output error": errno.EIO,
}


def disk_problem(error: BaseException | None) -> str | None:
    """What is wrong with the disk, in words; ``None`` if an exception and its causes say nothing of it.

    Example:
        >>> disk_problem(RuntimeError("I/O error: No space left on device (os error 28)"))
        'the disk is full'
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        number = error.errno if isinstance(error, OSError) else None
        if number not in _REASONS and not isinstance(error, IsoglotError):
            text = str(error)
            number = next((code for words, code in _WORDINGS.items() if words in text), None)
        if number in _REASONS:
            return _REASONS[number]
        error = error.__cause__ or error.__context__
    return None


@contextmanager
def full_disk_named(path: str | Path) -> Iterator[None]:
    """Turn whatever a library raises on a full or broken disk into one line that names the output."""
    try:
        yield
    except IsoglotError:
        raise
    except Exception as error:
        problem = disk_problem(error)
        if problem is None:
            raise
        raise DiskError(
            f"{path}: {problem}; the output is not written. Free some space or choose another disk, and run again"
        ) from error
