"""Steps that train and measure: pre-training, fine-tuning, evaluation."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from isoglot.core.checks import resolve
from isoglot.core.errors import MISSING_FILE, UNSET_VARIABLE, ConfigurationError
from isoglot.core.options import Precision
from isoglot.evaluation.options import EvaluateOptions
from isoglot.finetuning.options import task_with_settings
from isoglot.recipe.document import dump_yaml, expand
from isoglot.reports.curves import TRAINER_STATE
from isoglot.runs.files import read_json, write_text
from isoglot.runs.folder import CHECKPOINT, clear
from isoglot.runs.record import MANIFEST
from isoglot.runs.reporter import Reporter
from isoglot.studies.inputs import Input, outside
from isoglot.studies.step import NAMES, Step, texts_of
from isoglot.studies.task_data import TaskSpec, data_files

_TUNED = "finetuned"
"""Folder of the fine-tuned model inside the folder of an evaluation."""


class Pretrain(Step):
    """An encoder trained by a recipe with other sections laid over it.

    ``recipe`` is the name of a built-in recipe, or a file. A null in ``sections`` deletes an entry of the recipe::

        Pretrain(recipe="tlm", sections={"steps": 100, "train": {"fp16": None}})
    """

    kind: ClassVar[str] = "pretrain"
    doing: ClassVar[str] = "pre-training"
    resumes: ClassVar[bool] = True
    weights: ClassVar[str] = CHECKPOINT
    recipe: str
    sections: dict[str, Any]
    seed: int = 1

    def values(self) -> dict[str, Any]:
        """Return the recipe of this run as a YAML file would hold it: ``{"extends": "tlm", "seed": 1, "steps": 100}``.

        A recipe file is named by its full path, so that the recipe runs from any folder.
        """
        extends = str(Path(self.recipe).resolve()) if Path(self.recipe).is_file() else self.recipe
        return {"extends": extends, "name": self.label, "seed": self.seed, **self.sections}

    def explicit(self) -> dict[str, Any]:
        """Return the recipe with all sections that it inherits and every default; its files may still be missing."""
        from isoglot.pretraining.build import explicit  # noqa: PLC0415 - loads the libraries
        from isoglot.pretraining.check import try_encoder  # noqa: PLC0415
        from isoglot.pretraining.recipe import typed_recipe  # noqa: PLC0415
        from isoglot.recipe.source import read_document  # noqa: PLC0415

        document = read_document(self.values(), variables=False)
        recipe, sections = typed_recipe(document)
        if recipe is None:
            raise ConfigurationError(document.problems)
        # Defaults that the encoder decides; none while the encoder to start from does not exist yet.
        encoder_defaults, _ = try_encoder(sections)
        return explicit(recipe, encoder_defaults)

    def expanded(self) -> Step:
        """Return the step unchanged.

        Variables are filled in where the recipe is read, because a recipe's hash is that of the text with variables.
        """
        return self

    def files(self, studies: str) -> list[Input]:
        """Return the inputs of the run, in this order.

        1. Texts with a variable, ``${ISOGLOT_DATA}/en.txt``, wherever they stand in the recipe.
        2. Paths in the sections that read files.
        3. Recipe files that the run extends, except those that isoglot ships.
        """
        from isoglot.recipe.source import builtin_recipes, read_document  # noqa: PLC0415

        document = read_document(self.values(), variables=False)
        # 1. They stay as they are written, so that the list is the same on every machine.
        with_variables = list(document.raw.values())
        # 2. A text with a variable is not listed a second time as a path of this machine.
        listed = {*with_variables, *map(expand, with_variables)}
        reading_sections = {key: document.values.get(key) for key in ("model", "tokenizer", "streams")}
        texts = set(texts_of(reading_sections)) - listed
        paths = sorted(text for text in texts if text.startswith(("/", ".", "~")))
        # 3. Values that no file gave have an origin without a name.
        recipes = {origin.name for origin in document.origins.values()} - {""}
        shipped = set(map(str, builtin_recipes().values()))
        return outside([*with_variables, *paths, *sorted(recipes - shipped)], studies)

    def code(self) -> list[Any]:
        """Return the step's class and the classes of the recipe's views and objectives."""
        from isoglot.pretraining.recipe import BUILT  # noqa: PLC0415 - loads the libraries
        from isoglot.recipe.source import read_document  # noqa: PLC0415

        values = read_document(self.values(), variables=False).values
        classes: list[Any] = [type(self)]
        # BUILT: {"views": ViewSection, "objectives": ObjectiveSection}
        for section, section_class in BUILT.items():
            names = [entry["type"] for entry in values.get(section, {}).values()]
            classes += [resolve(section_class.registry, name, kind=section_class.called) for name in names]
        return classes

    def check(self) -> None:
        """Refuse the recipe for the mistakes that ``isoglot pretrain --check`` finds, but not for missing files."""
        from isoglot.pretraining.check import load_recipe  # noqa: PLC0415 - loads the libraries

        try:
            load_recipe(self.values())
        except ConfigurationError as error:
            # The plan lists missing files and unset variables itself, from `files`.
            mistakes = [p for p in error.problems if p.kind not in (MISSING_FILE, UNSET_VARIABLE)]
            if mistakes:
                raise ConfigurationError(mistakes) from error

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Train the encoder, and record the hours that training took.

        A run that was stopped continues at its last checkpoint.
        """
        from isoglot.pretraining.check import load_recipe  # noqa: PLC0415
        from isoglot.pretraining.pretrain import pretrain_one  # noqa: PLC0415
        from isoglot.training.checkpoints import discard  # noqa: PLC0415

        heading = f"# {self.label}: a run of a study; `isoglot pretrain` takes this file\n"
        recipes = folder.parent.parent / "recipes"
        recipe_file = write_text(recipes / f"{folder.name}.yaml", heading + dump_yaml(self.values()))
        pretrain_one(load_recipe(self.values()), folder, resume=True, progress=report, cache=cache_of(folder))
        # Reports look for the training curves beside the weights: copy them from the last checkpoint of the trainer.
        states = folder.glob(f"checkpoint-*/{TRAINER_STATE}")
        last_state = max(states, key=_step_of_checkpoint, default=None)
        if last_state is not None:
            shutil.copyfile(last_state, folder / TRAINER_STATE)
        # The trainer's checkpoints are large, and only a run that was stopped needs them.
        for checkpoint in folder.glob("checkpoint-*"):
            discard(checkpoint)
        return {"recipe": str(recipe_file), "values": _hours(read_json(folder / MANIFEST) or {})}


