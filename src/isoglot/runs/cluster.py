"""The Ray cluster that ``RAY_ADDRESS`` names, or one on this machine for as long as it is used, and work on it."""

from __future__ import annotations

import logging
import os
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import Any

from isoglot.checks import missing_package
from isoglot.errors import IsoglotError
from isoglot.runs.pool import WorkPool, no_setup

_RETRIES = 5


_FOLDER = "ISOGLOT_FOLDER"


@contextmanager
def connected(cpus: int | None = None) -> Iterator[Any]:
    """Ray, an optional dependency, connected inside the block.

    Its workers work in the current folder, and do not look for modules there.

    ``cpus``: Pieces of work at a time on this machine; a cluster that is there already decides by itself.
    """
    try:
        import ray  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_package("--engine ray", "ray", instead="--engine local") from error
    if ray.is_initialized():
        yield ray
        return
    ours = {name: value for name, value in os.environ.items() if name.startswith("ISOGLOT_")}
    env = {
        "env_vars": {**ours, _FOLDER: str(Path.cwd())},
        "worker_process_setup_hook": f"{__name__}.{enter_folder.__name__}",
    }
    settings: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "runtime_env": env}
    if not os.environ.get("RAY_ADDRESS"):
        # Little passes through the object store at a time, so a small one does.
        settings |= {"num_cpus": cpus, "object_store_memory": 100 << 20, "include_dashboard": False}
    with chdir("/"):  # Ray puts the folder that it is started in first on the workers' path: data lie in ours
        ray.init(**settings)
    try:
        yield ray
    finally:
        ray.shutdown()


def enter_folder() -> None:
    """What a Ray worker does first: go to the driver's folder, where it is there."""
    folder = Path(os.environ[_FOLDER])
    if folder.is_dir():
        os.chdir(folder)


class RayPool(WorkPool):
    """Work on all machines of a Ray cluster, each piece a Ray task that is done again where its worker dies.

    The folders that it reads and writes must be on every machine. ``workers``: Pieces at a time; by default one per
    CPU.
    """

    def __init__(
        self,
        workers: int | None = None,
        setup: Callable[[Any], None] = no_setup,
        settings: object = None,
        *,
        fewer: str = "--workers",
    ) -> None:
        super().__init__(workers or 0, setup, settings, fewer=fewer)
        self._stack = ExitStack()

    def __enter__(self) -> RayPool:
        ray = self._connect(self._workers or None)
        self.ahead = 2 * (self._workers or max(1, self._cpus)) + 2
        self._work = ray.remote(num_cpus=1, max_retries=_RETRIES)(_work)
        return self

    def _connect(self, cpus: int | None) -> Any:
        ray = self._stack.enter_context(connected(cpus))
        found = ray.cluster_resources()
        self._cpus, self._gpus = int(found.get("CPU", 1)), int(found.get("GPU", 0))
        self._lost = ray.exceptions.RayError
        self._given = uuid.uuid4().hex, self._setup, ray.put(self._settings)
        return ray

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def submit(self, function: Callable[..., Any], *arguments: object, gpu: bool = False) -> Future[Any]:
        """Do one piece of work on some machine."""
        work = self._work.options(num_gpus=1) if gpu and self._gpus else self._work
        return self._handed_over(work.remote(*self._given, function, *arguments))

    def _handed_over(self, reference: Any, then: Callable[[], None] = lambda: None) -> Future[Any]:
        """The result that a reference of Ray's stands for; ``then`` is called when it is there."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()

        def hand_over(answer: Future[Any]) -> None:
            try:
                result, problem = answer.result()
            except self._lost as error:
                problem = IsoglotError(
                    f"a worker was lost {_RETRIES} times, most likely for want of memory; use fewer {self._fewer}"
                )
                problem.__cause__ = error
            then()
            future.set_result(result) if problem is None else future.set_exception(problem)

        reference.future().add_done_callback(hand_over)
        return future


class ResidentPool(RayPool):
    """Workers on a Ray cluster that stay, because what ``setup`` loads is large; each has GPUs where there are any.

    A worker that is lost starts again, elsewhere if need be, and does its piece again.

    ``workers``: Pieces at a time; by default one per GPU, or without any one per two CPUs.
    ``most``: Number of pieces at all.
    ``gpu``: Whether workers use GPUs.
    """

    def __init__(
        self,
        workers: int | None,
        setup: Callable[[Any], None],
        settings: object,
        *,
        most: int,
        gpu: bool = True,
    ) -> None:
        super().__init__(workers, setup, settings)
        self._most, self._gpu = most, gpu

    def __enter__(self) -> ResidentPool:
        ray = self._connect(max(os.cpu_count() or 1, self._workers))
        size = min(self._workers or self._gpus or max(1, self._cpus // 2), self._most)
        needs: dict[str, float] = {"num_cpus": max(1, min(self._cpus // size, 8))}
        if self._gpus and self._gpu:
            needs = {"num_cpus": 1, "num_gpus": min(1.0, self._gpus / size)}
        actor = ray.remote(max_restarts=-1, max_task_retries=-1, **needs)(_Resident)
        self._idle = deque(actor.remote() for _ in range(size))
        self.ahead = size
        return self

    def submit(self, function: Callable[..., Any], *arguments: object, gpu: bool = False) -> Future[Any]:
        """Do one piece of work in a worker that waits for one; :attr:`ahead` says how many there are."""
        del gpu
        actor = self._idle.popleft()
        given = *self._given, function, *arguments
        return self._handed_over(actor.do.remote(*given), then=lambda: self._idle.append(actor))


class _Resident:
    """A Ray actor. What ``setup`` does is not in its constructor: Ray starts one that fails there again and again."""

    def do(self, *given: Any) -> tuple[Any, Exception | None]:
        return _work(*given)


_ready: list[str] = []
"""The run that this worker was set up for."""


def _work(
    run: str,
    setup: Callable[[Any], None],
    settings: object,
    function: Callable[..., Any],
    *arguments: object,
) -> tuple[Any, Exception | None]:
    """Result or problem: Ray would wrap an error, and its message with it."""
    try:
        if _ready != [run]:
            setup(settings)
            _ready[:] = [run]
        return function(*arguments), None
    except Exception as error:  # noqa: BLE001 (handed over to whoever reads the result)
        return None, error
