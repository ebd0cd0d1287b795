"""Flags made from option models, so that a command repeats neither names, types, defaults nor help."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin, get_type_hints

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from isoglot.checks import Mistake, mistakes_of
from isoglot.errors import ConfigurationError

__all__ = ["flag_of", "with_flags"]


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is an option model by one flag per field.

    The command gets the validated model. Fields that are models themselves are laid out flat. A mapping is given as
    ``NAME=VALUE``, several times; a sequence by repeating the flag.

    Raises:
        ConfigurationError: When the command runs: all values that the models refuse, named by their flags.
    """
    hints = get_type_hints(command, include_extras=True)
    models: dict[str, type[BaseModel]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        annotation = hints[parameter.name]
        if _is_model(annotation):
            models[parameter.name] = annotation
            parameters.extend(_parameters(annotation))
        else:
            parameters.append(parameter.replace(annotation=annotation, kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        built = {name: _built(model, given) for name, model in models.items()}
        flat = {name for model in models.values() for name, _ in _fields(model)}
        command(**{name: value for name, value in given.items() if name not in flat}, **built)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def flag_of(name: str, field: FieldInfo) -> str:
    """The first flag of a field."""
    named: list[str] = _extra(field).get("flags") or []
    return named[0] if named else "--" + name.replace("_", "-")


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """Name and description of every field that has a flag, those of nested models included."""
    for name, field in model.model_fields.items():
        if _is_model(field.annotation):
            yield from _fields(field.annotation)
        elif _extra(field).get("flags", ()) is not None:
            yield name, field


def _parameters(model: type[BaseModel]) -> Iterator[inspect.Parameter]:
    for name, field in _fields(model):
        flags = _extra(field).get("flags") or [flag_of(name, field)]
        kind, metavar = _flag_type(field.annotation)
        if kind is bool and field.default is True:
            flags = [f"{flags[0]}/--no-{flags[0].removeprefix('--')}", *flags[1:]]
        default = field.get_default(call_default_factory=True)
        info = typer.Option(
            *flags,
            help=field.description,
            rich_help_panel=_extra(field).get("group"),
            metavar=_extra(field).get("metavar") or metavar,
            show_default=default not in (None, False, True, "", (), [], {}),
        )
        yield inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.is_required() else _shown(default),
            annotation=Annotated[kind, info],
        )


def _flag_type(annotation: Any) -> tuple[Any, str | None]:
    """The type that the command line reads, and how its value is written where the type does not say it."""
    options = [a for a in get_args(annotation) if a is not type(None)]
    if get_origin(annotation) in (Union, types.UnionType):
        if len(options) > 1:
            return str | None, None
        kind, metavar = _flag_type(options[0])
        return kind | None, metavar
    origin = get_origin(annotation)
    if origin is not None and issubclass(origin if isinstance(origin, type) else object, Mapping):
        return list[str], "NAME=VALUE"
    if origin in (tuple, list, Sequence) and get_origin(options[0]) is Literal:
        return list[str], "|".join(get_args(options[0]))
    if origin in (tuple, list, Sequence):
        return list[options[0]], "VALUE"  # type: ignore[valid-type]
    return annotation, None


def _built(model: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if _is_model(field.annotation):
            values[name] = _built(field.annotation, given)
            continue
        value = given.get(name)
        if value is None or (isinstance(value, list) and not value):
            continue  # not given: the model's default holds
        if _flag_type(field.annotation)[1] == "NAME=VALUE":
            numbers = int in get_args(get_args(field.annotation)[1])
            value = dict(_pair(text, flag_of(name, field), numbers=numbers) for text in value)
        values[name] = value
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError([_complaint(model, item) for item in mistakes_of(error)]) from error


def _pair(text: str, flag: str, *, numbers: bool) -> tuple[str, int | str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise ConfigurationError(f"{flag} {text}: expected NAME=VALUE, for example {flag} source=0")
    return name, int(value) if numbers and value.isdigit() else value


def _complaint(model: type[BaseModel], mistake: Mistake) -> str:
    if not mistake.location:
        return mistake.reason
    name = str(mistake.location[0])
    return f"{flag_of(name, model.model_fields[name])}: {mistake.reason}"


def _shown(default: Any) -> Any:
    """A default as the command line takes it."""
    if isinstance(default, Mapping):
        return [f"{name}={value}" for name, value in default.items()]
    return list(default) if isinstance(default, tuple) else default


def _extra(field: FieldInfo) -> Mapping[str, Any]:
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def _is_model(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
