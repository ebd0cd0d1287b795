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
"""Name of the lock in a run's folder, there while a process works on the run."""
_LOGGER = logging.getLogger(__name__)
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_PATIENCE = 1.0
"""Seconds before a process says that it is waiting."""


@contextmanager
def locked(
    path: str | Path, *, wait: bool = True, bound_to_thread: bool = True, called: Path | None = None
) -> Iterator[None]:
    """Let only one process at a time into the block for a path. The same thread may enter again.

    1. The lock is a hidden file beside the path, `.out.lock` for `out`, which is deleted at the end of the block.
    2. The system releases the lock of a process that was killed.
    3. If the folder is read-only there is no lock: no process can write there either.

    Args:
        path: The path that the block works on.
        wait: Whether to wait for another process; otherwise the block is refused.
        bound_to_thread: False if another thread than the one that enters may leave the block; nobody may then enter
            again, not even the same thread.
        called: Name of the path in messages, where it is not ``path``.

    Raises:
        ConfigurationError: Another process holds the lock, and ``wait`` is false.
    """
    target, named = Path(path).resolve(), called or Path(path)
    make_folder(target.parent)
    file = hidden(target, ".lock")
    lock = FileLock(file, is_singleton=bound_to_thread, thread_local=bound_to_thread)
    try:
        # FileLock would wait for ever where the file cannot be made, so it is made here first.
        os.close(os.open(file, os.O_CREAT | os.O_RDONLY | os.O_NOFOLLOW, 0o666))
        _acquire(lock, named, wait=wait)
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"{named} is not writable ({error.strerror}); choose a writable place"
        ) from error
    except OSError as error:
        if error.errno == errno.ELOOP:  # what O_NOFOLLOW makes of a link
            raise ConfigurationError(f"{file}: is a link, and a lock is not; delete it") from error
        if error.errno not in _READ_ONLY:
            raise
        yield  # 3
        return
    try:
        yield
    finally:
        if lock.lock_counter == 1:  # the outermost block of this thread
            # Before the release: a process that waits sees that the file is gone, and makes a new one.
            file.unlink(missing_ok=True)
        lock.release()


@contextmanager
def occupied(folder: str | Path) -> Iterator[None]:
    """Make a run's folder and refuse it to other processes; delete a new folder that is still empty at the end."""
    path = Path(folder)
    existed = path.exists()
    make_folder(path)
    try:
        # A lock is a hidden file beside its path. To lie inside the folder, as folder/.run.lock, it is the lock of
        # folder/run, although there is no such file.
        with locked(path / "run", wait=False, called=path):
            yield
    finally:
        if not existed:
            with contextlib.suppress(OSError):  # it holds something
                path.rmdir()


def _acquire(lock: FileLock, path: Path, *, wait: bool) -> None:
    """Take a lock, or with ``wait`` say that another process has it and wait; messages name ``path``."""
    try:
        lock.acquire(timeout=_PATIENCE if wait else 0)
    except Timeout:
        if not wait:
            raise ConfigurationError(
                f"{path}: another process is working here; wait until it has finished, or choose another [[out]]"
            ) from None
        _LOGGER.warning("%s: waiting for another process that writes it", path)
        lock.acquire(poll_interval=0.2)
