"""Options of verbs, declared once: a field of a model is a flag, a recipe key, a line of help and a row in the docs.

A verb is a function of ``isoglot`` with the command of the same name, such as ``align``.

The first half has the types that fields share (`Count`, `OutputFile`), then come `Options` and `option`, which declare
a model, and last the functions that read a declared model, for flags, suggestions and pages of reference.

A type of one's own is an ``Annotated`` with a check that returns the value, such as ``FileName``. The check refuses a
value by a ValueError, whose text is shown to the user as it is (:func:`isoglot.core.checks.problems_of`). Text of the
user's in it is passed through ``literal``. A check that reads text for a field of another type, such as ``5%`` for a
``float``, must also be named in ``isoglot.cli.flags._flag_type``, as ``file_path`` is: by default the flag takes the
field's type and refuses ``5%`` before the check sees it.

A field can be hidden in three ways:

- ``flags=None``: no flag, but an argument in Python.
- :func:`internal`: neither, because the program sets it.
- pydantic's ``exclude=True``: not written into records, and not suggested as a key. In sections of recipes these are
  fields that are computed from other keys.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from isoglot.core.named_options import literal

LONGEST_NAME = 255
"""Bytes that a name of a file or folder may have in common file systems."""
_LONGEST_COMPONENT = 200
"""Bytes of a name to which isoglot may add a prefix or an ending."""


def one_component(name: str) -> str:
    """Return the name if it can be one component of a path, and raise a ValueError otherwise."""
    if name in ("", ".", "..") or "/" in name or "\0" in name or len(os.fsencode(name)) > _LONGEST_COMPONENT:
        raise ValueError(
            f"got {literal(repr(name))}, which names a file or folder: leave out / and \\0, and do not use . or "
            f".. alone or more than {_LONGEST_COMPONENT} bytes"
        )
    return name


def file_path(path: str | Path) -> Path:
    """Return the path of a file to write; a ValueError if it names a folder (``out/``) or the name is too long."""
    # Pydantic calls this function before it looks at the type.
    if not isinstance(path, str | Path):
        raise ValueError(f"got {literal(repr(path))}; it should be a path")
    # The path of an empty text is the current folder, and so is that of a dot.
    if str(path).endswith("/") or Path(path) == Path():
        example = Path(path) / "out.txt"
        named, example_text = literal(str(path)) or repr(""), literal(str(example))
        raise ValueError(f"{named} names a folder; name a file to write, for example {example_text}")
    if (size := len(os.fsencode(Path(path).name))) > LONGEST_NAME:
        raise ValueError(
            f"{literal(str(path))} has a name of {size} bytes, and {LONGEST_NAME} are possible; choose a shorter one"
        )
    return Path(path)


def no_stream(path: Path) -> Path:
    """Return the path of a file to write; a ValueError if the path is ``-``, the users' word for standard output."""
    if str(path) == "-":
        raise ValueError("standard output (-) is not possible here; name a file")
    return path


FileName = Annotated[str, AfterValidator(one_component)]
"""A name to which isoglot may add a prefix or an ending; the result is the name of a file or folder."""
OutputText = Annotated[Path, BeforeValidator(file_path)]
"""A text file to write; ``-`` is standard output."""
OutputFile = Annotated[OutputText, AfterValidator(no_stream)]
"""A file to write."""


def text_of_path(value: Any) -> Any:
    """Turn a path into text, for options that are written into records; return other values unchanged."""
    return str(value) if isinstance(value, Path) else value


Precision = Literal["float32", "bfloat16", "float16"]
"""Type of the numbers in a forward pass."""


def name_of_torch(value: Any) -> Any:
    """Turn a dtype or device of torch into its name; return other values unchanged.

    Example:
        >>> import torch
        >>> name_of_torch(torch.bfloat16), name_of_torch(torch.device("cuda", 1)), name_of_torch("auto")
        ('bfloat16', 'cuda:1', 'auto')
    """
    return str(value).removeprefix("torch.") if type(value).__module__ == "torch" else value


if TYPE_CHECKING:
    import torch

    Dtype = Literal["auto", Precision] | torch.dtype
else:
    Dtype = Annotated[Literal["auto", Precision], BeforeValidator(name_of_torch)]
"""Type of the numbers that an encoder computes with, by name or as a dtype of torch."""


def one_or_more(value: Any) -> Any:
    """Turn files or names into a list of texts, also a single one; return other values unchanged.

    For options that take one value or several.

    Example:
        >>> one_or_more("a.tsv"), one_or_more([Path("a.tsv"), "b.tsv"])
        (['a.tsv'], ['a.tsv', 'b.tsv'])
    """
    if isinstance(value, str | Path):
        return [str(value)]
    return [text_of_path(item) for item in value] if isinstance(value, list | tuple) else value


