"""A recipe with all its options typed: each section holds what it was checked as."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

import torch
from datasets import Dataset
from pydantic import Field, PlainSerializer
from transformers import PreTrainedConfig, PreTrainedTokenizerFast

from isoglot.core.checks import checked, did_you_mean, resolve
from isoglot.core.errors import ConfigurationError, Location, Problem, collected, reported_together
from isoglot.core.options import Count, NotNegative, Seed
from isoglot.corpus.encode.batch import EncodeOptions, Kind
from isoglot.corpus.encode.tokenizer import TokenizerOptions
from isoglot.corpus.options import PrepareOptions
from isoglot.corpus.pack.packing import PackOptions
from isoglot.formats.sources import Source, sources_from
from isoglot.modules.adapter_options import AdapterOptions
from isoglot.modules.checkpoint import load_config
from isoglot.modules.load import model_config
from isoglot.objectives import OBJECTIVES
from isoglot.objectives.base import require_objective
from isoglot.recipe.document import Document
from isoglot.recipe.sections import (
    BatchSection,
    EpochsSection,
    OpenSection,
    PartsSection,
    PortableSection,
    WeightSection,
)
from isoglot.recipe.spec import Spec, spec_of
from isoglot.views import VIEWS
from isoglot.views.base import require_view

_MEASURED = ("min_pieces", "max_pieces", "max_pair_pieces")
_ANY_VOCABULARY = 1 << 20
"""Word embeddings of an encoder whose vocabulary is not known yet."""


_AS_WRITTEN = PlainSerializer(lambda options: options and options.model_dump(mode="json", exclude_unset=True))
"""Written without the defaults that were not given."""


class ModelSection(OpenSection):
    """The encoder: a ``path`` (folder or hub name), or an ``architecture`` from scratch.

    ``path`` may be the folder of a finished run. ``adapter`` is trained in place of the encoder's weights, and merged
    into them when the encoder is exported. The other keys set its configuration (``hidden_size``,
    ``hidden_dropout_prob``); a loaded encoder has its own dropout again when it is exported.
    """

    one_of: ClassVar[tuple[str, ...]] = ("path", "architecture")
    path: str | None = None
    architecture: str | None = None
    adapter: Annotated[AdapterOptions | None, _AS_WRITTEN] = None

    @property
    def settings(self) -> dict[str, Any]:
        """All that is given of the encoder, as :func:`isoglot.modules.load.load_masked_lm` takes it."""
        return self.model_dump(exclude_none=True, exclude={"adapter"})

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
    training: TokenizerOptions | None = Field(None, exclude=True)

    @classmethod
    def typed(cls, values: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
        """Options of a new tokenizer; the special tokens are by default those of the encoder's family."""
        if values.get("path") is not None:
            return {"training": None}
        model = recipe.get("model")
        roberta = isinstance(model, dict) and model.get("architecture") in ("roberta", "xlm-roberta")
        return {"training": checked(TokenizerOptions, {"family": "roberta" if roberta else "bert", **values})}


