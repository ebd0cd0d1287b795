"""What every check shares: the name that was perhaps meant, what a name stands for, a model's errors in words."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from isoglot.core.errors import ConfigurationError, Location, Problem
from isoglot.core.named_options import literal

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound="BaseModel")

EXTRAS = {
    "faiss-cpu": "faiss",
    "lingua-language-detector": "languages",
    "onnxscript": "export",
    "peft": "adapters",
    "ray": "ray",
    "scikit-learn": "analysis",
    "tensorboard": "tensorboard",
    "wandb": "wandb",
}
"""Packages that only some options need, and the extra of isoglot that brings each."""


def missing_package(what: str, package: str, *, instead: str = "") -> ConfigurationError:
    """One line for an option whose package is not installed: what to type.

    ``instead`` is what to use without it.
    """
    extra = f"'isoglot[{EXTRAS[package]}]'" if package in EXTRAS else package
    return ConfigurationError(
        f"{what} needs {package}, which is not installed; type `pip install {extra}`"
        + (f", or use {instead}" if instead else "")
    )


def shortened(value: object) -> str:
    """A value as messages show it: its beginning, where it is long."""
    text = literal(repr(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 200


def levels_outside() -> int:
    """How many calls up the first one stands that is not of isoglot, for ``stacklevel`` in the caller."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    return level


_INSIDE = {"isoglot", "contextlib", "torch"}
"""Packages whose calls stand between a user's line and a warning: isoglot, and what wraps its functions."""


def is_text(value: object) -> bool:
    """Whether it is text that a file and a tokenizer take, which half of a surrogate pair is not."""
    try:
        return isinstance(value, str) and (value.isascii() or bool(value.encode()))
    except UnicodeEncodeError:
        return False


def given_texts(texts: Any, name: str = "") -> Iterator[str]:
    """The texts in a list, a column or a stream of them; ``name`` is the argument.

    Raises:
        ConfigurationError: One text, whose characters would be taken for texts; something without an order; a row that
            is no text, with its number from 1.
    """
    about = f"{name}: " if name else ""
    if isinstance(texts, str | bytes | Mapping | Set) or not hasattr(texts, "__iter__"):
        hint = f"; write [{shortened(texts)}]" if isinstance(texts, str) else ""
        raise ConfigurationError(f"{about}expected a list of texts, got {shortened(texts)}{hint}")
    return _texts(texts, about)


def _texts(texts: Any, about: str) -> Iterator[str]:
    items: Iterable[Any] = texts.to_pylist() if hasattr(texts, "to_pylist") else texts  # of a column of Arrow
    for number, text in enumerate(items, 1):
        if not is_text(text):
            raise ConfigurationError(f"{about}text {number}: expected a text, got {shortened(text)}")
        yield text


def is_number(text: str) -> bool:
    """Whether a text from a file or a flag is a whole number that ``int`` reads: one to nine ASCII digits."""
    return _NUMBER.fullmatch(text) is not None


_NUMBER = re.compile(r"[0-9]{1,9}")


def closest(text: object, known: Iterable[object]) -> str | None:
    """The known name that is most like the given one, if any is close."""
    matches = difflib.get_close_matches(str(text), sorted({str(name) for name in known}), n=1)
    return matches[0] if matches else None


def did_you_mean(unknown: object, known: Iterable[object]) -> str:
    """The end of a message about an unknown name: the closest known one, or all of them.

    Example:
        >>> did_you_mean("fastalign", ["fast_align", "hmm"]), did_you_mean("x", ["fast_align", "hmm"])
        ("did you mean 'fast_align'?", 'known: fast_align, hmm')
    """
    names = sorted({str(name) for name in known})
    if (close := closest(unknown, names)) is not None:
        return f"did you mean {close!r}?"
    return f"known: {', '.join(names)}" if names else "none is known"


def resolve(registry: Mapping[str, Any], name: str, *, kind: str) -> Any:
    """What a name stands for: an entry of a registry, or ``package.module:Name``.

    Modules are found where Python finds them, and in the current folder. The registry holds objects, or the
    ``package.module:Name`` of objects that are imported when asked for; the message calls it a ``kind`` (``view``).
    """
    entry = registry.get(name, name)
    if not isinstance(entry, str):
        return entry
    module, colon, attribute = entry.partition(":")
    if not colon:
        hint = did_you_mean(name, registry)
        raise ConfigurationError(f"unknown {kind} {name!r}; {hint} (or package.module:Name for your own)")
    here = str(Path.cwd())
    if name not in registry and here not in sys.path:  # data lie there: never for names of our own
        sys.path.append(here)  # for good: loader workers import the module too
    try:
        value = getattr(import_module(module), attribute)
    except AttributeError as error:
        raise ConfigurationError(
            f"module {module!r} has no {attribute!r}; write package.module:Name"
        ) from error
    except Exception as error:  # the user's module may fail in any way
        reason = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise ConfigurationError(
            f"{name!r} cannot be imported ({reason}); put its module into this folder or on the Python path"
        ) from error
    if not callable(value):
        raise ConfigurationError(f"{name!r} is a {type(value).__name__}; a class or function is needed")
    return value


