"""How a task is fine-tuned, and each paper's settings."""

from __future__ import annotations

import difflib
from itertools import product
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from isoglot.errors import ConfigurationError
from isoglot.tasks.features import Precision

__all__ = ["PRESETS", "FinetuneOptions", "preset"]

_TAGS, _PAIRS, _QUESTIONS = ("pos", "ner"), ("xnli", "pawsx"), ("squad", "xquad", "mlqa", "tydiqa")


class FinetuneOptions(BaseModel):
    """Settings of fine-tuning.

    ``learning_rate``, ``batch_size`` and ``epochs`` may be lists: then all combinations are tried and the one that
    does best on the development data is kept.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    learning_rate: float | tuple[float, ...] = 2e-5
    batch_size: int | tuple[int, ...] = Field(32, description="examples of an optimiser step on one device")
    epochs: float | tuple[float, ...] = 5
    warmup: float = Field(0.0, ge=0, description="a share of all steps below 1, steps from 1 on")
    weight_decay: float = Field(0.0, ge=0)
    schedule: str = "linear"
    adam_beta1: float = 0.9
    adam_beta2: float = 0.999
    adam_epsilon: float = 1e-8
    max_grad_norm: float = 1.0
    max_length: int | None = Field(None, ge=8, description="tokens of a row; by default the task's")
    gradient_accumulation: int = Field(1, ge=1, description="forwards that a batch is spread over")
    precision: Precision = "float32"
    dropout: float | None = Field(None, ge=0, lt=1, description="by default the checkpoint's")
    bucket: int = Field(
        50, ge=1, description="batches among which rows of like length are put together; 1: batches at random"
    )
    evaluate_every: int | None = Field(
        None, ge=1, description="steps between evaluations; by default an epoch"
    )
    select: Literal["source", "joint", "last"] = Field(
        "source", description="keep the best checkpoint on the training language's dev data, on those of "
        "select_languages together, or the last one"
    )  # fmt: skip
    select_languages: tuple[str, ...] = ()
    run: str | None = Field(None, description="name in results; by default the pre-training run's")
    language_ids: dict[str, int] | None = Field(
        None,
        description="of an encoder with language embeddings: the task's languages to ids; by default those of its "
        "recipe; {}: without language embeddings",
    )
    setting: Literal["zero_shot", "translate_train", "code_switch"] = "zero_shot"
    pivot: str = Field("en", description="language of the originals, for code_switch")
    dev_fraction: float = Field(
        0.0, ge=0, lt=1, description="share of the training data held out where there are no dev data"
    )
    max_train_examples: int | None = Field(
        None, ge=2, description="the first ones alone, as many of each language"
    )

    @model_validator(mode="after")
    def _languages_are_used(self) -> Self:
        if self.select_languages and self.select != "joint":
            raise ValueError(f"select_languages given with select={self.select}; add --set select=joint")
        return self

    @classmethod
    def build(cls, **values: Any) -> FinetuneOptions:
        """Options by name; ``None`` and missing ones take the default.

        Raises:
            ConfigurationError: unknown names, with what was perhaps meant, and bad values; all of them.
        """
        try:
            return cls(**values)
        except ValidationError as error:
            raise ConfigurationError([_problem(e) for e in error.errors()]) from error

    def single(self, name: str) -> float:
        """A setting that may be a list, but is none in a member of :meth:`grid`.

        Raises:
            ConfigurationError: it is a list.
        """
        value = getattr(self, name)
        if isinstance(value, tuple):
            raise ConfigurationError(f"{name}={list(value)} given where one value is needed; choose one")
        return float(value)

    def grid(self) -> list[FinetuneOptions]:
        """Every combination of the values that are lists."""
        names = [n for n in ("learning_rate", "batch_size", "epochs") if isinstance(getattr(self, n), tuple)]
        choices = product(*(getattr(self, n) for n in names))
        return [self.model_copy(update=dict(zip(names, values, strict=True))) for values in choices]

    def changed(self, **values: Any) -> Self:
        """A copy with other values, checked."""
        return type(self).build(**{**self.model_dump(), **values})  # type: ignore[return-value]


def _xtreme(kind: str) -> dict[str, Any]:
    """XTREME's scripts (Hu et al. 2020, appendix B)."""
    if kind in _QUESTIONS:
        return {"learning_rate": 3e-5, "epochs": 3, "warmup": 500, "weight_decay": 1e-4, "max_length": 384,
                "select": "last"}  # fmt: skip
    if kind in _TAGS:
        return {"learning_rate": 2e-5, "epochs": 10, "max_length": 128}
    return {
        "learning_rate": 2e-5,
        "epochs": 5,
        "max_length": 128,
        "evaluate_every": 200 if kind == "xnli" else 100,
    }


