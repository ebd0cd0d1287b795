"""Studies at one scale: their cells and figures, what these read and lack, and making them.

They are made in this process, in several, or as Ray tasks; stopped work is continued.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from math import nan
from pathlib import Path
from typing import Any, Literal

from isoglot.errors import ConfigurationError
from isoglot.reports.papers import PAPERS, paper_table
from isoglot.runs.cluster import RayPool
from isoglot.runs.pool import WorkPool, no_setup
from isoglot.runs.reporter import Reporter
from isoglot.studies.catalogue import Study, find_studies
from isoglot.studies.inputs import Input
from isoglot.studies.lab import CellPlan, Figure, Lab
from isoglot.studies.step import Log, NumberSource, StepError, UnavailableError, Work
from isoglot.studies.training_steps import Evaluate


@dataclass(frozen=True, eq=False)
class StudyPart:
    """A cell or figure of a study, and what a rehearsal finds that it wants, reads and lacks."""

    program: Program
    number: int  # among the cells and figures of the program
    title: str
    measure: Any
    cell: CellPlan | None = None  # none of a figure
    steps: tuple[Work, ...] = ()
    sources: tuple[NumberSource, ...] = ()
    content: Any = nan  # as far as it is known
    missing: str = ""  # the first file that is not there
    unavailable: str = ""  # why the study does not have it

    @property
    def todo(self) -> list[Work]:
        """Steps to make, where it can be measured; each comes after what it needs."""
        return [] if self.missing or self.unavailable else [work for work in self.steps if not work.manifest]

    @property
    def encoder(self) -> str:
        """What tells parts of one encoder from those of others."""
        steps = (work.step for work in self.steps)
        return next((step.checkpoint for step in steps if isinstance(step, Evaluate)), self.title)

    def rehearsed(self) -> StudyPart:
        """The same with what a rehearsal finds; nothing is made."""
        log, content, unavailable = self.program.lab.log, nan, ""
        log.steps, log.sources = {}, []
        try:
            content = self.measure()
        except UnavailableError as error:
            unavailable = str(error)
        reads = (read for work in log.steps for read in log.inputs.get(work, ()))
        missing = next((read.path for read in reads if not read.there), "")
        wants: dict[str, Any] = {"steps": tuple(log.steps), "sources": tuple(log.sources), "missing": missing}
        return replace(self, content=content, unavailable=unavailable, **wants)

    def make(self, failed: Mapping[Path, str]) -> Outcome:
        """Make it in earnest; ``failed`` steps are not tried again."""
        lab = self.program.lab
        lab.is_rehearsal, lab.log, lab.failed = False, Log(), failed
        message, folder = "", None
        try:
            self.measure()
        except UnavailableError as error:
            message = str(error)
        except StepError as error:
            message, folder = str(error), error.folder
        finally:
            lab.is_rehearsal = True
        return Outcome([work.step.kind for work in lab.log.made], message, folder)


@dataclass(frozen=True)
class Outcome:
    """What came of a part: the kinds of the steps that were made, what stopped it, and in which step."""

    steps: Sequence[str]
    message: str = ""
    failed: Path | None = None


@dataclass(frozen=True, eq=False)
class Program:
    """What a study measures at one scale."""

    study: Study
    lab: Lab
    cells: Sequence[CellPlan]
    figures: Mapping[str, Figure]
    # cells that were not selected, and are written where they are known already
    unselected: Sequence[CellPlan] = ()

    @cached_property
    def parts(self) -> list[StudyPart]:
        """Its cells and figures, with titles for messages."""
        cells = [
            (f"{' / '.join(cell.row)}: {'.'.join(cell.column)}", cell.measure, cell) for cell in self.cells
        ]
        figures = [(name, draw, None) for name, draw in self.figures.items()]
        return [StudyPart(self, number, *fields) for number, fields in enumerate([*cells, *figures])]

    @property
    def caption(self) -> str:
        """Which scale and variant it is, and what that runs on."""
        return f"{self.lab.setting.caption} {self.study.about.get(self.lab.scale, '')}".strip()

    @property
    def folder(self) -> Path:
        """Its folder, one for each scale and what was changed of it: none replaces another's tables."""
        name = self.study.name.replace("/", "_")
        return self.lab.root / "_".join(filter(None, (name, self.lab.setting.ending)))

    def named(self, run: str) -> str:
        """A run's name in results: what was changed of the study's sizes stands after it."""
        changed = self.lab.setting.name
        return f"{run} ({changed})" if changed else run


@dataclass(frozen=True)
class Selection:
    """Studies, their scale and cells, in a form from which each process builds the same programs.

    ``changes`` replace sizes of the scale; a cell is taken if one pattern of ``only`` matches it, see :func:`matches`.
    """

    studies: Sequence[str | Study]
    root: Path | str
    scale: str = "tiny"
    changes: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[str] = ()
    keep: bool = False

    def programs(self, progress: Reporter | None = None) -> list[Program]:
        """The studies' functions run on labs, one a paper."""
        labs: dict[int, Lab] = {}
        programs = []
        fields: dict[str, Any] = {name: getattr(self, name) for name in ("root", "scale", "changes", "keep")}
        for study in find_studies(self.studies):
            if (lab := labs.get(id(study.sizes))) is None:
                lab = Lab(study.sizes, variants=study.variants, progress=progress, **fields)
                labs[id(study.sizes)] = lab
            lab.cells, lab.figures = [], {}
            study.run(lab)
            cells: dict[bool, list[CellPlan]] = {True: [], False: []}
            for cell in lab.cells:
                cells[not self.only or any(matches(cell, pattern) for pattern in self.only)].append(cell)
            figures = {} if self.only else lab.figures
            programs.append(Program(study, lab, cells[True], figures, cells[False]))
        if self.only and not any(program.cells for program in programs):
            names = [(c.row, c.column) for program in programs for c in program.unselected]
            rows, columns = (dict.fromkeys(map(" / ".join, labels)) for labels in zip(*names, strict=True))
            raise ConfigurationError(
                f"--only {' '.join(self.only)}: no cell matches; give a row's or column's label, or ROW:COLUMN, with "
                f"wildcards. Rows: {'; '.join(rows)}. Columns: {', '.join(columns)}"
            )
        return programs


