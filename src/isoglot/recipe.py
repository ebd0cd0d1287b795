"""A recipe: one run as YAML, read strictly, with every mistake listed before any work starts.

This module checks what can be known from the file alone. Whether a view takes an option, or ``train`` a setting, is
known to the callables themselves: :func:`isoglot.pipeline.check.load_recipe` checks those too and lists all together.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from isoglot.errors import ConfigurationError
from isoglot.recipe_source import Document, Location, did_you_mean, dump_yaml, read_document

__all__ = [
    "BatchSection",
    "EpochsSection",
    "ModelSection",
    "ObjectiveSection",
    "Recipe",
    "StreamSection",
    "TokenizerSection",
    "ViewSection",
    "builtin_folder",
    "builtin_recipes",
    "find",
    "load",
    "problems",
    "read",
]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class _Section(BaseModel):
    """A section whose keys are all known here."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _OpenSection(BaseModel):
    """A section that hands its other keys on; whoever takes them checks them."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)
    one_of: ClassVar[tuple[str, ...]] = ()

    @property
    def options(self) -> dict[str, Any]:
        """The keys that this section hands on."""
        return dict(self.model_extra or {})

    @model_validator(mode="after")
    def _exactly_one(self) -> _OpenSection:
        given = [name for name in self.one_of if getattr(self, name) is not None]
        if self.one_of and len(given) != 1:
            have = " and ".join(repr(g) for g in given) or "neither"
            raise ValueError(f"{have} given; it needs exactly one of {' | '.join(self.one_of)}")
        return self


class ModelSection(_OpenSection):
    """The encoder: a ``path`` (folder or hub name), or an ``architecture`` from scratch; other keys set its configuration."""

    one_of: ClassVar[tuple[str, ...]] = ("path", "architecture")
    path: str | None = None
    architecture: str | None = None


class TokenizerSection(_OpenSection):
    """The tokenizer: a ``path``, or an ``algorithm`` trained on the recipe's streams."""

    one_of: ClassVar[tuple[str, ...]] = ("path", "algorithm")
    path: str | None = None
    algorithm: str | None = None


class StreamSection(_OpenSection):
    """One stream: its files, how they are prepared (other keys), encoded and packed."""

    kind: Literal["text", "bitext", "aligned", "lexicon"]
    path: str | list[str]
    encode: dict[str, Any] = {}
    pack: Any = None

    @property
    def paths(self) -> list[str]:
        """The files, always as a list."""
        return [self.path] if isinstance(self.path, str) else list(self.path)


class ViewSection(_OpenSection):
    """One view: ``type`` names it, ``stream`` feeds it, the other keys are its own options."""

    type: str
    stream: str


class ObjectiveSection(_OpenSection):
    """One objective: ``type`` names it, ``weight`` scales it, the other keys are its own options."""

    type: str
    weight: Annotated[float, Field(ge=0)] = 1.0