class StreamSection(OpenSection):
    """One stream: its files, how they are prepared (other keys), encoded and packed.

    ``path``: one file or several of the same format and languages; ``sources``: several that differ, each with its
    own keys (``{path: ..., source_language: en, target_language: de}``).
    """

    one_of: ClassVar[tuple[str, ...]] = ("path", "sources")
    kind: Kind
    path: str | list[str] | None = None
    sources: list[dict[str, Any]] | None = None
    encode: Annotated[EncodeOptions, _AS_WRITTEN] = EncodeOptions()
    pack: Annotated[PackOptions | None, _AS_WRITTEN] = None
    inputs: list[Source] = Field(exclude=True)
    prepare: PrepareOptions = Field(exclude=True)

    @classmethod
    def typed(cls, values: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
        """Sources, and options of preparing; filters by pieces measure with the run's tokenizer by default."""
        known = {*cls.own_keys(), *Source.model_fields, *PrepareOptions.model_fields}
        options = {k: v for k, v in values.items() if k in PrepareOptions.model_fields}
        if options.get("kind") not in get_args(Kind):
            options.pop("kind", None)  # reported as the section's own mistake
        if options.get("tokenizer") is None and any(options.get(name) is not None for name in _MEASURED):
            sections = (recipe.get(key) for key in ("tokenizer", "model"))
            paths = (v["path"] for v in sections if isinstance(v, dict) and v.get("path"))
            options["tokenizer"] = next(map(str, paths), None)
        checked_recipe: dict[str, Any] = {}
        with reported_together() as problems:
            for key in (key for key in values if key not in known):
                problems.append(Problem(f"unknown key; {did_you_mean(key, known)}", (key,)))
            problems.extend(cls._misplaced(values))
            with collected(problems):
                checked_recipe["inputs"] = cls.sources_of(values)
            with collected(problems):
                checked_recipe["prepare"] = checked(PrepareOptions, options)
        return checked_recipe

    @classmethod
    def sources_of(cls, values: Mapping[str, Any]) -> list[Source]:
        """What a section reads, whatever else is wrong with it; its own keys hold for each of several sources."""
        shared = {k: v for k, v in values.items() if k in Source.model_fields and k != "path"}
        several = values.get("sources")
        if not isinstance(several, list):
            checked(Source, {"path": "-", **shared})
            path, kind = values.get("path"), values.get("kind", "")
            paths = [path] if isinstance(path, str) else path
            if (
                kind not in get_args(Kind)
                or not isinstance(paths, list)
                or not all(isinstance(p, str) for p in paths)
            ):
                return []  # reported as the section's own mistake
            return sources_from(paths, kind=kind, **shared)
        sources: list[Source] = []
        with reported_together() as problems:
            for number, entry in enumerate(several):
                with collected(problems, "sources", number):
                    own = entry
                    if isinstance(entry, dict):
                        own = {**shared, **{k: v for k, v in entry.items() if k not in _of_all_sources()}}
                    sources.append(checked(Source, own))
        return sources

    @staticmethod
    def _misplaced(values: Mapping[str, Any]) -> list[Problem]:
        """Options of preparing that stand under one of several sources, where they cannot hold."""
        entries = values.get("sources")
        return [
            Problem(
                f"holds for all sources together; write {key} beside `sources`, not under one of them",
                ("sources", number, key),
            )
            for number, entry in enumerate(entries if isinstance(entries, list) else ())
            for key in (entry if isinstance(entry, dict) else ())
            if key in _of_all_sources()
        ]


def _of_all_sources() -> set[str]:
    """Options of preparing, which hold for all sources of a section together."""
    return PrepareOptions.model_fields.keys() - Source.model_fields.keys()


class _BuiltSection(OpenSection):
    """An entry that is made by the callable of its ``type``, whose signature is the schema of the other keys."""

    registry: ClassVar[Mapping[str, Any]]
    called: ClassVar[str]
    type: str
    options: Spec = Field(exclude=True)

    @staticmethod
    def require(kind: Any, name: str) -> None:
        """Refuse a class of another kind; ``name`` is where it stands."""
        raise NotImplementedError

    @classmethod
    def typed(cls, values: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
        """The options."""
        if not isinstance(values.get("type"), str):
            return {}
        with reported_together() as problems, collected(problems, "type"):
            maker = resolve(cls.registry, values["type"], kind=cls.called)
            if isinstance(maker, type):
                cls.require(maker, values["type"])
            spec = spec_of(maker)
        return {"options": spec.of({k: v for k, v in values.items() if k not in cls.own_keys()}, cls)}

    def in_use(self, made: Any) -> dict[str, Any]:
        """Its options with a plain value: given, by default, or filled in by the view or objective ``made``."""
        values = {}
        for option in type(self.options).model_fields:
            value = getattr(self.options, option)
            value = getattr(made, option, None) if value is None else value
            if option != "seed" and isinstance(value, str | int | float | bool):
                values[option] = value
        return values

    def build(
        self, first: Any, corpora: Mapping[str, Dataset], *, seed: int | None = None, **supplied: Any
    ) -> Any:
        """The view of a tokenizer, or the objective of an encoder; new weights depend on the seed alone.

        ``corpora`` are for lexicons; what is ``supplied`` else is a default of the option of that name.
        """
        with torch.random.fork_rng(devices=[]):
            if seed is not None:
                torch.manual_seed(seed)
                supplied |= {"seed": seed}
            product = self.options.make(self.type, first, corpora=corpora, **supplied)
        type(self).require(type(product), self.type)
        return product


class ViewSection(_BuiltSection):
    """One view: ``type`` names it, ``stream`` feeds it, the other keys are its own options."""

    registry: ClassVar[Mapping[str, Any]] = VIEWS
    called = "view"
    stream: str

    @staticmethod
    def require(kind: Any, name: str) -> None:
        """Refuse what is not a view."""
        require_view(kind, name)

    def require_room(self, longest: int | None) -> None:
        """Refuse an input that is longer than the encoder's positions."""
        length = getattr(self.options, "max_length", None)
        if longest is not None and isinstance(length, int) and length > longest:
            text = f"got {length}, but the encoder has {longest} positions; lower it"
            raise ConfigurationError(Problem(text, ("max_length",)))


class ObjectiveSection(_BuiltSection):
    """One objective: ``type`` names it, ``weight`` scales it, the other keys are its own options."""

    registry: ClassVar[Mapping[str, Any]] = OBJECTIVES
    called = "objective"
    weight: NotNegative | WeightSection = 1.0

    @staticmethod
    def require(kind: Any, name: str) -> None:
        """Refuse what is not an objective."""
        require_objective(kind, name)


MADE: dict[str, type[ViewSection | ObjectiveSection]] = {"views": ViewSection, "objectives": ObjectiveSection}
"""Sections whose entries are made by callables."""


class Recipe(PortableSection):
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


_SECTIONS: dict[str, type[OpenSection]] = {"model": ModelSection, "tokenizer": TokenizerSection}
_ENTRIES: dict[str, type[OpenSection]] = {"streams": StreamSection, **MADE}
"""Sections that have others by name."""


def typed(document: Document) -> tuple[Recipe | None, dict[Location, Any]]:
    """A recipe with its sections typed, and by location the sections that hand keys on.

    Mistakes are added to the document; what has one is ``None``.
    """
    values, typed_sections, problems = dict(document.values), dict[Location, Any](), list[Problem]()

    def section(model: type[OpenSection], written: Any, *location: str) -> OpenSection | None:
        typed_sections[location] = None
        with collected(problems, *location):
            typed_sections[location] = model.of(written, document.values)
        return typed_sections[location]  # type: ignore[no-any-return]

    for key in (key for key in _SECTIONS if values.get(key) is not None):
        values[key] = section(_SECTIONS[key], values[key], key)
    for key in (key for key in _ENTRIES if isinstance(values.get(key), dict)):
        values[key] = {name: section(_ENTRIES[key], entry, key, name) for name, entry in values[key].items()}
    checked_recipe = None
    try:
        checked_recipe = checked(Recipe, values)
    except ConfigurationError as error:
        wrong = [location for location, entry in typed_sections.items() if entry is None]
        problems += [p for p in error.problems if not any(p.location[: len(w)] == w for w in wrong)]
    document.add(problems)
    return checked_recipe, typed_sections
