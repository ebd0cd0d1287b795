"""Works, which are the folders that steps leave, and the parts of a study: its cells and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import filter as fnfilter
from functools import cached_property
from math import nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from isoglot.core.errors import IsoglotError
from isoglot.reports.papers import PAPERS, paper_table
from isoglot.studies.step import Step, UnavailableError
from isoglot.studies.training_steps import Evaluate

if TYPE_CHECKING:
    from isoglot.studies.lab import Lab


@dataclass(frozen=True)
class Work:
    """The folder that a step leaves, or will leave: ``work / "en.txt"`` is a path in it.

    ``needs`` are the works that it reads. ``guessed_from`` are unfinished works whose numbers were read before the cell
    asked for this one: with the real numbers the cell may ask for another.
    """

    folder: Path
    name: str = field(compare=False)
    step: Step = field(compare=False)
    manifest: dict[str, Any] = field(compare=False)  # empty until it is made
    lab: Lab = field(compare=False, repr=False)
    needs: Sequence[Work] = field(default=(), compare=False, repr=False)
    guessed_from: Sequence[Work] = field(default=(), compare=False, repr=False)

    def __truediv__(self, path: str) -> str:
        return f"{self.folder}/{path}"

    def __str__(self) -> str:
        return str(self.folder)

    @property
    def title(self) -> str:
        """What it is, for messages."""
        return f"{self.step.kind} {self.name}"

    @property
    def is_lost(self) -> bool:
        """Whether it was made and its weights were deleted since."""
        return bool(self.manifest and self.step.weights) and not (self.folder / self.step.weights).exists()

    def fact(self, name: str) -> Any:
        """What its step recorded; before it is made a number that stands for that, see :meth:`Lab.shown`."""
        if self.manifest and name not in self.manifest:
            raise IsoglotError(f"{self.title} recorded no {name}; give a step that does")
        self._note_guess()
        return self.manifest[name] if self.manifest else self.lab.stand_in(f"known after {self.title}")

    def value(self, metric: str, *, row: tuple[str, str, str] | None = None) -> float:
        """A number among the ``values`` that its step returned; not a number before it is made.

        ``row``: Task, language and metric of its row in the results; by default the step's kind and ``metric``.
        """
        self._note_guess()
        self.lab.sources.append(NumberSource(self, metric, row))
        number = self.manifest.get("values", {}).get(metric)
        return nan if number is None else float(number)

    def _note_guess(self) -> None:
        if not self.manifest:
            self.lab.guesses[self] = None


class NumberSource(NamedTuple):
    """A number that was read: whose it is, its metric, and task, language and metric of its row in the results."""

    work: Work
    metric: str
    row: tuple[str, str, str] | None


@dataclass(frozen=True)
class TaskScores:
    """The scores of an evaluation."""

    work: Work
    languages: Sequence[str]

    def value(self, language: str, metric: str = "") -> float:
        """A number; the task's own metric by default."""
        if language not in self.languages:
            raise UnavailableError("no data in this language at this scale")
        return self.work.value(f"{language}/{metric}")

    def mean(self, metric: str = "") -> float:
        """The mean over the languages."""
        return fmean(self.value(language, metric) for language in self.languages or [""])


@dataclass(eq=False)
class StudyPart:
    """A cell or figure of a study, the function that measures it, and what that function asked for last."""

    lab: Lab
    measure: Callable[[], Any]
    row: tuple[str, ...]  # of a figure its name
    column: tuple[str, ...] = ()
    table: str = ""  # none of a figure
    seed: int | None = None
    note: str = ""
    is_result: bool = False
    is_added: bool = False
    content: Any = nan  # as far as it is known
    steps: Sequence[Work] = ()
    sources: Sequence[NumberSource] = ()
    unavailable: str = ""  # why the study does not have it
    planned_with: frozenset[str] = frozenset()  # sizes that the study read before it asked for the cell
    sizes_read: frozenset[str] = frozenset()  # those, and the sizes that its function read last

    @cached_property
    def names(self) -> tuple[list[str], list[str]]:
        """What `--only` calls its row and its column, first as tables and messages print them."""
        rows, columns = [" / ".join(self.row), *self.row], [" / ".join(self.column), ".".join(self.column)]
        if self.table.partition(":")[0] not in PAPERS:
            return rows, [*columns, *self.column]
        table = paper_table(self.table)
        table = table.extended(self.row, self.column) if self.is_added else table
        row, column = table.row(*self.row), table.column(*self.column)
        name = table.address(row)
        return [name, *name.split(" / "), *row.labels, *rows], [column.id, *column.labels, *columns]

    @property
    def title(self) -> str:
        """What it is, for messages; of a cell as `--only` takes it."""
        return ":".join(filter(None, (names[0] for names in self.names)))

    def matches(self, pattern: str) -> bool:
        """Whether a cell's row, column or both (``ROW:COLUMN``) match a pattern with wildcards; no figure does."""
        parts, (rows, columns) = pattern.rpartition(":"), self.names
        if parts[1]:
            return bool(fnfilter(rows, parts[0]) and fnfilter(columns, parts[2]))
        return bool(self.table and fnfilter(rows + columns, pattern))

    @property
    def missing(self) -> str:
        """The first file from outside that a step lacks; empty if all are there."""
        reads = (read for work in self.steps if not work.manifest for read in self.lab.reads(work))
        return next((read.path for read in reads if not read.there), "")

    @property
    def todo(self) -> list[Work]:
        """Steps to make, where it can be measured; each comes after what it needs."""
        if self.missing or self.unavailable:
            return []
        wanted = dict.fromkeys(work for work in self.steps if not work.manifest)
        for work in reversed(
            self.steps
        ):  # a step to make may read weights that were deleted: those come first
            if work in wanted:
                wanted |= dict.fromkeys(need for need in work.needs if need.is_lost)
        return [work for work in self.steps if work in wanted]

    @property
    def encoder(self) -> str:
        """What tells parts of one encoder from those of others."""
        steps = (work.step for work in self.steps)
        return next((step.checkpoint for step in steps if isinstance(step, Evaluate)), self.title)

    def ask(self) -> None:
        """Call its function, and note what it needs and what it is as far as that is known; nothing is made."""
        lab, self.content, self.unavailable = self.lab, nan, ""
        lab.steps, lab.guesses, lab.sources = {}, {}, []
        lab.size.read.clear()
        try:
            with lab.one_look():
                self.content = self.measure()
        except UnavailableError as error:
            self.unavailable = str(error)
        self.steps, self.sources = tuple(lab.steps), tuple(lab.sources)
        self.sizes_read = self.planned_with | lab.size.read