class BatchSection(_Section):
    """Batch size on one device: ``examples``, or real ``tokens`` with length buckets."""

    examples: Annotated[int, Field(ge=1)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    bucket: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _one(self) -> BatchSection:
        if (self.examples is None) == (self.tokens is None):
            raise ValueError("it needs exactly one of examples | tokens, for example {examples: 32}")
        if self.bucket is not None and self.tokens is None:
            raise ValueError("bucket goes with tokens, for example {tokens: 4096, bucket: 50}")
        return self


class EpochsSection(_Section):
    """How often one named stream is read; the others are drawn alongside."""

    stream: str
    count: Annotated[float, Field(gt=0)]


class Recipe(_Section):
    """One run, checked and immutable.

    Args:
        name: a label for results; no part of the hash.
        seed: of every random choice.
        model: the encoder.
        tokenizer: default: the model's own.
        streams: corpora by name.
        views: encoder inputs by name.
        objectives: losses by name.
        normalisation: what divides the losses: the items of the whole step per objective (``token``), all
            objectives' items together (``joint_token``), or each batch's own (``batch_mean``).
        batch: batch size per device.
        epochs: length of the run in epochs of one stream, or
        steps: in optimiser steps.
        train: handed to ``transformers.TrainingArguments``.
    """

    name: str
    purpose: str = ""
    seed: Annotated[int, Field(ge=0)] = 1
    model: ModelSection
    tokenizer: TokenizerSection | None = None
    streams: Annotated[dict[str, StreamSection], Field(min_length=1)]
    views: Annotated[dict[str, ViewSection], Field(min_length=1)]
    objectives: Annotated[dict[str, ObjectiveSection], Field(min_length=1)]
    normalisation: Literal["token", "joint_token", "batch_mean"] = "token"
    batch: BatchSection
    epochs: EpochsSection | None = None
    steps: Annotated[int, Field(ge=1)] | None = None
    train: dict[str, Any] = {}

    _raw: dict[Location, str] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _length(self) -> Recipe:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError(
                "a recipe needs exactly one of `epochs: {stream: NAME, count: 2}` and `steps: 1000`"
            )
        return self

    @property
    def hash(self) -> str:
        """16 hexadecimal digits of everything but the name; the same where only environment variables differ."""
        values = self.model_dump(mode="json", exclude={"name", "purpose"})
        for location, text in self._raw.items():
            _replace(values, location, text)
        canonical = json.dumps(values, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def resolved(self) -> str:
        """The recipe as YAML with everything explicit: defaults, variables, overrides, what it extends."""
        return dump_yaml(self.model_dump(mode="json"))


def builtin_folder() -> Path:
    """The folder of the recipes that come with isoglot."""
    return Path(__file__).parent / "recipes"


def builtin_recipes() -> dict[str, Path]:
    """Name (``tlm``, ``small/tlm_en_de``) to file of the recipes that come with isoglot."""
    folder = builtin_folder()
    names = {p.relative_to(folder).with_suffix("").as_posix(): p for p in folder.rglob("*.yaml")}
    return dict(sorted(names.items(), key=lambda item: (item[0].count("/"), item[0])))


def find(path_or_name: str | Path) -> Path:
    """A recipe file, given its path or the name of a built-in recipe.

    Raises:
        ConfigurationError: there is neither; the message lists the closest name.
    """
    path = Path(path_or_name)
    if path.is_file():
        return path
    known = builtin_recipes()
    name = path.as_posix().removesuffix(".yaml")
    if name in known:
        return known[name]
    raise ConfigurationError(
        f"recipe {str(path_or_name)!r}: no such file and no built-in recipe of that name; {did_you_mean(name, known)} "
        "`isoglot recipes` lists them"
    )


def read(path_or_name: str | Path, overrides: Sequence[str] = ()) -> Document:
    """Read a recipe's document, mistakes and all; :func:`problems` finds the rest of them."""
    return read_document(find(path_or_name), overrides, builtin=builtin_folder())


def load(path_or_name: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe and check all that the file alone can tell.

    Args:
        path_or_name: a YAML file, or the name of a built-in recipe (``tlm``).
        overrides: ``section.key=value`` each (``train.learning_rate=5e-5``).

    Returns:
        The recipe.

    Raises:
        ConfigurationError: its mistakes, all listed, each with its line.
        InputError: the file is no YAML.

    Example:
        >>> load("mlm", ["steps=10", "epochs=null", "streams.text.path=corpus.txt"]).steps
        10
    """
    document = read(path_or_name, overrides)
    recipe = problems(document)
    if recipe is None or document.problems:
        raise mistakes(document, path_or_name)
    return recipe


def mistakes(document: Document, path_or_name: str | Path) -> ConfigurationError:
    """The error that lists a document's mistakes."""
    count = len(document.problems)
    noun = "mistake" if count == 1 else "mistakes"
    return ConfigurationError(
        document.problems, heading=f"recipe {path_or_name}: {count} {noun}; nothing was read or trained"
    )


def problems(document: Document) -> Recipe | None:
    """Check the fixed sections and the names that refer to each other; mistakes are added to the document.

    Returns:
        The recipe, or ``None`` where its shape is wrong.
    """
    recipe: Recipe | None = None
    try:
        recipe = Recipe.model_validate(document.values)
        recipe._raw = dict(document.raw)
    except ValidationError as error:
        for item in error.errors():
            _explain(document, item)
    _cross_check(document)
    return recipe


def _explain(document: Document, item: Any) -> None:
    """One pydantic error as a message with its line and, for an unknown key, the closest one."""
    location = tuple(item["loc"])
    if location[:1] == ("streams",) and location[2:3] == ("path",):
        location = location[:3]  # pydantic adds the branch of `str | list[str]`
    kind = item["type"]
    if kind == "extra_forbidden":
        document.problem(location, f"unknown key; {did_you_mean(location[-1], _keys_at(location[:-1]))}")
    elif kind == "missing":
        known = f" ({hint})" if (hint := _HINTS.get(str(location[-1]))) else ""
        document.problem(location, f"missing{known}")
    elif kind == "value_error":
        document.problem(location, str(item["ctx"]["error"]))
    elif kind == "literal_error":
        names = re.findall(r"'([^']+)'", item["ctx"]["expected"])
        document.problem(location, f"{item['input']!r} given; {did_you_mean(item['input'], names)}")
    else:
        message = str(item["msg"])
        document.problem(location, f"{item['input']!r} given; {message[0].lower()}{message[1:]}")


_HINTS = {
    "name": "for example `name: tlm`",
    "model": "for example `model: {path: bert-base-multilingual-cased}`",
    "streams": "for example `streams: {bitext: {kind: bitext, path: en-de.tsv}}`",
    "views": "for example `views: {pair: {type: masked_pair, stream: bitext}}`",
    "objectives": "for example `objectives: {masked_lm: {type: masked_lm, view: pair}}`",
    "batch": "for example `batch: {examples: 32}`",
    "type": "the name of a view or objective, or package.module:Name",
    "stream": "the name of one of the streams",
    "kind": "text | bitext | aligned | lexicon",
    "path": "a file, several files, or a prepared corpus",
}


def _keys_at(location: Location) -> list[str]:
    sections: dict[str, type[BaseModel]] = {"batch": BatchSection, "epochs": EpochsSection}
    section = sections.get(str(location[0]), Recipe) if location else Recipe
    return list(section.model_fields)


def _cross_check(document: Document) -> None:
    """Names: streams that views and epochs read, views that objectives read, and streams that nothing reads."""
    sections = {key: document.values.get(key) for key in ("streams", "views", "objectives")}
    known = {key: list(value) if isinstance(value, dict) else [] for key, value in sections.items()}
    for key, names in known.items():
        for name in names:
            if not _NAME.fullmatch(name):
                document.problem((key, name), "names are letters, digits, _ and -, and begin with a letter")

    def refer(location: Location, value: object, kind: str) -> None:
        if isinstance(value, str) and known[kind] and value not in known[kind]:
            document.problem(
                location,
                f"no {kind.removesuffix('s')} is named {value!r}; {did_you_mean(value, known[kind])}",
            )

    _each(
        sections["views"], lambda name, view: refer(("views", name, "stream"), view.get("stream"), "streams")
    )

    def objective(name: str, values: dict[str, Any]) -> None:
        for key, value in values.items():
            if key == "view" or key.endswith("_view"):
                refer(("objectives", name, key), value, "views")

    _each(sections["objectives"], objective)
    epochs = document.values.get("epochs")
    if isinstance(epochs, dict):
        refer(("epochs", "stream"), epochs.get("stream"), "streams")
    used = {str(v) for v in _strings([sections["views"], sections["objectives"]])}
    for name in known["streams"]:
        if name not in used:
            document.problem(
                ("streams", name), "no view or objective reads this stream; delete it or name it in a view"
            )


def _each(section: object, check: Callable[[str, dict[str, Any]], None]) -> None:
    if isinstance(section, dict):
        for name, values in section.items():
            if isinstance(values, dict):
                check(name, values)


def _strings(tree: object) -> list[str]:
    if isinstance(tree, dict):
        return [s for value in tree.values() for s in _strings(value)]
    if isinstance(tree, list):
        return [s for value in tree for s in _strings(value)]
    return [tree] if isinstance(tree, str) else []


def _replace(values: Any, location: Location, text: str) -> None:
    """Put ``text`` at ``location``, if the tree still has that place."""
    for part in location[:-1]:
        inside = isinstance(values, dict) and part in values
        inside = inside or (isinstance(values, list) and isinstance(part, int) and part < len(values))
        if not inside:
            return
        values = values[part]
    values[location[-1]] = text
