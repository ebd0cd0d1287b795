"""A lab: what a study, which is a function of it, trains and measures, and the cells of the papers that this fills.

Every method returns at once and makes nothing yet: a :class:`~isoglot.studies.graph.Call` stands for the folder that
the work will leave, a :class:`~isoglot.studies.graph.Value` for a number. Calls with equal arguments are one call,
whichever table asks for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Literal

from isoglot.checks import given_texts
from isoglot.studies.graph import Call, Output, Step, Value, mean
from isoglot.studies.sizes import SCALES, Setting, Sizes, Variants
from isoglot.studies.training_steps import Evaluate, Finetune, Pretrain

_NAMED = 6


@dataclass(frozen=True)
class External:
    """A checkpoint that isoglot does not train, or another name for one: a name for people, a path or hub name."""

    name: str
    path: str | Output


@dataclass(frozen=True)
class Unavailable:
    """Stands for an encoder, or a fine-tuned one, that is not available, and says why."""

    reason: str


Handle = Call | External | Unavailable
"""An encoder or a fine-tuned model."""


@dataclass(frozen=True)
class StudyTask:
    """A task as a study fine-tunes and measures it."""

    kind: str  # name in :data:`isoglot.tasks.TASKS`, or `package.module:Name`
    data: Sequence[
        str | Output
    ] = ()  # as `--data` of `isoglot finetune`; `{language}` and `{split}` are filled in
    languages: Sequence[str] = ()
    preset: str = "xtreme"  # settings of fine-tuning to start from
    train: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    split: Literal["dev", "test"] = "test"
    unavailable: str = ""  # why it is not measured

    @property
    def spec(self) -> dict[str, Any]:
        """The part that a result depends on."""
        return {"kind": self.kind, "data": self.data, "options": self.options}


@dataclass(frozen=True)
class TaskScores:
    """What an evaluation will measure."""

    call: Call | Unavailable
    languages: Sequence[str]

    def value(self, language: str, metric: str = "") -> Value:
        """A number; the task's own metric by default."""
        if isinstance(self.call, Unavailable):
            return Value(unavailable=self.call.reason)
        if language not in self.languages:
            return Value(unavailable="no data in this language at this scale")
        return self.call.value(f"{language}/{metric}")

    def mean(self, metric: str = "") -> Value:
        """The mean over the languages."""
        return mean([self.value(language, metric) for language in self.languages or [""]])


@dataclass(frozen=True)
class CellPlan:
    """A cell of a table that a value will fill."""

    table: str
    row: tuple[str, ...]
    column: tuple[str, ...]
    value: Value
    seed: int | None
    note: str = ""


class Lab:
    """Takes a study's calls, cells and figures."""

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
        self.cells: list[CellPlan] = []
        self.figures: dict[str, Call | Mapping[str, Any]] = {}
        self._calls: dict[Call, Call] = {}

    @property
    def seeds(self) -> list[int]:
        """One run each."""
        return list(self.size["seeds"])

    def at(self, tiny: Any, small: Any, paper: Any) -> Any:
        """What stands for this scale."""
        return (tiny, small, paper)[SCALES.index(self.scale)]

    def make(self, name: str, step: type[Step], /, **arguments: Any) -> Call:
        """A piece of work; the same step with the same arguments is the same call."""
        call = Call(name, step, arguments)
        return self._calls.setdefault(call, call)

    def external(self, name: str, path: str, *, module: str = "") -> External | Unavailable:
        """A checkpoint that is there, in a folder or on the hub; ``module`` is a package that its tokenizer needs."""
        if module and find_spec(module) is None:
            return Unavailable(f"the tokenizer of {name} needs {module}; type `pip install {module}`")
        return External(name, path)

    def pretrain(
        self, name: str, recipe: str, sections: Mapping[str, Any], *, seed: int = 1, run: str = ""
    ) -> Call:
        """An encoder trained by a recipe with sections over it, of which empty ones count for nothing.

        ``None`` deletes what the recipe has; ``run`` is its name in results.
        """
        own = {key: value for key, value in sections.items() if value != {}}
        return self.make(
            f"{name} s{seed}", Pretrain, recipe=recipe, sections=own, seed=seed, label=run or name
        )

    def finetune(
        self, encoder: Handle, task: StudyTask, language: str, *, seed: int = 1, **train: Any
    ) -> Call | Unavailable:
        """An encoder fine-tuned on a task in a language (several with commas), with settings laid over the task's."""
        if isinstance(encoder, Unavailable) or task.unavailable:
            return encoder if isinstance(encoder, Unavailable) else Unavailable(task.unavailable)
        setting = f" {train['setting']}" if "setting" in train else ""
        return self.make(
            f"{encoder.name} {task.kind} {language}{setting} s{seed}",
            Finetune,
            checkpoint=self.checkpoint(encoder),
            task=task.spec,
            preset=task.preset,
            train={**task.train, **train},
            language=language,
            seed=seed,
            label=_run(encoder),
        )

    def evaluate(self, model: Handle, task: StudyTask, languages: Sequence[str] = ()) -> TaskScores:
        """A fine-tuned model, or an encoder where the task has no head, measured in the task's languages or others."""
        languages = list(given_texts(languages or task.languages, "languages"))
        if isinstance(model, Unavailable) or task.unavailable:
            why = model if isinstance(model, Unavailable) else Unavailable(task.unavailable)
            return TaskScores(why, languages)
        spoken = ",".join(languages) if len(languages) <= _NAMED else f"{len(languages)} languages"
        call = self.make(
            f"{model.name} {task.kind} in {spoken}",
            Evaluate,
            checkpoint=self.checkpoint(model),
            task=task.spec,
            languages=languages,
            split=task.split,
            precision=task.train.get("precision", "float32"),
            label=_run(model),
        )
        return TaskScores(call, languages)

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
        rows, columns = ((text,) if isinstance(text, str) else tuple(text) for text in (row, column))
        self.cells.append(CellPlan(table, rows, columns, value, seed, note))

    def draw(self, name: str, step: type[Step], /, **arguments: Any) -> None:
        """A figure that a step draws."""
        self.figures[name] = self.make(name, step, **arguments)

    def plot(self, name: str, **content: Any) -> None:
        """A figure as :mod:`isoglot.reports.figure_files` has it, with values in place of numbers.

        An entry of a list whose values are not known is left out.
        """
        self.figures[name] = content

    @staticmethod
    def checkpoint(model: Call | External) -> str | Output:
        """Where a model's weights are."""
        return model / "checkpoint" if isinstance(model, Call) else model.path


def _run(model: Call | External) -> str:
    return model.step.label if isinstance(model, Call) else model.name
