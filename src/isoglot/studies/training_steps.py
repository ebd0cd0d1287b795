"""Steps that train and measure: pre-training, fine-tuning, evaluation."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from isoglot.core.checks import resolve
from isoglot.core.errors import MISSING_FILE, UNSET_VARIABLE, ConfigurationError
from isoglot.core.options import Precision
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.options import task_with_settings
from isoglot.recipe.document import VARIABLE, dump_yaml, expand, unset_in
from isoglot.reports.curves import TRAINER_STATE
from isoglot.runs.files import read_json, write_text
from isoglot.runs.folder import CHECKPOINT, clear
from isoglot.runs.record import MANIFEST
from isoglot.runs.reporter import Reporter
from isoglot.studies.inputs import Input, outside
from isoglot.studies.step import Step, texts_of
from isoglot.tasks import build_task, task_class

_TUNED = "finetuned"
"""Folder of the fine-tuned model in that of an evaluation."""


class Pretrain(Step):
    """A recipe (built-in name or file) with sections laid over it; null deletes what the recipe has."""

    kind: ClassVar[str] = "pretrain"
    doing: ClassVar[str] = "pre-training"
    resumes: ClassVar[bool] = True
    weights: ClassVar[str] = CHECKPOINT
    recipe: str
    sections: dict[str, Any]
    seed: int = 1

    def values(self) -> dict[str, Any]:
        """Return the recipe as values; a recipe file is named by its full path, so that it runs from any folder."""
        extends = str(Path(self.recipe).resolve()) if Path(self.recipe).is_file() else self.recipe
        return {"extends": extends, "name": self.label, "seed": self.seed, **self.sections}

    def explicit(self) -> dict[str, Any]:
        """Return the recipe with everything that it extends and every default; files need not be there yet."""
        from isoglot.pretraining.build import explicit  # noqa: PLC0415 - loads the libraries
        from isoglot.pretraining.check import try_encoder  # noqa: PLC0415
        from isoglot.pretraining.recipe import typed  # noqa: PLC0415
        from isoglot.recipe.source import read_document  # noqa: PLC0415

        document = read_document(self.values(), variables=False)
        recipe, sections = typed(document)
        if recipe is None:
            raise ConfigurationError(document.problems)
        filled_in, _ = try_encoder(sections)  # empty while the encoder to start from is not there yet
        return explicit(recipe, filled_in)

    def expanded(self) -> Step:
        """Return the step unchanged: the recipe itself fills in variables, because its hash is of the written text."""
        return self

    def files(self, studies: str) -> list[Input]:
        """Return the files and variables that the recipe names, and recipes that isoglot does not ship."""
        from isoglot.recipe.source import builtin_recipes, read_document  # noqa: PLC0415

        document = read_document(self.values(), variables=False)
        # Texts with a variable count as they are written, `${ISOGLOT_DATA}/en.txt`, and not as paths of this machine.
        written = list(document.raw.values())
        in_variables = {*written, *map(expand, written)}
        sections = {key: document.values.get(key) for key in ("model", "tokenizer", "streams")}
        texts = set(texts_of(sections)) - in_variables
        paths = sorted(text for text in texts if text.startswith(("/", ".", "~")))
        recipes = {origin.name for origin in document.origins.values()} - {""}
        shipped = set(map(str, builtin_recipes().values()))
        return outside([*written, *paths, *sorted(recipes - shipped)], studies)

    def code(self) -> list[Any]:
        """Return the classes of the recipe's views and objectives too."""
        from isoglot.pretraining.recipe import MADE  # noqa: PLC0415 - loads the libraries
        from isoglot.recipe.source import read_document  # noqa: PLC0415

        values = read_document(self.values(), variables=False).values
        classes: list[Any] = [type(self)]
        for section, kind in MADE.items():
            names = [entry["type"] for entry in values.get(section, {}).values()]
            classes += [resolve(kind.registry, name, kind=kind.called) for name in names]
        return classes

    def check(self) -> None:
        """Refuse the mistakes that ``isoglot pretrain --check`` finds, except that files are missing."""
        from isoglot.pretraining.check import load_recipe  # noqa: PLC0415 - loads the libraries

        try:
            load_recipe(self.values())
        except ConfigurationError as error:
            # A plan lists missing files and variables itself, from files().
            wrong = [p for p in error.problems if p.kind not in (MISSING_FILE, UNSET_VARIABLE)]
            if wrong:
                raise ConfigurationError(wrong) from error

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Train; the value ``hours`` is the time that the optimiser's steps took."""
        from isoglot.pretraining.check import load_recipe  # noqa: PLC0415
        from isoglot.pretraining.pretrain import pretrain  # noqa: PLC0415
        from isoglot.training.checkpoints import discard  # noqa: PLC0415

        root = folder.parent.parent
        about = f"# {self.label}: a run of a study; `isoglot pretrain` takes this file\n"
        path = write_text(root / "recipes" / f"{folder.name}.yaml", about + dump_yaml(self.values()))
        pretrain(load_recipe(self.values()), folder, resume=True, progress=report, cache=root / "cache")
        states = folder.glob(f"checkpoint-*/{TRAINER_STATE}")
        last = max(states, key=lambda state: int(state.parent.name.rpartition("-")[2]), default=None)
        if last is not None:
            shutil.copyfile(last, folder / TRAINER_STATE)  # reports look for the curves there
        # Checkpoints of the trainer are large, and only a stopped run needs them.
        for old in folder.glob("checkpoint-*"):
            discard(old)
        return {"recipe": str(path), "values": _hours(read_json(folder / MANIFEST) or {})}


