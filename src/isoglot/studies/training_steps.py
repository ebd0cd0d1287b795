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
        """The recipe, as it runs from any folder."""
        extends = str(Path(self.recipe).resolve()) if Path(self.recipe).is_file() else self.recipe
        return {"extends": extends, "name": self.label, "seed": self.seed, **self.sections}

    def explicit(self) -> dict[str, Any]:
        """The recipe with what it extends and every default; files need not be there yet."""
        from isoglot.pretraining.build import explicit  # noqa: PLC0415 - loads the libraries
        from isoglot.pretraining.check import try_encoder  # noqa: PLC0415
        from isoglot.pretraining.recipe import typed  # noqa: PLC0415
        from isoglot.recipe.source import read_document  # noqa: PLC0415

        document = read_document(self.values(), variables=False)
        recipe, sections = typed(document)
        if recipe is None:
            raise ConfigurationError(document.problems)
        filled_in, _ = try_encoder(sections)  # nothing, while the encoder to start from is not there yet
        return explicit(recipe, filled_in)

    def expanded(self) -> Step:
        """As it is: the recipe fills in variables, and its hash is of what is written."""
        return self

    def files(self, studies: str) -> list[Input]:
        """The encoder it starts from, the files of the streams, variables, and recipes that isoglot does not ship."""
        from isoglot.recipe.source import builtin_recipes, read_document  # noqa: PLC0415

        document = read_document(self.values(), variables=False)
        recipes = {origin.name for origin in document.origins.values()} - {""}
        sections = {key: document.values.get(key) for key in ("model", "tokenizer", "streams")}
        written = list(document.raw.values())
        filled_in = {expand(text) for text in written}
        texts = set(texts_of(sections)) - filled_in - set(written)
        paths = sorted(text for text in texts if text.startswith(("/", ".", "~")))
        shipped = set(map(str, builtin_recipes().values()))
        return outside([*written, *paths, *sorted(recipes - shipped)], studies)

    def code(self) -> list[Any]:
        """Those of views and objectives."""
        from isoglot.pretraining.recipe import MADE  # noqa: PLC0415 - loads the libraries
        from isoglot.recipe.source import read_document  # noqa: PLC0415

        values = read_document(self.values(), variables=False).values
        entries = [(MADE[key], entry["type"]) for key in MADE for entry in values.get(key, {}).values()]
        return [type(self), *(resolve(kind.registry, name, kind=kind.called) for kind, name in entries)]

    def check(self) -> None:
        """Refuse what ``isoglot pretrain --check`` refuses, but for files that are not there."""
        from isoglot.pretraining.check import load_recipe  # noqa: PLC0415 - loads the libraries

        try:
            load_recipe(self.values())
        except ConfigurationError as error:
            absent = (MISSING_FILE, UNSET_VARIABLE)  # files() lists those
            if wrong := [p for p in error.problems if p.kind not in absent]:
                raise ConfigurationError(wrong) from error

    def run(self, folder: Path, report: Reporter) -> Mapping[str, Any]:
        """Train; ``hours`` is the time that the optimiser's steps took."""
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
            shutil.copyfile(last, folder / TRAINER_STATE)  # the report looks for curves there
        for old in folder.glob("checkpoint-*"):
            discard(old)  # only a stopped run needs them
        return {"recipe": str(path), "values": _hours(read_json(folder / MANIFEST) or {})}


def _hours(manifest: Mapping[str, Any]) -> dict[str, float]:
    """The time of all steps, of a resumed run by that of the steps since; none where there were none."""
    seconds, steps = manifest.get("metrics", {}).get("train_runtime"), manifest.get("steps", 0)
    timed = steps - manifest.get("resumed_at", 0)
    return {"hours": seconds * steps / timed / 3600} if seconds is not None and timed else {}


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
    """The files from outside of a task's split, or what was looked for where there is none."""
    from isoglot.formats.labelled.sources import DataSource  # noqa: PLC0415

    specs = DataSource(task.data).of_split(split)
    outer = [read.path for read in outside(specs, studies)]
    for language in languages:
        looked_up = [(spec, *_found(task, spec, language, split)) for spec in outer]
        for _, files, _ in looked_up:
            yield from (Input(file, there=True) for file in files)
        found = any(files for _, files, _ in looked_up)
        if not found and len(outer) == len(specs):  # else other steps may make the data
            for spec, _, problem in looked_up:
                yield Input(problem or _of_language(spec, language, split), there=False)


def _found(task: TaskSpec, spec: str, language: str, split: str) -> tuple[list[str], str]:
    """The files that a task finds by a specification, with the variables that it has, or why it finds none there.

    Of ``${ISOGLOT_CORPORA}/pos`` in German the file ``${ISOGLOT_CORPORA}/pos/de.test.conllu``, or the text
    ``${ISOGLOT_CORPORA}/pos: no test data for 'de'``. A template's name says what is lacking, so it has no reason.
    """
    from isoglot.tasks.base import locations_of  # noqa: PLC0415

    is_template, is_folder = "{" in VARIABLE.sub("", spec), not Path(spec).suffix
    problem = f"{spec}: no {split} data for {language!r}" if is_folder and not is_template else ""
    if unset_in(spec):
        return [], problem
    path = expand(spec)
    try:
        locations = locations_of(task.model_copy(update={"data": [path]}).build(), language, split)
    except ConfigurationError as error:
        several = str(error).startswith(f"{path} has ")
        return [], f"{spec}{str(error).partition(';')[0].removeprefix(path)}" if several else problem
    if is_template:
        return [_of_language(spec, language, split)], ""
    below = [location.path for location in locations if location.path.startswith(path)]
    return [spec + file.removeprefix(path) for file in below] or [spec] * bool(locations), ""


def _of_language(spec: str, language: str, split: str) -> str:
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
