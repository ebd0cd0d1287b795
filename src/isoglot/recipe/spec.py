"""Make a model of options from the signature of a constructor or function.

``class MaskedLM: def __init__(self, encoder, *, weight: float = 1.0)`` has a model with one field, ``weight``, so
``weight: heavy`` in a recipe is refused with its line. Start with :func:`spec_of`.
"""

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
_NO_PARAMETER = ""
"""A name for :func:`spec_of` that no parameter has: alone, it leaves out none."""


class Spec(Options):
    """Options that were given for one callable, its ``maker``; :func:`spec_of` makes a subclass for each callable.

    If the callable has a method ``check_options``, it is called to refuse options that exclude each other. Its ``self``
    is either an object of the class or a spec like this one, so it may read options and nothing else.
    """

    model_config = ConfigDict(strict=True, protected_namespaces=())
    maker: ClassVar[Any] = None
    # The `supplied_names` that `spec_of` got; empty where it left out its default ones.
    supplied_names: ClassVar[tuple[str, ...]] = ()
    corpus_options: ClassVar[frozenset[str]] = frozenset()
    """Options whose parameter takes a corpus. A recipe gives the name of a stream; :meth:`make` gives its corpus."""

    @classmethod
    def of(cls, values: Mapping[str, Any], *models: type[BaseModel]) -> Self:
        """Check options; the keys of other ``models`` are suggested in place of an unknown key.

        Raises:
            ConfigurationError: All that is wrong, each with its option.
        """
        options = checked(cls, values, *models)
        if hasattr(cls.maker, "check_options"):
            cls.maker.check_options(options)
        return options

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the maker in place of the class, which is made at run time and stands in no module."""
        return _restored, (type(self).maker, type(self).supplied_names, self.__getstate__())

    @classmethod
    def takes(cls, name: str) -> bool:
        """Whether the callable has a parameter, an option or not."""
        return name in inspect.signature(cls.maker).parameters

    def make(
        self, name: str, *first: Any, corpora: Mapping[str, Dataset] | None = None, **supplied: Any
    ) -> Any:
        """Call the maker with the options, and return what it makes.

        Args:
            name: Name of the maker in messages.
            *first: Positional arguments.
            corpora: Corpora of the streams by name.
            **supplied: Further arguments, as far as the maker takes them; an option wins over a supplied argument of
                its name.
        """
        options = {option: getattr(self, option) for option in self.model_fields_set}
        for option in self.corpus_options & options.keys():
            options[option] = None if options[option] is None else (corpora or {})[options[option]]
        taken = {key: value for key, value in supplied.items() if self.takes(key)}
        try:
            return type(self).maker(*first, **taken | options)
        except (TypeError, ValueError) as error:
            text = f"{name} does not take these options ({type(error).__name__}: {error}); change them"
            raise ConfigurationError(text) from error


class _OpenSpec(Spec):
    """Options of a callable that takes any keyword (``**options``)."""

    model_config = ConfigDict(extra="allow")


@cache
def spec_of(maker: Any, *supplied_names: str) -> type[Spec]:
    """Make the model of a callable's options: names, defaults, types with bounds, and texts from the docstring.

    1. Parameters that isoglot itself gives are left out: those in ``supplied_names``, by default the first positional
       one and ``tokenizer``. So are names that begin with an underscore.
    2. A parameter that takes a corpus becomes the name of a stream.
    3. A type that no YAML value can have is not checked.
    """
    parameters = [p for p in inspect.signature(maker).parameters.values() if not p.name.startswith("_")]
    first = [p.name for p in parameters[:1] if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    left_out = supplied_names or (*first, "tokenizer")
    hints, meanings = _hints(maker), argument_docs(maker)
    fields: dict[str, Any] = {}
    corpus_options = set()
    for parameter in parameters:
        name = parameter.name
        if parameter.kind not in _NAMED or name in left_out:  # 1
            continue
        hint = hints.get(name, Any)
        if _mentions(hint, Dataset):  # 2
            corpus_options.add(name)
            hint = str if parameter.default is parameter.empty else str | None
        default = ... if parameter.default is parameter.empty else parameter.default
        try:
            TypeAdapter(hint)
        except (PydanticSchemaGenerationError, PydanticUserError):
            hint = Any  # 3
        fields[name] = (_as_yaml_type(hint), Field(default, description=meanings.get(name)))
    is_open = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an option may have the name of a model's method
        model: Any = create_model(maker.__name__, __base__=_OpenSpec if is_open else Spec, **fields)
    model.maker, model.supplied_names = maker, supplied_names
    model.corpus_options = frozenset(corpus_options)
    model.__doc__ = summary_of(maker)
    return model  # type: ignore[no-any-return]


def _restored(maker: Any, supplied_names: tuple[str, ...], state: dict[Any, Any]) -> Spec:
    """Make the options that :meth:`Spec.__reduce__` pickled."""
    spec = spec_of(maker, *supplied_names)
    options = spec.__new__(spec)
    options.__setstate__(state)
    return options


def require_options(subject: Any, **values: Any) -> None:
    """Refuse wrong options given in Python, as they are refused in a recipe.

    ``subject``: An object of a dataclass, whose fields are checked; or a callable, whose ``values`` are checked.
    """
    is_object = not isinstance(subject, type) and is_dataclass(subject)
    maker: Any = type(subject) if is_object else subject
    if is_object:
        spec = spec_of(maker)
        options = spec.model_fields.keys() - spec.corpus_options
        values = {name: getattr(subject, name) for name in options if hasattr(subject, name)}
    # The other parameters have values that no recipe could give, such as an encoder.
    left_out = [name for name in inspect.signature(maker).parameters if name not in values]
    # Without any name, spec_of would leave out the first parameter and `tokenizer`.
    checked(spec_of(maker, *(left_out or [_NO_PARAMETER])), values)
    if is_object and hasattr(subject, "check_options"):
        subject.check_options()


def summary_of(maker: Callable[..., Any]) -> str:
    """Return the first paragraph of a docstring on one line, without double backticks."""
    first = inspect.cleandoc(maker.__doc__ or "").partition("\n\n")[0]
    return " ".join(first.replace("``", "").split())


def argument_docs(maker: Callable[..., Any]) -> dict[str, str]:
    """Return the docstring's text on each argument, or attribute; for a class those of its bases too.

    ``limit: Keep at most this many rows.`` below ``Args:`` gives ``{"limit": "Keep at most this many rows."}``.
    """
    docs: dict[str, str] = {}
    for base in reversed(inspect.getmro(maker)) if inspect.isclass(maker) else [maker]:
        text = inspect.cleandoc(base.__doc__ or "").replace("\nAttributes:\n", "\nArgs:\n")
        _, _, rest = text.partition("\nArgs:\n")
        # The section ends at the first line that is not indented; an entry begins at an indent of four.
        section = re.split(r"\n\s*\n(?=\S)|\n(?=\S)", rest)[0]
        for entry in re.split(r"\n(?=    \S)", section):
            if match := re.fullmatch(r"\s*\**(\w+): (.*)", entry, re.DOTALL):
                # :class:`~isoglot.Lab` becomes its inner text, ``code`` loses its backticks.
                text = re.sub(r":\w+:`~?([^`]*)`|``", lambda role: role[1] or "", match[2])
                docs[match[1]] = " ".join(text.split())
    return docs


def _hints(maker: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of the parameters, as far as their names can be resolved.

    A dataclass inherits fields, whose types are resolved in the module of the base that declares them.
    """
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


def _as_yaml_type(hint: Any) -> Any:
    """Loosen a type for YAML, which has neither tuples nor enums: a list stands for a tuple, a string for an enum."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[_as_yaml_type(inner[0]), *inner[1:]]
    if origin in (Union, types.UnionType):
        # `Pooling | str` takes an enum or its name. Such a `str` is left out: any text would do for it.
        has_enum = any(isinstance(member, type) and issubclass(member, Enum) for member in inner)
        members = [member for member in inner if not (has_enum and member is str)]
        return Union[tuple(map(_as_yaml_type, members))]  # noqa: UP007
    # A type with others in square brackets has its bare type as origin: `tuple` for `tuple[int, int]`.
    bare_type = hint if origin is None else origin
    if origin is not None and origin is not Literal and inner:
        hint = origin[tuple(map(_as_yaml_type, inner))]
    is_loosened = isinstance(bare_type, type) and issubclass(bare_type, (*_CONTAINERS, Enum))
    return Annotated[hint, Strict(False)] if is_loosened else hint


def _mentions(hint: Any, sought: type) -> bool:
    """Whether a type is ``sought`` or has it inside: ``Dataset | None`` mentions ``Dataset``."""
    return hint is sought or any(_mentions(inner, sought) for inner in get_args(hint))
