"""What a ``type`` in a recipe stands for: a callable whose own signature is the schema of its section."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from datasets import Dataset

from isoglot.checks import did_you_mean, resolve
from isoglot.errors import ConfigurationError
from isoglot.objectives import OBJECTIVES
from isoglot.objectives.base import SUPPLIED as FOR_OBJECTIVES
from isoglot.recipe.document import Document, Location
from isoglot.recipe.signatures import argument_docs, dataset_options, hints_of, mismatch
from isoglot.views import VIEWS
from isoglot.views.base import SUPPLIED as FOR_VIEWS

__all__ = ["KEYS", "Constructor", "constructor", "names_of"]

KEYS: dict[str, tuple[str, ...]] = {"views": ("type", "stream"), "objectives": ("type", "weight")}
"""Keys of a view's or objective's section that are no options of its constructor."""

_REGISTRIES: dict[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "views": (VIEWS, FOR_VIEWS),
    "objectives": (OBJECTIVES, FOR_OBJECTIVES),
}


@dataclass(frozen=True)
class Constructor:
    """How a view or an objective is made from its section of a recipe.

    Args:
        name: the section's ``type``.
        make: takes the tokenizer (a view) or the encoder (an objective) first, then options by name.
        supplied: parameters that isoglot fills in by name where the recipe does not
            (:data:`isoglot.views.base.SUPPLIED`, :data:`isoglot.objectives.base.SUPPLIED`).
    """

    name: str
    make: Any
    supplied: tuple[str, ...]

    @cached_property
    def options(self) -> dict[str, inspect.Parameter]:
        """The parameters that a recipe gives by name: all but the first, which isoglot gives."""
        named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = [p for p in self._parameters if p.kind in named]
        first = (
            parameters[:1] if parameters and parameters[0].kind is not inspect.Parameter.KEYWORD_ONLY else []
        )
        return {p.name: p for p in parameters if p not in first and p.name != "tokenizer"}

    @cached_property
    def corpora(self) -> set[str]:
        """Options that take a corpus; a recipe gives the name of a stream."""
        return dataset_options(self.make)

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        first = inspect.cleandoc(self.make.__doc__ or "").partition("\n\n")[0]
        return " ".join(first.replace("``", "").split())

    @property
    def meanings(self) -> dict[str, str]:
        """What its docstring says of each option."""
        return argument_docs(self.make)

    @property
    def _parameters(self) -> list[inspect.Parameter]:
        return list(inspect.signature(self.make).parameters.values())

    def check(self, document: Document, location: Location, given: Mapping[str, Any]) -> None:
        """Add to a document what is wrong with a section's keys and values."""
        section = str(location[0])
        any_option = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in self._parameters)
        streams, hints = document.entries("streams"), hints_of(self.make)
        for name, value in given.items():
            place = (*location, name)
            if name in self.corpora and value is not None:
                if value not in streams:
                    hint = did_you_mean(value, streams)
                    document.problem(place, f"{value!r} is no stream, and a corpus is needed; {hint}")
            elif name in self.options:
                if (reason := mismatch(hints.get(name, inspect.Parameter.empty), value)) is not None:
                    document.problem(place, f"{value!r} given; {reason}")
            elif not any_option:
                document.problem(
                    place, f"unknown option; {did_you_mean(name, {*self.options, *KEYS[section]})}"
                )
        for name, parameter in self.options.items():
            if parameter.default is inspect.Parameter.empty and name not in given:
                document.problem(location, f"option {name!r} is missing; add `{name}: ...`")

    def build(
        self, first: Any, given: Mapping[str, Any], corpora: Mapping[str, Dataset], **supplied: Any
    ) -> Any:
        """Call it.

        Args:
            first: the tokenizer or the encoder.
            given: the recipe's options.
            corpora: prepared corpora by stream name.
            **supplied: values of :attr:`supplied`; those that it does not take are left out.

        Raises:
            ConfigurationError: it refuses the options.
        """
        names = {p.name for p in self._parameters}
        values = {k: v for k, v in supplied.items() if k in names and k in self.supplied}
        for name, value in given.items():
            stream = name in self.corpora and isinstance(value, str)
            values[name] = corpora[value] if stream else tuple(value) if isinstance(value, list) else value
        try:
            return self.make(first, **values)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"{self.name} does not take these options ({type(error).__name__}: {error}); change them"
            ) from error


def constructor(section: str, name: str) -> Constructor:
    """The constructor of a ``type`` in ``views`` or ``objectives``.

    Raises:
        ConfigurationError: there is none; the message has the closest name.
    """
    registry, supplied = _REGISTRIES[section]
    return Constructor(name, resolve(registry, name, kind=section.removesuffix("s")), supplied)


def names_of(section: str) -> list[str]:
    """The names that a ``type`` in ``views`` or ``objectives`` can have, beside ``package.module:Name``."""
    return list(_REGISTRIES[section][0])
