"""What every check shares: the name that was perhaps meant, what a name stands for, a model's errors in words."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from isoglot.errors import ConfigurationError

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound="BaseModel")

EXTRAS = {"scikit-learn": "analysis", "ray": "ray", "tensorboard": "tensorboard", "wandb": "wandb"}
"""Packages that only some options need, and the extra of isoglot that brings each."""


def missing_package(what: str, package: str, *, instead: str = "") -> ConfigurationError:
    """One line for an option whose package is not installed: what to type.

    ``instead`` is what to use without it.
    """
    wanted = f"'isoglot[{EXTRAS[package]}]'" if package in EXTRAS else package
    return ConfigurationError(
        f"{what} needs {package}, which is not installed; type `pip install {wanted}`"
        + (f", or use {instead}" if instead else "")
    )


def shortened(given: object) -> str:
    """A value as messages show it: its beginning, where it is long."""
    text = repr(given)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 200


def is_number(text: str) -> bool:
    """Whether a text from a file or a flag is a whole number that ``int`` reads: one to nine ASCII digits."""
    return _NUMBER.fullmatch(text) is not None


_NUMBER = re.compile(r"[0-9]{1,9}")


def closest(given: object, known: Iterable[object]) -> str | None:
    """The known name that is most like the given one, if any is close."""
    found = difflib.get_close_matches(str(given), sorted({str(name) for name in known}), n=1)
    return found[0] if found else None


def did_you_mean(given: object, known: Iterable[object]) -> str:
    """The end of a message about an unknown name: the closest known one, or all of them.

    Example:
        >>> did_you_mean("fastalign", ["fast_align", "hmm"]), did_you_mean("x", ["fast_align", "hmm"])
        ("did you mean 'fast_align'?", 'known: fast_align, hmm')
    """
    names = sorted({str(name) for name in known})
    if (close := closest(given, names)) is not None:
        return f"did you mean {close!r}?"
    return f"known: {', '.join(names)}" if names else "none is known"


def resolve(registry: Mapping[str, Any], name: str, *, kind: str) -> Any:
    """What a name stands for: an entry of a registry, or ``package.module:Name``.

    Modules are found where Python finds them, and in the current folder. The registry holds objects, or the
    ``package.module:Name`` of objects that are imported when asked for; the message calls it a ``kind`` (``view``).
    """
    found = registry.get(name, name)
    if not isinstance(found, str):
        return found
    module, colon, attribute = found.partition(":")
    if not colon:
        hint = did_you_mean(name, registry)
        raise ConfigurationError(f"unknown {kind} {name!r}; {hint} (or package.module:Name for your own)")
    here = str(Path.cwd())
    if here not in sys.path:
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


@dataclass(frozen=True)
class Mistake:
    """One error of a pydantic model."""

    location: tuple[str | int, ...]  # Keys and indices that lead to the value
    kind: str  # Pydantic's name of the error (`missing`, `extra_forbidden`)
    reason: str
    given: Any

    @property
    def place(self) -> str:
        """The location as ``section.key``."""
        return ".".join(map(str, self.location))

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}" if self.location else self.reason


def mistakes_of(error: ValidationError, known: Iterable[str] = ()) -> list[Mistake]:
    """A pydantic error as one :class:`Mistake` for each value that is wrong.

    Where a value may be of several types, pydantic reports an error for each of them, and adds the type to the
    location; here it is one mistake of the value: what is wrong with it in its own type, or all types it may have.

    ``known`` are names that an unknown key could have meant.
    """
    found: dict[tuple[str | int, ...], list[Mistake]] = {}
    for item in error.errors():
        unknown = (
            item["loc"][-1:] if item["type"] == "extra_forbidden" else ()
        )  # a key of the user's, of any spelling
        known_parts = item["loc"][: len(item["loc"]) - len(unknown)]
        parts = (part for part in known_parts if not (isinstance(part, str) and _BRANCH.fullmatch(part)))
        place = (*parts, *unknown)
        mistake = Mistake(place, item["type"], _reason(item, list(known)), item["input"])
        found.setdefault(place, []).append(mistake)
    inside = {place[:end] for place in found for end in range(len(place))}
    several = {
        place
        for place, (first, *more) in found.items()
        if more
        or first.kind == "too_short"  # its items are what is wrong
        or (isinstance(first.given, dict) and first.kind.endswith("_type"))
    }
    return [_one(branches) for place, branches in found.items() if place not in inside & several]


_BRANCH = re.compile(
    r"constrained-\w+|function-.*|(int|float|str|bool|none|list|tuple|dict|literal)(\[.*\])?|[A-Z]\w*"
)
"""What pydantic adds to a location for the branch of a union; no key of ours looks like it."""


def validated(
    model: type[M],
    values: Mapping[str, Any],
    *,
    what: str = "",
    called: Callable[[str], str] | None = None,
) -> M:
    """A model made from values; those of a model inside it, or of one of a union, may be given flat.

    Messages say ``what`` the values are (``aligner option``) and what an option is ``called``; by default ``what`` and
    its name.

    Raises:
        ConfigurationError: All unknown names, each with the closest known one; all bad or missing values.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - the command line does without where nothing is wrong

    known: set[str] = set()
    arranged = _arranged(model, values, known)
    unknown = f"{what} has no such option" if what and called else "unknown key"
    lacking = f"{what} needs it" if what and called else "missing"
    called = called or f"{what} {{}}".format
    problems = [
        f"{called(name)}: {unknown}; {did_you_mean(name, known)}" for name in values if name not in known
    ]
    try:
        result = model.model_validate(arranged)
    except ValidationError as error:
        for mistake in mistakes_of(error, known):
            place = [part for part in mistake.location if part in known]
            reason = (
                lacking if mistake.kind == "missing" and mistake.location[-1] in known else mistake.reason
            )
            told = called(str(place[-1])) if place else what
            problems.append(f"{told}: {reason}" if told else reason)
    if problems:
        raise ConfigurationError(problems)
    return result