def _ppa(kind: str) -> dict[str, Any] | None:
    """PPA §4.2: XNLI and MLQA. 386 is what the paper prints."""
    shared = {"epochs": 2, "warmup": 1000, "weight_decay": 0.01}
    if kind == "xnli":
        return {**shared, "learning_rate": 5e-5, "max_length": 128}
    return {**shared, "learning_rate": 3e-5, "max_length": 386} if kind in _QUESTIONS else None


def _align_mlm(kind: str) -> dict[str, Any] | None:
    """ALIGN-MLM Table 11."""
    epochs = {"xnli": 5, "ner": 10, "pos": 10}.get(kind)
    return None if epochs is None else {"learning_rate": 2e-5, "epochs": epochs, "max_length": 128}


def _xlm_align(kind: str) -> dict[str, Any] | None:
    """XLM-Align Table 12; searched on the joint dev data of all languages. Lengths are not given: XTREME's."""
    table: dict[str, dict[str, Any]] = {
        "pos": {"batch_size": (8, 16, 32), "learning_rate": (1e-5, 2e-5, 3e-5), "epochs": 10},
        "ner": {"batch_size": 8, "learning_rate": (5e-6, 6e-6, 7e-6, 8e-6, 9e-6), "epochs": 10},
        "xquad": {"learning_rate": (2e-5, 3e-5, 4e-5), "epochs": 4},
        "mlqa": {"learning_rate": (2e-5, 3e-5, 4e-5), "epochs": (2, 3, 4)},
        "tydiqa": {"learning_rate": (2e-5, 3e-5), "epochs": (5, 10, 15, 20)},
        "xnli": {"learning_rate": (5e-6, 6e-6, 7e-6, 8e-6), "epochs": 10, "warmup": 12_500},
        "pawsx": {"learning_rate": (1e-5, 2e-5), "epochs": 10},
    }
    if kind not in table:
        return None
    length = 384 if kind in _QUESTIONS else 128
    return {"warmup": 0.1, "weight_decay": 0.0, "select": "joint", "max_length": length, **table[kind]}


PRESETS = {
    "xtreme": _xtreme,
    "weam": _xtreme,  # the paper gives no settings of fine-tuning
    "ppa": _ppa,
    "align_mlm": _align_mlm,
    "xlm_align": _xlm_align,
}
"""Name of a preset to its settings for a kind of task."""


def preset(name: str, kind: str, **changes: Any) -> FinetuneOptions:
    """A paper's settings for a task.

    Args:
        name: one of :data:`PRESETS`.
        kind: of the task.
        **changes: values that replace the preset's.

    Raises:
        ConfigurationError: no such preset, the paper has none for this task, or bad values.

    Example:
        >>> preset("ppa", "xnli").learning_rate, len(preset("xlm_align", "pos").grid())
        (5e-05, 9)
    """
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        hint = f", did you mean {near[0]!r}?" if near else ""
        raise ConfigurationError(f"preset {name!r} given{hint}; there are {', '.join(PRESETS)}")
    values = PRESETS[name](kind)
    if values is None:
        able = [n for n, settings in PRESETS.items() if settings(kind) is not None]
        raise ConfigurationError(
            f"preset {name!r} has no settings for {kind}: the paper does not give them; use --preset {able[0]}"
        )
    return FinetuneOptions.build(**{**values, **changes})


def _problem(error: Any) -> str:
    name = ".".join(str(part) for part in error["loc"][:1])
    if not name:  # of several settings together
        return f"fine-tuning: {error['msg'].removeprefix('Value error, ')}"
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name, FinetuneOptions.model_fields, n=1)
        hint = (
            f"did you mean {near[0]!r}?" if near else f"there are {', '.join(FinetuneOptions.model_fields)}"
        )
        return f"fine-tuning has no setting {name!r}; {hint}"
    return f"fine-tuning setting {name}={error['input']!r}: {error['msg'].lower()}"
