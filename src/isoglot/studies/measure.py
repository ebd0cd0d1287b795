"""Making a study's cells and figures, in this process, in several, or as Ray tasks; stopped work is continued."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from isoglot.runs.cluster import RayPool
from isoglot.runs.pool import WorkPool, no_setup
from isoglot.runs.reporter import Reporter
from isoglot.studies.catalogue import find_studies
from isoglot.studies.lab import Log
from isoglot.studies.program import Inspection, Program, StudyPart, build_programs
from isoglot.studies.step import StepError


@dataclass(frozen=True)
class Selection:
    """Cells and figures of studies, in a form that a worker process can build its programs from."""

    studies: Sequence[str]
    root: Path
    scale: str = "tiny"
    changes: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[str] = ()
    keep: bool = False

    def programs(self, progress: Reporter | None = None) -> list[Program]:
        """The programs."""
        how = {name: getattr(self, name) for name in ("root", "scale", "changes", "only", "keep")}
        return build_programs(find_studies(self.studies), **how, progress=progress)


class Outcome(NamedTuple):
    """What came of a part: the kinds of the steps that were made, and the step that a user's mistake stopped."""

    made: Sequence[str]
    failed: Path | None = None
    message: str = ""


@dataclass
class Tally:
    """How many steps of each kind were made, and why parts were left out."""

    made: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)


def measure(
    programs: Sequence[Program],
    plan: Inspection,
    selection: Selection,
    *,
    engine: Literal["local", "ray"] = "local",
    workers: int = 1,
    progress: Reporter,
) -> Tally:
    """Make all cells and figures of a plan that can be made and are not finished.

    A step that fails for a user's mistake is noted, parts that need it are left out, and the others are made.

    With ``ray`` each part is a Ray task with a GPU where the cluster has any, made again when its worker dies; the
    local engine has ``workers`` processes of one thread each, and with one works in this process. A lock keeps two
    processes from making one folder.
    """
    waiting, running, tally = (
        [part for part in plan.parts if part.todo],
        dict[Future[Outcome], StudyPart](),
        Tally(),
    )
    count, failed, apart = len(waiting), dict[Path, str](), engine == "ray" or workers > 1
    pool = RayPool() if engine == "ray" else WorkPool(workers, _one_thread if workers > 1 else no_setup)
    make = partial(_made_apart, selection) if apart else partial(_made, programs)
    with pool:
        while waiting or running:
            while waiting and (engine == "ray" or len(running) < workers):
                part = _next(waiting, {part.encoder for part in running.values()})
                waiting.remove(part)
                progress.note(f"[{count - len(waiting)}/{count}] {part.title}")
                gpu = any(work.step.kind != "data" for work in part.todo)
                running[pool.submit(make, part.program, part.number, dict(failed), gpu=gpu)] = part
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                part, outcome = running.pop(future), pool.result(future)
                tally.made.update(outcome.made)
                if outcome.failed is not None:
                    failed[outcome.failed] = tally.failed[part.title] = outcome.message
                    progress.note(f"left out: {part.title}: {outcome.message}")
    return tally


def _next(waiting: Sequence[StudyPart], busy: set[str]) -> StudyPart:
    """The next part: one whose encoder no other process works on just now, if there is one."""
    return next((part for part in waiting if part.encoder not in busy), waiting[0])


def _made(programs: Sequence[Program], index: int, number: int, failed: Mapping[Path, str]) -> Outcome:
    """A cell or figure made by a lab in earnest; ``failed`` steps are not tried again."""
    lab, (_, make) = programs[index].lab, programs[index].parts[number]
    lab.is_rehearsal, lab.log, lab.failed = False, Log(), failed
    try:
        make()
    except StepError as error:
        return Outcome([work.step.kind for work in lab.log.made], error.folder, str(error))
    finally:
        lab.is_rehearsal = True
    return Outcome([work.step.kind for work in lab.log.made])


def _made_apart(selection: Selection, *part: Any) -> Outcome:
    """The same in a worker process, which builds the programs itself; Ctrl-C ends it."""
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        return _made(selection.programs(), *part)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _one_thread(settings: object) -> None:
    del settings
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
