"""A lab: the cells of the papers' tables that a study fills, and the steps that these cells need.

A cell is a function of the lab. Calling it makes nothing: it asks the lab for steps (`lab.make`, `lab.pretrain`, ...),
and each answer is a :class:`Work`, the folder that the step leaves or will leave. So one call shows all that the cell
needs, as far as that is known: a cell that chooses a layer by a score cannot say more before the score is measured, and
is called again then. :mod:`isoglot.studies.program` makes the steps, each once, and calls the cells.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from isoglot.core.checks import checked, given_texts
from isoglot.core.errors import ConfigurationError, IsoglotError
from isoglot.runs.fingerprint import key_of
from isoglot.runs.folder import clear, require_checkpoint
from isoglot.runs.record import FORMER_NAMES, Record
from isoglot.runs.reporter import Reporter, Silent
from isoglot.studies.inputs import Input
from isoglot.studies.parts import NumberSource, StudyPart, TaskScores, Work
from isoglot.studies.sizes import SCALES, Setting, SizeLog, Sizes, Variants
from isoglot.studies.step import NAMES, Step, UnavailableError, with_leaves
from isoglot.studies.training_steps import Evaluate, External, Finetune, Pretrain, StudyTask

_STEP = "step"
"""What the record of a step is called; a step that trains is a run too, whose manifest it is a part of."""
_UNHASHED: dict[str, Any] = {**dict.fromkeys(NAMES, True), "keep": True, "finetune": NAMES}
_FIRST_UNKNOWN = 900_000_001
"""The first stand-in of a number that is not known yet; no size of a study is near it."""
_NAMED = 6
"""Languages that the name of an evaluation lists."""
_LONGEST_SLUG = 60
"""Characters of a step's name in the name of its folder, at most."""


class _KnownStep(NamedTuple):
    """A step that was asked for before."""

    step: Step
    folder: Path
    text: str  # the step as JSON, in which the folders of the steps that it reads are found


