"""The Ray cluster that ``RAY_ADDRESS`` names, or one on this machine for as long as it is used, and work on it."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import Any

from isoglot.core.checks import missing_package
from isoglot.core.errors import IsoglotError
from isoglot.runs.pool import WorkPool, no_setup

_RETRIES = 5
_MOST_CPUS = 8
"""CPUs of one worker that stays, at most."""
_STEPS = 10_000
"""Ray counts shares of a GPU in steps of a ten-thousandth."""
_FOLDER = "ISOGLOT_FOLDER"
_MANY = 1 << 30
"""Pieces of work where their number is not known."""


@contextmanager
def connected(cpus: int | None = None) -> Iterator[Any]:
    """Ray, an optional dependency, connected inside the block.

    Its workers work in the current folder, and do not look for modules there.

    ``cpus``: Pieces of work at a time on this machine; a cluster that is there already decides by itself.
    """
    try:
        import ray  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise missing_package("[[engine='ray']]", "ray", instead="[[engine='local']]") from error
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
        fewer: str = "[[workers]]",
    ) -> None:
        super().__init__(workers or 0, setup, settings, fewer=fewer)
        self._stack = ExitStack()

    @property
    def size(self) -> int:
        """How many pieces the machines of the cluster do side by side."""
        return self._workers or max(1, self._cpus)

    def __enter__(self) -> RayPool:
        ray = self._connect(self._workers or None)
        self.ahead = 2 * self.size + 2
        self._work = ray.remote(num_cpus=1, max_retries=_RETRIES)(_work)
        return self

    def _connect(self, cpus: int | None) -> Any:
        ray = self._stack.enter_context(connected(cpus))
        resources = ray.cluster_resources()
        self._cpus, self._gpus = int(resources.get("CPU", 1)), int(resources.get("GPU", 0))
        self._lost = ray.exceptions.RayError
        self._work_setup = uuid.uuid4().hex, self._setup, ray.put(self._settings)
        return ray

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def submit(self, function: Callable[..., Any], *arguments: object, gpu: bool = False) -> Future[Any]:
        """Do one piece of work on some machine."""
        work = self._work.options(num_gpus=1) if gpu and self._gpus else self._work
        return self._handed_over(work.remote(*self._work_setup, function, *arguments))

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

    ``workers``: Pieces at a time, as far as there is room for them; by default one per GPU, or without any one per two
    CPUs.
    ``most``: Number of pieces at all, where it is known.
    ``gpu``: Whether workers use GPUs.
    """

    def __init__(
        self,
        workers: int | None,
        setup: Callable[[Any], None],
        settings: object,
        *,
        most: int = _MANY,
        gpu: bool = True,
    ) -> None:
        super().__init__(workers, setup, settings)
        self._most, self._gpu = most, gpu

    def __enter__(self) -> ResidentPool:
        ray = self._connect(max(os.cpu_count() or 1, self._workers))
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        size, needs = resident_workers(machines, self._workers, self._most, gpu=self._gpu)
        actor = ray.remote(max_restarts=-1, max_task_retries=-1, **needs)(_Resident)
        self._actors = [actor.remote() for _ in range(size)]
        self._given = [0] * size
        # The next piece waits in front of each worker while this process reads on.
        self.ahead = 2 * size
        return self

    def submit(self, function: Callable[..., Any], *arguments: object, gpu: bool = False) -> Future[Any]:
        """Do one piece of work in the worker that has the fewest to do."""
        del gpu
        number = self._given.index(min(self._given))
        self._given[number] += 1
        call = *self._work_setup, function, *arguments
        return self._handed_over(self._actors[number].do.remote(*call), then=lambda: self._taken_back(number))

    def _taken_back(self, number: int) -> None:
        """Note that a worker has done a piece."""
        self._given[number] -= 1


def resident_workers(
    machines: Sequence[Mapping[str, float]], workers: int, most: int, *, gpu: bool
) -> tuple[int, dict[str, float]]:
    """How many workers stay, and what each takes of its machine.

    All of them fit at the same time: Ray would let the others wait for ever, and the work that is given to them.

    ``machines``: Resources of each, as Ray has them; the others as :class:`ResidentPool` has them.

    Example:
        >>> resident_workers([{"CPU": 8, "GPU": 2}], 5, 100, gpu=True)
        (5, {'num_cpus': 1, 'num_gpus': 0.3333})
        >>> resident_workers([{"CPU": 5}, {"CPU": 1}], 3, 100, gpu=False)
        (3, {'num_cpus': 1})
    """
    cpus, gpus = ([int(machine.get(kind, 0)) for machine in machines] for kind in ("CPU", "GPU"))
    if gpu and any(gpus):
        needed = min(workers or sum(gpus), most)
        each = -(-needed // sum(gpus))  # workers of one GPU, none of which can have parts of two
        room = sum(min(available, each * count) for available, count in zip(cpus, gpus, strict=True))
        return max(1, min(needed, room)), {"num_cpus": 1, "num_gpus": _STEPS // each / _STEPS}
    size = max(1, min(workers or sum(cpus) // 2, most, sum(cpus)))
    fitting = (n for n in range(_MOST_CPUS, 0, -1) if sum(available // n for available in cpus) >= size)
    return size, {"num_cpus": next(fitting, 1)}


class _Resident:
    """A Ray actor. What ``setup`` does is not in its constructor: Ray starts one that fails there again and again."""

    def do(self, *work: Any) -> tuple[Any, Exception | None]:
        return _work(*work)


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
