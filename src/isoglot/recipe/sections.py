"""The sections of a recipe: fixed ones that know all their keys, open ones that pass the rest on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from isoglot.checks import problems_of
from isoglot.errors import Location
from isoglot.options import Count, NotNegative, Part, Positive, Seed, fits
from isoglot.recipe.document import Document


class _Section(BaseModel):
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


class _OpenSection(_Section):
    """A section that hands its other keys on; whoever takes them checks them."""

    model_config = ConfigDict(extra="allow")

    @property
    def options(self) -> dict[str, Any]:
        """The keys that this section hands on."""
        return dict(self.model_extra or {})


class ModelSection(_OpenSection):
    """The encoder: a ``path`` (folder or hub name), or an ``architecture`` from scratch.

    ``path`` may be the folder of a finished run. The other keys set its configuration (``hidden_size``,
    ``hidden_dropout_prob``); a loaded encoder has its own dropout again when it is exported.
    """

    one_of: ClassVar[tuple[str, ...]] = ("path", "architecture")
    path: str | None = None
    architecture: str | None = None


class TokenizerSection(_OpenSection):
    """The tokenizer: a ``path``, or an ``algorithm`` trained on the recipe's streams."""

    one_of: ClassVar[tuple[str, ...]] = ("path", "algorithm")
    path: str | None = None
    algorithm: str | None = None


class StreamSection(_OpenSection):
    """One stream: its files, how they are prepared (other keys), encoded and packed.

    ``path``: one file or several of the same format and languages; ``sources``: several that differ, each with its
    own keys (``{path: ..., source_language: en, target_language: de}``).
    """

    one_of: ClassVar[tuple[str, ...]] = ("path", "sources")
    kind: Literal["text", "bitext", "aligned", "lexicon"]
    path: str | list[str] | None = None
    sources: list[dict[str, Any]] | None = None
    encode: dict[str, Any] = {}
    pack: dict[str, Any] | None = None

    @property
    def paths(self) -> list[str]:
        """``path`` as a list."""
        return [self.path] if isinstance(self.path, str) else list(self.path or [])


class ViewSection(_OpenSection):
    """One view: ``type`` names it, ``stream`` feeds it, the other keys are its own options."""

    type: str
    stream: str


class WeightSection(_Section):
    """A weight that is 0 before ``start_step`` and grows to ``value`` over ``ramp_steps`` optimiser steps."""

    value: NotNegative = 1.0
    start_step: Annotated[int, Field(ge=0)] = 0
    ramp_steps: Annotated[int, Field(ge=0)] = 0

    def __call__(self, step: int) -> float:
        """The weight at an optimiser step, 0-based."""
        if step < self.start_step:
            return 0.0
        return self.value * min(1.0, (step - self.start_step + 1) / max(1, self.ramp_steps))


class ObjectiveSection(_OpenSection):
    """One objective: ``type`` names it, ``weight`` scales it, the other keys are its own options."""

    type: str
    weight: NotNegative | WeightSection = 1.0


_Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class PartsSection(_Section):
    """Learning rate of each part of the model, as a multiple of ``train.learning_rate``; 0: never trained.

    Args:
        encoder: The transformer layers.
        embeddings: Word, position and segment embeddings, and with them an output layer that is tied to them.
        head: The masked-LM head.
        objectives: The objectives' own layers, and language embeddings.
        layer_decay: Factor from each layer's rate to that of the layer below; the embeddings are below the first.
        freeze_encoder_steps: Optimiser steps in which only head and objectives are trained. The encoder and its
            embeddings then warm up over ``train.warmup_steps`` of their own.
    """

    encoder: _Rate = 1.0
    embeddings: _Rate = 1.0
    head: _Rate = 1.0
    objectives: _Rate = 1.0
    layer_decay: Part = 1.0
    freeze_encoder_steps: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _any(self) -> PartsSection:
        if not any((self.encoder, self.embeddings, self.head, self.objectives)):
            raise ValueError("every part has rate 0; train one of them, for example `encoder: 1`")
        return self


class BatchSection(_Section):
    """Batch size on one device: ``examples``, or ``tokens`` with padding.

    ``bucket``: batches in one window of examples that are sorted by length; ``null``: the order stays random.
    ``pad_to_multiple_of``: round the padded length up, 8 for tensor cores.
    """

    one_of: ClassVar[tuple[str, ...]] = ("examples", "tokens")
    examples: Count | None = None
    tokens: Count | None = None
    bucket: Count | None = None
    pad_to_multiple_of: Count | None = None


class EpochsSection(_Section):
    """How often one named stream is read; the others are drawn alongside."""

    stream: str
    count: Positive


class Recipe(_Section):
    """One run, checked and immutable.

    Args:
        name: a label for results; no part of the hash.
        seed: Seed of every random choice.
        model: the encoder.
        tokenizer: default: the model's own.
        streams: corpora by name.
        views: encoder inputs by name.
        objectives: losses by name.
        mixing: how several streams make one run: every position has an example of each stream (``alongside``), or of
            one, all streams shuffled together as one data set (``concatenate``): a batch then holds each stream's
            share of the data.
        normalisation: what divides the losses: the items of the whole step per objective (``token``), all
            objectives' items together (``joint_token``), or each batch's own (``batch_mean``).
        parts: learning rate of each part, and for how long the encoder stays frozen.
        batch: batch size per device.
        epochs: length of the run in epochs of one stream (with ``mixing: concatenate`` of all of them), or
        steps: in optimiser steps.
        train: handed to ``transformers.TrainingArguments``.
    """

    name: str
    seed: Seed = 1
    model: ModelSection
    tokenizer: TokenizerSection | None = None
    streams: Annotated[dict[str, StreamSection], Field(min_length=1)]
    views: Annotated[dict[str, ViewSection], Field(min_length=1)]
    objectives: Annotated[dict[str, ObjectiveSection], Field(min_length=1)]
    mixing: Literal["alongside", "concatenate"] = "alongside"
    normalisation: Literal["token", "joint_token", "batch_mean"] = "token"
    parts: PartsSection | None = None
    batch: BatchSection
    epochs: EpochsSection | None = None
    steps: Count | None = None
    train: dict[str, Any] = {}

    _raw: dict[Location, str] = PrivateAttr(default_factory=dict)

    def remember_raw(self, raw: Mapping[Location, str]) -> None:
        """Keep strings as they were written, where a variable was expanded in them: the hash reads those."""
        self._raw.update(raw)

    @property
    def hash(self) -> str:
        """16 hexadecimal digits of everything but its name.

        Environment variables count as they are written, so the hash is the same on every machine.
        """
        values = self.as_written()
        del values["name"]
        if values["parts"] is None:
            del values[
                "parts"
            ]  # finished runs of recipes that are older than this section are still recognised
        canonical = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def as_written(self) -> dict[str, Any]:
        """All values, with ``${NAME}`` where the recipe has it: fit to be shown to others."""
        values = self.model_dump(mode="json")
        for (*path, last), text in self._raw.items():
            section: Any = values
            for part in path:
                section = section[part]
            section[last] = text
        return values


def validate(document: Document, location: Location, model: type[BaseModel], values: Any) -> Any:
    """A section as a pydantic model, ``None`` where its values are wrong; mistakes are added to the document."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        document.add(p.below(*location) for p in problems_of(error, model, values))
    return None