class Lab:
    """Takes a study's cells and figures, and what these need, in the folder ``root``, which processes may share.

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
        self.scale, self.seeds = scale, list(self.setting.size["seeds"])
        self.size = SizeLog(self.setting.size)
        self.root, self.keep, self.progress = Path(root).resolve(), keep, progress or Silent()
        self.home = home
        self.parts: list[StudyPart] = []
        # What the cell at hand has asked for so far:
        self.steps: dict[Work, None] = {}  # finished or not
        self.guesses: dict[Work, None] = {}  # unfinished, and a number was read
        self.sources: list[NumberSource] = []
        # Of all cells:
        self.inputs: dict[Work, list[Input]] = {}  # of unfinished steps
        self.problems: list[str] = []
        self._known_steps: dict[tuple[type[Step], str], _KnownStep] = {}  # by their fields as JSON
        self._folders: dict[str, Path] = {}  # by the key of the step
        self._manifests: dict[Path, dict[str, Any]] | None = (
            None  # those read in this look; None outside of one
        )
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
        self,
        name: str,
        recipe: str,
        sections: Mapping[str, Any],
        *,
        seed: int = 1,
        run: str = "",
        about: str = "",
    ) -> Work:
        """An encoder trained by a recipe with sections over it, of which empty ones count for nothing.

        ``recipe``: A built-in one, or a file, here or beside the study. ``None`` deletes what the recipe has; ``run``
        is its name in results, ``about`` what is printed when it begins: ``MLM on English and its derived copy``.
        """
        if self.home is not None and not Path(recipe).is_file() and (self.home / recipe).is_file():
            recipe = str(self.home / recipe)
        sections = {key: value for key, value in sections.items() if value != {}}
        fields: dict[str, Any] = {"recipe": recipe, "sections": sections, "seed": seed, "label": run or name}
        about = f"{about or name}, seed {seed}" if len(self.seeds) > 1 else about or name
        return self.make(f"{name} s{seed}", Pretrain, **fields, about=about)

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
        fields["about"] = f"{fields['label']} on {task.kind}" + f", fine-tuned on {trained_on}" * bool(
            trained_on
        )
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
        part = StudyPart(self, value, rows, columns, table, seed, note, is_result, added)
        part.planned_with = frozenset(self.size.read)
        self.parts.append(part)

    def figure(self, name: str, draw: Callable[[], Work | Mapping[str, Any]]) -> None:
        """A figure: ``draw`` makes the work that draws it, or its content with numbers in it.

        The content is as :mod:`isoglot.reports.figure_files` has it; an entry of a list whose numbers are not known is
        left out.
        """
        self.parts.append(StudyPart(self, draw, (name,)))

    def stand_in(self, meaning: str) -> int:
        """A number in the place of one that a step will record; equal meanings have equal numbers."""
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
        """Return the folder that a step with these fields leaves, or will leave when the step is made.

        Equal fields give the same folder, whatever ``name`` is:

            pairs = lab.make("pairs", SamplePairs, source="en.txt", target="de.txt")
            text = pairs / "pairs.tsv"
        """
        known = self._known_step(name, kind, fields)
        # A step reads another one if its fields name a folder that the cell asked for before.
        needs = tuple(before for before in self.steps if str(before) in known.text)
        work = Work(
            known.folder, name, known.step, self._manifest(known.folder), self, needs, tuple(self.guesses)
        )
        self.steps[work] = None
        return work

    def _known_step(self, name: str, kind: type[Step], fields: Mapping[str, Any]) -> _KnownStep:
        """Check the fields of a step and find its folder, once for equal fields: cells ask for the same steps often."""
        try:
            # The order of keys counts here: a step has its inputs in the order in which they were given.
            given = kind, json.dumps(fields, default=_path_of_work)
        except TypeError:  # a field that JSON does not have: the step is checked each time
            given = None
        if given is not None and given in self._known_steps:
            return self._known_steps[given]
        try:
            step = checked(
                kind, with_leaves(fields, lambda value: str(value) if isinstance(value, Work) else value)
            )
        except ConfigurationError as error:
            raise ConfigurationError([f"{kind.kind} {name}: {text}" for text in error.problems]) from error
        known = _KnownStep(step, self._folder_of(name, step), step.model_dump_json())
        if given is not None:
            self._known_steps[given] = known
        return known

    def _folder_of(self, name: str, step: Step) -> Path:
        """The folder of a step: ``KIND/NAME-KEY``, where the key is a hash of the fields without names for people.

        A folder with the key that is there already is taken under the name that it has.
        """
        values = step.model_dump(mode="json", exclude_defaults=True, exclude=_UNHASHED)
        # Paths in the studies' folder are hashed without it, so that the folder can be moved.
        portable = json.dumps(values, sort_keys=True).replace(f"{self.root}/", "")
        key = key_of([type(step).__qualname__, portable])
        if key not in self._folders:
            slug = re.sub(r"[^a-zA-Z0-9.+=_-]+", "-", name).strip("-")[:_LONGEST_SLUG]
            existing = sorted((self.root / step.kind).glob(f"*-{key}"))
            self._folders[key] = existing[0] if existing else self.root / step.kind / f"{slug}-{key}"
        return self._folders[key]

    def _manifest(self, folder: Path) -> dict[str, Any]:
        """Read what a step recorded of itself; empty until the step is made."""
        if self._manifests is None:
            return _record(folder).read() or {}
        if folder not in self._manifests:
            self._manifests[folder] = _record(folder).read() or {}
        return self._manifests[folder]

    @contextmanager
    def one_look(self) -> Iterator[None]:
        """Read the manifest of each step at most once in the block.

        A cell asks for the same steps many times, and a plan asks all cells. Steps are made between two looks, by this
        process or another one. A look inside another one is part of it.
        """
        if self._manifests is not None:
            yield
            return
        self._manifests = {}
        try:
            yield
        finally:
            self._manifests = None

    def reads(self, work: Work) -> list[Input]:
        """What an unfinished step reads from outside; mistakes in its fields are noted among ``problems``."""
        if work not in self.inputs:
            self.inputs[work] = []
            try:
                work.step.check()
                self.inputs[work] = work.step.reads(f"{self.root}/")
            except ConfigurationError as error:
                self.problems += [f"{work.title}: {problem}" for problem in error.problems]
        return self.inputs[work]

    def run(self, work: Work) -> bool:
        """Make a step in its folder, and say whether that was left to do. What it needs must be there."""
        step = work.step

        def make(folder: Path) -> dict[str, Any]:
            began = time.monotonic()
            reads = {read.path: read.content for read in step.reads(f"{self.root}/")}
            facts = step.expanded().run(folder, self.progress)
            about = {"name": work.name, "step": step.model_dump(mode="json"), "outside": reads}
            return {**about, **facts, "seconds": round(time.monotonic() - began, 2)}

        try:
            for need in work.needs:
                require_checkpoint(need.folder)
            if work.is_lost:
                clear(work.folder, FORMER_NAMES[_STEP])
            _, is_new = _record(work.folder).make(make, resumes=step.resumes)
        except IsoglotError as error:
            raise IsoglotError(f"{work.title}: {error}") from error
        except Exception as error:
            error.add_note(f"while doing {work.title} in {work.folder}")
            raise
        return is_new


def _path_of_work(value: Any) -> str:
    """Return the folder of a work, as the only value of a field that JSON does not have itself."""
    if isinstance(value, Work):
        return str(value)
    raise TypeError(f"got a {type(value).__name__}")


def _record(folder: Path) -> Record:
    """The record of a step's folder, whose name stands for all that the step is made from."""
    return Record(folder, {}, what=_STEP, part=_STEP)