def matches(cell: CellPlan, pattern: str) -> bool:
    """Whether a cell's row, column or both (``ROW:COLUMN``) match a pattern with wildcards."""
    row, column = " / ".join(cell.row), ".".join(cell.column)
    row_pattern, colon, column_pattern = pattern.partition(":")
    if colon:
        return fnmatchcase(row, row_pattern) and fnmatchcase(column, column_pattern)
    return any(fnmatchcase(text, pattern) for text in (row, column, *cell.row, *cell.column))


@dataclass(frozen=True)
class Inspection:
    """What studies would do."""

    parts: Sequence[StudyPart]
    inputs: Mapping[Work, Sequence[Input]]  # of steps that are not finished

    def missing(self) -> list[str]:
        """Files that are not there."""
        reads = (read for inputs in self.inputs.values() for read in inputs)
        return list(dict.fromkeys(read.path for read in reads if not read.there))


def inspect_programs(
    programs: Sequence[Program], *, part: tuple[int, int] = (1, 1), check: bool = True
) -> Inspection:
    """Rehearse every cell and figure; nothing is made.

    ``part`` is (k, n) of the encoders: parts do not overlap, and all n together are everything.

    Raises:
        ConfigurationError: every mistake in recipes, tasks, settings, analyses and labels of the papers' tables.
    """
    problems, parts = list(_unknown_labels(programs)), list[StudyPart]()
    inputs: dict[Work, Sequence[Input]] = {}
    for program in programs:
        log = program.lab.log = Log()
        for planned in program.parts:
            try:
                parts.append(planned.rehearsed())
            except ConfigurationError as error:  # of a step, by sizes that are changed
                problems += [f"{program.study.name} with these sizes: {text}" for text in error.problems]
        problems += log.problems
        inputs |= log.inputs
    finished = dict.fromkeys(work for planned in parts for work in planned.steps)
    reads = [(work, *read) for work in finished for read in work.manifest.get("outside", {}).items()]
    problems += [
        f"{work.title} is done, with another {path} than there is now; give another --out, or delete {work.folder} "
        "and what was made from it"
        for work, path, content in reads
        if Input.of(path).content not in ("", content)
    ]
    if problems and check:
        raise ConfigurationError(list(dict.fromkeys(problems)), heading="nothing was run")
    encoders = {encoder: i for i, encoder in enumerate(dict.fromkeys(planned.encoder for planned in parts))}
    k, n = part
    return Inspection([planned for planned in parts if encoders[planned.encoder] % n == k - 1], inputs)


def _unknown_labels(programs: Sequence[Program]) -> Iterator[str]:
    """Cells whose labels single out no row or column of the paper's table that they name."""
    for program in programs:
        for cell in (cell for cell in program.cells if cell.table.partition(":")[0] in PAPERS):
            try:
                table = paper_table(cell.table)
                table.row(*cell.row)
                table.column(*cell.column)
            except ConfigurationError as error:
                yield from (f"{program.study.name}: {problem}" for problem in error.problems)


@dataclass
class Tally:
    """How many steps of each kind were made, and why parts were left out."""

    made: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)

    def require_all(self) -> None:
        """Raise what left parts out."""
        if self.failed:
            raise ConfigurationError(
                [f"{title}: {message}" for title, message in self.failed.items()],
                heading=f"{len(self.failed)} cells and figures could not be measured; type the command again to go on",
            )


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
    waiting, tally = [part for part in plan.parts if part.todo], Tally()
    running: dict[Future[Outcome], StudyPart] = {}
    count, failed, is_apart = len(waiting), dict[Path, str](), engine == "ray" or workers > 1
    pool = RayPool() if engine == "ray" else WorkPool(workers, _one_thread if workers > 1 else no_setup)
    with pool:
        while waiting or running:
            while waiting and (engine == "ray" or len(running) < workers):
                busy = {part.encoder for part in running.values()}
                part = next((part for part in waiting if part.encoder not in busy), waiting[0])
                waiting.remove(part)
                progress.note(f"[{count - len(waiting)}/{count}] {part.title}")
                index = programs.index(part.program)
                make = partial(_made_apart, selection, index, part.number) if is_apart else part.make
                gpu = any(work.step.kind != "data" for work in part.todo)
                running[pool.submit(make, dict(failed), gpu=gpu)] = part
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                part, outcome = running.pop(future), pool.result(future)
                tally.made.update(outcome.steps)
                if outcome.failed is not None:
                    failed[outcome.failed] = tally.failed[part.title] = outcome.message
                if outcome.message:
                    progress.note(f"left out: {part.title}: {outcome.message}")
    return tally


def _made_apart(selection: Selection, index: int, number: int, failed: Mapping[Path, str]) -> Outcome:
    """A part made in a worker process, which builds the programs itself; Ctrl-C ends it."""
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        return selection.programs()[index].parts[number].make(failed)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _one_thread(settings: object) -> None:
    del settings
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
