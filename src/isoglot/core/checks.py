"""Checks that all rooms share: suggestions for misspelt names, imports by name, pydantic's errors in plain words.

Three functions make a model from a user's values and report all mistakes at once:

- ``checked``: from nested values, as recipes and files have them.
- ``validated``: from flat values, as arguments and flags are; a model inside the model is filled from them too.
- ``one_request``: for a verb in Python that takes either a model or its options one by one.
"""

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
    """Return the error of an option whose package is not installed, with the command that installs it.

    ``instead``: What can be used without the package.
    """
    extra = f"'isoglot[{EXTRAS[package]}]'" if package in EXTRAS else package
    alternative = f", or use {instead}" if instead else ""
    return ConfigurationError(
        f"{what} needs {package}, which is not installed; type `pip install {extra}`{alternative}"
    )


def shortened(value: object) -> str:
    """Show a value in a message: as Python code, cut after 200 characters."""
    # `literal`: if the user's value has double brackets, they are shown and not read as an option.
    text = literal(repr(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 200


def levels_outside() -> int:
    """Count the calls from the caller up to the user's own line, as ``stacklevel`` of a warning.

    ``warnings.warn(text, stacklevel=levels_outside())`` then shows the line of the user's script, and not one of
    isoglot's.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None:
        package = frame.f_globals.get("__name__", "").split(".")[0]
        if package not in _INSIDE:
            break
        level += 1
        frame = frame.f_back
    return level


_INSIDE = {"isoglot", "contextlib", "torch"}
"""Packages whose calls stand between a user's line and a warning: isoglot, and packages that wrap its functions."""


def is_text(value: object) -> bool:
    r"""Whether a value is text that files and tokenizers accept.

    A string that holds half of a surrogate pair, such as ``"\ud83d"``, cannot be encoded as UTF-8 and is not.
    """
    try:
        return isinstance(value, str) and (value.isascii() or bool(value.encode()))
    except UnicodeEncodeError:
        return False


def given_texts(texts: Any, name: str = "") -> Iterator[str]:
    """Yield the texts of a list, a column or a stream, and check each.

    ``name``: The argument that messages name.

    Raises:
        ConfigurationError: A single text was given, whose characters would be taken for texts; a set or a mapping,
            which has no order of texts; or a row that is not a text, reported with its number from 1.
    """
    about = f"{name}: " if name else ""
    if isinstance(texts, str | bytes | Mapping | Set) or not hasattr(texts, "__iter__"):
        hint = f"; write [{shortened(texts)}]" if isinstance(texts, str) else ""
        raise ConfigurationError(f"{about}expected a list of texts, got {shortened(texts)}{hint}")
    return _texts(texts, about)


def _texts(texts: Any, about: str) -> Iterator[str]:
    """Yield the texts one by one; a generator of its own, so that :func:`given_texts` refuses at once."""
    # A column of Arrow iterates over its scalars, not over Python strings.
    items: Iterable[Any] = texts.to_pylist() if hasattr(texts, "to_pylist") else texts
    for number, text in enumerate(items, 1):
        if not is_text(text):
            raise ConfigurationError(f"{about}text {number}: expected a text, got {shortened(text)}")
        yield text


def is_number(text: str) -> bool:
    """Whether a text from a file or a flag is a whole number that ``int`` reads: one to nine ASCII digits."""
    return _NUMBER.fullmatch(text) is not None


_NUMBER = re.compile(r"[0-9]{1,9}")


def closest(text: object, known: Iterable[object]) -> str | None:
    """Return the known name that is most similar to a misspelt one, or ``None`` if none is close."""
    matches = difflib.get_close_matches(str(text), sorted({str(name) for name in known}), n=1)
    return matches[0] if matches else None


def did_you_mean(unknown: object, known: Iterable[object]) -> str:
    """Return the end of a message about an unknown name: the closest known name, or all known names.

    Example:
        >>> did_you_mean("fastalign", ["fast_align", "hmm"]), did_you_mean("x", ["fast_align", "hmm"])
        ("did you mean 'fast_align'?", 'known: fast_align, hmm')
    """
    names = sorted({str(name) for name in known})
    suggestion = closest(unknown, names)
    if suggestion is not None:
        return f"did you mean {suggestion!r}?"
    return f"known: {', '.join(names)}" if names else "none is known"


def resolve(registry: Mapping[str, Any], name: str, *, kind: str) -> Any:
    """Return the class or function that a name stands for: an entry of a registry, or ``package.module:Name``.

    A registry holds objects, or ``package.module:Name`` texts that are imported only when they are asked for.

    ``kind``: What messages call the name: ``view``.

    Example:
        >>> resolve({"count": "collections:Counter"}, "count", kind="view")
        <class 'collections.Counter'>

    Raises:
        ConfigurationError: The name is unknown, its module cannot be imported, or it is not a class or function.
    """
    entry = registry.get(name, name)
    if not isinstance(entry, str):
        return entry
    module, colon, attribute = entry.partition(":")
    if not colon:
        hint = did_you_mean(name, registry)
        raise ConfigurationError(f"unknown {kind} {name!r}; {hint} (or package.module:Name for your own)")
    # A user's module may lie in the current folder. Entries of the registry are never looked up there: data files
    # lie there too, and a `random.py` among them must not replace a library.
    here = str(Path.cwd())
    if name not in registry and here not in sys.path:
        sys.path.append(here)  # and never removed: loader workers import the module too
    try:
        imported = import_module(module)
    except Exception as error:  # the user's module may fail in any way
        reason = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise ConfigurationError(
            f"{name!r} cannot be imported ({reason}); put its module into this folder or on the Python path"
        ) from error
    if not hasattr(imported, attribute):
        raise ConfigurationError(f"module {module!r} has no {attribute!r}; write package.module:Name")
    value = getattr(imported, attribute)
    if not callable(value):
        raise ConfigurationError(f"{name!r} is a {type(value).__name__}; a class or function is needed")
    return value


def problems_of(error: ValidationError, values: Any = None, *models: type[BaseModel]) -> list[Problem]:
    """Turn a pydantic error into one problem for each wrong value.

    ``values``: The values that were validated; without them the problems keep pydantic's locations, types included.
    ``models``: Models whose keys are suggested in place of an unknown key.

    1. One problem per value. Where a value may be of several types, pydantic reports an error for each type and adds
       the type to the location: ``("layer", "int")`` and ``("layer", "list[int]")`` are both about ``layer``.
    2. An inner value before the outer one. If ``("layers", 1)`` is wrong, then an error about ``("layers",)`` only
       says that the other types of the union do not fit either. It is dropped.
    3. Range before type. For 0 where a positive number or a list is allowed, "it should be greater than 0" is kept,
       and "it should be a list" is dropped. If all errors are about types, all are kept, joined by "or".
       Text that pydantic cannot parse as a number counts as range: for "x" only "a valid integer" is kept.
    """
    from isoglot.core.options import keys_at  # noqa: PLC0415 - pydantic is slow to import

    by_location: dict[Location, list[ErrorDetails]] = {}  # 1
    for item in error.errors():
        by_location.setdefault(_location_of(item, values), []).append(item)
    # The location ("layers", 1) has the outer locations () and ("layers",).
    outer_locations: set[Location] = set()
    for location in by_location:
        outer_locations.update(location[:end] for end in range(len(location)))
    problems = []
    for location, items in by_location.items():
        if location in outer_locations:  # 2
            continue
        kept = [item for item in items if not item["type"].endswith("_type")] or items  # 3
        known = [key for model in models for key in keys_at(model, location[:-1])]
        reasons = list(dict.fromkeys(_reason(item, known) for item in kept))
        # "got None; it should be a valid integer or it should be a valid list": the value is shown once.
        got = f"got {shortened(kept[0]['input'])}; "
        reason = " or ".join([reasons[0], *(text.removeprefix(got) for text in reasons[1:])])
        problems.append(Problem(reason, location, kept[0]["type"]))
    return problems


def checked(model: type[M], values: Any, *models: type[BaseModel]) -> M:
    """Make a model from nested values, and report everything that is wrong with the values in one error.

    :func:`validated` does the same for options of a call, which are given flat.

    ``models``: More models whose keys are suggested in place of an unknown key.

    Raises:
        ConfigurationError: All wrong values, each with its location.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - the command line does without where nothing is wrong

    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigurationError(problems_of(error, values, model, *models)) from error


def _location_of(item: ErrorDetails, values: Any) -> Location:
    """Return the keys and indices of a pydantic location that lead to a value of the user's.

    Pydantic's location also names types and tags of unions, which lead to no value: for the values ``{"layer": "x"}``
    the location ``("layer", "int")`` becomes ``("layer",)``.
    """
    # An unknown tag is reported for the whole union. The user looks for the key that holds the tag, such as `kind`.
    tag_key: Location = ()
    if item["type"] == "union_tag_invalid":
        tag_key = (item["ctx"]["discriminator"].strip("'"),)
    if values is None:
        return item["loc"] + tag_key
    location: Location = ()
    value = values  # where `location` has led so far
    for number, part in enumerate(item["loc"], start=1):
        is_missing_key = item["type"] == "missing" and number == len(item["loc"])
        is_key = isinstance(value, Mapping) and part in value
        is_index = isinstance(value, list | tuple) and isinstance(part, int)
        # `one_or_more` turned the text "a.tsv" into a list, and pydantic found a mistake in its item 0. The user's
        # value has no item 0, but the 0 stays, so that rule 2 of `problems_of` drops errors about the whole value.
        is_only_item = isinstance(value, str) and part == 0
        if is_missing_key or is_only_item:
            location = (*location, part)
        elif is_key or is_index:
            location = (*location, part)
            value = value[part]
    return location + tag_key


def validated(model: type[M], values: Mapping[str, Any], *, owner: str = "") -> M:
    """Make a model from options that are given flat, as arguments and flags are.

    Options of a model inside the model stand beside the others: if the field ``filter`` holds a model with the field
    ``min_words``, then ``{"min_words": 2}`` becomes ``{"filter": {"min_words": 2}}``.

    ``owner``: What messages say has these options: ``method hmm``.

    Raises:
        ConfigurationError: All unknown names, each with the closest known name; all wrong or missing values. Every
            message begins with the option that it is about.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - the command line does without where nothing is wrong

    from isoglot.core.options import is_internal  # noqa: PLC0415 - pydantic is slow to import

    nested, options = _nested(model, values)
    # A field that holds a model can also be given whole: `filter={...}` in place of `min_words=2`.
    known = options | {name for name, field in model.model_fields.items() if not is_internal(field)}
    what_is_wrong = f"{owner} does not have this option" if owner else "unknown option"
    unknown = [name for name in values if name not in options]
    problems = [f"[[{name}]]: {what_is_wrong}; {did_you_mean(name, known)}" for name in unknown]
    try:
        result = model.model_validate(nested)
    except ValidationError as error:
        # Unknown names of options are not in `nested`. The model is for unknown keys inside a value: `filter={...}`.
        for problem in problems_of(error, nested, model):
            # The first option in the location is the one that the user gave: before it stand fields that hold a model
            # and are no options, behind it keys and indices inside its value.
            names = [str(part) for part in problem.location if part in options]
            if names:
                key = f" {str(problem.location[-1])!r}" if problem.kind == "extra_forbidden" else ""
                text = problem.text.replace("unknown key", f"unknown key{key}", 1)
                problems.append(f"[[{names[0]}]]: {text}")
            elif problem.text.startswith("[[") or not owner:  # a check of several options names them itself
                problems.append(problem.text)
            else:
                problems.append(f"{owner}: {problem.text}")
    if problems:
        raise ConfigurationError(problems)
    return result


def one_request(model: type[M], whole: M | None, single: Mapping[str, Any], *, whole_name: str) -> M:
    """Return the options of a verb, which a caller gives either as one object or one by one.

    ``whole``: The object, if one was given.
    ``single``: Options that were given one by one.
    ``whole_name``: The argument that takes the object.

    Example:
        >>> from isoglot.reports.options import ReportOptions
        >>> one_request(ReportOptions, None, {"title": "Mine"}, whole_name="options").title
        'Mine'

    Raises:
        ConfigurationError: Both were given, the object is not a ``model``, or an option is unknown or wrong.
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


def _nested(model: type[BaseModel], values: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Nest flat values as the model nests its fields; return them and the names of all options of the model.

    1. A field that is given by its own name takes its value unchanged, even where a model could be filled.
    2. Otherwise a field that holds a model takes those values that the outer model does not have: a name that both
       have belongs to the outer model.
    3. A field that holds a union takes the model that the user's tag names (``method="itermax"``), or else the first
       one. A user cannot give a tag that is ``internal``, so for such a field the caller gives a model whole (1).
    4. A model without values is left out, so that the field's default applies; a required field gets an empty model.
    """
    from isoglot.core.options import is_internal, models_in, without_none  # noqa: PLC0415 - pydantic is slow to import

    nested: dict[str, Any] = {}
    options: set[str] = set()
    for name, field in model.model_fields.items():
        if is_internal(field):
            continue
        inner_models = models_in(without_none(field.annotation)[0])
        if name in values or not inner_models:  # 1
            options.add(name)
            if name in values:
                nested[name] = values[name]
            continue
        inner_model = inner_models[0]
        if len(inner_models) > 1:  # 3
            tag_key = str(field.discriminator)
            for candidate in inner_models:
                if values.get(tag_key) in get_args(candidate.model_fields[tag_key].annotation):
                    inner_model = candidate
                    break
        inner_values = {key: value for key, value in values.items() if key not in model.model_fields}  # 2
        inner, inner_options = _nested(inner_model, inner_values)
        options |= inner_options
        if inner or field.is_required():  # 4
            nested[name] = inner
    return nested, options


def _reason(item: ErrorDetails, known: list[str]) -> str:
    """Say in plain words what is wrong with one value; ``known`` are the keys that an unknown key could have meant."""
    kind, message = item["type"], str(item["msg"])
    if kind == "value_error":  # raised by a validator of ours, whose message is already plain
        return str(item["ctx"]["error"])
    if kind == "missing":
        return "too few values" if isinstance(item["loc"][-1], int) else "missing"
    if kind == "extra_forbidden":
        return f"unknown key; {did_you_mean(item['loc'][-1], known)}" if known else "unknown key"
    if kind in ("literal_error", "enum", "union_tag_invalid"):
        # Pydantic has the choices only as text: "'a', 'b' or 'c'", for tags "'a', 'b', 'c'".
        context = item["ctx"]
        value = context.get("tag", item["input"])
        expected = context.get("expected_tags") or context["expected"].replace(" or ", ",")
        choices = [name.strip(" '") for name in expected.split(",")]
        return f"got {shortened(value)}; {did_you_mean(value, choices)}"
    message = message.replace("Input should", "it should")
    return f"got {shortened(item['input'])}; {message[0].lower()}{message[1:]}"
