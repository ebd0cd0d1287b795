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
from isoglot.runs.folder import key_of, make_unless, require_checkpoint
from isoglot.runs.reporter import Reporter, Silent
from isoglot.studies.inputs import Input
from isoglot.studies.sizes import SCALES, Setting, Sizes, Variants
from isoglot.studies.step import NumberSource, Step, StepError, UnavailableError, Work, plain
from isoglot.studies.training_steps import Evaluate, Finetune, Pretrain

MANIFEST = "call.json"
"""A step's manifest, written last."""
_UNHASHED: dict[str, Any] = {"label": True, "keep": True, "finetune": {"label"}}
_NAMED = 6


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


Figure = Callable[[], Work | Mapping[str, Any]]


@dataclass
class Log:
    """What a lab did, or in a rehearsal would do, since it was replaced by a new one."""

    steps: dict[Work, None] = field(default_factory=dict)  # that were wanted, finished or not
    made: list[Work] = field(default_factory=list)
    inputs: dict[Work, list[Input]] = field(default_factory=dict)  # of a rehearsal's unfinished steps
    sources: list[NumberSource] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


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
        self.scale, self.size = scale, self.setting.size
        self.root, self.keep, self.progress = Path(root).resolve(), keep, progress or Silent()
        self.cells: list[CellPlan] = []
        self.figures: dict[str, Figure] = {}
        self._folders: dict[str, Path] = {}
        self.is_rehearsal, self.log = True, Log()
        self.failed: Mapping[Path, str] = {}  # folders of steps that could not be made, and why

    @property
    def seeds(self) -> list[int]:
        """One run each."""
        return list(self.size["seeds"])

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
        spoken = ",".join(languages) if len(languages) <= _NAMED else f"{len(languages)} languages"
        name, tuning = f"{model.name} {task.kind}", None
        if trained_on:
            name, tuning = self._tuning(model, task, trained_on, seed, train)
        work = self.make(
            f"{name} in {spoken}",
            Evaluate,
            checkpoint=self.checkpoint(model),
            task=_spec(task),
            languages=languages,
            finetune=tuning,
            split=task.split,
            precision=task.train.get("precision", "float32"),
            keep=self.keep,
            label=_run(model),
        )
        return TaskScores(work, languages)

    def _tuning(
        self, encoder: Work | External, task: StudyTask, language: str, seed: int, train: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        setting = f" {train['setting']}" if "setting" in train else ""
        return f"{encoder.name} {task.kind} {language}{setting} s{seed}", {
            "checkpoint": self.checkpoint(encoder),
            "task": _spec(task),
            "preset": task.preset,
            "train": {**task.train, **train},
            "language": language,
            "seed": seed,
            "label": _run(encoder),
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
        studies = f"{self.root}/"
        try:
            step = checked(
                kind, plain(fields, lambda leaf: str(leaf.folder) if isinstance(leaf, Work) else leaf)
            )
        except ConfigurationError as error:
            raise ConfigurationError([f"{kind.kind} {name}: {one}" for one in error.problems]) from error
        values = step.model_dump(mode="json", exclude_defaults=True, exclude=_UNHASHED)
        key = key_of([kind.__qualname__, json.dumps(values, sort_keys=True).replace(studies, "")])
        if (folder := self._folders.get(key)) is None:  # equal fields are one folder, whatever their names
            slug = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", name).strip("-")[:60]
            there = sorted((self.root / kind.kind).glob(f"*-{key}"))
            folder = self._folders[key] = next(iter(there), self.root / kind.kind / f"{slug}-{key}")
        manifest = read_json(folder / MANIFEST) or {}
        work = Work(name, step, folder, manifest, self._note)
        self.log.steps[work] = None
        if self.is_rehearsal:
            self._rehearse(work, studies)
        elif not manifest:
            work.manifest.update(self._made(work, studies))
        return work

    def _note(self, source: NumberSource) -> None:
        self.log.sources.append(source)

    def _rehearse(self, work: Work, studies: str) -> None:
        if work.manifest or work in self.log.inputs:
            return
        self.log.inputs[work] = []
        try:
            work.step.check()
            self.log.inputs[work] = work.step.reads(studies)
        except ConfigurationError as error:
            self.log.problems += [f"{work.title}: {problem}" for problem in error.problems]

    def _made(self, work: Work, studies: str) -> dict[str, Any]:
        if work.folder in self.failed:
            raise StepError(work.folder, self.failed[work.folder])

        def make(place: Path) -> dict[str, Any]:
            began, step = time.monotonic(), work.step
            reads = {read.path: read.content for read in step.reads(studies)}
            for needed in self.log.steps:
                require_checkpoint(needed.folder)
            self.progress.note(work.title)
            facts = step.expanded().run(place, self.progress)
            about = {"name": work.name, "step": step.model_dump(mode="json"), "outside": reads}
            return {**about, **facts, "seconds": round(time.monotonic() - began, 2)}

        try:
            manifest, new = make_unless(
                lambda: read_json(work.folder / MANIFEST),
                work.folder,
                make,
                name=MANIFEST,
                resumes=work.step.resumes,
            )
        except StepError:
            raise
        except IsoglotError as error:
            raise StepError(work.folder, f"{work.title}: {error}") from error
        except Exception as error:
            error.add_note(f"while doing {work.title} in {work.folder}")
            raise
        if new:
            self.log.made.append(work)
        return manifest


def _spec(task: StudyTask) -> dict[str, Any]:
    return {"kind": task.kind, "data": task.data, "options": task.options}


def _run(model: Work | External) -> str:
    return model.step.label if isinstance(model, Work) else model.name
