"""A recipe with typed sections: each one holds the options that its keys were checked as.

Open :class:`Recipe` first. :func:`typed_recipe` makes one of a document.

The keys of some sections depend on their content: ``views.pair`` has the options of ``type: masked_pair``. Such a
section makes typed options of its keys (``option_fields``), and keeps the keys beside them as they are written, because
a file or a hash of the recipe contains the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import torch
from datasets import Dataset
from pydantic import Field
from transformers import PreTrainedConfig, PreTrainedTokenizerFast

from isoglot.core.checks import checked, resolve
from isoglot.core.errors import ConfigurationError, Location, Problem, collected, reported_together
from isoglot.core.options import Count, NotNegative, Seed
from isoglot.corpus.encode.tokenizer import TokenizerOptions
from isoglot.modules.adapter_options import AdapterOptions
from isoglot.modules.checkpoint import load_config
from isoglot.modules.load import model_config
from isoglot.objectives import OBJECTIVES
from isoglot.objectives.base import require_objective
from isoglot.pretraining.stream_section import AS_WRITTEN, StreamSection
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

_ANY_VOCABULARY = 1 << 20
"""Word embeddings of an encoder whose vocabulary is not known yet."""


class ModelSection(OpenSection):
    """The encoder: a ``path`` (folder or hub name), or an ``architecture`` from scratch.

    ``path`` may be the folder of a finished run. ``adapter`` is trained in place of the encoder's weights, and merged
    into them when the encoder is exported. The other keys set its configuration (``hidden_size``,
    ``hidden_dropout_prob``); a loaded encoder has its own dropout again when it is exported.
    """

    one_of: ClassVar[tuple[str, ...]] = ("path", "architecture")
    path: str | None = None
    architecture: str | None = None
    adapter: Annotated[AdapterOptions | None, AS_WRITTEN] = None

    @property
    def settings(self) -> dict[str, Any]:
        """The keys of the section but ``adapter``, as :func:`isoglot.modules.load.load_masked_lm` takes them."""
        return self.model_dump(exclude_none=True, exclude={"adapter"})

    def config(
        self, tokenizer: PreTrainedTokenizerFast | None = None, *, training: TokenizerOptions | None = None
    ) -> PreTrainedConfig | None:
        """Return the encoder's configuration, without loading weights; ``None`` if that takes a download.

        The vocabulary is that of the tokenizer. Before the tokenizer exists, its size is the one that it will be
        trained with, or else so large that no id in a recipe is out of range.

        Args:
            tokenizer: The run's tokenizer, if it exists already.
            training: Options that the tokenizer will be trained with, if it does not.
        """
        if self.path is None:
            vocabulary: dict[str, Any] = {}
            if tokenizer is None:
                vocabulary["vocab_size"] = _ANY_VOCABULARY if training is None else training.vocab_size
            return model_config({**vocabulary, **self.settings}, tokenizer=tokenizer)
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
    def option_fields(cls, values: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
        """Make the options of a new tokenizer, with the special tokens of the encoder's family unless others are given.

        ``architecture: xlm-roberta`` has ``<s>`` and ``</s>``, ``bert`` has ``[CLS]`` and ``[SEP]``.
        """
        if values.get("path") is not None:
            return {"training": None}
        model = recipe.get("model")
        is_roberta = isinstance(model, dict) and model.get("architecture") in ("roberta", "xlm-roberta")
        family = "roberta" if is_roberta else "bert"
        return {"training": checked(TokenizerOptions, {"family": family, **values})}


class _BuiltSection(OpenSection):
    """An entry that a callable makes: ``type`` names the callable, and the other keys are its arguments.

    ``{type: masked_pair, probability: 0.3}`` is made by ``MaskedPair(tokenizer, probability=0.3)``.
    """

    registry: ClassVar[Mapping[str, Any]]  # built-in callables by type
    called: ClassVar[str]  # what messages call such an entry: "view"
    type: str
    options: Spec = Field(exclude=True)

    @staticmethod
    def require(kind: Any, name: str) -> None:
        """Refuse a class whose objects are not views (or not objectives); ``name`` is what messages call the class."""
        raise NotImplementedError

    @classmethod
    def option_fields(cls, values: Mapping[str, Any], recipe: Mapping[str, Any]) -> dict[str, Any]:
        """Make the options, typed by the signature of the callable."""
        if not isinstance(values.get("type"), str):
            return {}
        with reported_together() as problems, collected(problems, "type"):
            maker = resolve(cls.registry, values["type"], kind=cls.called)
            # What a function makes is only known after the call: `build` looks at it.
            if isinstance(maker, type):
                cls.require(maker, values["type"])
            spec = spec_of(maker)
        arguments = {key: value for key, value in values.items() if key not in cls.own_keys()}
        # With `cls`, a misspelt key of the section itself is recognised too: "steam: did you mean 'stream'?"
        return {"options": spec.of(arguments, cls)}

    def in_use(self, built: Any) -> dict[str, Any]:
        """Return the options that are texts, numbers or booleans, with the values that are used.

        If an option is ``None``, the view or objective chooses its value and keeps it as an attribute: a view with
        ``max_length=None`` has the ``max_length`` of the encoder.

        ``built``: The view or objective, or anything with these attributes; ``None`` if there is none.
        """
        values = {}
        for option in type(self.options).model_fields:
            value = getattr(self.options, option)
            if value is None:
                value = getattr(built, option, None)
            if option != "seed" and isinstance(value, str | int | float | bool):
                values[option] = value
        return values

    def build(
        self, first: Any, corpora: Mapping[str, Dataset], *, seed: int | None = None, **supplied: Any
    ) -> Any:
        """Make the view or the objective. New weights depend on the seed alone: the global generators are put back.

        Args:
            first: The first argument of the callable: the tokenizer for a view, the encoder for an objective.
            corpora: The streams' corpora, for options that take one, such as a lexicon.
            seed: Seed of new weights, and the default of the option ``seed``.
            **supplied: Defaults of more options; those that the callable does not take are left out.
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
        """Refuse a class that is not a view."""
        require_view(kind, name)

    def require_room(self, longest: int | None) -> None:
        """Refuse a ``max_length`` of more than ``longest``, the encoder's positions; ``None``: it has no limit."""
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
        """Refuse a class that is not an objective."""
        require_objective(kind, name)


