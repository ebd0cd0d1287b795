"""Settings of fine-tuning, and each paper's presets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import field_validator, model_validator

from isoglot.core.checks import did_you_mean, validated
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Count, Options, Positive, Precision, name_of_torch, option
from isoglot.modules.adapter_options import AdapterOptions
from isoglot.tasks import TaskFacts, build_task, task_class, task_options

if TYPE_CHECKING:  # --help imports nothing heavy
    from isoglot.formats.labelled.sources import DataSource


_RECORDED_IF_GIVEN = ("class_weight", "select_metric", "patience")


class FinetuneOptions(Options):
    """Settings of fine-tuning; of several rates, batch sizes or epochs the best combination on dev data is kept."""

    learning_rate: Positive | tuple[Positive, ...] = option(
        2e-5, "Peak learning rate; the best of several is kept: 1e-5,2e-5."
    )
    batch_size: Count | tuple[Count, ...] = option(
        32, "Examples per optimiser step and device; one or several values."
    )
    epochs: Positive | tuple[Positive, ...] = option(
        5, "Passes over the training data; one or several values."
    )
    warmup: float = option(0.0, "Warm-up: a share of all steps if below 1, else a number of steps.", ge=0)
    weight_decay: float = option(0.0, "Weight decay of AdamW.", ge=0)
    schedule: Literal[
        "linear", "cosine", "cosine_with_restarts", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt"
    ] = option("linear", "Learning rate schedule, as transformers names it.")  # fmt: skip
    adam_beta1: float = option(0.9, "Beta 1 of AdamW.", ge=0, lt=1)
    adam_beta2: float = option(0.999, "Beta 2 of AdamW.", ge=0, lt=1)
    adam_epsilon: float = option(1e-8, "Epsilon of AdamW.", gt=0)
    max_grad_norm: float = option(1.0, "Clip gradients to this norm; 0 for never.", ge=0)
    max_length: int | None = option(None, "Maximum tokens of a row; by default the task's.", ge=8)
    gradient_accumulation: int = option(1, "Forward passes per optimiser step.", ge=1)
    precision: Precision | Literal["mixed"] = option(
        "float32", "float32, bfloat16, float16, or mixed: float16 on a GPU, float32 without one."
    )
    dropout: float | None = option(None, "Dropout of all layers; by default the checkpoint's.", ge=0, lt=1)
    bucket: int = option(50, "Batches within which rows are sorted by length; 1 for random batches.", ge=1)
    evaluate_every: int | None = option(None, "Steps between evaluations; by default an epoch.", ge=1)
    select: Literal["source", "joint", "last"] = option(
        "source", "Checkpoint to keep: the best on the training language's dev data (source), on those of "
        "select_languages (joint), or the last one (last)."
    )  # fmt: skip
    select_languages: tuple[str, ...] = option(
        (), "Languages of the dev data, with select=joint.", only_with="select=joint"
    )
    adapter: AdapterOptions | None = option(
        None, "Adapter to train in place of the encoder's weights, merged at the end: {type: lora, rank: 8}."
    )
    run: str | None = option(None, "Name of the run in results; by default the pre-training run's.")
    language_ids: dict[str, int] | None = option(
        None,
        "Languages to ids of the encoder's language embeddings; by default those of its recipe; {} for none.",
    )
    setting: Literal["zero_shot", "translate_train", "code_switch", "code_switch_and_originals"] = option(
        "zero_shot",
        "Recorded with the run; code_switch mixes translations with their originals, code_switch_and_originals also "
        "keeps the translations.",
    )
    pivot: str = option(
        "en",
        "Language of the originals, for code_switch.",
        only_with="setting=code_switch|code_switch_and_originals",
    )
    dev_fraction: float = option(
        0.0, "Share of the training data to hold out if there are no dev data.", ge=0, lt=1
    )
    max_train_examples: int | None = option(
        None, "Maximum training examples, the first of each language, as many of each.", ge=2
    )
    class_weight: Literal["balanced"] | dict[str, Positive] | None = option(
        None,
        "Weights of classes in the loss: balanced (n / (classes * count)), or of some labels: {complaint: 5}; the "
        "others have 1.",
    )
    select_metric: str | None = option(
        None,
        "Metric to choose the checkpoint by; by default the task's own. Classifiers also have macro_f1, "
        "macro_precision, macro_recall, and f1_LABEL, precision_LABEL, recall_LABEL.",
        min_length=1,
    )
    patience: int | None = option(
        None, "Evaluations without a better development score after which training stops.", ge=1
    )

    _named = field_validator("precision", mode="before")(name_of_torch)

    @field_validator("select_languages", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("class_weight", mode="before")
    @classmethod
    def _by_text(cls, value: Any) -> Any:
        """Labels that are numbers, or true and false, as the texts that stand for them."""
        return (
            {str(label): weight for label, weight in value.items()} if isinstance(value, Mapping) else value
        )

    @model_validator(mode="after")
    def _chosen(self) -> Self:
        given = [name for name in ("select_metric", "patience") if getattr(self, name) is not None]
        if given and self.select == "last":
            raise ValueError(
                f"[[{given[0]}]]: needs development data, and select=last uses none; use [[select='source']]"
            )
        return self

    def recorded(self) -> dict[str, Any]:
        """The settings as the record of a run has them, without its name.

        Settings that runs did not always have stand there only where they are given, so that older runs are found
        again.
        """
        values = self.model_dump(mode="json", exclude={"run"})
        for name in _RECORDED_IF_GIVEN:
            if values[name] == type(self).model_fields[name].default:
                del values[name]
        return values

    @classmethod
    def build(cls, **values: Any) -> FinetuneOptions:
        """Options by name."""
        return validated(cls, values, owner="fine-tuning")

    @property
    def originals(self) -> tuple[str, ...]:
        """The languages whose training data are read beside those asked for."""
        return (self.pivot,) if self.copies > 1 else ()

    @property
    def copies(self) -> int:
        """How many rows that share a batch a translation makes."""
        return {"code_switch": 2, "code_switch_and_originals": 3}.get(self.setting, 1)

    def single(self, name: str) -> float:
        """A setting that may be a list, but is none in a member of :meth:`grid`."""
        value = getattr(self, name)
        if isinstance(value, tuple):
            raise ConfigurationError(f"{name} needs one value, got {list(value)}; choose one")
        return float(value)

    def grid(self) -> list[FinetuneOptions]:
        """Every combination of the values that are lists."""
        names = [n for n in ("learning_rate", "batch_size", "epochs") if isinstance(getattr(self, n), tuple)]
        choices = product(*(getattr(self, n) for n in names))
        return [self.model_copy(update=dict(zip(names, values, strict=True))) for values in choices]

    def with_kept_adapter(self) -> Self:
        """A copy whose adapter is also written separately."""
        if self.adapter is None:
            raise ConfigurationError(
                "[[keep_adapter]] needs an adapter; add [[adapter={'type': 'lora', 'rank': 8}]]"
            )
        return self.changed(adapter=self.adapter.model_copy(update={"keep": True}))

    def changed(self, **values: Any) -> Self:
        """A copy with other values, checked."""
        return type(self).build(**{**self.model_dump(), **values})  # type: ignore[return-value]


_FROZEN: Mapping[str, Any] = {
    "learning_rate": 1e-3, "batch_size": 128, "epochs": 20, "evaluate_every": None, "warmup": 0.0,
    "weight_decay": 0.0, "precision": "float32", "select": "source",
}  # fmt: skip
"""In place of a preset's values, which are of encoders, for a classifier of frozen vectors: LASER's rate and batch."""

PRESETS = ("xtreme", "weam", "ppa", "align_mlm", "xlm_align")
"""Papers whose settings tasks state. WEAM gives none of fine-tuning: it has XTREME's."""


