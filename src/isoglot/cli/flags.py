"""Flags made from option models, so that a command repeats neither names, types, defaults nor help."""

import functools
import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from isoglot.cli.spelling import COMMAS, FlagSpelling
from isoglot.core.checks import is_number, validated
from isoglot.core.errors import ConfigurationError, InputError, IsoglotError
from isoglot.core.named_options import spelled_by
from isoglot.core.options import Options, extra_of, fields_of, file_path, flag_of, option, without_none
from isoglot.formats.sources import READING

_WIDEST_METAVAR = 30


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is an option model by one flag per field.

    The command gets the validated model. Fields that are models themselves are laid out flat; one that may be ``None``
    is, unless a flag of it is given, and then those that it requires are required. A mapping is given as
    ``NAME=VALUE``, several times; a sequence by repeating the flag.

    A parameter ``Annotated[dict[str, Any], One, Other]`` stands for models of which the command builds one: it gets the
    values of the flags that were given, by field, those of ``--set`` among them.

    Raises:
        ConfigurationError: When the command runs: all values that the models refuse, named by their flags.
    """
    hints = get_type_hints(command, include_extras=True)
    kinds: dict[str, list[type[BaseModel]]] = {}
    parameters = [inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for parameter in inspect.signature(command).parameters.values():
        annotation = hints[parameter.name]
        named = (annotation, *getattr(annotation, "__metadata__", ()))
        models = [kind for kind in named if isinstance(kind, type) and issubclass(kind, BaseModel)]
        if models:
            kinds[parameter.name] = models
            parameters.extend(_parameters(*models))
        else:
            parameters.append(parameter.replace(annotation=annotation, kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(*, ctx: typer.Context, **values: Any) -> None:
        spelling = FlagSpelling(ctx.command)
        with spelled_by(spelling):
            try:
                call(ctx, values)
            except IsoglotError as error:
                error.spelling = spelling  # it is shown after the command has ended
                raise

    def call(ctx: typer.Context, values: dict[str, Any]) -> None:
        typed = {n: v for n, v in values.items() if not str(ctx.get_parameter_source(n)).endswith("DEFAULT")}
        for name, models in kinds.items():
            fields = {n: field for n, field, _ in fields_of(*models)}
            flags = {n: flag_of(n, field) for n, field in fields.items()}
            parsed = {n: _parsed(f, flags[n], typed[n]) for n, f in fields.items() if n in typed}
            values = {n: value for n, value in values.items() if n not in fields}
            whole = models[0] is hints[name]
            if whole:
                values[name] = validated(models[0], parsed)
                continue
            settings = parsed.pop("settings", {})
            if twice := sorted(set(settings) & set(parsed)):
                raise ConfigurationError(
                    f"--set {twice[0]}: {twice[0]} has its own flag, which is used; leave it out"
                )
            values[name] = parsed | settings
        if any(isinstance(model, CompareFlags) and model.verify for model in values.values()):
            from isoglot.runs.fingerprint import forget

            forget()
        command(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _parameters(*models: type[BaseModel]) -> Iterator[inspect.Parameter]:
    for name, field, needed in fields_of(*models):
        extra, description = extra_of(field), field.description or ""
        flags = extra.get("flags") or [flag_of(name, field)]
        kind, metavar = _flag_type(field)
        # values of a Literal, of one that may be None, or of a sequence of one
        literal = next((a for a in get_args(field.annotation) if get_origin(a) is Literal), field.annotation)
        choices = list(get_args(literal)) if get_origin(literal) is Literal else []
        if len("|".join(choices)) > _WIDEST_METAVAR:
            description += f" [{', '.join(choices)}]"
        elif choices:
            metavar = f"[{'|'.join(choices)}]"
        if kind is bool and field.default is True:
            flags = [f"{flags[0]}/--no-{flags[0].removeprefix('--')}", *flags[1:]]
        default = _default_of(field)
        info = typer.Option(
            *flags,
            help=description,
            rich_help_panel=extra.get("group"),
            metavar=extra.get("metavar") or metavar,
            show_default=not (isinstance(default, bool) or default in (None, "", [])),
            autocompletion=choices.copy if choices else None,
        )
        yield inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if needed else default,
            annotation=Annotated[kind, info],
        )


def _bare(kind: Any) -> Any:
    """A type without the bounds that the model checks."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _flag_type(field: FieldInfo) -> tuple[Any, str | None]:
    """The type that the command line reads, and how its value is written where the type does not say it."""
    if extra_of(field).get("commas"):
        return str | None, COMMAS
    kind, optional = without_none(field.annotation)
    if file_path in (getattr(m, "func", None) for m in (*field.metadata, *get_args(kind)[1:])):
        return str | None if optional else str, "PATH"  # a Path would have lost the slash at its end
    kind = _bare(kind)
    origin = get_origin(kind)
    if origin in (dict, Mapping):
        return list[str], "NAME=VALUE"
    if origin in (tuple, list, Sequence):
        value = _bare(get_args(kind)[0])
        return list[str if get_origin(value) is Literal else value], "VALUE"  # type: ignore[misc]
    if kind is Any:  # Python also takes objects
        kind, optional = str, field.default is None
    if origin in (Union, types.UnionType, Literal):
        kind = str  # the model tells the types apart, and refuses others with what was perhaps meant
    return kind | None if optional else kind, None


