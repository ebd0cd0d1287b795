"""Work on a Ray cluster: the one that ``RAY_ADDRESS`` names, or one on this machine while it is used."""

from __future__ import annotations

import logging
import math
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
"""How often Ray repeats a piece whose worker died."""
_MOST_CPUS = 8
"""CPUs of one worker that stays, at most."""
_STEPS = 10_000
"""Ray counts shares of a GPU in steps of a ten-thousandth."""
_FOLDER = "ISOGLOT_FOLDER"
"""Environment variable that names the driver's folder to workers."""
_MANY = 1 << 30
"""Pieces of work where their number is not known."""


@contextmanager
def connected(cpus: int | None = None) -> Iterator[Any]:
    """Connect to Ray, an optional dependency, inside the block, and yield the module ``ray``.

    Ray's workers have the current folder of this process, but do not import modules from it.

    ``cpus``: Pieces of work at a time, where Ray is started on this machine; an existing cluster decides by itself.
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
        # Little passes through the object store at a time, so 100 MiB are enough.
        settings |= {"num_cpus": cpus, "object_store_memory": 100 << 20, "include_dashboard": False}
    # Ray puts the folder in which it is started first on the workers' path. A data file there that is called like a
    # module must not be imported, so Ray is started in / and the workers go to the current folder by themselves.
    with chdir("/"):
        ray.init(**settings)
    try:
        yield ray
    finally:
        ray.shutdown()


def enter_folder() -> None:
    """Go to the driver's folder, if this machine has it; the first thing that a Ray worker does."""
    folder = Path(os.environ[_FOLDER])
    if folder.is_dir():
        os.chdir(folder)


class RayPool(WorkPool):
    """A pool on all machines of a Ray cluster. Each piece of work is a Ray task, which is repeated if its worker dies.

    The folders that the work reads and writes must be on every machine.

    ``workers``: Pieces at a time; by default one per CPU.
    """

    def __init__(
        self,
        workers: int | None = None,
        setup: Callable[[Any], None] = no_setup,
        settings: object = None,
        *,
        fewer: str = "[[workers]]",
    ) -> None:
        # 0 workers: as many as the cluster has room for, which is known when it is connected.
        super().__init__(workers or 0, setup, settings, fewer=fewer)
        self._stack = ExitStack()

    @property
    def size(self) -> int:
        """Number of pieces of work that the machines of the cluster do side by side."""
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
        # The first arguments of `_work`: pool, setup and settings.
        self._first_arguments = uuid.uuid4().hex, self._setup, ray.put(self._settings)
        return ray

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def submit(self, function: Callable[..., Any], *arguments: object, gpu: bool = False) -> Future[Any]:
        """Hand one piece of work to some machine of the cluster."""
        work = self._work.options(num_gpus=1) if gpu and self._gpus else self._work
        return self._handed_over(work.remote(*self._first_arguments, function, *arguments))

    def _handed_over(self, reference: Any, then: Callable[[], None] = lambda: None) -> Future[Any]:
        """Return a future for the result of a piece that Ray works on; ``then`` is called when the work has ended."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()

        def hand_over(answer: Future[Any]) -> None:
            try:
                result, problem = answer.result()
            except self._lost as error:
                problem = IsoglotError(
                    f"a worker was lost again and again, most likely for want of memory; use fewer {self._fewer}"
                )
                problem.__cause__ = error
            then()
            if problem is None:
                future.set_result(result)
            else:
                future.set_exception(problem)

        reference.future().add_done_callback(hand_over)
        return future


class ResidentPool(RayPool):
    """A pool of Ray workers that stay alive between pieces, because ``setup`` loads something large, such as a model.

    A worker that is lost is started again, on another machine if necessary, and repeats its piece.

    ``workers``: Pieces at a time, as far as there is room; by default one per GPU, or one per two CPUs without GPUs.
    ``most``: Number of pieces in all, where it is known.
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

    @property
    def size(self) -> int:
        """Number of permanent workers."""
        return len(self._actors)

    def __enter__(self) -> ResidentPool:
        ray = self._connect(max(os.cpu_count() or 1, self._workers))
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        size, needs = resident_workers(machines, self._workers, self._most, gpu=self._gpu)
        actor = ray.remote(max_restarts=-1, max_task_retries=-1, **needs)(_Resident)
        self._actors = [actor.remote() for _ in range(size)]
        self._under_way = [0] * size  # pieces of each worker
        # The next piece waits in front of each worker while this process reads on.
        self.ahead = 2 * size
        return self

    def submit(self, function: Callable[..., Any], *arguments: object, gpu: bool = False) -> Future[Any]:
        """Hand one piece of work to the worker that has the fewest pieces; the first of several such workers."""
        del gpu
        number = self._under_way.index(min(self._under_way))
        self._under_way[number] += 1
        call = *self._first_arguments, function, *arguments
        return self._handed_over(self._actors[number].do.remote(*call), then=lambda: self._ended(number))

    def _ended(self, number: int) -> None:
        """Note that a worker has finished a piece."""
        self._under_way[number] -= 1


