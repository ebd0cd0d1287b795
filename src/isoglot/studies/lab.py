"""A lab: what a study, which is a function of it, makes and measures, and the cells of the papers that it fills.

A cell is a function that is called when it is wanted: first in a rehearsal, which checks everything and makes nothing,
then in earnest. What it asks the lab for is made at once, in a folder of its own, unless it is there already.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import filter as fnfilter
from functools import cached_property
from importlib.util import find_spec
from math import nan
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from isoglot.checks import checked, given_texts
from isoglot.errors import ConfigurationError, IsoglotError
from isoglot.reports.papers import PAPERS, paper_table
from isoglot.runs.files import read_json
from isoglot.runs.folder import clear, key_of, make_unless, require_checkpoint
from isoglot.runs.reporter import Reporter, Silent
from isoglot.studies.inputs import Input
from isoglot.studies.sizes import SCALES, Setting, Sizes, Variants
from isoglot.studies.step import Step, UnavailableError, with_leaves
from isoglot.studies.training_steps import Evaluate, External, Finetune, Pretrain, StudyTask

MANIFEST = "call.json"
"""A step's manifest, written last."""
_UNHASHED: dict[str, Any] = {"label": True, "keep": True, "finetune": {"label"}}
_FIRST_UNKNOWN = 900_000_001
"""The first stand-in of a number that is not known yet; no size of a study is near it."""
_NAMED = 6
"""Languages that the name of an evaluation lists."""


@dataclass(frozen=True)
class Work:
    """What a step left, or in a rehearsal will leave: ``work / "en.txt"`` is a path in its folder."""

    folder: Path
    name: str = field(compare=False)
    step: Step = field(compare=False)
    manifest: dict[str, Any] = field(compare=False)  # empty until it is made
    lab: Lab = field(compare=False, repr=False)

    def __truediv__(self, path: str) -> str:
        return f"{self.folder}/{path}"

    def __str__(self) -> str:
        return str(self.folder)

    @property
    def title(self) -> str:
        """What it is, for messages."""
        return f"{self.step.kind} {self.name}"

    def fact(self, name: str) -> Any:
        """What its step recorded; before it has run a number that stands for that, see :meth:`Lab.shown`."""
        if self.manifest and name not in self.manifest:
            raise IsoglotError(f"{self.title} recorded no {name}; give a step that does")
        return self.manifest[name] if self.manifest else self.lab.stand_in(f"known after {self.title}")

    def value(self, metric: str, *, row: tuple[str, str, str] | None = None) -> float:
        """A number among the ``values`` that its step returned; not a number in a rehearsal.

        ``row``: Task, language and metric of its row in the results; by default the step's kind and ``metric``.
        """
        self.lab.sources.append(NumberSource(self, metric, row))
        number = self.manifest.get("values", {}).get(metric)
        return nan if number is None else float(number)


class NumberSource(NamedTuple):
    """A number that was read: whose it is, its metric, and task, language and metric of its row in the results."""

    work: Work
    metric: str
    row: tuple[str, str, str] | None


@dataclass(frozen=True)
class TaskScores:
    """What an evaluation measured."""

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
    """A cell or figure of a study, the function that measures it, and what a rehearsal finds that it wants."""

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
    missing: str = ""  # the first file that is not there
    unavailable: str = ""  # why the study does not have it

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
    def todo(self) -> list[Work]:
        """Steps to make, where it can be measured; each comes after what it needs."""
        return [] if self.missing or self.unavailable else [work for work in self.steps if not work.manifest]

    @property
    def encoder(self) -> str:
        """What tells parts of one encoder from those of others."""
        steps = (work.step for work in self.steps)
        return next((step.checkpoint for step in steps if isinstance(step, Evaluate)), self.title)

    def rehearse(self) -> None:
        """Note what it wants, reads and lacks; nothing is made."""
        lab, self.content, self.unavailable = self.lab, nan, ""
        lab.steps, lab.sources = {}, []
        try:
            self.content = self.measure()
        except UnavailableError as error:
            self.unavailable = str(error)
        self.steps, self.sources = tuple(lab.steps), tuple(lab.sources)
        reads = (read for work in lab.steps for read in lab.inputs.get(work, ()))
        self.missing = next((read.path for read in reads if not read.there), "")

    def make(self) -> tuple[list[str], IsoglotError | None]:
        """Make it in earnest: the kinds of the steps that were made, and what stopped it."""
        lab, problem = self.lab, None
        lab.is_rehearsal, lab.steps, lab.made = False, {}, []
        try:
            self.measure()
        except IsoglotError as error:
            problem = error
        finally:
            lab.is_rehearsal = True
        return lab.made, problem


