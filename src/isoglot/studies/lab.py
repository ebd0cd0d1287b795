"""A lab: what a study, which is a function of it, trains and measures, and the cells of the papers that this fills.

Every method returns at once and does nothing yet: a :class:`~isoglot.studies.calls.Call` stands for the folder that
the work will leave, a :class:`~isoglot.studies.calls.Value` for a number. Calls with equal arguments are one call,
whichever table asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

from isoglot.studies.calls import TOKEN, Call, Step, Told, Unavailable, Value, mean
from isoglot.studies.sizes import SCALES, Setting, Sizes, Variants
from isoglot.studies.training_steps import Evaluate, Finetune, Pretrain, TaskData

_NAMED = 6


@dataclass(frozen=True)
class External:
    """A checkpoint that isoglot does not train: a name for people, and a path or hub name."""

    name: str
    path: str


Handle = Call | External | Unavailable
"""An encoder or a fine-tuned model."""


@dataclass(frozen=True)
class Task:
    """A task as a study fine-tunes and measures it."""

    kind: str  # name in :data:`isoglot.tasks.TASKS`, or `package.module:Name`
    data: Sequence[str] = ()  # as `--data` of `isoglot finetune`; `{language}` and `{split}` are filled in
    languages: Sequence[str] = ()
    preset: str = "xtreme"  # settings of fine-tuning to start from
    train: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    split: Literal["dev", "test"] = "test"
    unavailable: str = ""  # why it is not measured

    def described(self) -> TaskData:
        """The part that a result depends on."""
        return TaskData(kind=self.kind, data=[str(spec) for spec in self.data], options=dict(self.options))


@dataclass(frozen=True)
class Scores:
    """What an evaluation will measure."""

    call: Call | Unavailable
    languages: Sequence[str]

    def value(self, language: str, metric: str = "") -> Value:
        """A number; the task's own metric by default."""
        if isinstance(self.call, Unavailable):
            return Value(unavailable=self.call.reason)
        if language not in self.languages:
            return Value(unavailable="no data in this language at this scale")
        return Value(self.call, f"{language}/{metric}")

    def mean(self, metric: str = "") -> Value:
        """The mean over the languages."""
        if isinstance(self.call, Unavailable):
            return Value(unavailable=self.call.reason)
        return mean([self.value(language, metric) for language in self.languages])


@dataclass(frozen=True)
class Place:
    """A cell of a table that a value will fill."""

    table: str
    row: tuple[str, ...]
    column: tuple[str, ...]
    value: Value
    seed: int | None
    note: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure: drawn by a call, or a figure file of the report with values in place of its numbers."""

    name: str
    call: Call | None = None
    content: Mapping[str, Any] = field(default_factory=dict)


class Lab:
    """Takes a study's calls and cells."""

    def __init__(
        self,
        sizes: Sizes,
        *,
        scale: str = "tiny",
        changes: Mapping[str, Any] | None = None,
        variants: Variants | None = None,
    ) -> None:
        self.setting = Setting.of(sizes, variants or {}, scale=scale, changes=changes)
        self.scale, self.size = scale, self.setting.size
        self.places: list[Place] = []
        self.drawings: list[Drawing] = []
        self._calls: dict[str, Call] = {}

    @property
    def seeds(self) -> list[int]:
        """One run each."""
        return list(self.size["seeds"])

    def at(self, tiny: Any, small: Any, paper: Any) -> Any:
        """What stands for this scale."""
        return (tiny, small, paper)[SCALES.index(self.scale)]

    def make(self, name: str, step: Step) -> Call:
        """A piece of work; the same step again is the same call."""
        text = step.model_dump_json()
        needs = [self._calls[key] for key in dict.fromkeys(key for key, _ in TOKEN.findall(text))]
        call = Call(step, name, needs)
        return self._calls.setdefault(call.key, call)

    def external(self, name: str, path: str, *, module: str = "") -> External | Unavailable:
        """A checkpoint that is there, in a folder or on the hub; ``module`` is a package that its tokenizer needs."""
        if module and find_spec(module) is None:
            return Unavailable(f"the tokenizer of {name} needs {module}; type `pip install {module}`")
        return External(name, path)

    def pretrain(
        self, name: str, recipe: str, sections: Mapping[str, Any], *, seed: int = 1, run: str = ""
    ) -> Call:
        """An encoder trained by a recipe with sections over it (``None`` deletes); ``run`` is its name in results."""
        return self.make(
            f"{name} s{seed}", Pretrain(recipe=recipe, sections=dict(sections), seed=seed, label=run or name)
        )

    def finetune(
        self, encoder: Handle, task: Task, language: str, *, seed: int = 1, **train: Any
    ) -> Call | Unavailable:
        """An encoder fine-tuned on a task in a language (several with commas), with settings laid over the task's."""
        if isinstance(encoder, Unavailable) or task.unavailable:
            return encoder if isinstance(encoder, Unavailable) else Unavailable(task.unavailable)
        step = Finetune(
            checkpoint=self.checkpoint(encoder),
            task=task.described(),
            preset=task.preset,
            train={**task.train, **train},
            language=language,
            seed=seed,
            label=_run(encoder),
        )
        setting = f" {train['setting']}" if "setting" in train else ""
        return self.make(f"{encoder.name} {task.kind} {language}{setting} s{seed}", step)

    def evaluate(self, model: Handle, task: Task, languages: Sequence[str] = ()) -> Scores:
        """A fine-tuned model, or an encoder where the task has no head, measured in the task's languages or others."""
        languages = list(languages or task.languages)
        if isinstance(model, Unavailable) or task.unavailable:
            why = model if isinstance(model, Unavailable) else Unavailable(task.unavailable)
            return Scores(why, languages)
        step = Evaluate(
            checkpoint=self.checkpoint(model),
            task=task.described(),
            languages=languages,
            split=task.split,
            precision=task.train.get("precision", "float32"),
            label=_run(model),
        )
        spoken = ",".join(languages) if len(languages) <= _NAMED else f"{len(languages)} languages"
        return Scores(self.make(f"{model.name} {task.kind} in {spoken}", step), languages)

    def analyse(self, name: str, step: Step, metric: str, *, told: Told | None = None) -> Value:
        """A number that an analysis measures; ``told``: what a row of results says of it."""
        return Value(self.make(name, step), metric, told=told)

    def cell(
        self,
        table: str,
        *,
        row: str | Sequence[str],
        column: str | Sequence[str],
        value: Value,
        seed: int | None = None,
        note: str = "",
    ) -> None:
        """Put a value into a table (``align_mlm:Table3``), in the row and column that have these labels.

        A row's labels are its label and the values of its attributes; ``note`` is what a reader has to know.
        """
        names = [(text,) if isinstance(text, str) else tuple(text) for text in (row, column)]
        self.places.append(Place(table, names[0], names[1], value, seed, note))

    def draw(self, name: str, step: Step) -> None:
        """A figure."""
        self.drawings.append(Drawing(name, self.make(name, step)))

    def plot(self, name: str, **content: Any) -> None:
        """A figure as :mod:`isoglot.report.figure_files` has it, with values in place of numbers.

        An entry of a list whose values are not known is left out.
        """
        self.drawings.append(Drawing(name, content=content))

    @staticmethod
    def checkpoint(model: Call | External) -> str:
        """Where a model's weights are."""
        return f"{model}/checkpoint" if isinstance(model, Call) else model.path


def _run(model: Call | External) -> str:
    return model.step.label if isinstance(model, Call) else model.name