def resident_workers(
    machines: Sequence[Mapping[str, float]], workers: int, most: int, *, gpu: bool
) -> tuple[int, dict[str, float]]:
    """Return how many workers stay on a cluster, and the CPUs and GPUs that each of them takes.

    All workers must fit at the same time: Ray would let the others wait for ever, with the work that they are given.

    1. With GPUs: one worker per GPU, or ``workers`` in all, but at most ``most``. If workers share GPUs, all take the
       same part of a GPU, because no worker can have parts of two: 5 workers on 2 GPUs take a third each, not two
       fifths. Ray counts in ten-thousandths, so a third is rounded down to 0.3333.
    2. Each worker also needs one CPU of the machine of its GPU: a machine with 2 CPUs and 4 GPUs has room for two. The
       GPUs of a machine without CPUs do not count.
    3. Without GPUs: one worker per two CPUs, or ``workers`` in all, but at most one per CPU. Each takes as many CPUs,
       up to 8, as leave room for all: machines of 5 CPUs and 1 CPU have room for 3 workers only with one CPU each.

    ``machines``: Resources of each machine, as Ray reports them.
    ``workers``: Number of workers; 0 for as many as there is room for.
    ``most``: Number of pieces of work in all, which more workers than that would not help.
    ``gpu``: Whether workers use GPUs.

    Example:
        >>> resident_workers([{"CPU": 8, "GPU": 2}], 5, 100, gpu=True)
        (5, {'num_cpus': 1, 'num_gpus': 0.3333})
        >>> resident_workers([{"CPU": 5}, {"CPU": 1}], 3, 100, gpu=False)
        (3, {'num_cpus': 1})
    """
    cpus = [int(machine.get("CPU", 0)) for machine in machines]
    gpus = [int(machine.get("GPU", 0)) if machine.get("CPU", 0) >= 1 else 0 for machine in machines]  # 2
    if gpu and any(gpus):
        wanted = max(1, min(workers or sum(gpus), most))
        workers_per_gpu = math.ceil(wanted / sum(gpus))  # 1
        room = 0
        for machine_cpus, machine_gpus in zip(cpus, gpus, strict=True):
            room += min(machine_cpus, workers_per_gpu * machine_gpus)  # 2
        # Three workers on a GPU: 3333 of its 10,000 steps for each, which is 0.3333.
        steps_per_worker = _STEPS // workers_per_gpu
        return max(1, min(wanted, room)), {"num_cpus": 1, "num_gpus": steps_per_worker / _STEPS}
    size = max(1, min(workers or sum(cpus) // 2, most, sum(cpus)))  # 3
    for cpus_per_worker in range(_MOST_CPUS, 0, -1):
        room = sum(machine_cpus // cpus_per_worker for machine_cpus in cpus)
        if room >= size:
            return size, {"num_cpus": cpus_per_worker}
    # No machine has a CPU, so the one worker waits until such a machine joins the cluster.
    return size, {"num_cpus": 1}


class _Resident:
    """A Ray actor. Its constructor does not set the worker up: Ray would restart a failing constructor for ever."""

    def do(self, *work: Any) -> tuple[Any, Exception | None]:
        return _work(*work)


_ready: list[str] = []
"""The one pool that this worker process was set up for; a worker process may serve another pool later."""


def _work(
    pool: str,
    setup: Callable[[Any], None],
    settings: object,
    function: Callable[..., Any],
    *arguments: object,
) -> tuple[Any, Exception | None]:
    """Do one piece of work in a Ray worker, and return the result or the error.

    An error is returned and not raised, because Ray would wrap it and its message.
    """
    try:
        if _ready != [pool]:
            setup(settings)
            _ready[:] = [pool]
        return function(*arguments), None
    except Exception as error:  # noqa: BLE001 (handed over to whoever reads the result)
        return None, error
