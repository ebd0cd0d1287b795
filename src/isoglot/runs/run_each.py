"""Make several runs, one after the other or in several processes; if a run fails, the others go on."""

from __future__ import annotations

import os
import pickle
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
from isoglot.runs.reporter import Reporter, Silent, time_left
from isoglot.runs.sweep import PlannedRun
from isoglot.runs.workers import interruptible

ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)


class MakeRun(Protocol[ResultT_co]):
    """A function that makes one run; it is pickled if runs are made in worker processes."""

    def __call__(self, run: PlannedRun, progress: Reporter) -> ResultT_co:
        """Make the run, or recognise that it is finished, and return what the caller wants to know about the run."""
        ...


@dataclass(frozen=True)
class Outcome(Generic[ResultT]):
    """The result of a run, or why the run failed."""

    result: ResultT | None = None
    problem: str = ""  # options are still in double brackets
    trace: str = ""  # only if the failure is not a user's mistake

    def report(self, run: PlannedRun, done: Callable[[PlannedRun, ResultT], None]) -> None:
        """Call ``done`` with the result, unless the run failed."""
        if not self.problem:
            done(run, self.result)  # type: ignore[arg-type]


def run_each(
    runs: Sequence[PlannedRun],
    make: MakeRun[ResultT],
    *,
    workers: int,
    progress: Reporter,
    verb: str,
    done: Callable[[PlannedRun, ResultT], None] | None = None,
) -> list[ResultT]:
    """Make every run and return the results in the order of the runs.

    Args:
        runs: The runs, which are checked already.
        make: Makes one run.
        workers: How many runs go on at a time; with one, all runs are made in this process.
        progress: Receives a line for each run that begins, and what a run in this process reports.
        verb: The command, for messages.
        done: Called in this process with each run and its result, as soon as the run has ended.

    Raises:
        IsoglotError: Some runs failed. It names the folder of each and the reason, and is raised when all other runs
            are done. Under ``torchrun`` the first failure ends everything, because the other processes would wait for
            this one. A single run raises its own error.
    """
    done = done or (lambda run, result: None)
    if len(runs) == 1:
        result = make(runs[0], progress)
        done(runs[0], result)
        return [result]
    announce = _Announcer(len(runs), min(workers, len(runs)), progress)
    outcomes: dict[int, Outcome[ResultT]] = {}
    if workers == 1:
        for number, run in enumerate(runs):
            began = announce.begin(run)
            outcomes[number] = _outcome(make, run, progress)
            announce.end(run, outcomes[number], began)
            outcomes[number].report(run, done)
    else:
        require_one_process(verb, "starts its own processes")
        outcomes = _in_processes(runs, make, min(workers, len(runs)), announce, done)
    _require_all(runs, outcomes)
    return [outcomes[number].result for number in range(len(runs))]  # type: ignore[misc]


def _in_processes(
    runs: Sequence[PlannedRun],
    make: MakeRun[ResultT],
    workers: int,
    announce: _Announcer,
    done: Callable[[PlannedRun, ResultT], None],
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
                outcomes[number].report(runs[number], done)
    return outcomes


def _start_worker(threads: int) -> None:
    """Share the cores among the workers, unless the user has said how many threads each process may have."""
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def _outcome_apart(make: MakeRun[ResultT], run: PlannedRun) -> Outcome[ResultT]:
    """Make a run in a worker process; Ctrl-C ends it."""
    with interruptible():
        return _outcome(make, run, Silent())


def _outcome(make: MakeRun[ResultT], run: PlannedRun, progress: Reporter) -> Outcome[ResultT]:
    """Make a run, and return its result or why it failed.

    A mistake of the user is returned without a trace, any other error with one. Under ``torchrun`` all errors are
    raised.
    """
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
    """Announce each run as it begins, with the time that the remaining runs will take."""

    def __init__(self, total: int, at_once: int, progress: Reporter) -> None:
        self._total, self._at_once, self._progress = total, at_once, progress
        self._begun = 0
        self._seconds: list[float] = []  # of each run that succeeded

    def begin(self, run: PlannedRun) -> float:
        """Announce a run, and return the time at which it began."""
        self._begun += 1
        self._progress.note(f"run {self._begun} of {self._total}: {run.label}{self._time_left()}")
        return time.monotonic()

    def end(self, run: PlannedRun, outcome: Outcome[Any], began: float) -> None:
        """Note how long a run took; if the run failed, show at once why."""
        if outcome.problem:
            self._progress.note(f"failed: {run.label}: {outcome.trace or outcome.problem}")
        else:
            self._seconds.append(time.monotonic() - began)

    def _time_left(self) -> str:
        """Estimate the time of this run and the runs after it, from the mean of the finished runs."""
        if not self._seconds:
            return ""
        # A run that an earlier command finished takes a moment and says nothing about the others: only runs that took
        # more than a tenth of the longest one count.
        trained = [seconds for seconds in self._seconds if seconds > max(self._seconds) / 10]
        runs_left = self._total - self._begun + 1
        return time_left(fmean(trained) * runs_left / self._at_once)


def _require_all(runs: Sequence[PlannedRun], outcomes: dict[int, Outcome[Any]]) -> None:
    """Raise one error for all runs that failed, with the reason of each and what to do about it."""
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
