"""What a recipe's file alone tells about its mistakes: unknown keys, wrong types, names that lead nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ValidationError

from isoglot.checks import Mistake, did_you_mean, mistakes_of
from isoglot.recipe.document import Document, Location
from isoglot.recipe.sections import (
    LENGTH_NEEDED,
    BatchSection,
    EpochsSection,
    PartsSection,
    Recipe,
    WeightSection,
)

__all__ = ["problems", "validate"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def problems(document: Document) -> Recipe | None:
    """Check the fixed sections and the names that refer to each other; mistakes are added to the document.

    Returns:
        The recipe, or ``None`` where its shape is wrong.
    """
    recipe: Recipe | None = validate(document, (), Recipe, document.values)
    if recipe is not None:
        recipe.remember_raw(document.raw)
    elif not any("exactly one of `epochs" in text for text in document.problems):
        # pydantic looks at the whole only where all parts are right
        length = [key for key in ("epochs", "steps") if document.values.get(key) is not None]
        if len(length) != 1:
            document.problem((), LENGTH_NEEDED)
    _cross_check(document)
    return recipe


def validate(document: Document, location: Location, model: type[BaseModel], values: Any) -> Any:
    """Read a section as a pydantic model; mistakes are added to the document, each with its line.

    Returns:
        The model, or ``None`` where its values are wrong.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        for mistake in mistakes_of(error, model.model_fields if location else ()):
            _explain(document, (*location, *mistake.location), mistake)
    return None


def _explain(document: Document, location: Location, mistake: Mistake) -> None:
    """One pydantic error as a message with its line and, for an unknown key, the closest one."""
    reason = mistake.reason
    if reason == "unknown key":
        reason = f"unknown key; {did_you_mean(location[-1], _keys_at(location[:-1]))}"
    elif mistake.kind == "missing" and (hint := _HINTS.get(str(location[-1]))):
        reason = f"missing ({hint})"
    document.problem(location, reason)


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
    sections: dict[str, type[BaseModel]] = {
        "batch": BatchSection,
        "epochs": EpochsSection,
        "parts": PartsSection,
    }
    if location[:1] == ("objectives",):
        return list(WeightSection.model_fields)
    section = sections.get(str(location[0]), Recipe) if location else Recipe
    return list(section.model_fields)


def _cross_check(document: Document) -> None:
    """Names: streams that views and epochs read, views that objectives read, streams that nothing reads."""
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

    def view(name: str, values: dict[str, Any]) -> None:
        refer(("views", name, "stream"), values.get("stream"), "streams")

    def objective(name: str, values: dict[str, Any]) -> None:
        for key, value in values.items():
            if key == "view" or key.endswith("_view"):
                refer(("objectives", name, key), value, "views")

    _each(sections["views"], view)
    _each(sections["objectives"], objective)
    epochs = document.values.get("epochs")
    if isinstance(epochs, dict):
        refer(("epochs", "stream"), epochs.get("stream"), "streams")
    used = {str(v) for v in _strings([sections["views"], sections["objectives"]])}
    for name in known["streams"]:
        if name not in used:
            document.problem(
                ("streams", name), "no view or objective reads this stream; name it in one or delete it"
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