def task_with_settings(
    name: str, data: Sequence[str] | DataSource, /, *, paper: str, **values: Any
) -> tuple[Any, FinetuneOptions]:
    """A task and how to fine-tune it, from a paper's settings and the ``values`` that replace some of them.

    Example:
        >>> len(task_with_settings("pos", [], paper="xlm_align")[1].grid())
        9
    """
    settings = set(FinetuneOptions.model_fields)
    of_task = task_options(name).model_fields.keys() - settings
    frozen = _FROZEN if values.get("frozen") else {}
    every = {**_preset(paper, task_class(name)), **frozen, **values}
    unknown = [
        f"fine-tuning on {name} has no setting {key!r}; {did_you_mean(key, of_task | settings)}"
        for key in every
        if key not in of_task | settings
    ]
    if unknown:
        raise ConfigurationError(unknown)
    train = FinetuneOptions.build(**{k: v for k, v in every.items() if k not in of_task})
    return build_task(name, data, **{k: v for k, v in every.items() if k in of_task}), train


def settings_for(task: Any, /, *, paper: str, **values: Any) -> FinetuneOptions:
    """How to fine-tune a task that is there already: as :func:`task_with_settings`, but for the task's own options."""
    frozen = _FROZEN if getattr(task, "frozen", None) else {}
    every = {**_preset(paper, type(task)), **frozen}
    preset = {name: value for name, value in every.items() if not hasattr(task, name)}
    return FinetuneOptions.build(**{**preset, **values})


def _preset(name: str, task: type) -> Mapping[str, Any]:
    facts = TaskFacts.of(task)
    if name not in (*PRESETS, *facts.presets):
        raise ConfigurationError(f"unknown preset {name!r}; {did_you_mean(name, (*PRESETS, *facts.presets))}")
    if not facts.presets:
        return {}
    values = facts.presets.get("xtreme" if name == "weam" else name)
    if values is None:
        raise ConfigurationError(
            f"preset {name!r} has no settings for {facts.kind}: the paper does not give them; use [[preset]] "
            f"{next(iter(facts.presets))}"
        )
    return values
