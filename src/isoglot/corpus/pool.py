"""Ordered work on several processes or machines, with a bounded number of pieces under way and none left behind."""

from __future__ import annotations

import multiprocessing
import os
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from itertools import islice
from typing import Any, TypeVar

from isoglot.errors import IsoglotError
from isoglot.runs.cluster import connected
from isoglot.runs.workers import end_with_parent, starting_apart, uninterrupted

Item = TypeVar("Item")
Result = TypeVar("Result")
_PRELOAD = ["isoglot.corpus.prepare_worker"]
_RETRIES = 5


def usable_cores() -> int:
    """Cores that this process may run on (a container or a batch system may grant fewer than there are)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkPool:
    """Worker processes, or this one alone, behind one interface. Use as a context manager.

    Workers ignore Ctrl-C (the main process tells them to stop) and end by themselves if the main process is killed.
    They are forked from a clean server process, never from one that runs threads.
    """

    def __init__(self, processes: int, initializer: Callable[[Any], None], settings: object) -> None:
        self._processes = processes
        self._initializer = initializer
        self._settings = settings
        self._executor: ProcessPoolExecutor | None = None
        self._ahead = 1

    def __enter__(self) -> WorkPool:
        if self._processes == 1:
            self._initializer(self._settings)
            return self
        self._ahead = 2 * self._processes + 2
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOAD)
        with starting_apart():  # also what cleans up after all workers
            self._executor = ProcessPoolExecutor(
                self._processes,
                context,
                initializer=_start_worker,
                initargs=(self._initializer, self._settings),
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            with uninterrupted():  # a worker that is just starting needs what this process holds
                self._executor.shutdown(wait=True, cancel_futures=True)

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Do one piece of work; without workers, now."""
        if self._executor is not None:
            with starting_apart():  # handing over work starts a process if all are busy
                return self._executor.submit(function, *arguments)
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:  # noqa: BLE001 (handed over to whoever reads the result)
            future.set_exception(error)
        return future

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        ignore: Callable[[Item], bool] | None = None,
    ) -> Iterator[Result]:
        """Results in the order of the items, which are read only a little ahead.

        The first error in that order is the one that is raised, whichever process meets it first. ``ignore``: whether
        an item, in its turn, is of no interest any more; its result or error is dropped.
        """
        pending: deque[tuple[Item, Future[Result]]] = deque()
        iterator = iter(items)
        while True:
            for item in islice(iterator, self._ahead - len(pending)):
                pending.append((item, self.submit(function, item)))
            if not pending:
                return
            item, future = pending.popleft()
            if ignore is not None and ignore(item):
                future.cancel()
                continue
            try:
                yield future.result()
            except BrokenProcessPool as error:
                raise IsoglotError(
                    "a worker process was killed, most likely for want of memory; use fewer processes (processes: 2)"
                ) from error


def _start_worker(initializer: Callable[[Any], None], settings: object) -> None:
    end_with_parent()
    initializer(settings)


class RayPool(WorkPool):
    """Work on all machines of a Ray cluster, each piece a Ray task that is done again where its worker dies.

    The folders that it reads and writes must be on every machine.
    """

    def __init__(self, workers: int | None, initializer: Callable[[Any], None], settings: object) -> None:
        super().__init__(workers or 0, initializer, settings)
        self._stack = ExitStack()

    def __enter__(self) -> RayPool:
        ray = self._stack.enter_context(connected(self._processes or None))
        self._processes = self._processes or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._ahead = 2 * self._processes + 2
        self._lost = ray.exceptions.RayError
        self._given = uuid.uuid4().hex, self._initializer, ray.put(self._settings)
        self._work = ray.remote(num_cpus=1, max_retries=_RETRIES)(_work)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Do one piece of work on some machine."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()

        def hand_over(found: Future[Any]) -> None:
            try:
                result, problem = found.result()
            except self._lost as error:
                problem = IsoglotError(
                    f"a worker was lost {_RETRIES} times, most likely for want of memory; use fewer --processes"
                )
                problem.__cause__ = error
            future.set_result(result) if problem is None else future.set_exception(problem)

        self._work.remote(*self._given, function, *arguments).future().add_done_callback(hand_over)
        return future


_ready: list[str] = []
"""The run that this worker was set up for."""


def _work(
    run: str,
    initializer: Callable[[Any], None],
    settings: object,
    function: Callable[..., Any],
    *arguments: object,
) -> tuple[Any, Exception | None]:
    """Result or problem: Ray would wrap an error, and its message with it."""
    if _ready != [run]:
        initializer(settings)
        _ready[:] = [run]
    try:
        return function(*arguments), None
    except Exception as error:  # noqa: BLE001 (handed over to whoever reads the result)
        return None, error
