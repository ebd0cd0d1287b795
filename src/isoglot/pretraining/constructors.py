"""What a ``type`` in a recipe stands for: a callable whose own signature is the schema of its section."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedModel, PreTrainedTokenizerFast

from isoglot.checks import did_you_mean, resolve
from isoglot.errors import ConfigurationError, Location, Problem
from isoglot.objectives import OBJECTIVES
from isoglot.objectives.base import SUPPLIED as FOR_OBJECTIVES
from isoglot.recipe.document import Document
from isoglot.recipe.signatures import argument_docs, dataset_options, hints_of, mismatch
from isoglot.views import VIEWS
from isoglot.views.base import SUPPLIED as FOR_VIEWS
from isoglot.views.base import View

KEYS: dict[str, tuple[str, ...]] = {"views": ("type", "stream"), "objectives": ("type", "weight")}
"""Keys of a view's or objective's section that are no options of its constructor."""

_REGISTRIES: dict[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    "views": (VIEWS, FOR_VIEWS),
    "objectives": (OBJECTIVES, FOR_OBJECTIVES),
}


@dataclass(frozen=True)
class Constructor:
    """How a view or an objective is made from its section of a recipe.

    ``make`` takes the tokenizer (a view) or the encoder (an objective) first, then options by name. ``supplied`` are
    parameters that isoglot fills in where the recipe does not.
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
                    document.problem(place, f"{value!r} is not a stream, and a corpus is needed; {hint}")
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
        """Call it."""
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
    """The constructor of a ``type`` in ``views`` or ``objectives``."""
    registry, supplied = _REGISTRIES[section]
    return Constructor(name, resolve(registry, name, kind=section.removesuffix("s")), supplied)


def names_of(section: str) -> list[str]:
    """The names that a ``type`` in ``views`` or ``objectives`` can have, beside ``package.module:Name``."""
    return list(_REGISTRIES[section][0])


def make_view(
    made_by: Constructor,
    options: Mapping[str, Any],
    tokenizer: PreTrainedTokenizerFast,
    corpora: Mapping[str, Dataset],
    longest: int | None,
) -> View:
    """A view from its options."""
    given = options.get("max_length")
    if "max_length" in made_by.options and longest is not None and isinstance(given, int) and given > longest:
        text = f"{given} given, the encoder has {longest} positions; lower it"
        raise ConfigurationError(Problem(text, ("max_length",)))
    supplied = {} if longest is None else {"max_length": longest}
    view: View = made_by.build(tokenizer, options, corpora, **supplied)
    return view


_FIRST_SPECIAL = 1 << 20
"""Special ids of the stand-in, beyond any vocabulary that ``random_pool`` may name a part of."""


@cache
def stand_in_tokenizer() -> Any:
    """A tokenizer of one word."""
    specials = {t: _FIRST_SPECIAL + i for i, t in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))}
    core = Tokenizer(models.WordLevel({"a": 0, **specials}, unk_token="[UNK]"))  # noqa: S106 - a token of text
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, specials[token]) for token in ("[CLS]", "[SEP]")],
    )
    names = {f"{token[1:-1].lower()}_token": token for token in specials}
    return PreTrainedTokenizerFast(tokenizer_object=core, **names)


def stand_in_encoder(layers: int) -> PreTrainedModel:
    """An encoder of so many tiny layers, and of more word embeddings than any vocabulary needs."""
    config = BertConfig(
        vocab_size=1 << 18,
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
    )
    with torch.random.fork_rng(devices=[]):
        return BertForMaskedLM(config)
