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
from isoglot.formats.sources import READING, UNNAMED

_WIDEST_METAVAR = 30
"""Characters up to which the choices of a flag stand beside it in the help: ``[local|ray]``."""
_QUOTED_PART = re.compile(r"""(^|,)\s*["']""")
"""The beginning of a value in quotes, among values with commas."""


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is an option model by one flag per field.

        @with_flags
        def count(gold: Gold, running: RunFlags) -> None: ...

    The function that is returned has a parameter for each field of ``Gold`` and of ``RunFlags``, of which typer makes
    ``--gold``, ``--reverse``, ``--quiet`` and so on. When it is called, it builds both models and calls ``count``.

    1. A field that is a model itself has flags of its own beside the others. If the field may be ``None``, it is
       ``None`` until one of these flags is given; then those that the inner model requires are required.
    2. A mapping is given as ``NAME=VALUE``, several times; a sequence by repeating the flag.
    3. A parameter ``Annotated[dict[str, Any], One, Other]`` stands for models (or one) that the command builds itself.
       It has the flags of all of them; of fields with one name the first counts. The command gets a dictionary of the
       values that were given, by field; the values of ``--set`` are among them. A flag that these models have no use
       for, such as ``--json``, is a parameter of the command and not a field.
    4. A field with ``flags=None`` has no flag; the command may set it: ``isoglot score`` sets ``links``, its argument.
    5. Models of different parameters must not have a field name in common, except for fields of rule 4.

    Raises:
        ConfigurationError: When the command runs: all values that the models refuse, named by their flags.
    """
    hints = get_type_hints(command, include_extras=True)
    models_of: dict[str, list[type[BaseModel]]] = {}  # parameters that flags stand for, and their models
    parameters = [inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for parameter in inspect.signature(command).parameters.values():
        annotation = hints[parameter.name]
        models = _models_in(annotation)
        if models:
            models_of[parameter.name] = models
            parameters.extend(_parameters(*models))
        else:
            parameters.append(parameter.replace(annotation=annotation, kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(*, ctx: typer.Context, **values: Any) -> None:
        # Messages name options as this command's flags, also messages of errors, which are shown after it has ended.
        spelling = FlagSpelling(ctx.command)
        with spelled_by(spelling):
            try:
                call(values, typed={name for name in values if _was_typed(ctx, name)})
            except IsoglotError as error:
                error.spelling = spelling
                raise

    def call(values: dict[str, Any], typed: set[str]) -> None:
        # Replace the values of flags by the models that the command takes; arguments and flags of its own stay.
        arguments = dict(values)
        for name, models in models_of.items():
            parsed: dict[str, Any] = {}
            for field_name, field, _ in fields_of(*models):
                value = arguments.pop(field_name)
                if field_name in typed:
                    parsed[field_name] = _parsed(field, flag_of(field_name, field), value)
            # The hint is the model itself for `gold: Gold`, and `Annotated[...]` for rule 3.
            takes_model = models[0] is hints[name]
            arguments[name] = validated(models[0], parsed) if takes_model else _with_settings(parsed)
        if any(isinstance(model, CompareFlags) and model.verify for model in arguments.values()):
            from isoglot.runs.fingerprint import forget

            forget()  # the hashes of files that earlier runs remembered
        command(**arguments)

    # Typer reads the signature and the annotations to make its options.
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _was_typed(ctx: typer.Context, name: str) -> bool:
    """Whether the user gave a parameter, on the command line or in the environment; else it has its default."""
    source = ctx.get_parameter_source(name)
    # By its name: the enumeration of sources is in typer's private copy of click.
    return source is None or source.name != "DEFAULT"


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The option models of a parameter: its type, or those that its ``Annotated`` names; often none.

    ``Gold`` has the model ``Gold``; ``Annotated[dict[str, Any], One, Other]`` has ``One`` and ``Other``.
    """
    named = (annotation, *getattr(annotation, "__metadata__", ()))
    return [kind for kind in named if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _with_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Put the values of ``--set`` beside those of the flags: ``--layer 8 --set level=word`` has both by name.

    Raises:
        ConfigurationError: An option is given twice, by ``--set`` and by its own flag.
    """
    settings: dict[str, Any] = given.pop("settings", {})
    if twice := sorted(set(settings) & set(given)):
        raise ConfigurationError(
            f"--set {twice[0]}: {twice[0]} has its own flag, which is used; leave it out"
        )
    return given | settings


def _parameters(*models: type[BaseModel]) -> Iterator[inspect.Parameter]:
    """Yield a parameter with a typer option for each field of the models."""
    for name, field, is_required in fields_of(*models):
        extra = extra_of(field)
        kind, metavar = _flag_type(field)
        # Few choices stand beside the flag, many at the end of its help.
        description = field.description or ""
        choices = _choices_of(field)
        if len("|".join(choices)) > _WIDEST_METAVAR:
            description += f" [{', '.join(choices)}]"
        elif choices:
            metavar = f"[{'|'.join(choices)}]"
        # What is on by default needs a flag that switches it off: --resume/--no-resume.
        flags = extra.get("flags") or [flag_of(name, field)]
        if kind is bool and field.default is True:
            flags = [f"{flags[0]}/--no-{flags[0].removeprefix('--')}", *flags[1:]]
        # The help does not show defaults that a reader expects anyway.
        default = _default_of(field)
        says_nothing = isinstance(default, bool) or default in (None, "", [])
        info = typer.Option(
            *flags,
            help=description,
            rich_help_panel=extra.get("group"),
            metavar=extra.get("metavar") or metavar,
            show_default=not says_nothing,
            autocompletion=choices.copy if choices else None,
        )
        yield inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if is_required else default,
            annotation=Annotated[kind, info],
        )


def _choices_of(field: FieldInfo) -> list[str]:
    """The choices of a field of a ``Literal`` type (also ``Literal | None`` or a sequence of it); of others none."""
    kinds = [field.annotation, *get_args(field.annotation)]
    literals = [kind for kind in kinds if get_origin(kind) is Literal]
    return list(get_args(literals[0])) if literals else []


def _without_bounds(kind: Any) -> Any:
    """A type without the bounds that the model checks: ``int`` for ``Annotated[int, Ge(1)]``."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _flag_type(field: FieldInfo) -> tuple[Any, str | None]:
    """The type that typer reads for a field, and the placeholder of its value in the help (None: the type's name).

    1. Several values with commas: text, ``VALUE,...``; :func:`_comma_separated` splits it.
    2. A path: text, ``PATH``.
    3. A mapping: a list of texts, ``NAME=VALUE``. A sequence: a list of its values, ``VALUE``.
    4. A choice, a union, or any type: text, which the model checks.
    5. Otherwise the type itself, such as ``int``.
    """
    if extra_of(field).get("commas"):
        return str | None, COMMAS
    kind, optional = without_none(field.annotation)
    # The functions by which the model checks the value. Pydantic keeps them in `metadata` for `Annotated[...]`, but
    # inside the type for `Annotated[...] | None`.
    validators = [getattr(mark, "func", None) for mark in (*field.metadata, *get_args(kind)[1:])]
    if file_path in validators:
        # A Path would have lost the slash at its end.
        text = str | None if optional else str
        return text, "PATH"
    kind = _without_bounds(kind)
    origin = get_origin(kind)
    if origin in (dict, Mapping):
        return list[str], "NAME=VALUE"
    if origin in (tuple, list, Sequence):
        value = _without_bounds(get_args(kind)[0])
        return list[str if get_origin(value) is Literal else value], "VALUE"  # type: ignore[misc]
    if kind is Any:  # for callers in Python, who may pass objects; a flag takes text
        kind, optional = str, field.default is None
    if origin in (Union, types.UnionType, Literal):
        kind = str  # the model tells the types apart, and refuses others with what was perhaps meant
    return (kind | None if optional else kind), None


def _parsed(field: FieldInfo, flag: str, value: Any) -> Any:
    """Turn what typer read for a flag into a value for the model.

    1. Several values with commas, ``--languages en,de``: a tuple.
    2. Any other value but a mapping's stays as it is; the model checks it.
    3. A mapping to tuples, ``--sweep layer=4,6,8``: by YAML, all values of a key.
    4. A mapping to values of any type, ``--set layer=8``: by YAML.
    5. Another mapping, ``--column text=body``: names and texts, or whole numbers.
    """
    if extra_of(field).get("commas"):  # 1
        return _comma_separated(field, value)
    mapping = _without_bounds(without_none(field.annotation)[0])
    if get_origin(mapping) not in (dict, Mapping):  # 2
        return value
    kind = get_args(mapping)[1]  # of the mapping's values
    if get_origin(kind) is tuple:  # 3
        return parse_sweep(value, flag)
    if kind is Any:  # 4
        example = re.search(r"--set \S+=[^\s;:]+", field.description or "")
        return parse_settings(value, example=example[0] if example else f"{flag} KEY=VALUE")
    return _named_values(field, flag, value, numbers=int in get_args(kind))  # 5


def _comma_separated(field: FieldInfo, text: str) -> tuple[int | str, ...]:
    """``en,de`` as its parts; where the field takes whole numbers, ``1,-2`` as numbers."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    sequence = without_none(field.annotation)[0]
    if _without_bounds(get_args(sequence)[0]) is not int:
        return tuple(parts)
    # A part that is not a number stays text, and the model refuses it by the field's name.
    return tuple(int(part) if is_number(part.removeprefix("-")) else part for part in parts)


def _named_values(
    field: FieldInfo, flag: str, texts: Sequence[str], *, numbers: bool
) -> dict[str, int | str]:
    """Read ``NAME=VALUE``, given several times, as a mapping; with ``numbers`` whole numbers become numbers."""
    result: dict[str, int | str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not (name and value):
            form = extra_of(field).get("metavar") or "NAME=VALUE"
            # The first value in the help of the flag is the example: text=body.
            example = re.search(r"[^\s:;,]+=[^\s:;,.]+", field.description or "")
            hint = f", for example {flag} {example[0]}" if example else ""
            raise ConfigurationError(f"{flag} {text}: expected {form}{hint}")
        result[name] = int(value) if numbers and is_number(value) else value
    return result


def _default_of(field: FieldInfo) -> Any:
    """A default as it would be typed: ``1,2`` or ``["a=b"]`` for a tuple or a mapping."""
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    if isinstance(default, Mapping):
        return [f"{name}={value}" for name, value in default.items()]
    if isinstance(default, Path):
        return str(default)
    if isinstance(default, tuple | list):
        if extra_of(field).get("commas"):
            return ",".join(map(str, default)) or None
        return list(default)
    return default


def parse_settings(settings: Sequence[str], *, example: str) -> dict[str, Any]:
    """Read the texts of ``--set`` as values, by YAML 1.2.

    ``5e-5`` is a float, ``no`` a string, ``null`` None; ``[1, 2]`` and ``1,2`` are tuples (:func:`_setting_value`).

    Raises:
        ConfigurationError: No ``=``, a key given twice, or a value that is not YAML.
    """
    result: dict[str, Any] = {}
    for item in settings:
        key, separator, text = item.partition("=")
        if not separator or not key:
            raise ConfigurationError(f"--set expects KEY=VALUE, got {item!r}; for example {example}")
        if key in result:
            raise ConfigurationError(f"--set {key}=... is repeated; give it once")
        try:
            result[key] = _setting_value(text)
        except InputError as error:
            raise ConfigurationError(f"--set {item!r}: the value is not YAML; quote it") from error
    return result


def _setting_value(text: str) -> Any:
    """Read the value of one ``--set``; several values with commas become a tuple.

    1. Without a comma, or in brackets: the text as a whole.
    2. In quotes: a list of YAML, which knows where quotes end. ``"a,b",c`` has two values, ``"a,b"`` is one string.
    3. Else, ``1,2``, the text is cut at each comma, because YAML would not read ``a[1],b`` as a list.
    """
    from isoglot.recipe.document import parse_value

    if "," not in text or text.startswith(("[", "{")):  # 1
        value = parse_value(text)
    elif _QUOTED_PART.search(text):  # 2
        values = parse_value(f"[{text}]")
        value = values if len(values) > 1 else values[0]
    else:  # 3
        value = [parse_value(part) for part in text.split(",")]
    return tuple(value) if isinstance(value, list) else value


def parse_sweep(texts: Sequence[str], flag: str) -> dict[str, list[Any]]:
    """Read ``KEY=4,6,8`` as a key and its values, by YAML 1.2; ``[1,2],[3,4]`` are two values, each a list.

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


RUNNING = "Running"
"""Heading in the help of the flags that say how a command runs; `--help` stands under it too."""


class RunFlags(Options):
    """Flags of every command that takes a while.

    ``quiet`` switches off notes and progress (:class:`~isoglot.cli.console.Console`). What a command prints on standard
    output stays, except of ``prepare``, ``trim``, ``pack`` and ``export``, where it only says what was written to OUT.
    """

    quiet: bool = option(False, "Only print results and errors.", flags=["--quiet", "-q"], group=RUNNING)


class CompareFlags(RunFlags):
    """Flags of commands that skip output that is finished and was made from the same inputs."""

    verify: bool = option(
        False, "Read all inputs again, even if size and date of the files are unchanged.", group=RUNNING
    )


class ReplaceFlags(RunFlags):
    """Flags of commands that refuse to replace another output without `--overwrite`."""

    overwrite: bool = option(False, "Replace an output made with other options.", group=RUNNING)


class RemakeFlags(ReplaceFlags, CompareFlags):
    """Flags of commands that skip finished output, and refuse to replace another one without `--overwrite`."""


class ResumeFlags(Options):
    """The flag of commands that can go on where they were stopped."""

    resume: bool = option(
        False, "Go on from the parts that a stopped run has kept beside --out.", group=RUNNING
    )


class SideLanguages(Options):
    """Flags for the languages of the two sides of an input."""

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

    @property
    def tags_or_unnamed(self) -> tuple[str, str]:
        """Both codes; for one that is not given the code ``src`` or ``tgt``, because a corpus needs one for each side.

        ``src`` and ``tgt`` stand for languages that nobody has named, so they fit a prepared folder in any languages.
        """
        return self.source_language or UNNAMED[0], self.target_language or UNNAMED[1]


KEEP_ADAPTER = "Also write the adapter separately, to OUT/adapter, as peft reads it."
