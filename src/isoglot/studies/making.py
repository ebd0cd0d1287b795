"""Make the steps of a study's cells: each once, as soon as the steps before it are done, in one process or several.

Cells share steps: four encoders read one derived corpus; a score and a difference of scores read one evaluation. So
workers are given steps and not cells. Otherwise two workers would want the same folder, and one would wait for the
other.

:func:`measure` is the loop: :class:`Schedule` names the steps that can be made now, a pool makes them, and after each
step the schedule asks the cells again.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple

from isoglot.core.errors import ConfigurationError, IsoglotError
from isoglot.runs.cluster import RayPool
from isoglot.runs.pool import WorkPool
from isoglot.runs.reporter import Reporter, time_left
from isoglot.runs.workers import interruptible
from isoglot.studies.parts import StudyPart, Work
from isoglot.studies.program import Plan, Program, Selection
from isoglot.studies.step import UnavailableError


@dataclass
class Tally:
    """Counts of the steps that were made, and the cells and figures that failed."""

    made: Counter[str] = field(default_factory=Counter)  # by kind of step
    failed: dict[str, str] = field(default_factory=dict)  # title of a cell or figure -> the user's mistake

    def require_all(self) -> None:
        """Raise one error that lists all cells and figures that failed, if any did."""
        if self.failed:
            raise ConfigurationError(
                [f"{title}: {message}" for title, message in self.failed.items()],
                heading=f"{len(self.failed)} cells and figures could not be measured; type the command again to go on",
            )


class StepOutcome(NamedTuple):
    """The end of a step: made, found made already, or stopped by a mistake."""

    is_new: bool  # False if the step was finished already, by another command
    # Seconds in the worker, in which it also asks the part. Only the order of steps and the estimate of the time left
    # depend on them; the step's manifest records the seconds of the step alone.
    seconds: float
    problem: IsoglotError | None  # the user's mistake that stopped the step


def measure(
    programs: Sequence[Program],
    plan: Plan,
    selection: Selection,
    *,
    engine: Literal["local", "ray"] = "local",
    workers: int = 1,
    progress: Reporter,
) -> Tally:
    """Make all steps that the plan's cells and figures need and that are not finished.

    If a step fails by a mistake of the user, the cells that need the step are left out, and the other cells are
    measured. Any other error ends the study.

    Two commands may work in one folder of studies at the same time: a lock on each step's folder lets one of them make
    the step, and the other one waits.

    Args:
        programs: All programs of the selection, even if the plan has no cell of some of them.
        plan: The cells and figures to measure, from :func:`inspect_programs`.
        selection: The selection that the programs were built from. Worker processes build them again, because the
            functions of cells cannot be sent to another process.
        engine: ``local`` makes steps on this machine. ``ray`` makes each step as a task on a Ray cluster, with a GPU if
            the cluster has any; the task is repeated if its worker dies.
        workers: Processes of the local engine, with one thread each. With 1 the steps are made in this process.
        progress: Gets a line for each step.
    """
    # A worker process receives the number of a part: numbers over all parts are the same in every process.
    all_parts = [part for program in programs for part in program.parts]
    planned = set(plan.parts)
    schedule = Schedule([(i, part) for i, part in enumerate(all_parts) if part in planned], progress)
    pool: WorkPool
    make: Callable[[int, Sequence[Path]], StepOutcome]
    if engine == "ray":
        pool, make = RayPool(None, _start, selection), _make_apart
    elif workers > 1:
        pool, make = WorkPool(workers, _start, selection), _make_apart
    else:
        pool, make = WorkPool(1), partial(_make, all_parts)

    running: dict[Future[StepOutcome], Work] = {}
    with pool:
        schedule.at_once = pool.size
        while True:
            # A step is handed out only when a worker is free: every step finished by then improves the order.
            for number, work in schedule.next_steps(pool.size - len(running)):
                folders = [work.folder, *(earlier.folder for earlier in _steps_before(work))]
                # On a cluster that has GPUs every step gets one; the local pools ignore `gpu`.
                running[pool.submit(make, number, folders, gpu=True)] = work
            if not running:
                return schedule.tally
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                schedule.note_ended(running.pop(future), pool.result(future))


class Schedule:
    """Decides which steps can be made now and in which order, counts them, and estimates the time left.

    A step can be made when two kinds of other steps are finished: the steps that it reads, and the steps whose unknown
    numbers the cell used before it asked for this one (:attr:`Work.guessed_from`). After each step, the cells that need
    it are asked again, because they may ask for more steps now.

    Args:
        parts: The cells and figures to measure, with their numbers among all parts of the programs.
        progress: Gets a line for each step that begins and for each part that is left out.
    """

    def __init__(self, parts: Sequence[tuple[int, StudyPart]], progress: Reporter) -> None:
        self.tally = Tally()
        self.at_once = 1  # steps that are made side by side; the estimate of the time left needs it
        self._parts = dict(parts)
        self._progress = progress
        self._handed_out: set[Path] = set()  # folders of steps that are being made, and of steps that failed
        self._failed: dict[Path, IsoglotError] = {}  # folder of a step that failed -> the user's mistake
        self._begun: Counter[str] = Counter()  # by kind of step
        # By `duration_group`: `StepOutcome.seconds` of the steps that ended without a mistake in this command.
        self._seconds: dict[str, list[float]] = defaultdict(list)

    def next_steps(self, most: int) -> Iterator[tuple[int, Work]]:
        """Yield steps to make now, at most ``most``, each with the number of a part that needs it.

        1. Steps for which the most other steps wait come first: an encoder that ten evaluations read comes before one
           that two read. So other workers have work as soon as possible.
        2. Among equals, the step that takes longest comes first, so that no long step is left for one worker at the
           end.
        3. A step of a duration group without any timed step counts as the longest: once one is timed, the others of
           the group are ordered better.
        4. Otherwise the order is the one in which the study asks for the steps.
        """
        # Steps that can be made now -> number of the first part that needs the step.
        ready: dict[Work, int] = {}
        waiting: dict[Work, set[Work]] = defaultdict(set)  # step -> the steps that wait for it
        for number, part in self._parts.items():
            todo = part.todo
            unfinished = set(todo)
            for work in todo:
                # Rule 1 counts all steps that wait, however long the chain between them: the first step of a chain of
                # three has two waiting.
                for earlier in _steps_before(work):
                    waiting[earlier].add(work)
                # Whether the step can begin: the steps directly before it suffice, since each of them is finished only
                # after those before it.
                can_be_made = unfinished.isdisjoint(work.waits_for)
                if work.folder not in self._handed_out and can_be_made:
                    ready.setdefault(work, number)

        def priority(work: Work) -> tuple[int, float]:
            return len(waiting[work]), self._mean_seconds(work)  # 1, 2 and 3

        # `sorted` is stable, also with reverse=True: rule 4.
        order = sorted(ready, key=priority, reverse=True)
        for work in order[:most]:
            self._handed_out.add(work.folder)
            self._announce(work)
            yield ready[work], work

    def note_ended(self, work: Work, outcome: StepOutcome) -> None:
        """Count a step that ended, ask the parts that need it again, and leave out those that need a failed step."""
        if outcome.problem is None:
            self._handed_out.discard(work.folder)
            self.tally.made[work.step.kind] += outcome.is_new
            self._seconds[work.step.duration_group].append(outcome.seconds)
        else:
            # The step stays in `_handed_out`, so that it is not tried again.
            self._failed[work.folder] = outcome.problem
        for number, part in list(self._parts.items()):
            if work in part.steps:
                reason = self._reason_to_leave_out(part, ask_again=outcome.problem is None)
                if reason is not None:
                    self._leave_out(number, reason)

    def _reason_to_leave_out(self, part: StudyPart, *, ask_again: bool) -> IsoglotError | None:
        """Return why a part cannot be measured now that one of its steps has ended; ``None`` if it can.

        1. The part asks for a further step, whose fields do not fit.
        2. A step that the part needs has failed.
        3. The number turned out to be unavailable.

        ``ask_again``: Whether the step was made, so that the part may give another answer.
        """
        if ask_again:
            try:
                part.ask()
            except IsoglotError as error:
                return error  # 1
        failure = self._failure_of(part)  # 2
        if failure is not None:
            return failure
        return UnavailableError(part.unavailable) if part.unavailable else None  # 3

    def _failure_of(self, part: StudyPart) -> IsoglotError | None:
        """Return the mistake of the first failed step that the part needs; None if there is none.

        A guess does not count (:class:`Work`): the part asked for it when a number that it read was not known yet, and
        with the number it may ask for another step. The failed step was then made for another part, which asked
        for it without guessing.
        """
        for work in part.steps:
            if work.folder in self._failed and not work.guessed_from:
                return self._failed[work.folder]
        return None

    def _leave_out(self, number: int, problem: IsoglotError) -> None:
        """Drop a part, and print why; the part counts as failed only if the reason is a mistake of the user."""
        part = self._parts.pop(number)
        self._progress.note(f"left out: {part.title}: {problem}")
        if not isinstance(problem, UnavailableError):
            self.tally.failed[part.title] = str(problem)

    def _announce(self, work: Work) -> None:
        """Print that a step begins: ``measuring mlm on pos: 3 of 12, about 5 min left``."""
        kind = work.step.kind
        remaining = self._remaining()
        self._begun[kind] += 1
        begun = self._begun[kind]
        total = begun + sum(other.step.kind == kind for other in remaining)
        text = f"{work.step.doing} {work.step.about or work.name}"
        self._progress.note(f"{text}: {begun} of {total}{self._time_left([work, *remaining])}")

    def _remaining(self) -> set[Work]:
        """Return the steps that are neither made nor handed out."""
        todo = {work for part in self._parts.values() for work in part.todo}
        return {work for work in todo if work.folder not in self._handed_out}

    def _mean_seconds(self, work: Work) -> float:
        """Return the mean seconds of the timed steps in the step's duration group; infinite while there is none."""
        seconds = self._seconds.get(work.step.duration_group)
        return fmean(seconds) if seconds else inf

    def _time_left(self, steps: Sequence[Work]) -> str:
        """Say how long these steps will take, ``, about 5 min left``; empty while that is unknown.

        1. A step takes as long as the timed steps of its duration group on average.
        2. A group of several steps without a timed one: the time left is unknown.
        3. A group of a single step that is not timed: the step takes as long as an average group's steps.
        """
        mean_seconds = {group: fmean(seconds) for group, seconds in self._seconds.items()}
        counts = Counter(work.step.duration_group for work in steps)
        if not mean_seconds:
            return ""
        if any(count > 1 and group not in mean_seconds for group, count in counts.items()):  # 2
            return ""
        mean_of_groups = fmean(mean_seconds.values())
        seconds = 0.0
        for group, count in counts.items():
            seconds += count * mean_seconds.get(group, mean_of_groups)  # 1, 3
        return time_left(seconds / self.at_once)


