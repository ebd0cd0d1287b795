"""A work, which is the folder that a step leaves, and a part of a study, which is a cell or a figure."""

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

    ``guessed_from`` matters where a cell chooses a layer by a score, and then asks for an evaluation of that layer.
    Before the score is measured, the cell chooses by a number that stands in for it, so the evaluation is a guess: with
    the real score the cell may ask for another one. The guess is not made before the score is known.
    """

    folder: Path
    name: str = field(compare=False)
    step: Step = field(compare=False)
    manifest: dict[str, Any] = field(compare=False)  # what the step recorded; empty until it is made
    lab: Lab = field(compare=False, repr=False)
    # Works that the step reads.
    needs: Sequence[Work] = field(default=(), compare=False, repr=False)
    # Unfinished works of which a number was read before this one was asked for.
    guessed_from: Sequence[Work] = field(default=(), compare=False, repr=False)

    def __truediv__(self, path: str) -> str:
        return f"{self.folder}/{path}"

    def __str__(self) -> str:
        return str(self.folder)

    @property
    def title(self) -> str:
        """Name the step in messages: ``pretrain tlm s1``."""
        return f"{self.step.kind} {self.name}"

    @property
    def is_lost(self) -> bool:
        """Whether the step was made, and its weights were deleted afterwards."""
        was_made = bool(self.manifest)
        return was_made and bool(self.step.weights) and not (self.folder / self.step.weights).exists()

    def fact(self, name: str) -> Any:
        """Return a fact that the step recorded; before the step is made, a number that stands in for the fact.

        ``derived.fact("copied_vocabulary")`` is 900000001 at first, which :meth:`Lab.shown` explains, and 812 later.
        """
        self._note_guess()
        if not self.manifest:
            return self.lab.stand_in(f"known after {self.title}")
        if name not in self.manifest:
            raise IsoglotError(f"{self.title} recorded no {name}; give a step that does")
        return self.manifest[name]

    def value(self, metric: str, *, row: tuple[str, str, str] | None = None) -> float:
        """Return a number among the ``values`` of the step, such as ``de/f1``; NaN before the step is made.

        ``row``: Task, language and metric of the number in ``results.jsonl``. By default the task is the kind of the
        step; language and metric are the two halves of ``metric``.
        """
        self._note_guess()
        self.lab.sources.append(NumberSource(self, metric, row))
        number = self.manifest.get("values", {}).get(metric)
        return nan if number is None else float(number)

    def _note_guess(self) -> None:
        """Note that what the cell asks for after this may change once the step is made."""
        if not self.manifest:
            self.lab.guesses[self] = None


class NumberSource(NamedTuple):
    """A number that a cell read."""

    work: Work  # whose number it is
    metric: str  # its name among the values of the step
    row: tuple[str, str, str] | None  # task, language and metric in the results, if the cell gave them


@dataclass(frozen=True)
class TaskScores:
    """The scores of an evaluation."""

    work: Work
    languages: Sequence[str]

    def value(self, language: str, metric: str = "") -> float:
        """Return the score in one language, by default of the task's own metric: ``scores.value("de", "f1")``."""
        if language not in self.languages:
            raise UnavailableError("no data in this language at this scale")
        return self.work.value(f"{language}/{metric}")

    def mean(self, metric: str = "") -> float:
        """Return the mean score over the languages.

        Raises:
            UnavailableError: There are no languages.
        """
        return fmean(self.value(language, metric) for language in self.languages or [""])