def cache_of(folder: Path) -> Path:
    """Return the folder of the corpora that all steps share: ``ROOT/cache`` for ``ROOT/pretrain/NAME-KEY``."""
    return folder.parent.parent / "cache"


def _step_of_checkpoint(state: Path) -> int:
    """Return the step after which the trainer wrote a state: 600 for ``checkpoint-600/trainer_state.json``."""
    return int(state.parent.name.rpartition("-")[2])


def _hours(run_record: Mapping[str, Any]) -> dict[str, float]:
    """Return ``{"hours": ...}``, the hours of all optimiser steps; ``{}`` if no step was timed.

    ``run_record``: What the pre-training recorded of itself, in the file in which a step's manifest is one section.

    A run that was resumed at step 60 of 100 timed only the last 40 steps. If these took one hour, all 100 count as
    100 / 40 = 2.5 hours.
    """
    seconds = run_record.get("metrics", {}).get("train_runtime")
    steps = run_record.get("steps", 0)
    timed_steps = steps - run_record.get("resumed_at", 0)
    if seconds is None or not timed_steps:
        return {}
    return {"hours": seconds * steps / timed_steps / 3600}


@dataclass(frozen=True)
class External:
    """A checkpoint with a name for results.

    The study does not train it, or does train it and results shall call it by another name.
    """

    name: str  # in results
    path: str  # a folder, or a name on the hub


@dataclass(frozen=True)
class StudyTask:
    """A task with its data, and with the settings by which a study fine-tunes and measures encoders on the task.

    Example::

        StudyTask("pos", ["treebanks/{language}.{split}.conllu"], ["en", "de"], train={"epochs": 2})
    """

    kind: str  # the task's name in :data:`isoglot.tasks.TASKS`, or `package.module:Name`
    data: Sequence[str] = ()  # as `--data` of `isoglot finetune`; `{language}` and `{split}` are filled in
    languages: Sequence[str] = ()  # languages of the test data
    preset: str = "xtreme"  # settings of fine-tuning to start from
    train: Mapping[str, Any] = field(default_factory=dict)  # settings laid over the preset's
    options: Mapping[str, Any] = field(default_factory=dict)  # options of the task itself
    split: Literal["dev", "test"] = "test"  # the split that is measured
    unavailable: str = ""  # why the task is not measured, such as missing data; empty if it is