Label = Annotated[str, Field(min_length=1)]
"""A name that is not empty."""
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
"""From none to all of something. Some fields are a ``float`` with the same bounds in ``option(..., ge=0, le=1)``."""
PositiveShare = Annotated[float, Field(gt=0, le=1)]
"""Some or all of something."""
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Workers = Annotated[int, Field(ge=1, le=1024)]
"""How many processes work side by side."""
Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""A seed that numpy accepts, and so does transformers."""


def fits(value: Any) -> Any:
    """Return the value; a ValueError if a whole number in it does not fit into the 64 bits that C code takes."""
    for number in value if isinstance(value, tuple | list) else (value,):
        if isinstance(number, int) and number > sys.maxsize:
            raise ValueError(f"the number is greater than {sys.maxsize:,}; use a smaller one")
        if isinstance(number, int) and number < -sys.maxsize:
            raise ValueError(f"the number is less than -{sys.maxsize:,}; use a greater one")
    return value


class Options(BaseModel):
    """Base of option models.

    Options are frozen. Refused are unknown names, numbers that are not finite, and options that have no effect
    because the option that they depend on is not set (``only_with`` of :func:`option`).

    Example:
        >>> class Cut(Options):
        ...     limit: int | None = option(None, "Keep at most this many rows.", ge=1)
        >>> Cut(limit=5).limit
        5
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
    _fits = field_validator("*")(fits)

    @model_validator(mode="after")
    def _refuse_idle(self) -> Self:
        if problems := list(idle_options(self)):
            raise ValueError("; ".join(problems))
        return self


def idle_options(options: BaseModel) -> Iterator[str]:
    """Yield one message for each option that was set but has no effect, with the option that it needs.

    ``only_with="engine=ray"`` needs that value, ``only_with="kind=nli|paws"`` one of two values, and
    ``only_with="phrases"`` any value but None, False, 0 or an empty one. An option at its default is never idle.
    """
    for name, field in type(options).model_fields.items():
        needed = extra_of(field).get("only_with")
        if needed is None or getattr(options, name) == field.get_default(call_default_factory=True):
            continue
        needed_option, _, alternatives = needed.partition("=")
        present = getattr(options, needed_option)
        wanted = alternatives.split("|") if alternatives else []
        has_effect = present in wanted if wanted else bool(present)
        if has_effect:
            continue
        remedy = " or ".join(f"[[{needed_option}={choice!r}]]" for choice in wanted) or f"[[{needed_option}]]"
        yield f"[[{name}]]: has an effect only with {remedy}; add that, or leave it out"


def option(
    default: Any = ...,
    description: str = "",
    *,
    flags: Sequence[str] | None = (),
    group: str | None = None,
    metavar: str | None = None,
    commas: bool = False,
    needs: str | None = None,
    only_with: str | None = None,
    **bounds: Any,
) -> Any:
    """Declare a field of an option model.

    ``description``: One line for `--help`, the recipe reference and the docs.
    ``flags``: Flags on the command line; by default ``--field-name``. ``None`` for a field without a flag.
    ``group``: Heading in `--help` under which the flag stands.
    ``metavar``: Placeholder of the value in `--help`, where the type does not say enough.
    ``commas``: Several values are written with commas in one flag (``--seed 1,2,3``) instead of by repeating it.
    ``needs``: What else must be chosen for the option to have an effect, if no field of this model holds that choice,
        in words: a transformation (``"trans"``) or kinds of data (``"bitext and aligned"``). The model does not check
        it; :mod:`isoglot.derivation.idle_options` does.
    ``only_with``: The option of the same model that must be set too (``"phrases"``), or the values of it with which
        this option works (``"engine=ray"``, ``"kind=nli|paws"``). Without them the model refuses the option.
    ``bounds``: More arguments of pydantic's ``Field``: ``ge``, ``gt``, ``le``, ``lt``, ``min_length``, ``exclude``.

    Example:
        >>> class Cut(Options):
        ...     limit: int | None = option(None, "Keep at most this many rows.", ge=1)
    """
    extra: dict[str, Any] = {
        "flags": None if flags is None else list(flags),
        "group": group,
        "metavar": metavar,
        "commas": commas,
        "needs": needs,
        "only_with": only_with,
    }
    return Field(default, description=description, json_schema_extra=extra, **bounds)


def internal(value: Any = ..., **bounds: Any) -> Any:
    """Declare a field that the program sets and a user cannot give, such as the tag of a model in a union.

    Example:
        >>> class Hmm(Options):
        ...     kind: Literal["hmm"] = internal("hmm")
    """
    return Field(value, json_schema_extra={"flags": None, "internal": True}, **bounds)


def is_internal(field: FieldInfo) -> bool:
    """Whether the program sets the field and a user cannot give it."""
    return bool(extra_of(field).get("internal"))


def settings_option(description: str, *, metavar: str = "KEY=VALUE") -> Any:
    """Declare a field for settings that have no flag of their own: ``--set KEY=VALUE``, repeatable."""
    return option({}, description, flags=["--set"], metavar=metavar)