@dataclass(eq=False)
class StudyPart:
    """A cell or figure of a study, and the answer that its function gave last (:meth:`ask`)."""

    lab: Lab
    measure: Callable[[], Any]
    row: tuple[str, ...]  # labels; of a figure its name
    column: tuple[str, ...] = ()
    table: str = ""  # empty for a figure
    seed: int | None = None
    note: str = ""
    is_result: bool = False
    is_added: bool = False
    planned_with: frozenset[str] = frozenset()  # sizes that the study looked up before it added the cell
    # The answer:
    content: Any = nan  # the number, or the figure's content, as far as it is known
    steps: Sequence[Work] = ()
    sources: Sequence[NumberSource] = ()
    unavailable: str = ""  # why the study does not have the number; empty if it does
    sizes_read: frozenset[str] = frozenset()  # `planned_with`, and the sizes that the function looked up

    @cached_property
    def names(self) -> tuple[list[str], list[str]]:
        """The names of the row and of the column that `--only` takes; the first of each is shown in messages.

        In a table of a paper they are the paper's own: a row of ALIGN-MLM's Table 3 is ``MLM / trans``, ``MLM`` or
        ``trans``, a column ``pos.zs``.

        Raises:
            ConfigurationError: The paper's table has no such row or column.
        """
        rows = [" / ".join(self.row), *self.row]
        columns = [" / ".join(self.column), ".".join(self.column)]
        if self.table.partition(":")[0] not in PAPERS:
            return rows, [*columns, *self.column]
        table = paper_table(self.table)
        if self.is_added:
            table = table.extended(self.row, self.column)
        row, column = table.row(*self.row), table.column(*self.column)
        name = table.address(row)
        return [name, *name.split(" / "), *row.labels, *rows], [column.id, *column.labels, *columns]

    @property
    def title(self) -> str:
        """Name the part in messages: a cell as `--only` takes it, ``MLM / trans:pos.zs``, or a figure by its name."""
        return ":".join(filter(None, (names[0] for names in self.names)))

    def matches(self, pattern: str) -> bool:
        """Whether a pattern with wildcards selects the part.

        1. ``ROW:COLUMN`` selects cells by both. The last colon counts, because a row's label may have one.
        2. Any other pattern selects cells by their row or by their column.
        3. A figure has a name and no column. Only a pattern with a colon, such as ``NAME:*``, selects it.
        """
        row_pattern, colon, column_pattern = pattern.rpartition(":")
        rows, columns = self.names
        if colon:
            return bool(fnfilter(rows, row_pattern) and fnfilter(columns, column_pattern))
        return bool(self.table and fnfilter(rows + columns, pattern))

    @property
    def missing(self) -> str:
        """The first file from outside that a step lacks; empty if all files are there."""
        for work in self.steps:
            if work.manifest:
                continue
            for read in self.lab.reads(work):
                if not read.there:
                    return read.path
        return ""

    @property
    def todo(self) -> list[Work]:
        """The steps to make, each after the steps that it needs; none if the part cannot be measured."""
        if self.missing or self.unavailable:
            return []
        wanted = {work for work in self.steps if not work.manifest}
        # A step to make may read a checkpoint whose weights were deleted. That one is made again, and so is what it
        # needs in turn; from the last step back, so that each is wanted before its own needs are looked at.
        for work in reversed(self.steps):
            if work in wanted:
                wanted.update(need for need in work.needs if need.is_lost)
        return [work for work in self.steps if work in wanted]

    @property
    def encoder(self) -> str:
        """The checkpoint that the part evaluates, by which `--only K/N` divides a study; else the part's title."""
        for work in self.steps:
            if isinstance(work.step, Evaluate):
                return work.step.checkpoint
        return self.title

    def ask(self) -> None:
        """Call the function, and store its answer; nothing is made.

        Ask again after steps were made: the function may then know its number, or ask for more steps.
        """
        lab, self.content, self.unavailable = self.lab, nan, ""
        # The lab notes here what the function asks for.
        lab.steps, lab.guesses, lab.sources = {}, {}, []
        lab.size.read.clear()
        try:
            with lab.one_look():
                self.content = self.measure()
        except UnavailableError as error:
            self.unavailable = str(error)
        self.steps, self.sources = tuple(lab.steps), tuple(lab.sources)
        self.sizes_read = self.planned_with | lab.size.read