class Finetune(Step):
    """An encoder fine-tuned on a task.

    ``train`` holds settings of fine-tuning, which replace those of the ``preset``. ``language`` is the language of the
    training data, or several with commas: ``en,de``.
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
        """Return the task and the settings of fine-tuning, both with the preset's values; refuse wrong ones."""
        values = {**self.task.options, **self.train, "run": self.label or None}
        return task_with_settings(self.task.kind, self.task.data, paper=self.preset, **values)

    @property
    def duration_group(self) -> str:
        """Name the step and the task, ``finetune pos``: data of one task are about as large in every language."""
        return f"{self.kind} {self.task.kind}"

    def explicit(self) -> dict[str, Any]:
        """Return the fields with every setting of fine-tuning, those of the preset and defaults too."""
        _, settings = self.check()
        return {**super().explicit(), "train": settings.model_dump(mode="json")}

    def code(self) -> list[Any]:
        """Return the step's class and the task's class."""
        return [type(self), *self.task.code()]

    def files(self, studies: str) -> list[Input]:
        """Return the encoder, the training data, and the development data that the best checkpoint is chosen by."""
        _, settings = self.check()
        languages = self.language.split(",")
        dev_languages: Sequence[str]
        if settings.dev_fraction or settings.select == "last":
            # A share of the training data is held out as development data, or the last checkpoint is kept unseen.
            dev_languages = []
        elif settings.select == "joint":
            dev_languages = settings.select_languages
        else:
            dev_languages = languages
        return [
            *outside([self.checkpoint], studies),
            *data_files(self.task, [*languages, *settings.originals], "train", studies),
            *data_files(self.task, dev_languages, "dev", studies),
        ]

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Fine-tune the encoder into the step's folder."""
        from isoglot.finetuning.api import finetune  # noqa: PLC0415 - loads the libraries

        task, settings = self.check()
        options: dict[str, Any] = {"language": self.language, "seed": self.seed, "train": settings}
        finetune(self.checkpoint, task, **options, out=folder, progress=report)
        return {}


class Evaluate(Step):
    """The scores of a checkpoint on a task, in each language.

    The values are named ``LANGUAGE/METRIC``, ``de/f1``. The task's primary metric also has the short name ``de/``.

    ``finetune`` says how the checkpoint is fine-tuned first. Without it, the checkpoint is fine-tuned already, or the
    task has no head.
    """

    kind: ClassVar[str] = "evaluate"
    doing: ClassVar[str] = "measuring"
    resumes: ClassVar[bool] = True
    # The names of the fine-tuning do not count either, nor whether the fine-tuned weights are kept.
    unhashed: ClassVar[Mapping[str, Any]] = {**Step.unhashed, "keep": True, "finetune": NAMES}
    checkpoint: str
    task: TaskSpec
    languages: list[str]
    finetune: Finetune | None = None
    split: Literal["dev", "test"] = "test"
    precision: Precision = "float32"
    keep: bool = False  # keep the fine-tuned weights

    @property
    def duration_group(self) -> str:
        """Name the step and the task, ``evaluate pos``: data of one task are about as large in every language."""
        return f"{self.kind} {self.task.kind}"

    def explicit(self) -> dict[str, Any]:
        """Return the fields, with every setting of the fine-tuning before the measurement."""
        tuning = None if self.finetune is None else self.finetune.explicit()
        return {**super().explicit(), "finetune": tuning}

    def code(self) -> list[Any]:
        """Return the step's class and the task's class."""
        return [type(self), *self.task.code()]

    def files(self, studies: str) -> list[Input]:
        """Return the checkpoint, the inputs of fine-tuning and the data to measure on, each once."""
        tuning_inputs = [] if self.finetune is None else self.finetune.files(studies)
        data = data_files(self.task, self.languages, self.split, studies)
        return list(dict.fromkeys([*outside([self.checkpoint], studies), *tuning_inputs, *data]))

    def check(self) -> Any:
        """Return the task; refuse wrong options of the task and wrong settings of fine-tuning."""
        if self.finetune is not None:
            self.finetune.check()
        return self.task.build()

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Fine-tune the checkpoint if the step says so, and measure it on the task."""
        from isoglot.evaluation.evaluate import evaluate_checkpoint  # noqa: PLC0415 - loads the libraries

        task, checkpoint = self.check(), self.checkpoint
        if self.finetune is not None:
            self.finetune.run(folder / _TUNED, report)
            checkpoint = str(folder / _TUNED / CHECKPOINT)
        rows = evaluate_checkpoint(
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
        for row in rows:
            if row.metric == task.primary_metric:
                values[f"{row.language}/"] = row.value
        written = [row.model_dump() for row in rows]
        return {"values": values, "rows": written, "primary_metric": task.primary_metric}