def problems_of(error: ValidationError, values: Any = None, *models: type[BaseModel]) -> list[Problem]:
    """A pydantic error as one problem for each value that is wrong.

    Where a value may be of several types, pydantic reports an error for each of them, at a location to which it adds
    the type. ``values``, what was validated, tells keys from types; ``models`` know what an unknown key could have
    meant. A problem inside a value stands for those of the value as a whole.
    """
    from isoglot.core.options import keys_at  # noqa: PLC0415 - pydantic is slow to import

    by_location: dict[Location, list[ErrorDetails]] = {}
    for item in error.errors():
        by_location.setdefault(_location_of(item, values), []).append(item)
    whole = {location[:end] for location in by_location for end in range(len(location))}
    problems = []
    for location, items in by_location.items():
        if location in whole:
            continue
        telling = [item for item in items if not item["type"].endswith("_type")] or items
        known = [key for model in models for key in keys_at(model, location[:-1])]
        start, *more = dict.fromkeys(_reason(item, known) for item in telling)
        prefix = f"got {shortened(telling[0]['input'])}; "
        reason = " or ".join([start, *(text.removeprefix(prefix) for text in more)])
        problems.append(Problem(reason, location, telling[0]["type"]))
    return problems


def checked(model: type[M], values: Any, *models: type[BaseModel]) -> M:
    """A model made from values; what is wrong with them, all of it, is a :class:`ConfigurationError`.

    ``models``: others whose keys an unknown one could have meant.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - the command line does without where nothing is wrong

    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError(problems_of(error, values, model, *models)) from error


def _location_of(item: ErrorDetails, values: Any) -> Location:
    """The keys and indices of an error's location that lead through the values."""
    tag = (item["ctx"]["discriminator"].strip("'"),) if item["type"] == "union_tag_invalid" else ()
    if values is None:
        return item["loc"] + tag
    location: Location = ()
    for number, part in enumerate(item["loc"], start=1):
        lacking = number == len(item["loc"]) and item["type"] == "missing"
        if lacking or part in (values if isinstance(values, Mapping) else ()):
            location, values = (*location, part), None if lacking else values[part]
        elif isinstance(part, int) and isinstance(values, list | tuple):
            location, values = (*location, part), values[part]
        elif part == 0 and isinstance(values, str):  # one text, which the model takes for a list of one
            location = (*location, part)
    return location + tag


def validated(model: type[M], values: Mapping[str, Any], *, owner: str = "") -> M:
    """A model made from values; those of a model inside it, or of one of a union, may be given flat.

    ``owner``: What has these options, for messages: ``method hmm``.

    Raises:
        ConfigurationError: All unknown names, each with the closest known one; all bad or missing values. Every message
            begins with the option that it is about.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - the command line does without where nothing is wrong

    known: set[str] = set()
    arranged = _arranged(model, values, known)
    unknown = f"{owner} does not have this option" if owner else "unknown option"
    problems = [f"[[{name}]]: {unknown}; {did_you_mean(name, known)}" for name in values if name not in known]
    try:
        result = model.model_validate(arranged)
    except ValidationError as error:
        for problem in problems_of(error, arranged):
            names = [str(part) for part in problem.location if part in known]
            if names:
                problems.append(f"[[{names[-1]}]]: {problem.text}")
            elif problem.text.startswith("[[") or not owner:  # the check of several options names them itself
                problems.append(problem.text)
            else:
                problems.append(f"{owner}: {problem.text}")
    if problems:
        raise ConfigurationError(problems)
    return result


def one_request(model: type[M], whole: M | None, single: Mapping[str, Any], *, whole_name: str) -> M:
    """The options of a verb, which a caller gives as one object or one by one.

    Example:
        >>> from isoglot.reports.options import ReportOptions
        >>> one_request(ReportOptions, None, {"title": "Mine"}, whole_name="options").title
        'Mine'

    Raises:
        ConfigurationError: Both are given, the object is another one, or an option is unknown or wrong.
    """
    if whole is None:
        return validated(model, single)
    if not isinstance(whole, model):
        raise ConfigurationError(
            f"[[{whole_name}]]: must be {model.__name__}(...), got {shortened(whole)}; or pass its options one by one"
        )
    if single:
        raise ConfigurationError(
            f"got {whole_name}= and {', '.join(single)}; pass all of them in {model.__name__}(...), or all one by one"
        )
    return whole


def _arranged(model: type[BaseModel], values: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """Values as nested as the model; the names that it has are added to ``known``."""
    from isoglot.core.options import is_internal, models_in, without_none  # noqa: PLC0415 - pydantic is slow to import

    arranged: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if is_internal(field):
            continue
        inside = models_in(without_none(field.annotation)[0])
        if len(inside) > 1 and name not in values:
            key = str(field.discriminator)
            chosen = [
                choice
                for choice in inside
                if values.get(key) in get_args(choice.model_fields[key].annotation)
            ]
            inside = tuple(chosen or inside)[:1]
        if inside and name not in values:
            # a name that both have is the outer model's alone
            left = {key: value for key, value in values.items() if key not in model.model_fields}
            inner = _arranged(inside[0], left, known)
            arranged |= {name: inner} if inner or field.is_required() else {}
        else:
            known.add(name)
            arranged |= {name: values[name]} if name in values else {}
    return arranged


def _reason(item: ErrorDetails, known: list[str]) -> str:
    kind, message = item["type"], str(item["msg"])
    if kind == "value_error":
        return str(item["ctx"]["error"])
    if kind == "missing":
        return "too few values" if isinstance(item["loc"][-1], int) else "missing"
    if kind == "extra_forbidden":
        return f"unknown key; {did_you_mean(item['loc'][-1], known)}" if known else "unknown key"
    if kind in ("literal_error", "enum", "union_tag_invalid"):
        context = item["ctx"]
        value = context.get("tag", item["input"])
        expected = context.get("expected_tags") or context["expected"].replace(" or ", ",")
        choices = [name.strip(" '") for name in expected.split(",")]
        return f"got {shortened(value)}; {did_you_mean(value, choices)}"
    message = message.replace("Input should", "it should")
    return f"got {shortened(item['input'])}; {message[0].lower()}{message[1:]}"
