"""The sections of a recipe that know all their keys, and the base of those that hand some on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from isoglot.checks import problems_of
from isoglot.errors import ConfigurationError, Location, Problem
from isoglot.options import Count, NotNegative, Part, Positive, fits
from isoglot.recipe.document import Document

M = TypeVar("M", bound=BaseModel)


class Section(BaseModel):
    """A section whose keys are all known here."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    _fits = field_validator("*")(fits)
    one_of: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in self.one_of if getattr(self, name) is not None]
        if self.one_of and len(given) != 1:
            have = " and ".join(repr(g) for g in given) or "neither"
            raise ValueError(f"{have} given; it needs exactly one of {' | '.join(self.one_of)}")
        return self


class OpenSection(Section):
    """A section that hands its other keys on: :meth:`typed` says to what."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def typed(cls, values: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
        """Private attributes made from the other keys, and of what the recipe's other sections say (``context``).

        Raises:
            ConfigurationError: All that is wrong with the other keys, whatever is with the section's own.
        """
        return {}

    @model_validator(mode="after")
    def _bind(self, info: ValidationInfo) -> Self:
        given = {name: getattr(self, name) for name in self.model_fields_set}
        for name, value in self.typed(given, info.context or {}).items():
            setattr(self, name, value)
        return self


class WeightSection(Section):
    """A weight that is 0 before ``start_step`` and grows to ``value`` over ``ramp_steps`` optimiser steps."""

    value: NotNegative = 1.0
    start_step: Annotated[int, Field(ge=0)] = 0
    ramp_steps: Annotated[int, Field(ge=0)] = 0

    def __call__(self, step: int) -> float:
        """The weight at an optimiser step, 0-based."""
        if step < self.start_step:
            return 0.0
        return self.value * min(1.0, (step - self.start_step + 1) / max(1, self.ramp_steps))


_Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PartsSection(Section):
    """Learning rate of each part of the model, as a multiple of ``train.learning_rate``; 0: never trained.

    Args:
        encoder: The transformer layers.
        embeddings: Word, position and segment embeddings, and with them an output layer that is tied to them.
        head: The masked-LM head.
        objectives: The objectives' own layers, and language embeddings.
        layer_decay: Factor from each layer's rate to that of the layer below; the embeddings are below the first.
        freeze_encoder_steps: Optimiser steps in which only head and objectives are trained: a number, or a share of
            all steps if below 1. The encoder and its embeddings then warm up over ``train.warmup_steps`` of their own.
    """

    encoder: _Rate = 1.0
    embeddings: _Rate = 1.0
    head: _Rate = 1.0
    objectives: _Rate = 1.0
    layer_decay: Part = 1.0
    freeze_encoder_steps: Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0, lt=1)] = 0

    def frozen_steps(self, steps: int) -> int:
        """The steps of a run of so many in which the encoder is frozen."""
        given = self.freeze_encoder_steps
        return int(given if given >= 1 else given * steps)

    @model_validator(mode="after")
    def _any(self) -> PartsSection:
        if not any((self.encoder, self.embeddings, self.head, self.objectives)):
            raise ValueError("every part has rate 0; train one of them, for example `encoder: 1`")
        return self


class BatchSection(Section):
    """Batch size on one device: ``examples``, or ``tokens`` with padding.

    ``bucket``: batches in one window of examples that are sorted by length; ``null``: the order stays random.
    ``pad_to_multiple_of``: round the padded length up, 8 for tensor cores.
    """

    one_of: ClassVar[tuple[str, ...]] = ("examples", "tokens")
    examples: Count | None = None
    tokens: Count | None = None
    bucket: Count | None = None
    pad_to_multiple_of: Count | None = None


class EpochsSection(Section):
    """How often one named stream is read; the others are drawn alongside."""

    stream: str
    count: Positive


def validate(
    document: Document,
    location: Location,
    model: type[M],
    values: Any,
    context: Mapping[str, Any] | None = None,
) -> M | None:
    """A section as a model, ``None`` where it is wrong; its mistakes are added to the document."""
    found: list[Problem] = []
    try:
        return model.model_validate(values, context=context)
    except ConfigurationError as error:
        found += error.problems
    except ValidationError as error:
        found += problems_of(error, values, model)
        if issubclass(model, OpenSection) and isinstance(values, dict):
            found += _more(model, values, context or {})
    if not location:  # a section that could not be made
        found = [problem for problem in found if not document.is_told(problem.location)]
    document.add(problem.below(*location) for problem in found)
    return None


def _more(
    model: type[OpenSection], values: Mapping[str, Any], context: Mapping[str, Any]
) -> Iterable[Problem]:
    """What is wrong with the keys that a section hands on."""
    try:
        model.typed(values, context)
    except ConfigurationError as error:
        return error.problems
    return ()
