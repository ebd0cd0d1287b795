"""Work in this process or in several processes; :mod:`isoglot.runs.cluster` does the same on a Ray cluster."""

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
    """Count the cores that this process may use; a container or batch system may grant fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def no_setup(settings: object) -> None:
    """Do nothing, for workers that need no setup."""
    del settings


class WorkPool:
    """A pool of worker processes, or this process alone, with a bounded number of pieces of work under way.

    Use it as a context manager.

    Workers ignore Ctrl-C (the main process tells them to stop) and end by themselves if the main process is killed.

    Args:
        workers: Number of processes; with 1, this process does the work.
        setup: Called once in every worker, with ``settings``, before its first piece.
        settings: Argument of ``setup``, such as a path to load; sent to every worker once.
        preload: Modules that define everything that is sent to a worker. Workers are then forked from a clean server
            process that has imported these modules, and never run the caller's script. Without ``preload`` each worker
            is a new interpreter.
        fewer: Name of the option that lowers the number of workers, for messages.
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
        self.ahead: int = 1
        """Pieces to have under way: those at work, and enough more that no worker waits for the next one."""

    @property
    def size(self) -> int:
        """Number of pieces of work that are done side by side."""
        return self._workers

    def __enter__(self) -> WorkPool:
        if self._workers == 1:
            self._setup(self._settings)
            return self
        self.ahead = 2 * self._workers + 2
        context = multiprocessing.get_context("forkserver" if self._preload else "spawn")
        if self._preload:
            context.set_forkserver_preload(self._preload)
        # The process that cleans up after all workers (multiprocessing's resource tracker) starts here too.
        with self._starting():
            self._executor = ProcessPoolExecutor(
                self._workers,
                context,
                initializer=_start_worker,
                initargs=(self._setup, self._settings),
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            with uninterrupted():  # a worker that is just starting still reads from this process
                self._executor.shutdown(wait=True, cancel_futures=True)

    def submit(self, function: Callable[..., Any], *arguments: object, gpu: bool = False) -> Future[Any]:
        """Hand one piece of work to a worker; without worker processes, do it before returning.

        ``gpu``: Whether the piece needs a GPU of its own, in a cluster that has GPUs.
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
        """Wait for a piece of work, and return its result or raise its error.

        Raises:
            IsoglotError: The worker was killed.
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
        """Yield results in the order of the pieces, of which only a few are read ahead.

        If several pieces fail, the error of the first one in that order is raised, so that a run with many workers
        reports the same mistake as a run with one.

        ``ignore``: Asked before the result of a piece is yielded; if true, the result or error is dropped.

        Example:
            >>> with WorkPool(1) as pool:
            ...     list(pool.map(len, ["a", "bcd"]))
            [1, 3]
        """
        pending: deque[tuple[PieceT, Future[ResultT]]] = deque()
        iterator = iter(pieces)
        while True:
            # Fill the pool up to `ahead` pieces, then wait for the oldest one.
            for piece in islice(iterator, self.ahead - len(pending)):
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
        """Yield results as they are finished, in any order.

        ``gpu``: Whether each piece needs a GPU of its own, in a cluster that has GPUs.
        """
        pending: set[Future[ResultT]] = set()
        iterator = iter(pieces)
        while True:
            for piece in islice(iterator, self.ahead - len(pending)):
                pending.add(self.submit(function, piece, gpu=gpu))
            if not pending:
                return
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from map(self.result, finished)


def _start_worker(setup: Callable[[Any], None], settings: object) -> None:
    end_with_parent()
    setup(settings)
