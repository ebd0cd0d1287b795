"""Sections of a recipe as typed models.

- :class:`Section`: all keys are known here, such as ``batch`` and ``parts`` (below).
- :class:`OpenSection`: some keys are options of a class that the section names, such as those of an objective.
- :class:`PortableSection`: the whole recipe, with a hash that is the same on every machine.
"""

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
    """Keys of which a recipe gives exactly one, such as ``examples`` and ``tokens`` of a batch."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        """Refuse a section that has none of the keys in ``one_of``, or more than one."""
        present = [name for name in self.one_of if getattr(self, name) is not None]
        if self.one_of and len(present) != 1:
            have = " and ".join(map(repr, present)) or "neither"
            raise ValueError(f"got {have}; exactly one of {' | '.join(self.one_of)} is needed")
        return self


class PortableSection(Section):
    """A whole recipe, with a hash and a written form that do not depend on where a machine keeps its files.

    The base of :class:`isoglot.pretraining.recipe.Recipe`, which has the fields: ``model``, ``parts`` and the others.
    """

    # Texts as the recipe has them, `${DATA}/en-de.tsv`, where the section itself has the expanded text.
    _raw: dict[Location, str] = PrivateAttr(default_factory=dict)
    # Dotted names of the values that overrides replaced: `objectives.align.layer`.
    _replaced: list[str] = PrivateAttr(default_factory=list)
    _filled_in: dict[Location, Any] = PrivateAttr(default_factory=dict)

    def remember(
        self,
        raw: Mapping[Location, str],
        overrides: Iterable[str] = (),
        filled_in: Mapping[Location, Any] | None = None,
    ) -> None:
        """Keep how the recipe was written, and what the check of the recipe found.

        Args:
            raw: Texts as they were written, where a variable was expanded in them.
            overrides: Overrides that were applied, ``section.key=value`` each.
            filled_in: Options that views and objectives fill in themselves, by section and name.
        """
        self._raw.update(raw)
        self._replaced += [override.partition("=")[0] for override in overrides]
        self._filled_in.update(filled_in or {})

    @property
    def filled_in(self) -> Mapping[Location, Any]:
        """Options that views and objectives fill in themselves, as far as they are known before the run."""
        return self._filled_in

    @property
    def changes(self) -> dict[str, Any]:
        """Values that overrides replaced, by dotted name: the differences between the runs of a sweep.

        ``--set objectives.align.layer=1`` gives ``{"objectives.align.layer": 1}``.

        1. An override of a whole section, ``batch={examples: 8, bucket: 4}``, gives each value of the section.
        2. Of an absolute path only the last part is kept: results have the changes in them, and results are passed on.
        3. The name and the seed are left out: runs that differ in nothing else count as one run.
        """
        written = flattened(self.as_written())
        changes = {}
        for replaced in self._replaced:
            key = ".".join(part.strip() for part in replaced.split("."))
            for name, value in written.items():
                if name != key and not name.startswith(f"{key}."):  # 1
                    continue
                is_absolute_path = isinstance(value, str) and Path(value).is_absolute()
                changes[name] = Path(value).name if is_absolute_path else value  # 2
        return {name: value for name, value in changes.items() if name not in ("name", "seed")}  # 3

    @property
    def hash(self) -> str:
        """A hash of 16 hexadecimal digits of everything in the recipe but its name.

        1. A text counts with its environment variables expanded. But a variable that says where a machine keeps its
           files counts as ``${NAME}``, so that the hash is the same on every machine: :func:`_portable_text`.
        2. Keys that recipes did not have at first count only if they are used. So the hash of an older recipe is what
           it was then, and its finished runs are still recognised.
        """
        portable = {}
        for location, written in self._raw.items():
            text = _portable_text(location, written)
            if text is not None:
                portable[location] = text
        values = self._with(portable)  # 1
        del values["name"]
        if values["model"]["adapter"] is None:  # 2
            del values["model"]["adapter"]
        if values["parts"] is None:
            del values["parts"]
        elif values["parts"]["freeze_layers"] == 0:
            del values["parts"]["freeze_layers"]
        canonical = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def as_written(self) -> dict[str, Any]:
        """Return all values, with ``${NAME}`` where the recipe has it: fit to be shown to others."""
        return self._with(self._raw)

    def _with(self, texts: Mapping[Location, str]) -> dict[str, Any]:
        """Return all values, with some texts in the places of the section's own."""

        def copied(value: Any, location: Location) -> Any:
            if isinstance(value, dict):
                return {key: copied(inner, (*location, key)) for key, inner in value.items()}
            if isinstance(value, list):
                return [copied(inner, (*location, number)) for number, inner in enumerate(value)]
            return texts.get(location, value)

        values: dict[str, Any] = copied(self.model_dump(mode="json"), ())
        return values


