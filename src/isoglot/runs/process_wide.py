"""Settings of the whole process that blocks change for a while, in threads too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

Restore = Callable[[], None]


class ProcessWide:
    """Makes blocks: the first of overlapping ones changes a setting, the last one gives the old value back.

    If each block gave back what it had found, one that began inside another thread's would leave that one's value.

    Args:
        change: Changes the setting and returns what undoes that.

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
