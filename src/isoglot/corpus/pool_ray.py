"""The pool of `prepare --engine ray`: each piece of work is a Ray task, done again where its worker dies."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack
from typing import Any

from isoglot.corpus.pool import WorkPool
from isoglot.errors import IsoglotError
from isoglot.runs.cluster import connected

_RETRIES = 5


class RayPool(WorkPool):
    """Work on all machines of a Ray cluster; the folders that it reads and writes must be on every one of them."""

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
