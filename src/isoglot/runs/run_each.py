"""Make several runs, one after the other or in several processes; a run that fails leaves the others going."""

from __future__ import annotations

import os
import pickle
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Generic, Protocol, TypeVar

from isoglot.core.errors import ConfigurationError, IsoglotError, memory_problem
from isoglot.runs.pool import WorkPool, usable_cores
from isoglot.runs.ranks import require_one_process, world_size
from isoglot.runs.reporter import Reporter, Silent
from isoglot.runs.sweep import PlannedRun

ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)


class MakeRun(Protocol[ResultT_co]):
    """Makes one run; a process of its own gets it pickled, where there are several."""

    def __call__(self, run: PlannedRun, progress: Reporter) -> ResultT_co:
        """Make the run, or recognise that it is finished, and give what the caller wants of it."""
        ...


@dataclass(frozen=True)
class Outcome(Generic[ResultT]):
    """What became of a run: its result, or why it failed."""

    result: ResultT | None = None
    problem: str = ""  # with options as messages hold them
    trace: str = ""  # of a failure that is not a user's mistake

    def hand_on(self, run: PlannedRun, take: Callable[[PlannedRun, ResultT], None]) -> None:
        """Give the result on, if there is one."""
        if not self.problem:
            take(run, self.result)  # type: ignore[arg-type]


def run_each(
    runs: Sequence[PlannedRun],
    make: MakeRun[ResultT],
    *,
    workers: int,
    progress: Reporter,
    verb: str,
    done: Callable[[PlannedRun, ResultT], None] | None = None,
) -> list[ResultT]:
    """Make every run and give the results in the order of the runs.

    Args:
        runs: The runs, which are checked already.
        make: Makes one.
        workers: How many go on at a time; with one all are made in this process.
        progress: Receives a line for each run that begins; a run in this process reports to it too.
        verb: The command, for messages.
        done: Takes the result of each run as soon as it is there, in this process.

    Raises:
        IsoglotError: The runs that failed, each with its folder and the reason, after all others are done. Under
            ``torchrun`` the first failure ends everything, because the other processes would wait for this one.
    """
    take = done or (lambda run, result: None)
    if len(runs) == 1:
        result = make(runs[0], progress)
        take(runs[0], result)
        return [result]
    announce = _Announcer(len(runs), min(workers, len(runs)), progress)
    outcomes: dict[int, Outcome[ResultT]] = {}
    if workers == 1:
        for number, run in enumerate(runs):
            began = announce.begin(run)
            outcomes[number] = _outcome(make, run, progress)
            announce.end(run, outcomes[number], began)
            outcomes[number].hand_on(run, take)
    else:
        require_one_process(verb, "starts its own processes")
        outcomes = _in_processes(runs, make, min(workers, len(runs)), announce, take)
    _require_all(runs, outcomes)
    return [outcomes[number].result for number in range(len(runs))]  # type: ignore[misc]


def _in_processes(
    runs: Sequence[PlannedRun],
    make: MakeRun[ResultT],
    workers: int,
    announce: _Announcer,
    take: Callable[[PlannedRun, ResultT], None],
) -> dict[int, Outcome[ResultT]]:
    """Make the runs in worker processes, each of which takes the next run when it has finished one."""
    try:
        pickle.dumps(make)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ConfigurationError(
            f"[[workers={workers}]]: what a run needs cannot be sent to another process ({error}); define classes and "
            "functions in a module, or leave the option out"
        ) from error
    outcomes: dict[int, Outcome[ResultT]] = {}
    waiting = list(enumerate(runs))
    running: dict[Future[Outcome[ResultT]], tuple[int, float]] = {}
    with WorkPool(workers, _start_worker, max(1, usable_cores() // workers)) as pool:
        while waiting or running:
            while waiting and len(running) < workers:
                number, run = waiting.pop(0)
                began = announce.begin(run)
                running[pool.submit(_outcome_apart, make, run)] = number, began
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                number, began = running.pop(future)
                outcomes[number] = pool.result(future)
                announce.end(runs[number], outcomes[number], began)
                outcomes[number].hand_on(runs[number], take)
    return outcomes


def _start_worker(threads: int) -> None:
    """Share the cores among the workers, unless the user has said how many threads each process may have."""
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _outcome_apart(make: MakeRun[ResultT], run: PlannedRun) -> Outcome[ResultT]:
    """Make a run in a worker process; Ctrl-C ends it."""
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        return _outcome(make, run, Silent())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _outcome(make: MakeRun[ResultT], run: PlannedRun, progress: Reporter) -> Outcome[ResultT]:
    try:
        return Outcome(make(run, progress))
    except Exception as error:
        if world_size() > 1:
            raise
        if isinstance(error, IsoglotError):
            return Outcome(problem=str(error.args[0]))
        problem = memory_problem(error) or f"{type(error).__name__}: {error}"
        return Outcome(problem=problem, trace=traceback.format_exc())


class _Announcer:
    """Says which run begins, how many are left and about how long they take."""

    def __init__(self, total: int, at_once: int, progress: Reporter) -> None:
        self._total, self._at_once, self._progress = total, at_once, progress
        self._begun = 0
        self._seconds: list[float] = []

    def begin(self, run: PlannedRun) -> float:
        """Announce a run; the time at which it began."""
        self._begun += 1
        self._progress.note(f"run {self._begun} of {self._total}: {run.label}{self._time_left()}")
        return time.monotonic()

    def end(self, run: PlannedRun, outcome: Outcome[Any], began: float) -> None:
        """Note how long a run took, and show at once why it failed."""
        if outcome.problem:
            self._progress.note(f"failed: {run.label}: {outcome.trace or outcome.problem}")
        else:
            self._seconds.append(time.monotonic() - began)

    def _time_left(self) -> str:
        """The time of this run and of those behind it, by the mean of the finished ones."""
        if not self._seconds:
            return ""
        # A run that was finished before takes a moment, and tells nothing of the others.
        trained = [seconds for seconds in self._seconds if seconds > max(self._seconds) / 10]
        left = self._total - self._begun + 1
        minutes = fmean(trained) * left / self._at_once / 60
        return f", about {minutes:.0f} min left" if minutes >= 1 else ", less than a minute left"


def _require_all(runs: Sequence[PlannedRun], outcomes: dict[int, Outcome[Any]]) -> None:
    """Raise which runs failed and why, and what to do about it."""
    failed = {number: outcome for number, outcome in outcomes.items() if outcome.problem}
    if not failed:
        return
    advice = "put this right and run the same again: finished runs are kept, and unfinished ones go on"
    error = ConfigurationError(
        [f"{runs[number].folder}: {failed[number].problem}" for number in sorted(failed)],
        heading=f"{len(failed)} of {len(runs)} runs failed, the others are done; {advice}",
    )
    for outcome in failed.values():
        if outcome.trace:
            error.add_note(outcome.trace)
    raise error
