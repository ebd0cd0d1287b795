"""Make the steps of a study's cells: each once, as soon as what it reads is there, in one process or several.

Cells share steps: four encoders read one derived corpus, a score and its difference read one evaluation. So the unit of
work is the step and not the cell. Otherwise two workers would want the same folder, and one of them would wait for it.
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
    """Counts of the steps of each kind that were made, and why parts were left out."""

    made: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)

    def require_all(self) -> None:
        """Raise what left parts out."""
        if self.failed:
            raise ConfigurationError(
                [f"{title}: {message}" for title, message in self.failed.items()],
                heading=f"{len(self.failed)} cells and figures could not be measured; type the command again to go on",
            )


class StepOutcome(NamedTuple):
    """The outcome of a step: whether it was left to do, its seconds, and what stopped it."""

    is_new: bool
    seconds: float
    problem: IsoglotError | None


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

    A step that fails for a user's mistake is noted, cells that need it are left out, and the others are made.

    With ``ray`` each step is a Ray task with a GPU where the cluster has any, made again when its worker dies; the
    local engine has ``workers`` processes of one thread each, and with one works in this process. A lock keeps two
    commands from making one folder.
    """
    numbered = list(enumerate(part for program in programs for part in program.parts))
    schedule = Schedule([(number, part) for number, part in numbered if part in set(plan.parts)], progress)
    pool: WorkPool
    make: Callable[[int, Path], StepOutcome]
    if engine == "ray":
        pool, make = RayPool(None, _start, selection), _make_apart
    elif workers > 1:
        pool, make = WorkPool(workers, _start, selection), _make_apart
    else:
        pool, make = WorkPool(1), partial(_make, [part for _, part in numbered])

    running: dict[Future[StepOutcome], Work] = {}
    with pool:
        schedule.at_once = pool.size
        while True:
            for number, work in schedule.next_steps(pool.size - len(running)):
                running[pool.submit(make, number, work.folder, gpu=True)] = work
            if not running:
                return schedule.tally
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                schedule.note_made(running.pop(future), pool.result(future))


class Schedule:
    """The order of the steps: those that can be made next, and how far the work is.

    A step can be made when the works that it reads are there and every number that led to it is known. After each step
    the cells that need it are asked again, because they may know more of what they need.
    """

    def __init__(self, parts: Sequence[tuple[int, StudyPart]], progress: Reporter) -> None:
        self.tally = Tally()
        self.at_once = 1
        """How many steps are made side by side, for the time that is left."""
        self._parts = dict(parts)  # by their numbers, as worker processes count them
        self._progress = progress
        self._handed_out: set[Path] = set()  # folders of steps under way, and of those that failed
        self._counts: Counter[str] = Counter()  # steps begun, by kind
        self._seconds: dict[str, list[float]] = defaultdict(list)  # of finished steps that take as long

    def next_steps(self, most: int) -> Iterator[tuple[int, Work]]:
        """At most this many steps that can be made now, each with the number of a cell that needs it.

        Steps that most others wait for come first, and of those the longest, so that no worker is without work at the
        end. One that was not timed yet counts as long: all that take as long as it are placed better then.
        """
        ready: dict[Work, int] = {}
        waiting: dict[Work, set[Work]] = defaultdict(set)
        for number, part in self._parts.items():
            todo = part.todo
            for work in todo:
                for need in _all_needs(work):
                    waiting[need].add(work)
                if work.folder not in self._handed_out and not set(todo) & {*work.needs, *work.guessed_from}:
                    ready.setdefault(work, number)
        order = sorted(  # stable: else as the study asks for them
            ready, key=lambda work: (len(waiting[work]), self._usual_seconds(work)), reverse=True
        )
        for work in order[: max(0, most)]:
            self._handed_out.add(work.folder)
            self._announce(work)
            yield ready[work], work

    def note_made(self, work: Work, outcome: StepOutcome) -> None:
        """Take what became of a step; the cells that need it are asked again, or left out if it failed."""
        kind = work.step.kind
        if outcome.problem is None:
            self._handed_out.discard(work.folder)
            self.tally.made[kind] += outcome.is_new
            self._seconds[work.step.takes_as_long_as].append(outcome.seconds)
        for number, part in list(self._parts.items()):
            if work not in part.steps:
                continue
            problem = outcome.problem
            if problem is None:
                try:
                    part.ask()
                except IsoglotError as error:  # fields of a next step do not fit
                    problem = error
            if problem is not None:
                self._leave_out(number, problem)
            elif part.unavailable:
                self._leave_out(number, UnavailableError(part.unavailable))

    def _leave_out(self, number: int, problem: IsoglotError) -> None:
        part = self._parts.pop(number)
        self._progress.note(f"left out: {part.title}: {problem}")
        if not isinstance(problem, UnavailableError):
            self.tally.failed[part.title] = str(problem)

    def _announce(self, work: Work) -> None:
        """One line on a step that begins: what it does, which of its kind it is, and how long the rest may take."""
        kind = work.step.kind
        left = Counter(other.step.kind for other in self._todo())
        self._counts[kind] += 1
        total = self._counts[kind] + left[kind]
        text = f"{work.step.doing} {work.step.about or work.name}"
        time_left = self._time_left([work, *self._todo()])
        self._progress.note(f"{text}: {self._counts[kind]} of {total}{time_left}")

    def _todo(self) -> set[Work]:
        """Every step that is neither made nor under way."""
        todo = {work for part in self._parts.values() for work in part.todo}
        return {work for work in todo if work.folder not in self._handed_out}

    def _usual_seconds(self, work: Work) -> float:
        """The seconds that steps like this one took; infinite while none was timed."""
        seconds = self._seconds.get(work.step.takes_as_long_as)
        return fmean(seconds) if seconds else inf

    def _time_left(self, left: Sequence[Work]) -> str:
        """The time of the steps that are left; empty until one was timed of each sort of which several are left."""
        times = {sort: fmean(seconds) for sort, seconds in self._seconds.items()}
        count = Counter(work.step.takes_as_long_as for work in left)
        if not times or any(n > 1 and sort not in times for sort, n in count.items()):
            return ""
        usual = fmean(times.values())
        return time_left(sum(n * times.get(sort, usual) for sort, n in count.items()) / self.at_once)


def _all_needs(work: Work) -> set[Work]:
    """What a step reads or was guessed from, what that reads, and so on."""
    needs = {*work.needs, *work.guessed_from}
    return needs.union(*map(_all_needs, needs))


def _make(parts: Sequence[StudyPart], number: int, folder: Path) -> StepOutcome:
    """Make the step that leaves this folder, for the cell of this number."""
    began, part = time.monotonic(), parts[number]
    part.ask()  # the steps before this one are made by now, perhaps by other processes
    work = next(work for work in part.steps if work.folder == folder)
    try:
        is_new, problem = part.lab.run(work), None
    except IsoglotError as error:
        is_new, problem = False, error
    return StepOutcome(is_new, time.monotonic() - began, problem)


_PARTS: list[StudyPart] = []
"""Of a worker process, which builds the programs itself."""


def _start(selection: Selection) -> None:
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    _PARTS[:] = [part for program in selection.programs() for part in program.parts]


def _make_apart(number: int, folder: Path) -> StepOutcome:
    """Make a step in a worker process; Ctrl-C ends it."""
    with interruptible():
        return _make(_PARTS, number, folder)
