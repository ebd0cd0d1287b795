"""A recipe with all its options typed: each section holds what it was checked as."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast, get_args

import torch
from datasets import Dataset
from pydantic import Field, PrivateAttr, field_serializer
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

from isoglot.checks import checked, did_you_mean, resolve
from isoglot.corpus.encode.batch import EncodeOptions, Kind
from isoglot.corpus.encode.tokenizer import TokenizerOptions
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.pack.packing import PackOptions
from isoglot.corpus.read.sources import Source, sources_from
from isoglot.errors import ConfigurationError, Location, Problem, collected
from isoglot.modules.checkpoint import load_config
from isoglot.modules.load import model_config
from isoglot.objectives import OBJECTIVES
from isoglot.objectives.base import Objective
from isoglot.options import Count, NotNegative, Seed
from isoglot.recipe.secrets import has_secret_variable, is_secret_setting, place_of, without_secrets
from isoglot.recipe.sections import (
    BatchSection,
    EpochsSection,
    OpenSection,
    PartsSection,
    Section,
    WeightSection,
)
from isoglot.recipe.spec import Spec, spec_of
from isoglot.views import VIEWS
from isoglot.views.base import View

_MEASURED = ("min_pieces", "max_pieces", "max_pair_pieces")
_ANY_VOCABULARY = 1 << 20
"""Word embeddings of an encoder whose vocabulary is not known yet."""


class ModelSection(OpenSection):
    """The encoder: a ``path`` (folder or hub name), or an ``architecture`` from scratch.

    ``path`` may be the folder of a finished run. The other keys set its configuration (``hidden_size``,
    ``hidden_dropout_prob``); a loaded encoder has its own dropout again when it is exported.
    """

    one_of: ClassVar[tuple[str, ...]] = ("path", "architecture")
    path: str | None = None
    architecture: str | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """All that is given, as :func:`isoglot.modules.load.load_masked_lm` takes it."""
        return self.model_dump(exclude_none=True)

    def config(
        self, tokenizer: PreTrainedTokenizerFast | None = None, *, training: TokenizerOptions | None = None
    ) -> PreTrainedConfig | None:
        """The encoder's configuration without its weights; ``None`` where that takes a download.

        ``training``: What the tokenizer will be trained with, before it is there.
        """
        if self.path is None:
            pieces = training.vocab_size if training is not None else _ANY_VOCABULARY
            unknown = {"vocab_size": pieces} if tokenizer is None else {}
            return model_config({**unknown, **self.settings}, tokenizer=tokenizer)
        if tokenizer is None and not Path(self.path).is_dir():
            return None
        config = load_config(self.path, revision=self.settings.get("revision", "main"))
        if tokenizer is None and self.settings.get("resize_vocabulary"):
            config.vocab_size = _ANY_VOCABULARY
        return config


class TokenizerSection(OpenSection):
    """The tokenizer: a ``path``, or an ``algorithm`` trained on the recipe's streams."""

    one_of: ClassVar[tuple[str, ...]] = ("path", "algorithm")
    path: str | None = None
    algorithm: str | None = None
    _training: TokenizerOptions | None = PrivateAttr(None)

    @property
    def training(self) -> TokenizerOptions | None:
        """Options of a new tokenizer, ``None`` for one that is loaded."""
        return self._training

    @classmethod
    def typed(cls, values: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
        """What the tokenizer is trained with; the special tokens are by default those of the encoder's family."""
        if values.get("path") is not None:
            return {"_training": None}
        family = {"family": "roberta"} if context.get("architecture") in ("roberta", "xlm-roberta") else {}
        return {"_training": checked(TokenizerOptions, {**family, **values})}


class StreamSection(OpenSection):
    """One stream: its files, how they are prepared (other keys), encoded and packed.

    ``path``: one file or several of the same format and languages; ``sources``: several that differ, each with its
    own keys (``{path: ..., source_language: en, target_language: de}``).
    """

    one_of: ClassVar[tuple[str, ...]] = ("path", "sources")
    kind: Kind
    path: str | list[str] | None = None
    sources: list[dict[str, Any]] | None = None
    encode: EncodeOptions = EncodeOptions()
    pack: PackOptions | None = None
    _inputs: list[Source] = PrivateAttr()
    _prepare: PrepareOptions = PrivateAttr()

    @field_serializer("encode", "pack")
    def _given(self, options: EncodeOptions | PackOptions | None) -> dict[str, Any] | None:
        return None if options is None else options.model_dump(mode="json", exclude_unset=True)

    @property
    def inputs(self) -> list[Source]:
        """What is read."""
        return self._inputs

    @property
    def prepare(self) -> PrepareOptions:
        """How it is prepared."""
        return self._prepare

    @classmethod
    def typed(cls, values: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
        """Sources, and options of preparing; filters by pieces measure with the run's tokenizer by default."""
        own = {k: v for k, v in values.items() if k not in cls.model_fields}
        known = {*Source.model_fields, *PrepareOptions.model_fields}
        meant = known | cls.model_fields.keys()
        problems = [Problem(f"unknown key; {did_you_mean(k, meant)}", (k,)) for k in own if k not in known]
        options = {k: v for k, v in own.items() if k in PrepareOptions.model_fields}
        if options.get("tokenizer") is None and any(options.get(name) is not None for name in _MEASURED):
            options["tokenizer"] = context.get("tokenizer")
        if values.get("kind") in get_args(Kind):
            options["kind"] = values["kind"]
        made: dict[str, Any] = {}
        with collected(problems):
            made["_inputs"] = cls.sources_of(values)
        with collected(problems):
            made["_prepare"] = checked(PrepareOptions, options)
        if problems:
            raise ConfigurationError(problems)
        return made

    @classmethod
    def sources_of(cls, values: Mapping[str, Any]) -> list[Source]:
        """What a section reads, whatever else is wrong with it; its own keys hold for each of several sources."""
        shared = {k: v for k, v in values.items() if k in Source.model_fields and k != "path"}
        several = values.get("sources")
        if not isinstance(several, list):
            checked(Source, {"path": "-", **shared})
            return _sources(values.get("path"), values.get("kind"), shared)
        found: list[Source] = []
        problems: list[Problem] = []
        for number, one in enumerate(several):
            with collected(problems, "sources", number):
                found.append(checked(Source, {**shared, **one} if isinstance(one, dict) else one))
        if problems:
            raise ConfigurationError(problems)
        return found


def _sources(path: Any, kind: Any, options: Mapping[str, Any]) -> list[Source]:
    """Sources of one path or several of the same kind."""
    paths = [path] if isinstance(path, str) else path
    if (
        kind not in get_args(Kind)
        or not isinstance(paths, list)
        or not all(isinstance(p, str) for p in paths)
    ):
        return []  # told as the section's own mistake
    names = ("language",) if kind == "text" else ("source_language", "target_language")
    rest = {k: v for k, v in options.items() if not k.endswith("language")}
    return sources_from(paths, kind=kind, languages=[options.get(name) for name in names], **rest)  # type: ignore[misc]


class _MadeSection(OpenSection):
    """An entry that is made by the callable of its ``type``, whose signature is the schema of the other keys."""

    registry: ClassVar[Mapping[str, Any]]
    called: ClassVar[str]
    type: str
    _options: Spec = PrivateAttr()

    @property
    def options(self) -> Spec:
        """Its options."""
        return self._options

    @classmethod
    def typed(cls, values: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
        """The options."""
        if not isinstance(values.get("type"), str):
            return {}
        problems: list[Problem] = []
        with collected(problems, "type"):
            spec = spec_of(resolve(cls.registry, values["type"], kind=cls.called))
        if problems:
            raise ConfigurationError(problems)
        return {"_options": spec.of({k: v for k, v in values.items() if k not in cls.model_fields}, cls)}


class ViewSection(_MadeSection):
    """One view: ``type`` names it, ``stream`` feeds it, the other keys are its own options."""

    registry: ClassVar[Mapping[str, Any]] = VIEWS
    called = "view"
    stream: str

    def require_room(self, longest: int | None) -> None:
        """Refuse an input that is longer than the encoder's positions."""
        given = getattr(self.options, "max_length", None)
        if longest is not None and isinstance(given, int) and given > longest:
            text = f"{given} given, the encoder has {longest} positions; lower it"
            raise ConfigurationError(Problem(text, ("max_length",)))

    def build(
        self, tokenizer: PreTrainedTokenizerFast, corpora: Mapping[str, Dataset], longest: int | None
    ) -> View:
        """The view, by default as long as the encoder's ``longest`` input; ``corpora`` are for lexicons."""
        self.require_room(longest)
        supplied = {} if longest is None else {"max_length": longest}
        return cast(View, self.options.make(self.type, tokenizer, corpora=corpora, **supplied))


class ObjectiveSection(_MadeSection):
    """One objective: ``type`` names it, ``weight`` scales it, the other keys are its own options."""

    registry: ClassVar[Mapping[str, Any]] = OBJECTIVES
    called = "objective"
    weight: NotNegative | WeightSection = 1.0

    @property
    def views(self) -> dict[str, str]:
        """The views that it reads, by option, the defaults among them."""
        options = {
            n: getattr(self.options, n)
            for n in {*type(self.options).model_fields, *self.options.model_fields_set}
        }
        return {
            n: v for n, v in options.items() if (n == "view" or n.endswith("_view")) and isinstance(v, str)
        }

    def build(
        self,
        encoder: PreTrainedModel,
        corpora: Mapping[str, Dataset],
        *,
        tokenizer: PreTrainedTokenizerFast | None,
        seed: int,
    ) -> Objective:
        """The objective; a new head's weights depend on the seed alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            made = self.options.make(self.type, encoder, corpora=corpora, tokenizer=tokenizer, seed=seed)
        return cast(Objective, made)


MADE: dict[str, type[ViewSection | ObjectiveSection]] = {"views": ViewSection, "objectives": ObjectiveSection}
"""Sections whose entries are made by callables."""


class Recipe(Section):
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
    train: dict[str, Any] = Field(default={})

    _raw: dict[Location, str] = PrivateAttr(default_factory=dict)
    _places: dict[Location, str] = PrivateAttr(default_factory=dict)

    def remember_raw(self, raw: Mapping[Location, str]) -> None:
        """Keep strings as they were written, where a variable was expanded in them."""
        self._raw.update(raw)
        places = {location: place_of(location, text) for location, text in raw.items()}
        self._places.update({location: text for location, text in places.items() if text is not None})

    @property
    def hash(self) -> str:
        """16 hexadecimal digits of everything but its name and its secrets, with environment variables expanded.

        One that says where a machine keeps its files, as in ``${DATA}/en-de.tsv``, counts as it is written, so that the
        hash is the same on every machine.
        """
        values = without_secrets(self.model_dump(mode="json"), self._raw, self._places, settings=False)
        del values["name"]
        if values["parts"] is None:
            del values[
                "parts"
            ]  # finished runs of recipes that are older than this section are still recognised
        canonical = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def as_written(self) -> dict[str, Any]:
        """All values, with ``${NAME}`` where the recipe has it: fit to be shown to others."""
        return without_secrets(self.model_dump(mode="json"), self._raw, self._raw, settings=True)

    def shown(self, **how: Any) -> dict[str, Any]:
        """All values with variables expanded, but for secrets: those stay ``${NAME}``, or are left out."""
        return without_secrets(self.model_dump(mode="json", **how), self._raw, {}, settings=True)

    def is_secret(self, location: Location) -> bool:
        """Whether a value must be neither written nor shown."""
        return is_secret_setting(location) or has_secret_variable(self._raw.get(location, ""))

    def encoding(self, name: str) -> EncodeOptions:
        """How a stream is encoded.

        Where ``encode.max_length`` is not given it is the largest ``max_length`` of the views that read the stream (an
        example that no view shows whole is dropped), and unlimited where the stream is packed.
        """
        stream = self.streams[name]
        changes: dict[str, Any] = {} if stream.encode.kind else {"kind": stream.kind}
        if "max_length" not in stream.encode.model_fields_set:
            views = [v.options for v in self.views.values() if v.stream == name]
            given = [getattr(v, "max_length", None) for v in views if "max_length" in v.model_fields_set]
            lengths = [length for length in given if isinstance(length, int)]
            if stream.pack is not None:
                changes["max_length"] = None
            elif lengths and len(lengths) == len(views):
                changes["max_length"] = max(lengths)
        return stream.encode.model_copy(update=changes)