def _steps_before(work: Work) -> set[Work]:
    """Return all steps that must be finished before this one: those it waits for, those they wait for, and so on."""
    before = set(work.waits_for)
    return before.union(*map(_steps_before, work.waits_for))


def _make(parts: Sequence[StudyPart], number: int, folders: Sequence[Path]) -> StepOutcome:
    """Make the step with the first of the folders, for the part with this number.

    ``folders``: The folder of the step, then those of all steps before it. Two cells may ask for equal steps by the
    names ``pairs de`` and ``tlm pairs``. The first name asked for names the folder, ``data/pairs-de-3f6c…``, and this
    process may ask in another order than the one that plans. So it takes the folders from that one.
    """
    began = time.monotonic()
    part = parts[number]
    part.lab.folders.use(folders)
    # The steps before this one are made by now, perhaps by other processes. So the part knows their numbers, and the
    # fields of this step no longer hold stand-ins.
    part.ask()
    work = next(work for work in part.steps if work.folder == folders[0])
    is_new = False
    problem: IsoglotError | None = None
    try:
        is_new = part.lab.run(work)
    except IsoglotError as error:
        problem = error
    return StepOutcome(is_new, time.monotonic() - began, problem)


_PARTS: list[StudyPart] = []
"""All parts of the programs; filled in worker processes only, when they start."""


def _start(selection: Selection) -> None:
    """Prepare a worker process: one thread for each library, and the parts of the programs."""
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    _PARTS[:] = [part for program in selection.programs() for part in program.parts]


def _make_apart(number: int, folders: Sequence[Path]) -> StepOutcome:
    """Make a step in a worker process; Ctrl-C ends it."""
    with interruptible():
        return _make(_PARTS, number, folders)
