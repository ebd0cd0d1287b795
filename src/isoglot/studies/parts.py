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

from isoglot.core.errors import ConfigurationError, IsoglotError
from isoglot.reports.papers import PAPERS, paper_key, paper_table
from isoglot.studies.step import Step, UnavailableError
from isoglot.studies.training_steps import Evaluate

if TYPE_CHECKING:
    from isoglot.studies.lab import Lab


@dataclass(frozen=True)
class Work:
    """The folder that a step leaves, or will leave: ``work / "en.txt"`` is a path in it.

    Works with the same folder are equal, whichever part asked for them.

    ``guessed_from`` matters where a cell chooses a layer by a score, and then asks for an evaluation of that layer.
    Before the score is measured, the cell chooses by a number that stands in for it, so the evaluation is a guess: with
    the real score the cell may ask for another one. The guess is not made before the score is known.
    """

    folder: Path
    name: str = field(compare=False)
    step: Step = field(compare=False)
    manifest: dict[str, Any] = field(compare=False)  # the step's record; empty until the step is made
    lab: Lab = field(compare=False, repr=False)
    # Steps whose folders this step reads itself: an evaluation needs its encoder, not the encoder's data.
    needs: Sequence[Work] = field(default=(), compare=False, repr=False)
    # Unfinished steps of which the cell read a value or a fact before it asked for this one.
    guessed_from: Sequence[Work] = field(default=(), compare=False, repr=False)

    def __truediv__(self, path: str) -> str:
        return f"{self.folder}/{path}"

    def __str__(self) -> str:
        return str(self.folder)

    @property
    def waits_for(self) -> tuple[Work, ...]:
        """The steps directly before this one, which must be finished before it can be made."""
        return (*self.needs, *self.guessed_from)

    @property
    def title(self) -> str:
        """Name the step in messages: ``pretrain tlm s1``."""
        return f"{self.step.kind} {self.name}"

    @property
    def has_lost_weights(self) -> bool:
        """Whether the step was made, and its weights were deleted afterwards."""
        was_made = bool(self.manifest)
        return was_made and bool(self.step.weights) and not (self.folder / self.step.weights).exists()

    def fact(self, name: str) -> Any:
        """Return a fact that the step recorded; before the step is made, a number that stands in for the fact.

        ``derived.fact("copied_vocabulary")`` is 900000001 at first, and 812 once the step is made. Where people read
        the first number, :meth:`Lab.shown` replaces it by words.
        """
        self._note_guess()
        if not self.manifest:
            self.lab.notes.read_stand_in = True
            return self.lab.stand_in(f"known after {self.title}")
        if name not in self.manifest:
            raise IsoglotError(f"{self.title} recorded no {name}; give a step that does")
        return self.manifest[name]

    def value(self, metric: str, *, row: tuple[str, str, str] | None = None) -> float:
        """Return a number among the ``values`` of the step, such as ``de/f1``.

        The number is NaN before the step is made, and if the step did not record it.

        ``row``: Task, language and metric that the number has in ``results.jsonl``. By default the task is the kind of
        the step, and ``de/f1`` has the language ``de`` and the metric ``f1``.
        """
        self._note_guess()
        self.lab.notes.sources.append(NumberSource(self, metric, row))
        number = self.manifest.get("values", {}).get(metric)
        return nan if number is None else float(number)

    def _note_guess(self) -> None:
        """Note that a value of an unfinished step was read: all steps that the cell asks for afterwards are guesses.

        The lab cannot see which of them depend on the value, so it counts all of them.
        """
        if not self.manifest:
            self.lab.notes.guesses[self] = None


class NumberSource(NamedTuple):
    """A number that a cell read."""

    work: Work  # the folder of the step that recorded the number
    metric: str  # name of the number among the step's values
    row: tuple[str, str, str] | None  # task, language and metric in the results, if the cell gave them


@dataclass
class LabNotes:
    """Notes of a lab on the one part whose function is running: the steps that it asks for and the numbers it reads.

    The dictionaries serve as sets that keep the order in which the function asked.
    """

    steps: dict[Work, None] = field(default_factory=dict)  # all steps, finished or not
    guesses: dict[Work, None] = field(
        default_factory=dict
    )  # unfinished steps of which a value or a fact was read
    sources: list[NumberSource] = field(default_factory=list)  # numbers that were read
    read_stand_in: bool = False  # whether a fact of an unfinished step was read


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
        if not self.languages:
            raise UnavailableError("no data in any language at this scale")
        return fmean(self.value(language, metric) for language in self.languages)