def _hours(manifest: Mapping[str, Any]) -> dict[str, float]:
    """Return the hours that all steps took, as the value ``hours``; no value if no step was timed.

    A run that was resumed at step 60 of 100 timed the last 40 steps: its hours are 100/40 of those.
    """
    seconds = manifest.get("metrics", {}).get("train_runtime")
    steps = manifest.get("steps", 0)
    timed_steps = steps - manifest.get("resumed_at", 0)
    if seconds is None or not timed_steps:
        return {}
    return {"hours": seconds * steps / timed_steps / 3600}


@dataclass(frozen=True)
class External:
    """A checkpoint that the study does not train, or another name for one that it does."""

    name: str  # for people
    path: str  # a folder, or a name on the hub


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


class TaskSpec(BaseModel):
    """A task with its data."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: str
    data: list[str]
    options: dict[str, Any] = {}

    def build(self) -> Any:
        """The task."""
        return build_task(self.kind, self.data, **self.options)

    def code(self) -> list[Any]:
        """The task's class."""
        return [task_class(self.kind)]


def data_files(task: TaskSpec, languages: Sequence[str], split: str, studies: str) -> Iterator[Input]:
    """Yield the files that a task's split reads from outside, in each language.

    If nothing is found for a language, the places that were looked at count as missing. They do not count if part of
    the data comes from other steps of the study: those may make the language.
    """
    from isoglot.formats.labelled.sources import DataSource  # noqa: PLC0415

    specs = DataSource(task.data).of_split(split)
    outer_specs = [read.path for read in outside(specs, studies)]
    for language in languages:
        found = False
        missing: list[Input] = []
        for spec in outer_specs:
            files, problem = _found(task, spec, language, split)
            found = found or bool(files)
            for file in files:
                yield Input(file, there=True)
            missing.append(Input(problem or _of_language(spec, language, split), there=False))
        if not found and len(outer_specs) == len(specs):
            yield from missing


def _found(task: TaskSpec, spec: str, language: str, split: str) -> tuple[list[str], str]:
    """Return the files that a task finds at one of its data specifications, or why it finds none there.

    Variables stay in the names. ``${ISOGLOT_CORPORA}/pos`` in German has the file
    ``${ISOGLOT_CORPORA}/pos/de.test.conllu``, or the reason ``${ISOGLOT_CORPORA}/pos: no test data for 'de'``.

    A file and a template, ``pos/{language}.{split}.conllu``, have no reason: the name itself says what is missing.
    """
    from isoglot.tasks.base import locations_of  # noqa: PLC0415

    is_template = "{" in VARIABLE.sub("", spec)
    is_folder = not is_template and not Path(spec).suffix
    problem = f"{spec}: no {split} data for {language!r}" if is_folder else ""
    if unset_in(spec):
        return [], problem
    path = expand(spec)
    try:
        locations = locations_of(task.model_copy(update={"data": [path]}).build(), language, split)
    except ConfigurationError as error:
        # A folder may have several files for the split: that message says more than that there are no data.
        if str(error).startswith(f"{path} has "):
            reason = str(error).partition(";")[0].removeprefix(path)
            problem = f"{spec}{reason}"
        return [], problem
    if is_template:
        return [_of_language(spec, language, split)], ""
    if not locations:
        return [], ""
    below = [location.path for location in locations if location.path.startswith(path)]
    # Data that lie elsewhere, such as on the hub, are named by the specification itself.
    return [spec + file.removeprefix(path) for file in below] or [spec], ""


