"""Options of verbs, declared once: a field of a model is a flag, a recipe key, a line of help and a row in the docs."""

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

LONGEST_NAME = 255
"""Bytes that a name of a file or folder may have in common file systems."""
_LONGEST_COMPONENT = 200
"""Of a name that gets more before or after it."""


def one_component(name: str) -> str:
    """The name, if it can be one component of a path; else a ValueError."""
    if name in ("", ".", "..") or "/" in name or "\0" in name or len(os.fsencode(name)) > _LONGEST_COMPONENT:
        raise ValueError(
            f"got {name!r}, which names a file or folder: leave out / and \\0, and do not use . or .. alone "
            f"or more than {_LONGEST_COMPONENT} bytes"
        )
    return name


def file_path(path: str | Path) -> Path:
    """The path of a file to write, if it is not too long and its last slash names no folder; else a ValueError."""
    if str(path).endswith("/"):
        raise ValueError(f"{path} names a folder; name a file to write, for example {path}out.txt")
    if (size := len(os.fsencode(Path(path).name))) > LONGEST_NAME:
        raise ValueError(
            f"{path} has a name of {size} bytes, and {LONGEST_NAME} are possible; choose a shorter one"
        )
    return Path(path)


def no_stream(path: Path) -> Path:
    """The path of a file to write that is not ``-``, which users write for standard output; else a ValueError."""
    if str(path) == "-":
        raise ValueError("standard output (-) is not possible here; name a file")
    return path


FileName = Annotated[str, AfterValidator(one_component)]
"""A name that a file or folder gets, alone or with more before or after it."""
OutputText = Annotated[Path, BeforeValidator(file_path)]
"""A text file to write; ``-`` is standard output."""
OutputFile = Annotated[OutputText, AfterValidator(no_stream)]
"""A file to write."""


def text_of_path(value: Any) -> Any:
    """A path as its text, for options that are written into records; all else as it is."""
    return str(value) if isinstance(value, Path) else value


Precision = Literal["float32", "bfloat16", "float16"]
"""Numbers that a forward pass computes in."""


def name_of_torch(value: Any) -> Any:
    """The name of a dtype or device of torch: ``bfloat16``, ``cuda:1``; all else as it is.

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
"""What an encoder computes in, by name or as torch has it."""


def one_or_more(value: Any) -> Any:
    """Files or names as texts, one of them as a list of it, for options that take several; all else unchanged.

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
"""From none to all of something."""
PositiveShare = Annotated[float, Field(gt=0, le=1)]
"""Some or all of something."""
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Workers = Annotated[int, Field(ge=1, le=1024)]
"""How many processes work side by side."""
Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""What numpy takes as a seed, and with it transformers."""


def fits(value: Any) -> Any:
    """The value if whole numbers in it fit into 64 bits, as the functions need that take them; else a ValueError."""
    for number in value if isinstance(value, tuple | list) else (value,):
        if isinstance(number, int) and abs(number) > sys.maxsize:
            raise ValueError(f"the number is greater than {sys.maxsize:,}; use a smaller one")
    return value


class Options(BaseModel):
    """Base of option models.

    Frozen. Unknown names, numbers that are not finite, and options that would do nothing beside the others
    (``only_with`` of :func:`option`) are errors.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
    _fits = field_validator("*")(fits)

    @model_validator(mode="after")
    def _none_is_idle(self) -> Self:
        if problems := list(idle_options(self)):
            raise ValueError("; ".join(problems))
        return self


