"""Locks between processes that work on one folder or file."""

import contextlib
import errno
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from isoglot.core.errors import ConfigurationError
from isoglot.runs.files import hidden, make_folder

RUN_LOCK = ".run.lock"
"""In a run's folder while a process works there."""
_LOGGER = logging.getLogger(__name__)
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_PATIENCE = 1.0
"""Seconds before a process says that it is waiting."""


@contextmanager
def locked(path: str | Path, *, wait: bool = True) -> Iterator[None]:
    """Keep other processes from the same block for the same path. The same thread may enter twice.

    A lock of a process that was killed is free. Where the folder is read-only nothing is locked: nothing can be
    written there either.

    Args:
        path: What is worked on; the lock is a hidden file beside it, which goes with the block.
        wait: Wait for the other process; otherwise refuse.

    Raises:
        ConfigurationError: Another process holds the lock, and ``wait`` is false.
    """
    target = Path(path).resolve()
    make_folder(target.parent)
    file = hidden(target, ".lock")
    lock = FileLock(file, is_singleton=True)
    try:
        # FileLock would wait for a place where no file can be made
        os.close(os.open(file, os.O_CREAT | os.O_RDONLY | os.O_NOFOLLOW, 0o666))
        _acquire(lock, Path(path), wait=wait)
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"{path} is not writable ({error.strerror}); choose a writable place"
        ) from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ConfigurationError(f"{file}: is a link, and a lock is not; delete it") from error
        if error.errno not in _READ_ONLY:
            raise
        yield
        return
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            file.unlink(missing_ok=True)  # while it is held: who waits for it sees that the file is gone
        lock.release()


@contextmanager
def occupied(folder: str | Path) -> Iterator[None]:
    """Make a run's folder and keep other processes out of it; a folder that stays empty is removed again."""
    path = Path(folder)
    existed = path.exists()
    make_folder(path)
    try:
        with locked(path / "run", wait=False):
            yield
    finally:
        if not existed:
            with contextlib.suppress(OSError):  # it holds something
                path.rmdir()


def _acquire(lock: FileLock, path: Path, *, wait: bool) -> None:
    try:
        lock.acquire(timeout=_PATIENCE if wait else 0)
    except Timeout:
        if not wait:
            named = path.parent if path.name == "run" else path
            raise ConfigurationError(
                f"{named}: another process is working here; wait until it has finished, or choose another [[out]]"
            ) from None
        _LOGGER.warning("%s: waiting for another process that writes it", path)
        lock.acquire(poll_interval=0.2)