def _parsed(field: FieldInfo, flag: str, value: Any) -> Any:
    if extra_of(field).get("commas"):
        parts = tuple(part.strip() for part in value.split(",") if part.strip())
        numbers = _bare(get_args(without_none(field.annotation)[0])[0]) is int
        return tuple(int(p) if numbers and is_number(p.removeprefix("-")) else p for p in parts)
    if _flag_type(field)[1] == "NAME=VALUE":
        kind = get_args(field.annotation)[1]
        if get_origin(kind) is tuple:
            return parse_sweep(value, flag)
        if kind is Any:
            example = re.search(r"--set \S+=[^\s;:]+", field.description or "")
            return parse_settings(value, example=example[0] if example else f"{flag} KEY=VALUE")
        if wrong := [text for text in value if not all(text.partition("="))]:
            form = extra_of(field).get("metavar") or "NAME=VALUE"
            example = re.search(r"[^\s:;,]+=[^\s:;,.]+", field.description or "")
            hint = f", for example {flag} {example[0]}" if example else ""
            raise ConfigurationError(f"{flag} {wrong[0]}: expected {form}{hint}")
        numbers = int in get_args(kind)
        pairs = (text.partition("=") for text in value)
        return {name: int(number) if numbers and is_number(number) else number for name, _, number in pairs}
    return value


def _default_of(field: FieldInfo) -> Any:
    """A default as the command line takes it."""
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    if isinstance(default, Mapping):
        return [f"{name}={value}" for name, value in default.items()]
    if isinstance(default, Path):
        return str(default)
    if isinstance(default, tuple | list):
        return ",".join(map(str, default)) or None if extra_of(field).get("commas") else list(default)
    return default


def parse_settings(settings: Sequence[str], *, example: str) -> dict[str, Any]:
    """Texts as values, by YAML 1.2: ``5e-5`` a float, ``no`` a string, ``null`` nothing, ``[1, 2]`` and ``1,2`` tuples.

    Raises:
        ConfigurationError: no ``=``, a key given twice, or a value that is not YAML.
    """
    from isoglot.recipe.document import parse_value

    result: dict[str, Any] = {}
    for item in settings:
        key, separator, text = item.partition("=")
        if not separator or not key:
            raise ConfigurationError(f"--set expects KEY=VALUE, got {item!r}; for example {example}")
        if key in result:
            raise ConfigurationError(f"--set {key}=... is repeated; give it once")
        several = "," in text and not text.startswith(("[", "{"))
        try:
            values = [parse_value(part) for part in (text.split(",") if several else [text])]
        except InputError as error:
            raise ConfigurationError(f"--set {item!r}: the value is not YAML; quote it") from error
        value = tuple(values) if several else values[0]
        result[key] = tuple(value) if isinstance(value, list) else value
    return result


def parse_sweep(texts: Sequence[str], flag: str) -> dict[str, list[Any]]:
    """``KEY=4,6,8`` as a key and its values, by YAML 1.2; ``[1,2],[3,4]`` are two values that are lists.

    Raises:
        ConfigurationError: No ``=``, a key given twice, or a value that is not YAML.
    """
    from isoglot.recipe.document import parse_value

    result: dict[str, list[Any]] = {}
    for item in texts:
        key, separator, text = item.partition("=")
        if not separator or not key or not text.strip():
            raise ConfigurationError(
                f"{flag} expects KEY=VALUE,VALUE, got {item!r}; for example {flag} objectives.contrast.layer=4,6,8"
            )
        if key in result:
            raise ConfigurationError(f"{flag} {key}=... is repeated; give all its values at once")
        try:
            result[key] = parse_value(f"[{text}]")
        except InputError as error:
            raise ConfigurationError(f"{flag} {item!r}: the values are not YAML; quote them") from error
    return result


_GROUP = "Running"


class RunFlags(Options):
    """How a command runs."""

    quiet: bool = option(False, "Only print results and errors.", flags=["--quiet", "-q"], group=_GROUP)


class CompareFlags(RunFlags):
    """How a command runs that leaves what it has made from the same inputs."""

    verify: bool = option(
        False, "Read all inputs again, even if size and date of the files are unchanged.", group=_GROUP
    )


class ReplaceFlags(RunFlags):
    """How a command runs that makes the same output once."""

    overwrite: bool = option(False, "Replace an output made with other options.", group=_GROUP)


class RemakeFlags(ReplaceFlags, CompareFlags):
    """How a command runs that makes the same output once from its inputs."""


class ResumeFlags(Options):
    """How a command goes on that was stopped."""

    resume: bool = option(
        False, "Go on from the parts that a stopped run has kept beside --out.", group=_GROUP
    )


class SideLanguages(Options):
    """Languages of the two sides of an input."""

    source_language: str | None = option(
        None, "Language of the source side: en.", flags=["--source-lang", "--source-language"], group=READING
    )
    target_language: str | None = option(
        None, "Language of the target side: de.", flags=["--target-lang", "--target-language"], group=READING
    )

    @property
    def tags(self) -> tuple[str, str]:
        """Both codes; empty for one that is not given."""
        return self.source_language or "", self.target_language or ""


KEEP_ADAPTER = "Also write the adapter separately, to OUT/adapter, as peft reads it."