def idle_options(options: BaseModel) -> Iterator[str]:
    """Options that were set and would do nothing beside the others: which, and what they need."""
    for name, field in type(options).model_fields.items():
        needed = extra_of(field).get("only_with")
        if needed is None or getattr(options, name) == field.get_default(call_default_factory=True):
            continue
        other, _, listed = needed.partition("=")
        present = getattr(options, other)
        wanted = listed.split("|") if listed else []
        if (present in wanted) if wanted else present not in (None, False, (), ""):
            continue
        remedy = " or ".join(f"[[{other}={choice!r}]]" for choice in wanted) or f"[[{other}]]"
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
    """A field of an option model.

    ``description``: One line for `--help`, the recipe reference and the docs.
    ``flags``: Flags on the command line; by default ``--field-name``. ``None`` for a field without one.
    ``metavar``: Placeholder of the value in `--help`, where the type does not say enough.
    ``commas``: Several values are written with commas in one flag (``--seed 1,2,3``) instead of by repeating it.
    ``needs``: What has to be chosen for the option to have an effect, for a check of the command.
    ``only_with``: The option of the same model that has to be given too (``"phrases"``), or the values of it that this
        one works with (``"engine=ray"``, ``"kind=nli|paws"``); else the option is refused.
    ``bounds``: What else pydantic's ``Field`` takes: ``ge``, ``gt``, ``le``, ``lt``, ``min_length``, ``exclude``.

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
    """A field that the program sets, such as the tag of a model in a union: neither an argument nor a flag.

    Example:
        >>> class Hmm(Options):
        ...     kind: Literal["hmm"] = internal("hmm")
    """
    return Field(value, json_schema_extra={"flags": None, "internal": True}, **bounds)


def is_internal(field: FieldInfo) -> bool:
    """Whether the program sets the field and a user cannot give it."""
    return bool(extra_of(field).get("internal"))


def settings_option(description: str, *, metavar: str = "KEY=VALUE") -> Any:
    """A field of what has no flag of its own: ``--set KEY=VALUE``, repeatable."""
    return option({}, description, flags=["--set"], metavar=metavar)


def without_none(annotation: Any) -> tuple[Any, bool]:
    """A type without ``None``, and whether it was one of several."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation, False
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return Union[tuple(kinds)], len(kinds) < len(get_args(annotation))  # noqa: UP007 - as many as there are


def models_in(annotation: Any) -> tuple[type[BaseModel], ...]:
    """The models that a value of this type can be: one, those of a union, or none."""
    if isinstance(annotation, type):
        return (annotation,) if issubclass(annotation, BaseModel) else ()
    kinds = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return models_in(kinds[0])
    inside = [models_in(kind) for kind in kinds] if get_origin(annotation) in (Union, UnionType) else []
    return tuple(model for models in inside for model in models) if all(inside) else ()


def keys_at(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """The keys that are known at a place inside a model's values; keys of mappings and indices lead through."""
    models = [model]
    for part in location:
        fields = [inside.model_fields[str(part)] for inside in models if part in inside.model_fields]
        models = [inner for field in fields for inner in _anywhere(field.annotation)] if fields else models
    return [key for inside in models for key, field in inside.model_fields.items() if not field.exclude]


def _anywhere(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _anywhere(inner)]


def fields_of(*models: type[BaseModel]) -> Iterator[tuple[str, FieldInfo, bool]]:
    """Every field that has a flag, by name, and whether it is needed.

    Those of models inside the models stand in the place of the field that holds them; what only one of several models
    has is not needed.
    """
    seen: set[str] = set()
    for name, field in ((name, field) for model in models for name, field in model.model_fields.items()):
        kind, optional = without_none(field.annotation)
        if extra_of(field).get("flags", ()) is None:
            continue
        if inside := models_in(kind):
            flagged = [(n, f, needed and not optional) for n, f, needed in fields_of(*inside)]
        else:
            flagged = [(name, field, field.is_required())]
        yield from ((n, f, needed and len(models) == 1) for n, f, needed in flagged if n not in seen)
        seen.update(n for n, *_ in flagged)


def option_names(*models: type[BaseModel]) -> set[str]:
    """Names of all options that a user can give: those of models inside too, with a flag or without."""
    names: set[str] = set()
    for model in models:
        for name, field in model.model_fields.items():
            inside = models_in(without_none(field.annotation)[0])
            if inside:
                names |= option_names(*inside)
            elif not is_internal(field):
                names.add(name)
    return names


def given_fields(options: BaseModel) -> Iterator[tuple[str, FieldInfo]]:
    """Fields that were set to something, those of nested models included."""
    for name, field in type(options).model_fields.items():
        value = getattr(options, name)
        if isinstance(value, BaseModel):
            yield from given_fields(value)
        elif name in options.model_fields_set and value:
            yield name, field


def extra_of(field: FieldInfo) -> Mapping[str, Any]:
    """What :func:`option` says of a field beside its type, default and description."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def flag_of(name: str, field: FieldInfo) -> str:
    """The first flag of a field."""
    named: list[str] = extra_of(field).get("flags") or []
    return named[0] if named else "--" + name.replace("_", "-")
