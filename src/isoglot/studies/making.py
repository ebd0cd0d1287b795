"""Make the steps of a study's cells: each once, as soon as what it reads is there, in one process or several.

Cells share steps: four encoders read one derived corpus, a score and its difference read one evaluation. So workers are
given steps and not cells. Otherwise two workers would want the same folder, and one of them would wait for it.

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
    failed: dict[str, str] = field(default_factory=dict)  # title of a cell or figure: the user's mistake

    def require_all(self) -> None:
        """Raise one error that lists all that failed, if anything did."""
        if self.failed:
            raise ConfigurationError(
                [f"{title}: {message}" for title, message in self.failed.items()],
                heading=f"{len(self.failed)} cells and figures could not be measured; type the command again to go on",
            )


class StepOutcome(NamedTuple):
    """What came of a step."""

    is_new: bool  # False if another command had finished the step already
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

    If a step fails by a mistake of the user, the cells that need it are left out, and the other cells are measured. Any
    other error ends the study.

    Two commands may make the steps of one folder side by side: a lock on each step's folder lets one of them make it.

    Args:
        programs: All programs of the selection, also those of whose cells none is in the plan.
        plan: The cells and figures to measure, from :func:`inspect_programs`.
        selection: What the programs were built from; worker processes build them again, since functions of cells
            cannot be sent to another process.
        engine: ``ray`` makes each step as a Ray task, with a GPU where the cluster has any, and again if its worker
            dies. ``local`` makes steps on this machine.
        workers: Processes of the local engine, of one thread each. With 1 the steps are made in this process.
        progress: Gets a line for each step.
    """
    # The number of a part is the same in every process.
    all_parts = [part for program in programs for part in program.parts]
    planned = set(plan.parts)
    schedule = Schedule([(i, part) for i, part in enumerate(all_parts) if part in planned], progress)
    pool: WorkPool
    make: Callable[[int, Path], StepOutcome]
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
            # A step is handed out only when a worker is free, so that the order is decided as late as possible.
            for number, work in schedule.next_steps(pool.size - len(running)):
                running[pool.submit(make, number, work.folder, gpu=True)] = work
            if not running:
                return schedule.tally
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                schedule.note_made(running.pop(future), pool.result(future))


