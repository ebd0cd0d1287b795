"""The end of a command: an exit code, and one line for an error that is not a defect of isoglot."""

import errno
import gc
import io
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from isoglot.core.errors import IsoglotError, memory_problem
from isoglot.runs.disk import disk_problem

_INTERRUPTED = 130
_IMPATIENCE = 2.0
"""Seconds after a Ctrl-C within which another one does not count."""
_CLOSED = {
    errno.EPIPE: "standard output was closed before everything was written",
    errno.EBADF: "standard output is closed",
}


def main() -> None:
    """Run the command line.

    Exit codes: 0 done; 2 a mistake of the user or a place that cannot be read or written, reported in one message
    without a traceback; 130 interrupted; 1 anything else, with its traceback.
    """
    _open_streams()
    with _interrupted_once():
        code, line = _run()
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python would write again at its end, and fail without exit code 2, so standard output goes nowhere now.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code, line = 2, line or _message(error)
    if line is not None:
        with suppress(OSError):  # nobody reads standard error any more
            sys.stderr.write(f"isoglot: {line}\n")
            sys.stderr.flush()
    sys.exit(code)


@contextmanager
def _interrupted_once() -> Iterator[None]:
    """Count several Ctrl-C within two seconds as one, so that a second one does not break into the cleaning up.

    A terminal sends Ctrl-C to all processes of a group, and a shell or a launcher may send it once more.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    last = -_IMPATIENCE

    def interrupt(*_: object) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before > _IMPATIENCE:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        # An interrupted command is at its end: the same Ctrl-C, sent again, would break into Python's own last steps.
        interrupted = last >= 0
        signal.signal(signal.SIGINT, signal.SIG_IGN if interrupted else signal.default_int_handler)


def _run() -> tuple[int | str | None, str | None]:
    """Run the command, and return its exit code and a line for standard error, if there is one."""
    try:
        from isoglot.cli.program import PassedError, app

        gc.freeze()  # objects of the modules live to the end, so the collector need not look through them
        try:
            app(prog_name="isoglot")  # also as python -m isoglot.cli: completion is of this name
        except PassedError as passed:
            raise passed.error from passed.error.__cause__
    except SystemExit as end:
        return end.code, None
    except KeyboardInterrupt:
        return _INTERRUPTED, "interrupted"
    except Exception as error:
        line = _message(error)
        if line is None:
            raise
        return 2, line
    return 0, None


def _open_streams() -> None:
    """Make the standard streams usable, whatever they are.

    1. A stream that was closed (``isoglot ... <&-``) is opened to nothing: the next file that is opened would get its
       number, and receive what is printed. What is written to a closed standard output is lost, which is an error;
       notes may be lost.
    2. A letter that the encoding of a terminal does not have is written as an escape, not refused.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.fstat(number)
                continue  # something else has the number already
            # Standard output is opened for reading, so that writing to it fails.
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a Latin-1 terminal, names that are not UTF-8


def _message(error: BaseException) -> str | None:
    """Describe a mistake of the user, or a place that cannot be used, in one line; return None for a defect."""
    if isinstance(error, IsoglotError):
        return str(error)
    path = getattr(error, "filename2", None) or getattr(error, "filename", None)
    problem = disk_problem(error)
    if problem is not None:
        return f"{path or 'the output'}: {problem}; free some space, or choose another disk, and run it again"
    if (problem := memory_problem(error)) is not None:
        return problem
    if isinstance(error, ValueError) and "surrogates not allowed" in str(error):  # also pydantic's
        return "a file name or argument is not UTF-8, and what is written of it has to be; rename the file"
    if not isinstance(error, OSError):
        return None
    if path is None:
        return _CLOSED.get(error.errno or 0)
    return f"{path}: cannot be read or written ({error.strerror}); choose another path, or change its permissions"