def without_none(annotation: Any) -> tuple[Any, bool]:
    """Take ``None`` out of a union of types, and say whether it was there.

    Example:
        >>> without_none(int | None), without_none(int)
        ((<class 'int'>, True), (<class 'int'>, False))
    """
    if get_origin(annotation) not in (Union, UnionType):
        return annotation, False
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return Union[tuple(kinds)], len(kinds) < len(get_args(annotation))  # noqa: UP007 - as many as there are


def models_in(annotation: Any) -> tuple[type[BaseModel], ...]:
    """Return the models that a value of this type can be: one, all models of a union, or none.

    A union that has any other member (``Hmm | str``) counts as no model: its value is not made from flat options.
    """
    if isinstance(annotation, type):
        return (annotation,) if issubclass(annotation, BaseModel) else ()
    kinds = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return models_in(kinds[0])
    if get_origin(annotation) not in (Union, UnionType):
        return ()
    found: list[type[BaseModel]] = []
    for kind in kinds:
        models = models_in(kind)
        if not models:
            return ()
        found += models
    return tuple(found)


def keys_at(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """Return the keys that a model knows at a location inside its values.

    ``("objectives", "contrast")`` leads through the field ``objectives: dict[str, Objective]`` to ``Objective``.

    1. The part behind a field that holds a dictionary is a key that the user chose. It is passed over, also if the
       models of the values have a field of that name.
    2. Any other part that is no field is passed over too, such as the index of a list.
    """
    models = [model]
    is_chosen_key = False
    for part in location:
        if is_chosen_key:  # 1
            is_chosen_key = False
            continue
        fields = [owner.model_fields[str(part)] for owner in models if part in owner.model_fields]
        if fields:  # 2
            is_chosen_key = all(_is_dictionary(field.annotation) for field in fields)
            models = []
            for field in fields:
                models += _models_anywhere_in(field.annotation)
    keys = []
    for owner in models:
        keys += [key for key, field in owner.model_fields.items() if not field.exclude]
    return keys


def _is_dictionary(annotation: Any) -> bool:
    """Whether a type is a dictionary or ``None``, such as ``dict[str, Stream]``."""
    origin = get_origin(without_none(annotation)[0])
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _models_anywhere_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models at any depth of a type, such as ``Stream`` in ``dict[str, list[Stream]]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found: list[type[BaseModel]] = []
    for inner in get_args(annotation):
        found += _models_anywhere_in(inner)
    return found


def fields_of(*models: type[BaseModel]) -> Iterator[tuple[str, FieldInfo, bool]]:
    """Yield every field that has a flag: its name, the field, and whether the user must give it.

    1. A field that holds a model, or a union of models, is replaced by the fields of those models.
    2. The first field of a name counts, where several models have one.
    3. With several models no field is required, because the user chooses one of the models. Nor is a field of a model
       that may be ``None``.
    """
    seen: set[str] = set()
    for model in models:
        for name, field in model.model_fields.items():
            # A field that is not declared by `option` has no entry "flags", and has a flag.
            extra = extra_of(field)
            if "flags" in extra and extra["flags"] is None:
                continue
            kind, may_be_none = without_none(field.annotation)
            inner_models = models_in(kind)
            flagged = [(name, field, field.is_required())]
            if inner_models:  # 1
                flagged = list(fields_of(*inner_models))
            user_chooses = len(models) > 1 or (bool(inner_models) and may_be_none)
            for flagged_name, flagged_field, is_required in flagged:
                if flagged_name not in seen:  # 2
                    seen.add(flagged_name)
                    yield flagged_name, flagged_field, is_required and not user_chooses  # 3


def option_names(*models: type[BaseModel]) -> set[str]:
    """Return the names of all options that a user can give, with a flag or without, also in models inside models."""
    names: set[str] = set()
    for model in models:
        for name, field in model.model_fields.items():
            inner_models = models_in(without_none(field.annotation)[0])
            if inner_models:
                names |= option_names(*inner_models)
            elif not is_internal(field):
                names.add(name)
    return names


def given_fields(options: BaseModel) -> Iterator[tuple[str, FieldInfo]]:
    """Yield the fields that the user set to a true value (not None, False, 0 or empty), also in models inside."""
    for name, field in type(options).model_fields.items():
        value = getattr(options, name)
        if isinstance(value, BaseModel):
            yield from given_fields(value)
        elif name in options.model_fields_set and value:
            yield name, field


def extra_of(field: FieldInfo) -> Mapping[str, Any]:
    """Return the arguments of :func:`option` that pydantic has no place for: flags, group, metavar, ..."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def flag_of(name: str, field: FieldInfo) -> str:
    """Return the first flag of a field: ``--dry-run`` for ``dry_run``, unless the field declares another."""
    named: list[str] = extra_of(field).get("flags") or []
    return named[0] if named else "--" + name.replace("_", "-")