def _arranged(model: type[BaseModel], values: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """Values as nested as the model; the names that it has are added to ``known``."""
    from isoglot.options import models_in, without_none  # noqa: PLC0415 - pydantic is slow to import

    found: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        inside = models_in(without_none(field.annotation)[0])
        if len(inside) > 1:
            key = str(field.discriminator)
            chosen = [one for one in inside if values.get(key) in get_args(one.model_fields[key].annotation)]
            inside = tuple(chosen or inside)[:1]
        if inside and name not in values:
            own = _arranged(inside[0], values, known)
            found |= {name: own} if own or field.is_required() else {}
        else:
            known.add(name)
            found |= {name: values[name]} if name in values else {}
    return found


def _one(branches: list[Mistake]) -> Mistake:
    """The mistake of a value from those of the types it may have: of its own type if one says more than its name."""
    telling = [m for m in branches if not m.kind.endswith("_type")] or branches
    reasons = list(dict.fromkeys(m.reason for m in telling))
    start = f"{shortened(telling[0].given)} given; "
    joined = " or ".join([reasons[0], *(r.removeprefix(start) for r in reasons[1:])])
    return Mistake(telling[0].location, telling[0].kind, joined, telling[0].given)


def _reason(item: Any, known: list[str]) -> str:
    kind, message = item["type"], str(item["msg"])
    if kind == "value_error":
        return str(item["ctx"]["error"])
    if kind == "missing":
        return "too few values given" if isinstance(item["loc"][-1], int) else "missing"
    if kind == "extra_forbidden":
        return f"unknown key; {did_you_mean(item['loc'][-1], known)}" if known else "unknown key"
    if kind == "literal_error":
        choices = [name.strip(" '") for name in item["ctx"]["expected"].replace(" or ", ",").split(",")]
        return f"{shortened(item['input'])} given; {did_you_mean(item['input'], choices)}"
    return f"{shortened(item['input'])} given; {message[0].lower()}{message[1:]}"
