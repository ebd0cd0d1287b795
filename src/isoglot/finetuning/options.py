"""Settings of fine-tuning, and the choice of a preset, which takes them from a paper.

The values of the presets are with the tasks: constants in ``isoglot.tasks.head_task``, which ``presets`` of each class
of tasks puts together.
"""

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
"""Settings that are younger than some runs: see :meth:`FinetuneOptions.recorded`."""


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
    # One setting for both, as in transformers: `warmup=0.1` is a tenth of all steps, `warmup=500` are 500 steps.
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
    bucket: int = option(
        50, "Optimiser steps within which rows are sorted by length; 1 for random batches.", ge=1
    )
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
        "Experimental setup, recorded with the run; code_switch mixes translations with their originals in the "
        "pivot language, code_switch_and_originals also keeps each translation unmixed.",
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

    # torch.bfloat16 counts as bfloat16.
    _precision_from_torch = field_validator("precision", mode="before")(name_of_torch)

    @field_validator("select_languages", mode="before")
    @classmethod
    def _one_as_tuple(cls, value: Any) -> Any:
        """Accept a single language without a list: ``"de"`` is ``("de",)``."""
        return (value,) if isinstance(value, str) else value

    @field_validator("class_weight", mode="before")
    @classmethod
    def _labels_as_text(cls, value: Any) -> Any:
        """Accept labels that are numbers or booleans, as YAML reads them: ``{1: 5}`` is ``{"1": 5}``."""
        if not isinstance(value, Mapping):
            return value
        return {str(label): weight for label, weight in value.items()}

    @model_validator(mode="after")
    def _dev_data_where_needed(self) -> Self:
        """Refuse settings that read a development score if the last checkpoint is kept, which has none."""
        if self.select == "last":
            for name in ("select_metric", "patience"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"[[{name}]]: needs development data, and select=last uses none; use [[select='source']]"
                    )
        return self

    def recorded(self) -> dict[str, Any]:
        """Return the settings as a run's record has them; the name of the run is none of them.

        A finished run is found again by its record. A run that was recorded before there was a ``patience`` has none in
        its record, so ``patience`` is recorded only if it differs from its default; likewise the other young settings.

        The type of a setting may be changed between ``int`` and ``float``: records are compared by value, and 0 equals
        0.0. Only the key of the run in its model card, a hash of the settings' text, then differs.
        """
        values = self.model_dump(mode="json", exclude={"run"})
        for name in _RECORDED_IF_GIVEN:
            default = type(self).model_fields[name].default
            if values[name] == default:
                del values[name]
        return values

    @classmethod
    def build(cls, **values: Any) -> FinetuneOptions:
        """Make checked settings from values by name: ``FinetuneOptions.build(epochs=3)``."""
        return validated(cls, values, owner="fine-tuning")

    @property
    def originals(self) -> tuple[str, ...]:
        """Languages whose training data are read beside the requested ones: the pivot's, for code-switching."""
        return (self.pivot,) if self.copies > 1 else ()

    @property
    def copies(self) -> int:
        """Number of rows that one training example becomes; all of them share a batch.

        Without code-switching it is the row itself. ``code_switch`` makes two rows of a translation and its original,
        mixed each way; ``code_switch_and_originals`` adds the translation itself.
        """
        return {"code_switch": 2, "code_switch_and_originals": 3}.get(self.setting, 1)

    @property
    def keeps_translations(self) -> bool:
        """Whether a translation itself is trained on beside its two mixed rows.

        The name of the setting calls it an original. Elsewhere an original is the text in the pivot language.
        """
        return self.setting == "code_switch_and_originals"

    def single(self, name: str) -> float:
        """Return a setting that may be a list as one number.

        The members of :meth:`grid` have no lists any more: ``options.grid()[0].single("learning_rate")``.

        Raises:
            ConfigurationError: The setting is a list.
        """
        value = getattr(self, name)
        if isinstance(value, tuple):
            raise ConfigurationError(f"{name} needs one value, got {list(value)}; choose one")
        return float(value)

    def grid(self) -> list[FinetuneOptions]:
        """Return one settings object for each combination of the settings that are lists, the last list fastest.

        ``learning_rate=(1e-5, 2e-5)`` and ``epochs=(2, 3)`` give rate and epochs (1e-5, 2), (1e-5, 3), (2e-5, 2) and
        (2e-5, 3). Without lists the grid is the settings alone.
        """
        lists: dict[str, tuple[Any, ...]] = {}
        for name in ("learning_rate", "batch_size", "epochs"):
            value = getattr(self, name)
            if isinstance(value, tuple):
                lists[name] = value
        combinations: list[FinetuneOptions] = []
        for values in product(*lists.values()):
            changes = dict(zip(lists, values, strict=True))
            combinations.append(self.model_copy(update=changes))
        return combinations

    def with_kept_adapter(self) -> Self:
        """Return a copy of the settings by which the adapter is also written into a folder of its own."""
        if self.adapter is None:
            raise ConfigurationError(
                "[[keep_adapter]] needs an adapter; add [[adapter={'type': 'lora', 'rank': 8}]]"
            )
        return self.changed(adapter=self.adapter.model_copy(update={"keep": True}))

    def changed(self, **values: Any) -> Self:
        """Return a copy with some other values, checked as a whole."""
        return type(self).build(**{**self.model_dump(), **values})  # type: ignore[return-value]