BUILT: dict[str, type[ViewSection | ObjectiveSection]] = {
    "views": ViewSection,
    "objectives": ObjectiveSection,
}
"""Sections whose entries are built by callables, with the class of an entry."""


class Recipe(PortableSection):
    """One run, checked and immutable.

    How the recipe was written (its file's values, its hash, the changes to it) is in
    :class:`~isoglot.recipe.sections.PortableSection`.

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
        epochs: length of the run in epochs of one stream; with ``mixing: concatenate``, of all.
        steps: length of the run in optimiser steps; exactly one of ``epochs`` and ``steps`` is given.
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
_ENTRIES: dict[str, type[OpenSection]] = {"streams": StreamSection, **BUILT}
"""Sections of named entries: ``views: {pair: ..., text: ...}``."""


def typed_recipe(document: Document) -> tuple[Recipe | None, dict[Location, Any]]:
    """Make a recipe of a document, and add the mistakes to the document.

    Returns:
        The recipe, ``None`` if it has mistakes; and by location the model, the tokenizer and every stream, view and
        objective, ``None`` for each that has mistakes itself: ``{("model",): ..., ("views", "pair"): None}``.
    """
    values = dict(document.values)
    sections: dict[Location, Any] = {}
    problems: list[Problem] = []

    def make_section(section_class: type[OpenSection], written: Any, *location: str) -> OpenSection | None:
        """Make the section at a location, record it, and return it; ``None`` if it has mistakes."""
        sections[location] = None  # stays if the next statement fails
        with collected(problems, *location):
            sections[location] = section_class.of(written, document.values)
        return sections[location]  # type: ignore[no-any-return]

    for key, section_class in _SECTIONS.items():
        if values.get(key) is not None:
            values[key] = make_section(section_class, values[key], key)
    for key, section_class in _ENTRIES.items():
        if isinstance(values.get(key), dict):
            entries = {}
            for name, entry in values[key].items():
                entries[name] = make_section(section_class, entry, key, name)
            values[key] = entries
    recipe = None
    try:
        recipe = checked(Recipe, values)
    except ConfigurationError as error:
        # A section with mistakes has become None, which is a mistake again; it is reported once.
        wrong = [location for location, section in sections.items() if section is None]
        for problem in error.problems:
            is_reported = any(problem.location[: len(location)] == location for location in wrong)
            if not is_reported:
                problems.append(problem)
    document.add(problems)
    return recipe, sections
