"""The sections of a recipe that know all their keys, and the base of those that hand some on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from isoglot.core.checks import checked
from isoglot.core.errors import ConfigurationError, Location, Problem, collected
from isoglot.core.options import Count, NotNegative, Options, Positive, PositiveShare
from isoglot.recipe.document import VARIABLE, expand
from isoglot.results.rows import flattened


class Section(Options):
    """A section whose keys are all known here."""

    model_config = ConfigDict(strict=True)
    one_of: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        present = [name for name in self.one_of if getattr(self, name) is not None]
        if self.one_of and len(present) != 1:
            have = " and ".join(repr(g) for g in present) or "neither"
            raise ValueError(f"got {have}; exactly one of {' | '.join(self.one_of)} is needed")
        return self


class PortableSection(Section):
    """The whole of a recipe: its hash and what is shown of it do not depend on where a machine keeps its files."""

    _raw: dict[Location, str] = PrivateAttr(default_factory=dict)
    _replaced: list[str] = PrivateAttr(default_factory=list)
    _filled_in: dict[Location, Any] = PrivateAttr(default_factory=dict)

    def remember(
        self,
        raw: Mapping[Location, str],
        overrides: Iterable[str] = (),
        filled_in: Mapping[Location, Any] | None = None,
    ) -> None:
        """Keep how the recipe was written and what its check found.

        Args:
            raw: Strings as they were written, where a variable was expanded in them.
            overrides: Values that were replaced, ``section.key=value`` each.
            filled_in: Options that views and objectives fill in themselves, by section and name.
        """
        self._raw.update(raw)
        self._replaced += [override.partition("=")[0] for override in overrides]
        self._filled_in.update(filled_in or {})

    @property
    def filled_in(self) -> Mapping[Location, Any]:
        """Options that views and objectives fill in themselves, as far as the check could tell before the run."""
        return self._filled_in

    @property
    def changes(self) -> dict[str, Any]:
        """Values that overrides replaced, by dotted name: ``{"objectives.align.layer": 1}``; by them a sweep differs.

        The seed is left out: runs that differ in nothing else are one run. Of an absolute path only its last part is
        kept, because the changes are written into results, which travel.
        """
        written = flattened(self.as_written())
        changes = {}
        for replaced in self._replaced:
            key = ".".join(part.strip() for part in replaced.split("."))
            for name, value in written.items():
                if name == key or name.startswith(f"{key}."):
                    is_place = isinstance(value, str) and Path(value).is_absolute()
                    changes[name] = Path(value).name if is_place else value
        return {name: value for name, value in changes.items() if name not in ("name", "seed")}

    @property
    def hash(self) -> str:
        """16 hexadecimal digits of everything but its name, with environment variables expanded.

        One that says where a machine keeps its files, as in ``${DATA}/en-de.tsv``, counts as it is written.
        """
        portable = {location: _place_of(location, text) for location, text in self._raw.items()}
        values = self._with({location: text for location, text in portable.items() if text is not None})
        del values["name"]
        # Finished runs of recipes older than these keys are still recognised.
        parts = values["parts"]
        for section, key in ((values, "parts"), (values["model"], "adapter")):
            if section[key] is None:
                del section[key]
        if parts is not None and parts["freeze_layers"] == 0:
            del parts["freeze_layers"]
        canonical = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def as_written(self) -> dict[str, Any]:
        """All values, with ``${NAME}`` where the recipe has it: fit to be shown to others."""
        return self._with(self._raw)

    def _with(self, texts: Mapping[Location, str]) -> dict[str, Any]:
        """All values with some texts in their places."""

        def copied(value: Any, location: Location) -> Any:
            if isinstance(value, dict):
                return {key: copied(inner, (*location, key)) for key, inner in value.items()}
            if isinstance(value, list):
                return [copied(inner, (*location, number)) for number, inner in enumerate(value)]
            return texts.get(location, value)

        values: dict[str, Any] = copied(self.model_dump(mode="json"), ())
        return values


def _place_of(location: Location, written: str) -> str | None:
    """The path that a text names, as it is the same on every machine; ``None`` if no variable leads to its place.

    A variable before the first slash says where a machine keeps its files, and so does one that is the whole of a
    ``path``. Any other is part of the name.
    """
    first = VARIABLE.match(written)
    if first is None:
        return None
    rest = written[first.end() :]
    leads = rest.startswith("/") or (not rest and "path" in location[-2:])
    return first[0] + expand(rest) if leads else None


class OpenSection(Section):
    """A section whose other keys are options of something: :meth:`typed` says of what.

    The keys stay as they are written; fields that are made of them are not dumped (``exclude``).
    """

    model_config = ConfigDict(extra="allow")

    @classmethod
    def own_keys(cls) -> list[str]:
        """Its own keys."""
        return [name for name, field in cls.model_fields.items() if not field.exclude]

    @classmethod
    def typed(cls, values: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that are made of the other keys; ``recipe`` is all that the file says.

        Raises:
            ConfigurationError: All that is wrong with the other keys, whatever is with the section's own.
        """
        return {}

    @classmethod
    def of(cls, values: Any, recipe: Mapping[str, Any] | None = None) -> Self:
        """The section that values describe.

        Raises:
            ConfigurationError: All that is wrong with it.
        """
        keys, fields, problems = cls.own_keys(), dict[str, Any](), list[Problem]()
        if isinstance(values, dict):
            with collected(problems):
                fields = cls.typed(values, recipe or {})
        try:
            section = checked(cls, {**values, **fields} if isinstance(values, dict) else values)
        except ConfigurationError as error:
            problems[:0] = [p for p in error.problems if p.kind != "missing" or p.location[0] in keys]
        if problems:
            raise ConfigurationError(problems)
        return section


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


class PartsSection(Section):
    """Learning rate of each part of the model, as a multiple of ``train.learning_rate``; 0: never trained.

    Args:
        encoder: The transformer layers.
        embeddings: Word, position and segment embeddings, and with them an output layer that is tied to them.
        head: The masked-LM head.
        objectives: The objectives' own layers, and language embeddings.
        layer_decay: Factor from each layer's rate to that of the layer below; the embeddings are below the first.
        freeze_layers: Layers that are never trained: 6 for the lowest six, -6 for the highest six, or a list of layer
            numbers, where 1 is the lowest layer and 0 the embeddings.
        freeze_encoder_steps: Optimiser steps in which only head and objectives are trained: a number, or a share of
            all steps if below 1. The encoder and its embeddings then warm up over ``train.warmup_steps`` of their own.
    """

    encoder: NotNegative = 1.0
    embeddings: NotNegative = 1.0
    head: NotNegative = 1.0
    objectives: NotNegative = 1.0
    layer_decay: PositiveShare = 1.0
    freeze_layers: int | list[int] = 0
    freeze_encoder_steps: Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0, lt=1)] = 0

    def frozen_steps(self, steps: int) -> int:
        """The number of steps, of a run with this many, in which the encoder is frozen."""
        frozen = self.freeze_encoder_steps
        return int(frozen if frozen >= 1 else frozen * steps)

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