class Lab:
    """Takes a study's cells and figures, and makes what these want in the folder ``root``, which processes may share.

    ``changes`` are sizes in place of the scale's; ``keep``: fine-tuned weights stay after they are evaluated; ``home``:
    The folder of the study's file.
    """

    def __init__(
        self,
        sizes: Sizes,
        *,
        root: Path | str = "runs/study",
        scale: str = "tiny",
        changes: Mapping[str, Any] | None = None,
        variants: Variants | None = None,
        keep: bool = False,
        progress: Reporter | None = None,
        home: Path | None = None,
    ) -> None:
        self.setting = Setting.of(sizes, variants or {}, scale=scale, changes=changes)
        self.scale, self.size, self.seeds = scale, self.setting.size, list(self.setting.size["seeds"])
        self.root, self.keep, self.progress = Path(root).resolve(), keep, progress or Silent()
        self.home = home
        self.parts: list[StudyPart] = []
        self.is_rehearsal = True
        self.steps: dict[Work, None] = {}  # that the part at hand wanted, finished or not
        self.sources: list[NumberSource] = []  # of the part at hand
        self.inputs: dict[Work, list[Input]] = {}  # of unfinished steps, in a rehearsal
        self.problems: list[str] = []
        self.made: list[str] = []  # kinds of the steps
        self.failed: dict[Path, str] = {}  # folders of steps that could not be made, and why
        self._folders: dict[str, Path] = {}
        self.unknown: dict[int, str] = {}  # stand-ins of numbers, and after which step these are known

    def at(self, tiny: Any, small: Any, paper: Any) -> Any:
        """What stands for this scale."""
        return (tiny, small, paper)[SCALES.index(self.scale)]

    def external(self, name: str, path: str, *, module: str = "") -> External:
        """A checkpoint that is there, in a folder or on the hub; ``module`` is a package that its tokenizer needs."""
        if module and find_spec(module) is None:
            raise UnavailableError(f"the tokenizer of {name} needs {module}; type `pip install {module}`")
        return External(name, path)

    def pretrain(
        self, name: str, recipe: str, sections: Mapping[str, Any], *, seed: int = 1, run: str = ""
    ) -> Work:
        """An encoder trained by a recipe with sections over it, of which empty ones count for nothing.

        ``recipe``: A built-in one, or a file, here or beside the study. ``None`` deletes what the recipe has; ``run``
        is its name in results.
        """
        if self.home is not None and not Path(recipe).is_file() and (self.home / recipe).is_file():
            recipe = str(self.home / recipe)
        sections = {key: value for key, value in sections.items() if value != {}}
        fields: dict[str, Any] = {"recipe": recipe, "sections": sections, "seed": seed, "label": run or name}
        return self.make(f"{name} s{seed}", Pretrain, **fields)

    def finetune(
        self, encoder: Work | External, task: StudyTask, language: str, *, seed: int = 1, **train: Any
    ) -> Work:
        """An encoder fine-tuned on a task in a language (several with commas), with settings laid over the task's."""
        name, fields = self._tuning(encoder, task, language, seed, train)
        return self.make(name, Finetune, **fields)

    def evaluate(
        self,
        model: Work | External,
        task: StudyTask,
        languages: Sequence[str] = (),
        *,
        trained_on: str = "",
        seed: int = 1,
        **train: Any,
    ) -> TaskScores:
        """A model measured in the task's languages or others.

        ``trained_on``: The languages that it is fine-tuned on first, as :meth:`finetune` does it; without, it is
        fine-tuned already or the task has no head.
        """
        if task.unavailable:
            raise UnavailableError(task.unavailable)
        languages = list(given_texts(languages or task.languages, "languages"))
        listed = ",".join(languages) if len(languages) <= _NAMED else f"{len(languages)} languages"
        name, tuning = self._tuning(model, task, trained_on, seed, train)
        fields = {key: tuning[key] for key in ("checkpoint", "task", "label")}
        fields |= {"split": task.split, "precision": task.train.get("precision", "float32")}
        if trained_on:
            fields["finetune"] = tuning
        else:
            name = f"{model.name} {task.kind}"
        work = self.make(f"{name} in {listed}", Evaluate, **fields, languages=languages, keep=self.keep)
        return TaskScores(work, languages)

    def _tuning(
        self, encoder: Work | External, task: StudyTask, language: str, seed: int, train: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """The name and the fields of a fine-tuning."""
        setting = f" {train['setting']}" if "setting" in train else ""
        return f"{encoder.name} {task.kind} {language}{setting} s{seed}", {
            "checkpoint": self.checkpoint(encoder),
            "task": {"kind": task.kind, "data": task.data, "options": task.options},
            "preset": task.preset,
            "train": {**task.train, **train},
            "language": language,
            "seed": seed,
            "label": encoder.step.label if isinstance(encoder, Work) else encoder.name,
        }

    def cell(
        self,
        table: str,
        *,
        row: str | Sequence[str],
        column: str | Sequence[str],
        value: Callable[[], float],
        seed: int | None = None,
        note: str = "",
        is_result: bool = True,
        added: bool = False,
    ) -> None:
        """A place in a table (``align_mlm:Table3``), in the row and column that have these labels.

        ``value`` measures the number when the cell is wanted. A row's labels are its label and the values of its
        attributes; ``note`` is what a reader has to know. ``is_result``: Whether it belongs to the results of a system,
        as a layer and a correlation over systems do not. ``added``: the row or column is yours, beside the paper's.
        """
        rows, columns = ((text,) if isinstance(text, str) else tuple(text) for text in (row, column))
        self.parts.append(StudyPart(self, value, rows, columns, table, seed, note, is_result, added))

    def figure(self, name: str, draw: Callable[[], Work | Mapping[str, Any]]) -> None:
        """A figure: ``draw`` makes the work that draws it, or its content with numbers in it.

        The content is as :mod:`isoglot.reports.figure_files` has it; an entry of a list whose numbers are not known is
        left out.
        """
        self.parts.append(StudyPart(self, draw, (name,)))

    def stand_in(self, meaning: str) -> int:
        """A number in the place of one that a step will record, the same for the same meaning in each rehearsal."""
        for number, known in self.unknown.items():
            if known == meaning:
                return number
        number = _FIRST_UNKNOWN + len(self.unknown)
        self.unknown[number] = meaning
        return number

    def shown(self, values: Any) -> Any:
        """A step's values for people: numbers that stand for what is not known yet say after which step they are."""
        return with_leaves(values, lambda v: self.unknown.get(v, v) if type(v) is int else v)

    @staticmethod
    def checkpoint(model: Work | External) -> str:
        """Where a model's weights are."""
        return model / "checkpoint" if isinstance(model, Work) else model.path

    def make(self, name: str, kind: type[Step], /, **fields: Any) -> Work:
        """What a step with these fields leaves, made now unless it is there; in a rehearsal it is only checked."""
        try:
            step = checked(kind, with_leaves(fields, lambda v: str(v) if isinstance(v, Work) else v))
        except ConfigurationError as error:
            raise ConfigurationError([f"{kind.kind} {name}: {text}" for text in error.problems]) from error
        values = step.model_dump(mode="json", exclude_defaults=True, exclude=_UNHASHED)
        key = key_of([kind.__qualname__, json.dumps(values, sort_keys=True).replace(f"{self.root}/", "")])
        if (folder := self._folders.get(key)) is None:  # equal fields are one folder, whatever their names
            slug = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", name).strip("-")[:60]
            existing = sorted((self.root / kind.kind).glob(f"*-{key}"))
            folder = self._folders[key] = next(iter(existing), self.root / kind.kind / f"{slug}-{key}")
        work = Work(folder, name, step, read_json(folder / MANIFEST) or {}, self)
        self.steps[work] = None
        if not work.manifest and not self.is_rehearsal:
            self._make(work)
        elif not work.manifest and work not in self.inputs:
            self.inputs[work] = []
            try:
                step.check()
                self.inputs[work] = step.reads(f"{self.root}/")
            except ConfigurationError as error:
                self.problems += [f"{work.title}: {problem}" for problem in error.problems]
        return work

    def _make(self, work: Work) -> None:
        """Run a step in its folder; weights that it reads and that were deleted are made again first."""
        path, step = work.folder / MANIFEST, work.step

        def make(folder: Path) -> dict[str, Any]:
            began, text = time.monotonic(), step.model_dump_json()
            reads = {read.path: read.content for read in step.reads(f"{self.root}/")}
            for before in self.steps:
                weights = before.folder / before.step.weights
                if before.manifest and str(before) in text and not weights.exists():
                    clear(before.folder, MANIFEST)
                    self._make(before)
                require_checkpoint(before.folder)
            self.progress.note(work.title)
            facts = step.expanded().run(folder, self.progress)
            about = {"name": work.name, "step": step.model_dump(mode="json"), "outside": reads}
            return {**about, **facts, "seconds": round(time.monotonic() - began, 2)}

        if work.folder in self.failed:
            raise IsoglotError(self.failed[work.folder])
        try:
            manifest, is_new = make_unless(
                lambda: read_json(path), work.folder, make, name=MANIFEST, resumes=step.resumes
            )
        except IsoglotError as error:
            self.failed[work.folder] = f"{work.title}: {error}"
            raise IsoglotError(self.failed[work.folder]) from error
        except Exception as error:
            error.add_note(f"while doing {work.title} in {work.folder}")
            raise
        work.manifest.clear()
        work.manifest.update(manifest)
        if is_new:
            self.made.append(step.kind)