_FROZEN: Mapping[str, Any] = {
    "learning_rate": 1e-3, "batch_size": 128, "epochs": 20, "evaluate_every": None, "warmup": 0.0,
    "weight_decay": 0.0, "precision": "float32", "select": "source",
}  # fmt: skip
"""Settings of a classifier over frozen vectors, whatever the preset: the papers' values are for training an encoder.

Rate and batch size are those of LASER's classifier (Artetxe and Schwenk 2019).
"""

PRESETS = ("xtreme", "weam", "ppa", "align_mlm", "xlm_align")
"""Papers by whose settings the tasks can be fine-tuned. WEAM gives no settings of fine-tuning: it takes XTREME's."""


def task_with_settings(
    name: str, data: Sequence[str] | DataSource, /, *, paper: str, **values: Any
) -> tuple[Any, FinetuneOptions]:
    """Make a task and its settings of fine-tuning: those of a paper, some of them replaced by ``values``.

    ``values`` may hold options of the task as well as settings; one name of both is a setting (``max_length``).

    Example:
        >>> len(task_with_settings("pos", [], paper="xlm_align")[1].grid())
        9
    """
    setting_names = set(FinetuneOptions.model_fields)
    task_names = task_options(name).model_fields.keys() - setting_names
    frozen = _FROZEN if values.get("frozen") else {}
    merged = {**_preset(paper, task_class(name)), **frozen, **values}  # the later ones win
    for_task: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    mistakes: list[str] = []
    for key, value in merged.items():
        if key in task_names:
            for_task[key] = value
        elif key in setting_names:
            settings[key] = value
        else:
            hint = did_you_mean(key, task_names | setting_names)
            mistakes.append(f"fine-tuning on {name} has no setting {key!r}; {hint}")
    if mistakes:
        raise ConfigurationError(mistakes)
    train = FinetuneOptions.build(**settings)
    return build_task(name, data, **for_task), train


def settings_for(task: Any, /, *, paper: str, **values: Any) -> FinetuneOptions:
    """Make the settings for a task that exists already: those of a paper, some of them replaced by ``values``.

    A preset may also have options of the task itself, which the task has decided for itself; they are left out. To set
    these by the paper too, make the task with :func:`task_with_settings`.
    """
    frozen = _FROZEN if getattr(task, "frozen", None) else {}
    preset = {**_preset(paper, type(task)), **frozen}
    settings = {name: value for name, value in preset.items() if not hasattr(task, name)}
    return FinetuneOptions.build(**{**settings, **values})


def _preset(name: str, task: type) -> Mapping[str, Any]:
    """Return a paper's settings for a class of tasks.

    1. Every class of tasks knows the names in :data:`PRESETS`; a user's class may have more of its own.
    2. A class without any presets has the defaults by every name.
    3. ``weam`` is ``xtreme``.
    4. A class that has presets, but none of this paper, cannot be fine-tuned by the paper.
    """
    facts = TaskFacts.of(task)
    known = (*PRESETS, *facts.presets)
    if name not in known:  # 1
        raise ConfigurationError(f"unknown preset {name!r}; {did_you_mean(name, known)}")
    if not facts.presets:  # 2
        return {}
    values = facts.presets.get("xtreme" if name == "weam" else name)  # 3
    if values is None:  # 4
        raise ConfigurationError(
            f"preset {name!r} has no settings for {facts.kind}: the paper does not give them; use [[preset]] "
            f"{next(iter(facts.presets))}"
        )
    return values