class Schedule:
    """The steps that can be made now, and in which order; how many are made, and how long the others will take.

    A step can be made when every step that it reads is finished, and so is every step of whose numbers the cell guessed
    before it asked for this one (:attr:`Work.guessed_from`). After each step, the cells that need it are asked again,
    because they may ask for more steps now.

    Args:
        parts: The cells and figures to measure, with their numbers among all parts of the programs.
        progress: Gets a line for each step that begins and for each part that is left out.
    """

    def __init__(self, parts: Sequence[tuple[int, StudyPart]], progress: Reporter) -> None:
        self.tally = Tally()
        self.at_once = 1  # steps that are made side by side, by which the remaining time is estimated
        self._parts = dict(parts)
        self._progress = progress
        self._handed_out: set[Path] = set()  # folders of steps that are being made, and of steps that failed
        self._begun: Counter[str] = Counter()  # by kind of step
        self._seconds: dict[str, list[float]] = defaultdict(list)  # of finished steps, by `duration_group`

    def next_steps(self, most: int) -> Iterator[tuple[int, Work]]:
        """Yield steps to make now, at most ``most``, each with the number of a part that needs it.

        1. Steps for which most other steps wait come first: they keep the other workers from running idle later.
        2. Among those, the longest come first, so that no long step is left for one worker at the end.
        3. A step of which no other like it was timed yet counts as the longest: once it is timed, all steps like it
           are placed better.
        4. Otherwise the order is the one in which the study asks for the steps.
        """
        ready: dict[Work, int] = {}
        waiting: dict[Work, set[Work]] = defaultdict(set)  # by the step that they wait for
        for number, part in self._parts.items():
            todo = part.todo
            unfinished = set(todo)
            for work in todo:
                for need in _all_needs(work):
                    waiting[need].add(work)
                can_be_made = not unfinished & {*work.needs, *work.guessed_from}
                if work.folder not in self._handed_out and can_be_made:
                    ready.setdefault(work, number)
        order = sorted(  # stable: rule 4
            ready, key=lambda work: (len(waiting[work]), self._usual_seconds(work)), reverse=True
        )
        for work in order[: max(0, most)]:
            self._handed_out.add(work.folder)
            self._announce(work)
            yield ready[work], work

    def note_made(self, work: Work, outcome: StepOutcome) -> None:
        """Take the outcome of a step, and ask the parts that need the step again; leave them out if it failed."""
        if outcome.problem is None:
            # A step that failed stays among those that were handed out: it is not tried again.
            self._handed_out.discard(work.folder)
            self.tally.made[work.step.kind] += outcome.is_new
            self._seconds[work.step.duration_group].append(outcome.seconds)
        for number, part in list(self._parts.items()):
            if work not in part.steps:
                continue
            problem = outcome.problem
            if problem is None:
                try:
                    part.ask()
                except IsoglotError as error:  # the fields of a next step do not fit
                    problem = error
            if problem is not None:
                self._leave_out(number, problem)
            elif part.unavailable:
                self._leave_out(number, UnavailableError(part.unavailable))

    def _leave_out(self, number: int, problem: IsoglotError) -> None:
        """Measure a part no more; only a mistake of the user counts as a failure, not a number that nobody has."""
        part = self._parts.pop(number)
        self._progress.note(f"left out: {part.title}: {problem}")
        if not isinstance(problem, UnavailableError):
            self.tally.failed[part.title] = str(problem)

    def _announce(self, work: Work) -> None:
        """Print that a step begins: ``measuring mlm on pos: 3 of 12, about 5 min left``."""
        kind = work.step.kind
        remaining = self._remaining()
        left = Counter(other.step.kind for other in remaining)
        self._begun[kind] += 1
        total = self._begun[kind] + left[kind]
        text = f"{work.step.doing} {work.step.about or work.name}"
        self._progress.note(f"{text}: {self._begun[kind]} of {total}{self._time_left([work, *remaining])}")

    def _remaining(self) -> set[Work]:
        """Every step that is neither made nor handed out."""
        todo = {work for part in self._parts.values() for work in part.todo}
        return {work for work in todo if work.folder not in self._handed_out}

    def _usual_seconds(self, work: Work) -> float:
        """The mean seconds of the steps that take as long as this one; infinite while none of them was timed."""
        seconds = self._seconds.get(work.step.duration_group)
        return fmean(seconds) if seconds else inf

    def _time_left(self, steps: Sequence[Work]) -> str:
        """Say how long these steps will take; empty while that is unknown.

        Steps are sorted by `duration_group`. It is unknown while a sort of which there are several steps was not
        timed. A single step of a sort that was not timed counts as long as the mean of the sorts that were.
        """
        mean_seconds = {sort: fmean(seconds) for sort, seconds in self._seconds.items()}
        counts = Counter(work.step.duration_group for work in steps)
        if not mean_seconds:
            return ""
        if any(count > 1 and sort not in mean_seconds for sort, count in counts.items()):
            return ""
        otherwise = fmean(mean_seconds.values())
        seconds = sum(count * mean_seconds.get(sort, otherwise) for sort, count in counts.items())
        return time_left(seconds / self.at_once)


def _all_needs(work: Work) -> set[Work]:
    """All steps that must be finished before this one: those it reads or was guessed from, and so on for each."""
    needs = {*work.needs, *work.guessed_from}
    return needs.union(*map(_all_needs, needs))


def _make(parts: Sequence[StudyPart], number: int, folder: Path) -> StepOutcome:
    """Make the step with this folder, which the part with this number needs."""
    began, part = time.monotonic(), parts[number]
    # The steps before this one are made by now, perhaps by other processes, so this step has its real values.
    part.ask()
    work = next(work for work in part.steps if work.folder == folder)
    is_new = False
    problem: IsoglotError | None = None
    try:
        is_new = part.lab.run(work)
    except IsoglotError as error:
        problem = error
    return StepOutcome(is_new, time.monotonic() - began, problem)


_PARTS: list[StudyPart] = []
"""In a worker process: all parts of the programs, which the process builds when it starts."""


def _start(selection: Selection) -> None:
    """Prepare a worker process."""
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    _PARTS[:] = [part for program in selection.programs() for part in program.parts]


def _make_apart(number: int, folder: Path) -> StepOutcome:
    """Make a step in a worker process; Ctrl-C ends it."""
    with interruptible():
        return _make(_PARTS, number, folder)
