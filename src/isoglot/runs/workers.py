"""Worker processes: how they start, end, and where they look for modules."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from pathlib import Path
from types import ModuleType

_SAFE = "PYTHONSAFEPATH"


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block; processes that are started in the block never receive it.

    A process inherits the signals that its parent blocks. In the parent, another thread may take the signal although
    this thread blocks it, and Python would then raise it in the main thread, so the handler is replaced too.
    """
    pressed: list[int] = []
    blocked_before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.getsignal(signal.SIGINT)
    replaces_handler = callable(handler) and threading.current_thread() is threading.main_thread()
    if replaces_handler:
        signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        if replaces_handler:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked_before)
        if pressed and callable(handler):
            handler(signal.SIGINT, None)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a worker process inside the block, although it was started in :func:`uninterrupted`."""
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def starting() -> Iterator[None]:
    """Start worker processes in the block that ignore Ctrl-C and do not import modules from the current folder.

    1. A new interpreter has the current folder first on its path until it receives its parent's path. A data file
       there that is called ``random.py`` would be imported in place of the library, so ``PYTHONSAFEPATH`` is set.
    2. Ctrl-C in a terminal reaches every process. The main process tells the others to stop.
    """
    before = os.environ.get(_SAFE)
    with uninterrupted():  # 2
        os.environ[_SAFE] = "1"  # 1
        try:
            yield
        finally:
            if before is None:
                del os.environ[_SAFE]
            else:
                os.environ[_SAFE] = before


@contextmanager
def starting_apart() -> Iterator[None]:
    """Start worker processes as :func:`starting` does, but without the caller's script, for work inside isoglot.

    Otherwise each worker would run the script, with all its imports, up to ``if __name__ == "__main__":``, and for ever
    if the script has no such line. Modules in the current folder are not found either.
    """
    script, path = sys.modules["__main__"], sys.path[:]
    # Without the flag -P Python puts the folder of the script, or the current folder, first on the path.
    starts_with_current = not sys.flags.safe_path and Path(path[0]).resolve() == Path.cwd()
    sys.modules["__main__"] = ModuleType("__main__")
    without_current = path[1:] if starts_with_current else path
    # An empty entry is the current folder too.
    sys.path[:] = [entry for entry in without_current if entry]
    try:
        with starting():
            yield
    finally:
        sys.modules["__main__"], sys.path[:] = script, path


def fork_server() -> None:
    """Start the server process that workers are forked from, unless it is running."""
    with starting():
        forkserver.ensure_running()


def end_with_parent() -> None:
    """Let this worker process end when its parent process ends, even if the parent is killed."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
