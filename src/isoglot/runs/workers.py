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
    """Keep Ctrl-C back until the end of the block, and for good in processes that it starts."""
    pressed, ours = list[int](), signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.getsignal(signal.SIGINT)
    mine = callable(handler) and threading.current_thread() is threading.main_thread()
    if mine:  # another thread may take the signal, and the main one then raises it whatever it blocks
        signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        if mine:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, ours)
        if pressed and callable(handler):
            handler(signal.SIGINT, None)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a worker process in the block, which :func:`uninterrupted` kept it from."""
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def starting() -> Iterator[None]:
    """Start processes in the block: none looks for modules in the current folder, and none ends by Ctrl-C.

    A new interpreter has the current folder first on its path until it receives its parent's. Data lie there, and a
    ``random.py`` beside them is not what the library means. Ctrl-C reaches every process of a terminal; the main one
    tells the others to stop.
    """
    before = os.environ.get(_SAFE)
    with uninterrupted():
        os.environ[_SAFE] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_SAFE]
            else:
                os.environ[_SAFE] = before


@contextmanager
def starting_apart() -> Iterator[None]:
    """As :func:`starting`, and without the caller's script and the current folder.

    Otherwise each worker would run the script again up to its ``if __name__ == "__main__":`` (and for ever without
    one), with all that it imports. It is for work that is in this package alone.
    """
    script, path = sys.modules["__main__"], sys.path[:]
    first = not sys.flags.safe_path and Path(path[0]).resolve() == Path.cwd()  # where Python puts it
    sys.modules["__main__"] = ModuleType("__main__")
    sys.path[:] = [entry for entry in path[first:] if entry]
    try:
        with starting():
            yield
    finally:
        sys.modules["__main__"], sys.path[:] = script, path


def fork_server() -> None:
    """Start the process that others are forked from, unless it runs."""
    with starting():
        forkserver.ensure_running()


def end_with_parent() -> None:
    """Have a worker process end when the process that started it ends, even if that is killed."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