def _of_language(spec: str, language: str, split: str) -> str:
    """Fill in a template: ``pos/{language}.{split}.conllu`` is ``pos/de.test.conllu``."""
    return spec.replace("{language}", language).replace("{split}", split)


class Finetune(Step):
    """An encoder fine-tuned on a task, with settings laid over a preset's.

    ``language`` is that of the training data, several with commas.
    """

    kind: ClassVar[str] = "finetune"
    doing: ClassVar[str] = "fine-tuning"
    resumes: ClassVar[bool] = True
    weights: ClassVar[str] = CHECKPOINT
    checkpoint: str
    task: TaskSpec
    preset: str
    train: dict[str, Any]
    language: str
    seed: int

    def check(self) -> tuple[Any, Any]:
        """The task with the preset's options, and the settings."""
        values = {**self.task.options, **self.train, "run": self.label or None}
        return task_with_settings(self.task.kind, self.task.data, paper=self.preset, **values)

    @property
    def takes_as_long_as(self) -> str:
        """Data of one task are about as large in every language."""
        return f"{self.kind} {self.task.kind}"

    def explicit(self) -> dict[str, Any]:
        """Every setting of fine-tuning, with the preset's."""
        return {**super().explicit(), "train": self.check()[1].model_dump(mode="json")}

    def code(self) -> list[Any]:
        """The task's class too."""
        return [type(self), *self.task.code()]

    def files(self, studies: str) -> list[Input]:
        """The encoder, the training data, and the data that checkpoints are chosen by."""
        _, settings = self.check()
        languages = self.language.split(",")
        chosen = {"source": languages, "joint": settings.select_languages, "last": []}[settings.select]
        return [
            *outside([self.checkpoint], studies),
            *data_files(self.task, [*languages, *settings.originals], "train", studies),
            *data_files(self.task, [] if settings.dev_fraction else chosen, "dev", studies),
        ]

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Fine-tune."""
        from isoglot.finetuning.api import finetune  # noqa: PLC0415 - loads the libraries

        task, train = self.check()
        options: dict[str, Any] = {"language": self.language, "seed": self.seed, "train": train}
        finetune(self.checkpoint, task, **options, out=folder, progress=report)
        return {}


class Evaluate(Step):
    """A checkpoint measured on a task; values are ``LANGUAGE/METRIC``, the task's own metric ``LANGUAGE/``.

    The checkpoint is fine-tuned first, as ``finetune`` says, or is fine-tuned already, or the task has no head.
    """

    kind: ClassVar[str] = "evaluate"
    doing: ClassVar[str] = "measuring"
    resumes: ClassVar[bool] = True
    checkpoint: str
    task: TaskSpec
    languages: list[str]
    finetune: Finetune | None = None
    split: Literal["dev", "test"] = "test"
    precision: Precision = "float32"
    keep: bool = False  # the fine-tuned weights; no part of the hash

    @property
    def takes_as_long_as(self) -> str:
        """Data of one task are about as large in every language."""
        return f"{self.kind} {self.task.kind}"

    def explicit(self) -> dict[str, Any]:
        """What is measured, after which fine-tuning."""
        tuning = None if self.finetune is None else self.finetune.explicit()
        return {**super().explicit(), "finetune": tuning}

    def code(self) -> list[Any]:
        """The task's class too."""
        return [type(self), *self.task.code()]

    def files(self, studies: str) -> list[Input]:
        """The checkpoint and the data."""
        tuned = [] if self.finetune is None else self.finetune.files(studies)
        data = data_files(self.task, self.languages, self.split, studies)
        return list(dict.fromkeys([*outside([self.checkpoint], studies), *tuned, *data]))

    def check(self) -> Any:
        """The task, and the settings of fine-tuning."""
        if self.finetune is not None:
            self.finetune.check()
        return self.task.build()

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Fine-tune and measure."""
        from isoglot.evaluation.evaluate import evaluate  # noqa: PLC0415 - loads the libraries

        task, checkpoint = self.check(), self.checkpoint
        if self.finetune is not None:
            self.finetune.run(folder / _TUNED, report)
            checkpoint = str(folder / _TUNED / CHECKPOINT)
        rows = evaluate(
            checkpoint,
            task,
            languages=self.languages,
            split=self.split,
            options=EvaluateOptions(run=self.label or None, precision=self.precision),
            progress=report,
        )
        if self.finetune is not None and not self.keep:
            clear(folder / _TUNED)
        values = {f"{row.language}/{row.metric}": row.value for row in rows}
        values |= {f"{row.language}/": row.value for row in rows if row.metric == task.primary_metric}
        return {"values": values, "rows": [row.model_dump() for row in rows]}
