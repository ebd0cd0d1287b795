"""A callable's own signature as the model of its options: what a recipe or a command gives by name."""

import inspect
import re
import types
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import InitVar, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

from datasets import Dataset
from pydantic import BaseModel, ConfigDict, Field, Strict, TypeAdapter, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from isoglot.core.checks import checked
from isoglot.core.errors import ConfigurationError
from isoglot.core.options import Options

_NAMED = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_CONTAINERS = (tuple, list, set, frozenset)


class Spec(Options):
    """Options of one callable, as they are given to it; :func:`spec_of` makes its model.

    The callable's ``check_options``, where it has one, refuses options that exclude each other: a method that reads
    options alone, which are those of the object or those given here.
    """

    model_config = ConfigDict(strict=True, protected_namespaces=())
    maker: ClassVar[Any] = None
    supplied: ClassVar[tuple[str, ...]] = ()
    corpora: ClassVar[frozenset[str]] = frozenset()
    """Options that take a corpus; given is the name of a stream."""

    @classmethod
    def of(cls, values: Mapping[str, Any], *models: type[BaseModel]) -> Self:
        """Checked options; other ``models`` have keys that an unknown one could have meant.

        Raises:
            ConfigurationError: All that is wrong, each with its option.
        """
        options = checked(cls, values, *models)
        if hasattr(cls.maker, "check_options"):
            cls.maker.check_options(options)
        return options

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by what it makes: its class is in no module."""
        return _restored, (type(self).maker, type(self).supplied, self.__getstate__())

    @classmethod
    def takes(cls, name: str) -> bool:
        """Whether the callable has a parameter, an option or not."""
        return name in inspect.signature(cls.maker).parameters

    def make(
        self, name: str, *first: Any, corpora: Mapping[str, Dataset] | None = None, **supplied: Any
    ) -> Any:
        """Call it, with those of ``supplied`` that it takes and is not given; messages name it ``name``."""
        options = {option: getattr(self, option) for option in self.model_fields_set}
        for option in self.corpora & options.keys():
            options[option] = None if options[option] is None else (corpora or {})[options[option]]
        try:
            return type(self).maker(*first, **{k: v for k, v in supplied.items() if self.takes(k)} | options)
        except (TypeError, ValueError) as error:
            text = f"{name} does not take these options ({type(error).__name__}: {error}); change them"
            raise ConfigurationError(text) from error


class _OpenSpec(Spec):
    """Of a callable that takes options of any name."""

    model_config = ConfigDict(extra="allow")


@cache
def spec_of(maker: Any, *supplied: str) -> type[Spec]:
    """The model of a callable's options: names, defaults, types with their bounds, meanings from its docstring.

    Left out are parameters that isoglot gives: ``supplied``, by default the first one and ``tokenizer``. A type that is
    not a plain value's is not checked.
    """
    parameters = [p for p in inspect.signature(maker).parameters.values() if not p.name.startswith("_")]
    first = [p.name for p in parameters[:1] if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    hints, meanings = _hints(maker), argument_docs(maker)
    fields: dict[str, Any] = {}
    corpora = set()
    for parameter in parameters:
        name = parameter.name
        if parameter.kind not in _NAMED or name in (supplied or (*first, "tokenizer")):
            continue
        hint = hints.get(name, Any)
        if _mentions(hint, Dataset):
            corpora.add(name)
            hint = str if parameter.default is parameter.empty else str | None
        default = ... if parameter.default is parameter.empty else parameter.default
        try:
            TypeAdapter(hint)
        except (PydanticSchemaGenerationError, PydanticUserError):
            hint = Any  # not a plain value's: it is not checked
        fields[name] = (_written(hint), Field(default, description=meanings.get(name)))
    is_open = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an option may have the name of a model's method
        model: Any = create_model(maker.__name__, __base__=_OpenSpec if is_open else Spec, **fields)
    model.maker, model.supplied, model.corpora = maker, supplied, frozenset(corpora)
    model.__doc__ = summary_of(maker)
    return model  # type: ignore[no-any-return]


def _restored(maker: Any, supplied: tuple[str, ...], state: dict[Any, Any]) -> Spec:
    kind = spec_of(maker, *supplied)
    options = kind.__new__(kind)
    options.__setstate__(state)
    return options


def require_options(subject: Any, **values: Any) -> None:
    """Refuse options in Python as a recipe's are: those of a dataclass's own object, or ``values`` for a callable."""
    is_object = not isinstance(subject, type) and is_dataclass(subject)
    maker: Any = type(subject) if is_object else subject
    if is_object:
        spec = spec_of(maker)
        options = spec.model_fields.keys() - spec.corpora
        values = {name: getattr(subject, name) for name in options if hasattr(subject, name)}
    # The other parameters have values that no recipe could give, such as an encoder.
    others = [name for name in inspect.signature(maker).parameters if name not in values]
    checked(spec_of(maker, *others), values)
    if is_object and hasattr(subject, "check_options"):
        subject.check_options()


def summary_of(maker: Callable[..., Any]) -> str:
    """The first sentence of a docstring."""
    first = inspect.cleandoc(maker.__doc__ or "").partition("\n\n")[0]
    return " ".join(first.replace("``", "").split())


def argument_docs(maker: Callable[..., Any]) -> dict[str, str]:
    """What the docstring says of each argument; of a class those of its bases too."""
    docs: dict[str, str] = {}
    for base in reversed(inspect.getmro(maker)) if inspect.isclass(maker) else [maker]:
        text = inspect.cleandoc(base.__doc__ or "").replace("\nAttributes:\n", "\nArgs:\n")
        _, _, rest = text.partition("\nArgs:\n")
        section = re.split(r"\n\s*\n(?=\S)|\n(?=\S)", rest)[0]
        for entry in re.split(r"\n(?=    \S)", section):
            if match := re.fullmatch(r"\s*\**(\w+): (.*)", entry, re.DOTALL):
                text = re.sub(r":\w+:`~?([^`]*)`|``", lambda role: role[1] or "", match[2])
                docs[match[1]] = " ".join(text.split())
    return docs


def _hints(maker: Callable[..., Any]) -> dict[str, Any]:
    """Parameter types, resolved where their names can be; a dataclass's inherited fields in their own module."""
    hints: dict[str, Any] = {}
    if not inspect.isclass(maker):
        targets: tuple[Any, ...] = (maker,)
    else:
        targets = tuple(reversed(inspect.getmro(maker))) if is_dataclass(maker) else (maker.__init__,)
    for target in targets:
        try:
            hints.update(typing.get_type_hints(target, include_extras=True))
        except (NameError, TypeError):  # a name that only a type checker imports: this part stays unchecked
            continue
    return {name: hint.type if isinstance(hint, InitVar) else hint for name, hint in hints.items()}


def _written(hint: Any) -> Any:
    """A type for values as YAML has them, where a list may be a tuple."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[_written(inner[0]), *inner[1:]]
    if origin in (Union, types.UnionType):
        named = any(
            isinstance(kind, type) and issubclass(kind, Enum) for kind in inner
        )  # any text would do else
        return Union[tuple(_written(kind) for kind in inner if not (named and kind is str))]  # noqa: UP007
    if origin is not None and origin is not Literal and inner:
        hint = origin[tuple(map(_written, inner))]
    kind = origin or hint
    lenient = isinstance(kind, type) and issubclass(kind, (*_CONTAINERS, Enum))
    return Annotated[hint, Strict(False)] if lenient else hint


def _mentions(hint: Any, sought: type) -> bool:
    return hint is sought or any(_mentions(inner, sought) for inner in get_args(hint))
