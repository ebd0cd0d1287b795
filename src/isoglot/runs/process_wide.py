"""Settings of the whole process that a block changes for a while, also in several threads at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

Restore = Callable[[], None]


class ProcessWide:
    """A setting that blocks change: the first of overlapping blocks changes it, the last one restores the old value.

    If each block restored the value it had found, a block that began while another thread's block was open would find
    the changed value, and leave it for ever.

    Args:
        change: Changes the setting, and returns a function that restores it.

    Example:
        >>> import logging
        >>> log = logging.getLogger("example")
        >>> def silence():
        ...     level = log.level
        ...     log.setLevel(logging.ERROR)
        ...     return lambda: log.setLevel(level)
        >>> silent = ProcessWide(silence)
        >>> with silent.block():
        ...     log.level == logging.ERROR
        True
        >>> log.level == logging.NOTSET
        True
    """

    def __init__(self, change: Callable[[], Restore]) -> None:
        self._change = change
        self._lock = Lock()
        self._inside = 0
        self._restore: Restore | None = None

    @contextmanager
    def block(self) -> Iterator[None]:
        """Change the setting inside the block."""
        with self._lock:
            if not self._inside:
                self._restore = self._change()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside and self._restore is not None:
                    self._restore()
