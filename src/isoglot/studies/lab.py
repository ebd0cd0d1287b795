"""A lab: what a study, which is a function of it, makes and measures, and the cells of the papers that it fills.

A cell is a function that is called when it is wanted: first in a rehearsal, which checks everything and makes nothing,
then in earnest. What it asks the lab for is made at once, in a folder of its own, unless it is there already.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from isoglot.checks import checked, given_texts
from isoglot.errors import ConfigurationError, IsoglotError
from isoglot.runs.files import read_json
from isoglot.runs.folder import clear, key_of, make_unless, require_checkpoint
from isoglot.runs.reporter import Reporter, Silent
from isoglot.studies.sizes import SCALES, Setting, Sizes, Variants
from isoglot.studies.step import Log, Step, StepError, UnavailableError, Work, with_leaves
from isoglot.studies.training_steps import Evaluate, Finetune, Pretrain

MANIFEST = "call.json"
"""A step's manifest, written last."""
_UNHASHED: dict[str, Any] = {"label": True, "keep": True, "finetune": {"label"}}
_NAMED = 6
"""Languages that the name of an evaluation lists."""


@dataclass(frozen=True)
class External:
    """A checkpoint that isoglot does not train, or another name for one: a name for people, a path or hub name."""

    name: str
    path: str


@dataclass(frozen=True)
class StudyTask:
    """A task as a study fine-tunes and measures it."""

    kind: str  # name in :data:`isoglot.tasks.TASKS`, or `package.module:Name`
    data: Sequence[str] = ()  # as `--data` of `isoglot finetune`; `{language}` and `{split}` are filled in
    languages: Sequence[str] = ()
    preset: str = "xtreme"  # settings of fine-tuning to start from
    train: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    split: Literal["dev", "test"] = "test"
    unavailable: str = ""  # why it is not measured


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


Figure = Callable[[], Work | Mapping[str, Any]]


@dataclass(frozen=True)
class CellPlan:
    """A cell of a table, and the function that measures it."""

    table: str
    row: tuple[str, ...]
    column: tuple[str, ...]
    measure: Callable[[], float]
    seed: int | None
    note: str
    is_result: bool


class Lab:
    """Takes a study's cells and figures, and makes what these want.

    Args:
        sizes: the study's.
        root: the folder of studies, which several processes may share.
        scale: tiny, small or paper.
        changes: sizes in place of the scale's.
        variants: the study's.
        keep: whether fine-tuned weights stay after they are evaluated.
        progress: receives progress reports.
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
    ) -> None:
        self.setting = Setting.of(sizes, variants or {}, scale=scale, changes=changes)
        self.scale, self.size, self.seeds = scale, self.setting.size, list(self.setting.size["seeds"])
        self.root, self.keep, self.progress = Path(root).resolve(), keep, progress or Silent()
        self.cells: list[CellPlan] = []
        self.figures: dict[str, Figure] = {}
        self._folders: dict[str, Path] = {}
        self.is_rehearsal, self.log = True, Log()
        self.failed: Mapping[Path, str] = {}  # folders of steps that could not be made, and why

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

        ``None`` deletes what the recipe has; ``run`` is its name in results.
        """
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
        work = self.make(
            f"{name if trained_on else f'{model.name} {task.kind}'} in {listed}",
            Evaluate,
            checkpoint=tuning["checkpoint"],
            task=tuning["task"],
            languages=languages,
            finetune=tuning if trained_on else None,
            split=task.split,
            precision=task.train.get("precision", "float32"),
            keep=self.keep,
            label=tuning["label"],
        )
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
    ) -> None:
        """A place in a table (``align_mlm:Table3``), in the row and column that have these labels.

        ``value`` measures the number when the cell is wanted. A row's labels are its label and the values of its
        attributes; ``note`` is what a reader has to know. ``is_result``: Whether it belongs to the results of a system,
        as a layer and a correlation over systems do not.
        """
        rows, columns = ((text,) if isinstance(text, str) else tuple(text) for text in (row, column))
        self.cells.append(CellPlan(table, rows, columns, value, seed, note, is_result))

    def figure(self, name: str, draw: Figure) -> None:
        """A figure: ``draw`` makes the work that draws it, or its content with numbers in it.

        The content is as :mod:`isoglot.reports.figure_files` has it; an entry of a list whose numbers are not known is
        left out.
        """
        self.figures[name] = draw

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
        work = Work(name, step, folder, read_json(folder / MANIFEST) or {}, self.log)
        self.log.steps[work] = None
        if work.manifest:
            return work
        if not self.is_rehearsal:
            self._make(work)
        elif work not in self.log.inputs:
            self.log.inputs[work] = []
            try:
                step.check()
                self.log.inputs[work] = step.reads(f"{self.root}/")
            except ConfigurationError as error:
                self.log.problems += [f"{work.title}: {problem}" for problem in error.problems]
        return work

    def _make(self, work: Work) -> None:
        if work.folder in self.failed:
            raise StepError(work.folder, self.failed[work.folder])

        def make(folder: Path) -> dict[str, Any]:
            began, step = time.monotonic(), work.step
            reads = {read.path: read.content for read in step.reads(f"{self.root}/")}
            text = step.model_dump_json()
            for before in self.log.steps:
                weights = before.folder / before.step.weights
                if before.manifest and str(before) in text and not weights.exists():
                    clear(before.folder, MANIFEST)
                    self._make(before)
                require_checkpoint(before.folder)
            self.progress.note(work.title)
            facts = step.expanded().run(folder, self.progress)
            about = {"name": work.name, "step": step.model_dump(mode="json"), "outside": reads}
            return {**about, **facts, "seconds": round(time.monotonic() - began, 2)}

        path = work.folder / MANIFEST
        try:
            manifest, new = make_unless(
                lambda: read_json(path), work.folder, make, name=MANIFEST, resumes=work.step.resumes
            )
        except StepError:
            raise
        except IsoglotError as error:
            raise StepError(work.folder, f"{work.title}: {error}") from error
        except Exception as error:
            error.add_note(f"while doing {work.title} in {work.folder}")
            raise
        work.manifest.clear()
        work.manifest.update(manifest)
        if new:
            self.log.made.append(work)