def _portable_text(location: Location, written: str) -> str | None:
    """Write a path as it is the same on every machine; return None for a text that counts as no path.

    The hash takes a text that counts as no path with all its variables expanded.

    1. A variable that is all of the text before the first slash says where this machine keeps its files, and is not
       expanded. Later variables are part of the name and are expanded: ``${DATA}/en-${PAIR}.tsv`` becomes
       ``${DATA}/en-de.tsv``.
    2. A variable that is all of a ``path``, or of an entry of a list of paths, also says where files are, and is not
       expanded: ``path: ${CORPUS}``.
    3. Any other text counts as no path: ``${LANGUAGE}``, ``v${VERSION}``, ``${LANGUAGE}-small``, and also
       ``${CORPUS}-v2/en.tsv`` and ``data-${HOST}/en.tsv``, where the variable is only a part of the first folder.

    Args:
        location: The place of the text in the recipe.
        written: The text, with its variables.
    """
    first = VARIABLE.match(written)
    if first is None:  # 3
        return None
    rest = written[first.end() :]
    # A number at the end is the place in a list: ("streams", "bitext", "path", 0).
    keys = location[:-1] if isinstance(location[-1], int) else location
    is_whole_path = not rest and keys[-1:] == ("path",)  # a slice, as `keys` is empty for the location (0,)
    if rest.startswith("/") or is_whole_path:  # 1, 2
        return first[0] + expand(rest)
    return None  # 3


class OpenSection(Section):
    """A section with keys of its own, and with keys that are options of something else (:meth:`option_fields`).

    An objective has its own key ``type``, and ``layer`` is an option of the class that ``type`` names. The keys of
    options stay in the section as they are written. Fields that are made from them are left out when the section is
    dumped (``exclude``).
    """

    model_config = ConfigDict(extra="allow")

    @classmethod
    def own_keys(cls) -> list[str]:
        """Return the section's own keys."""
        return [name for name, field in cls.model_fields.items() if not field.exclude]

    @classmethod
    def option_fields(cls, values: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that are made from the keys of options; ``recipe`` is everything that the file says.

        Raises:
            ConfigurationError: Every mistake in the keys of options. Mistakes in the section's own keys are not
                raised here.
        """
        return {}

    @classmethod
    def of(cls, values: Any, recipe: Mapping[str, Any] | None = None) -> Self:
        """Make the section from its values.

        Raises:
            ConfigurationError: Every mistake in the section's own keys, then every mistake in the keys of options.
        """
        own_problems: list[Problem] = []
        option_problems: list[Problem] = []
        given = values
        if isinstance(values, dict):
            fields: dict[str, Any] = {}
            with collected(option_problems):
                fields = cls.option_fields(values, recipe or {})
            given = {**values, **fields}
        try:
            section = checked(cls, given)
        except ConfigurationError as error:
            # A field made from options is missing if the options have mistakes, which are listed already.
            own_keys = cls.own_keys()
            own_problems = [p for p in error.problems if p.kind != "missing" or p.location[0] in own_keys]
        if own_problems or option_problems:
            raise ConfigurationError([*own_problems, *option_problems])
        return section


class WeightSection(Section):
    """A weight that is 0 before ``start_step`` and grows to ``value`` over ``ramp_steps`` optimiser steps."""

    value: NotNegative = 1.0
    start_step: Annotated[int, Field(ge=0)] = 0
    ramp_steps: Annotated[int, Field(ge=0)] = 0

    def __call__(self, step: int) -> float:
        """Return the weight at an optimiser step; the first step is 0.

        With ``value: 1``, ``start_step: 10`` and ``ramp_steps: 4`` it is 0 at step 9, 0.25 at step 10, 1 from step 13.
        """
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
        """Return the number of optimiser steps in which the encoder is frozen, in a run of ``steps`` steps."""
        frozen = self.freeze_encoder_steps
        is_share = frozen < 1
        return int(frozen * steps if is_share else frozen)

    @model_validator(mode="after")
    def _trains_something(self) -> PartsSection:
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
    """The length of a run as passes over one stream; the other streams are drawn alongside."""

    stream: str
    count: Positive
