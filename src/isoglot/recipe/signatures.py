"""A callable's own signature as the schema of its section in a recipe."""

import dataclasses
import enum
import inspect
import json
import re
import typing
from collections.abc import Callable
from typing import Any

from datasets import Dataset
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from isoglot.checks import did_you_mean
from isoglot.errors import ConfigurationError, Problem


def hints_of(callable_: Callable[..., Any]) -> dict[str, Any]:
    """Parameter types, resolved where their names can be; a dataclass's inherited fields in their own module."""
    found: dict[str, Any] = {}
    if not inspect.isclass(callable_):
        targets: tuple[Any, ...] = (callable_,)
    elif dataclasses.is_dataclass(callable_) or hasattr(callable_, "model_fields"):
        targets = tuple(reversed(inspect.getmro(callable_)))
    else:
        targets = (callable_.__init__,)
    for base in targets:
        try:
            found.update(typing.get_type_hints(base, include_extras=True))
        except (NameError, TypeError):  # a name that only a type checker imports: this part stays unchecked
            continue
    return {
        name: hint.type if isinstance(hint, dataclasses.InitVar) else hint for name, hint in found.items()
    }


def argument_docs(callable_: Callable[..., Any]) -> dict[str, str]:
    """What the docstring says of each argument; of a class those of its bases too."""
    found: dict[str, str] = {}
    for base in reversed(inspect.getmro(callable_)) if inspect.isclass(callable_) else [callable_]:
        text = inspect.cleandoc(base.__doc__ or "").replace("\nAttributes:\n", "\nArgs:\n")
        _, _, rest = text.partition("\nArgs:\n")
        section = re.split(r"\n\s*\n(?=\S)|\n(?=\S)", rest)[0]
        for entry in re.split(r"\n(?=    \S)", section):
            if match := re.fullmatch(r"\s*\**(\w+): (.*)", entry, re.DOTALL):
                text = re.sub(r":\w+:`~?([^`]*)`|``", lambda role: role[1] or "", match[2])
                found[match[1]] = " ".join(text.split())
    return found


def dataset_options(callable_: Callable[..., Any]) -> set[str]:
    """Parameters that take a corpus; in a recipe their value is the name of a stream."""
    return {name for name, hint in hints_of(callable_).items() if _mentions(hint, Dataset)}


def mismatch(hint: Any, value: Any) -> str | None:
    """Why a value from YAML does not fit a type, or ``None`` where it fits or the type cannot be checked.

    Example:
        >>> mismatch(float, 1) is None, mismatch(int, "many")
        (True, 'input should be a valid integer')
    """
    if hint is inspect.Parameter.empty or _mentions(hint, Dataset):
        return None
    try:
        adapter = TypeAdapter(hint, config=ConfigDict(strict=True, arbitrary_types_allowed=False))
    except (PydanticSchemaGenerationError, PydanticUserError):
        return None
    parts = (hint, *typing.get_args(hint))
    enums = [part for part in parts if inspect.isclass(part) and issubclass(part, enum.Enum)]
    names = [member.value for part in enums for member in part]
    names += [
        name for part in parts if typing.get_origin(part) is typing.Literal for name in typing.get_args(part)
    ]
    if names and isinstance(value, str):
        return None if value in names else did_you_mean(value, map(str, names))
    try:
        adapter.validate_json(
            json.dumps(value, default=str), strict=True
        )  # as in YAML, a list may be a tuple
    except ValidationError as error:
        messages = [str(e["msg"]) for e in error.errors()]
        return " or ".join(dict.fromkeys(m[0].lower() + m[1:] for m in messages))
    return None


def require_options(maker: Callable[..., Any], **values: Any) -> None:
    """Refuse values that do not fit their parameters' types, choices and bounds."""
    hints = hints_of(maker)
    reasons = {name: mismatch(hints[name], value) for name, value in values.items()}
    problems = [Problem(f"{values[name]!r} given; {why}", (name,)) for name, why in reasons.items() if why]
    if problems:
        raise ConfigurationError(problems)


def require_fields(made: Any) -> None:
    """:func:`require_options` for all fields of a dataclass, which is made of its options."""
    require_options(type(made), **{f.name: getattr(made, f.name) for f in dataclasses.fields(made) if f.init})


def _mentions(hint: Any, wanted: type) -> bool:
    return hint is wanted or any(_mentions(inner, wanted) for inner in typing.get_args(hint))
