"""Work in this process or in several; :mod:`isoglot.runs.cluster` has the same for the machines of a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import Any, TypeVar

from isoglot.core.errors import IsoglotError
from isoglot.runs.workers import end_with_parent, starting, starting_apart, uninterrupted

PieceT = TypeVar("PieceT")
ResultT = TypeVar("ResultT")


def usable_cores() -> int:
    """Cores that this process may run on (a container or a batch system may grant fewer than there are)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def no_setup(settings: object) -> None:
    """Need no setting up."""
    del settings


class WorkPool:
    """Worker processes, or this one alone, with a bounded number of pieces under way. Use as a context manager.

    Workers ignore Ctrl-C (the main process tells them to stop) and end by themselves if the main process is killed.

    Args:
        workers: Number of processes; with 1, this process does the work.
        setup: Called once in every worker, with ``settings``, before its first piece.
        settings: What every worker needs.
        preload: Modules that hold all that is sent to a worker. Workers are then forked from a clean server process
            that has imported them, and never run the caller's script; without it each is a new interpreter.
        fewer: What a message calls the option that lowers the number of workers.
    """

    def __init__(
        self,
        workers: int,
        setup: Callable[[Any], None] = no_setup,
        settings: object = None,
        *,
        preload: Sequence[str] = (),
        fewer: str = "[[workers]]",
    ) -> None:
        self._workers = workers
        self._setup = setup
        self._settings = settings
        self._preload = list(preload)
        self._fewer = fewer
        self._executor: ProcessPoolExecutor | None = None
        self._starting = starting_apart if preload else starting
        self.ahead: float = 1
        """How many pieces are worth having under way."""

    @property
    def size(self) -> int:
        """How many pieces are done side by side."""
        return self._workers

    def __enter__(self) -> WorkPool:
        if self._workers == 1:
            self._setup(self._settings)
            return self
        self.ahead = 2 * self._workers + 2
        context = multiprocessing.get_context("forkserver" if self._preload else "spawn")
        if self._preload:
            context.set_forkserver_preload(self._preload)
        with self._starting():  # also what cleans up after all workers
            self._executor = ProcessPoolExecutor(
                self._workers,
                context,
                initializer=_start_worker,
                initargs=(self._setup, self._settings),
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            with uninterrupted():  # a worker that is just starting needs what this process holds
                self._executor.shutdown(wait=True, cancel_futures=True)

    def submit(self, function: Callable[..., Any], *arguments: object, gpu: bool = False) -> Future[Any]:
        """Do one piece of work; without workers, now.

        ``gpu``: Whether it needs its own GPU, in a cluster that has any.
        """
        del gpu
        if self._executor is not None:
            with self._starting():  # handing over work starts a process if all are busy
                return self._executor.submit(function, *arguments)
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:  # noqa: BLE001 (handed over to whoever reads the result)
            future.set_exception(error)
        return future

    def result(self, future: Future[ResultT]) -> ResultT:
        """What a piece of work gave, or its error.

        Raises:
            IsoglotError: Its worker was killed.
        """
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise IsoglotError(
                f"a worker process was killed, most likely for want of memory; use fewer {self._fewer}. A script that "
                'starts processes calls isoglot below `if __name__ == "__main__":`'
            ) from error

    def map(
        self,
        function: Callable[[PieceT], ResultT],
        pieces: Iterable[PieceT],
        *,
        ignore: Callable[[PieceT], bool] | None = None,
    ) -> Iterator[ResultT]:
        """Results in the order of the pieces, which are read only a little ahead.

        The first error in that order is the one that is raised, whichever process meets it first. ``ignore``: whether
        a piece, in its turn, is of no interest any more; its result or error is dropped.
        """
        pending: deque[tuple[PieceT, Future[ResultT]]] = deque()
        iterator = iter(pieces)
        while True:
            for piece in islice(iterator, int(self.ahead) - len(pending)):
                pending.append((piece, self.submit(function, piece)))
            if not pending:
                return
            piece, future = pending.popleft()
            if ignore is not None and ignore(piece):
                future.cancel()
                continue
            yield self.result(future)

    def map_unordered(
        self, function: Callable[[PieceT], ResultT], pieces: Iterable[PieceT], *, gpu: bool = False
    ) -> Iterator[ResultT]:
        """Results as they come; ``gpu`` is that of :meth:`submit`."""
        pending, iterator = set[Future[ResultT]](), iter(pieces)
        while True:
            pending |= {
                self.submit(function, piece, gpu=gpu)
                for piece in islice(iterator, int(self.ahead) - len(pending))
            }
            if not pending:
                return
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from map(self.result, finished)


def _start_worker(setup: Callable[[Any], None], settings: object) -> None:
    end_with_parent()
    setup(settings)