@dataclass(eq=False)
class StudyPart:
    """A cell or figure of a study, and the answer that its function gave last (:meth:`ask`).

    A cell has no number for one of these reasons:

    1. ``unavailable``: the study does not have the number, such as that of a task without data. No step is made for it.
       ``cells.jsonl`` has the reason, and the table a dash. When the files are written (``tables.write_study``), a
       mistake that :meth:`ask` raises is put here too, so ``todo`` is then empty also after a mistake.
    2. ``missing``: a step needs a file from outside that is not there. Otherwise as in 1.
    3. Failed: a mistake of the user stopped a step. It is printed at once and raised at the end (``Tally.failed``); the
       files have the cell as in 4.
    4. Not measured yet: a step is still to be made, or another machine makes it. The table has ``…``.
    5. Not selected by ``--only``: while the number is unknown, the table leaves the cell out (``Program.unselected``).
    """

    lab: Lab
    function: Callable[[], Any]  # returns the number of a cell, or the content of a figure
    row: tuple[str, ...]  # labels of the row; a figure's name
    column: tuple[str, ...] = ()
    table: str = ""  # empty for a figure
    seed: int | None = None
    note: str = ""
    is_result: bool = False
    is_added: bool = False
    sizes_read_before: frozenset[str] = frozenset()  # sizes that the study looked up before it added the cell
    # The answer:
    content: Any = nan  # the number, or the figure's content, as far as it is known
    steps: Sequence[Work] = ()
    sources: Sequence[NumberSource] = ()
    unavailable: str = ""  # why the study does not have the number; empty if it does
    sizes_read: frozenset[str] = frozenset()  # before the cell was added, and by its function

    @property
    def is_cell(self) -> bool:
        """Whether the part is a cell of a table; otherwise it is a figure."""
        return bool(self.table)

    @property
    def names_in_study(self) -> tuple[list[str], list[str]]:
        """The names of the row and of the column that the study itself gives, whether or not the table has them."""
        row_names = [" / ".join(self.row), *self.row]
        return row_names, [" / ".join(self.column), ".".join(self.column), *self.column]

    @cached_property
    def names(self) -> tuple[list[str], list[str]]:
        """The names of the row and the names of the column by which `--only` finds the cell.

        The first name of each is shown in messages. In a table of a paper the paper's own names come first: a row of
        ALIGN-MLM's Table 3 is found by ``MLM / trans``, ``MLM`` or ``trans``, a column by ``pos.zs``. Among a row's
        names is its system: ``weam`` in WEAM's Table 2.

        Raises:
            ConfigurationError: The paper's table has no such row or column.
        """
        row_names, column_names = self.names_in_study
        if paper_key(self.table) not in PAPERS:
            return row_names, column_names
        # The last names are the parts of the column's label in the study: the paper's labels take their place.
        column_names = column_names[:2]
        table = paper_table(self.table)
        if self.is_added:
            table = table.extended(self.row, self.column)
        row, column = table.row(*self.row), table.column(*self.column)
        address = table.address(row)
        row_names = [address, *address.split(" / "), *row.labels, *row_names]
        return row_names, [column.id, *column.labels, *column_names]

    @property
    def has_place(self) -> bool:
        """Whether the cell's table has the cell's row and column; only a paper's table may lack them."""
        try:
            _ = self.names
        except ConfigurationError:
            return False
        return True

    @property
    def title(self) -> str:
        """Name the part in messages: a cell as `--only` takes it, ``MLM / trans:pos.zs``, or a figure by its name."""
        row_names, column_names = self.names
        return ":".join(filter(None, [row_names[0], column_names[0]]))

    def matches(self, pattern: str) -> bool:
        """Whether a pattern with wildcards selects the part.

        1. ``ROW:COLUMN`` selects cells by both. The last colon counts, because a row's label may have one.
        2. Any other pattern selects cells by their row or by their column.
        3. A figure has a name and no column. Only a pattern with a colon, such as ``NAME:*``, selects it.
        4. A cell whose row or column the paper's table lacks is found by the names that the study gives it.

        The answer must not depend on finished steps (:class:`isoglot.studies.program.Selection`).
        """
        row_pattern, colon, column_pattern = pattern.rpartition(":")
        row_names, column_names = self.names if self.has_place else self.names_in_study
        if colon:
            return bool(fnfilter(row_names, row_pattern) and fnfilter(column_names, column_pattern))
        return self.is_cell and bool(fnfilter(row_names + column_names, pattern))

    @property
    def missing(self) -> str:
        """The first file from outside that an unfinished step lacks; empty if all files are there."""
        for work in self.steps:
            if work.manifest:
                continue
            for entry in self.lab.inputs_of(work):
                if not entry.there:
                    return entry.path
        return ""

    @property
    def todo(self) -> list[Work]:
        """The steps to make, each after the steps that it needs; none if the part cannot be measured."""
        if self.missing or self.unavailable:
            return []
        wanted = {work for work in self.steps if not work.manifest}
        # A step to make may read a checkpoint whose weights were deleted: then that one is to be made too, and so may
        # be the checkpoint from which that one starts. In `steps` every step stands behind those that it reads, so one
        # pass from the last to the first finds all of them.
        for work in reversed(self.steps):
            if work in wanted:
                wanted.update(need for need in work.needs if need.has_lost_weights)
        return [work for work in self.steps if work in wanted]

    @property
    def encoder(self) -> str:
        """The checkpoint that the part evaluates; the part's title if it evaluates none.

        `--only 2/8` divides a study by this name, so that all cells of one encoder are measured on one machine.
        """
        for work in self.steps:
            if isinstance(work.step, Evaluate):
                return work.step.checkpoint
        return self.title

    def ask(self) -> None:
        """Call the part's function, and store its answer; no step is made.

        Ask again after steps were made: the function may then know its number, or ask for more steps. If the function
        raises another error than :class:`UnavailableError`, the part has no number, and keeps the steps of the last
        answer.
        """
        lab = self.lab
        self.content, self.unavailable = nan, ""
        # While the function runs, the lab notes the steps that it asks for, and the numbers and sizes that it reads.
        lab.notes = LabNotes()
        lab.size.read.clear()
        try:
            with lab.manifests_read_once():
                self.content = self.function()
        except UnavailableError as error:
            self.unavailable = str(error)
        if self.is_cell and lab.notes.read_stand_in:
            # Computed from a stand-in such as 900000001: not a number to show.
            self.content = nan
        self.steps, self.sources = tuple(lab.notes.steps), tuple(lab.notes.sources)
        self.sizes_read = self.sizes_read_before | lab.size.read
