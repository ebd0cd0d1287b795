"""Turn values of data in memory into plain Python: missing values, bytes, arrays, and numbers of classes."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

from isoglot.core.checks import did_you_mean, shortened
from isoglot.core.errors import ConfigurationError

NO_LABEL = "-"
"""The name that takes the place of a class number below 0, which stands for no class."""


def is_a(value: Any, library: str, class_name: str) -> bool:
    """Whether a value is of a class of a library; the library is not imported for that."""
    loaded = getattr(sys.modules.get(library), class_name, None)
    return loaded is not None and isinstance(value, loaded)


def class_names(feature: Any, values: Iterable[Any]) -> Iterator[Any]:
    """Replace the numbers of classes in a column of a data set by their names, also inside lists."""
    element = getattr(feature, "feature", feature)
    if not is_a(element, "datasets", "ClassLabel"):
        return iter(values)

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return [named(item) for item in value]
        if value is None or isinstance(value, str):
            return value
        return element.names[value] if value >= 0 else NO_LABEL

    return map(named, values)


def is_missing(value: Any) -> bool:
    """Whether a value is missing: ``None``, NaN, or pandas' ``NA`` and ``NaT``."""
    if isinstance(value, str):
        return False
    if isinstance(value, Real):
        return bool(value != value)  # noqa: PLR0124 - only NaN differs from itself
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def plain(value: Any) -> Any:
    """Turn a value into plain Python: None, a text, a number, a list or a dictionary.

    Raises:
        UnicodeDecodeError: Bytes that are not UTF-8.

    Example:
        >>> plain(b"ta potamo"), plain(("a", float("nan")))
        ('ta potamo', ['a', None])
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8")
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if is_missing(value):
        return None
    if hasattr(value, "tolist"):  # a number or an array of numpy
        inner = value.tolist()
        return plain(inner) if isinstance(inner, list) else inner
    return value


def cell(value: Any, place: str) -> Any:
    """Turn a value into plain Python as :func:`plain` does; ``place``: The value in messages, ``row 3: 'text'``."""
    try:
        return plain(value)
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{place} has bytes that are not UTF-8 ({shortened(value)}); decode them first, with the encoding that "
            "they are in: value.decode('cp1252')"
        ) from error


def inner_value(value: Any, names: Sequence[str], place: str) -> Any:
    """Look up a value inside nested dictionaries; inside a missing value every value is missing.

    Raises:
        ConfigurationError: A dictionary lacks a name.
    """
    for name in names:
        if value is None:
            return None
        if not isinstance(value, Mapping) or name not in value:
            known = did_you_mean(name, value) if isinstance(value, Mapping) else f"got {shortened(value)}"
            raise ConfigurationError(f"{place}: no {name!r} inside; {known}")
        value = value[name]
    return value
