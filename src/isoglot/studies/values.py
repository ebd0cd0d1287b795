"""Values in a study: names in angle brackets, and entries that depend on values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from isoglot.errors import ConfigurationError

__all__ = ["MISSING", "VARIABLE", "WHEN", "expand_variables", "lay_over", "substitute", "with_cases"]

NAME = re.compile(r"<([a-z][a-z0-9_]*)(?:\.([a-z][a-z0-9_]*))?>")
"""``<name>``, or ``<name.fact>``: something that is known of a piece of data once it is made."""

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""``${NAME}``, an environment variable."""

WHEN = "when"
MISSING = object()
"""What a lookup returns for a name that it does not know."""

Lookup = Callable[[str, str | None], Any]


def lay_over(
    below: Mapping[str, Any], above: Mapping[str, Any], *, keep_null: bool = False
) -> dict[str, Any]:
    """One mapping over another: mappings merge, everything else replaces, null deletes.

    Below a key ``set``, null stays: there it is to delete something of the recipe.

    Example:
        >>> lay_over({"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"x": None}, "c": 4})
        {'a': {'y': 2}, 'b': 3, 'c': 4}
    """
    merged = dict(below)
    for key, value in above.items():
        held = merged.get(key)
        if isinstance(value, Mapping) and isinstance(held, Mapping):
            merged[key] = lay_over(held, value, keep_null=keep_null or key == "set")
        elif value is None and key in merged and not keep_null:
            del merged[key]
        else:
            merged[key] = value
    return merged


def substitute(value: Any, lookup: Lookup, *, place: str) -> Any:
    """Fill in every ``<name>`` of a tree; a string that is nothing but one name keeps the value's type.

    Args:
        value: strings, numbers, lists and mappings.
        lookup: name and fact (or ``None``) to value; :data:`MISSING` for an unknown name.
        place: where the value stands, for messages.

    Raises:
        ConfigurationError: an unknown name.

    Example:
        >>> substitute({"share": "<d>", "path": "x/<d>"}, lambda name, fact: 0.25, place="here")
        {'share': 0.25, 'path': 'x/0.25'}
    """
    if isinstance(value, Mapping):
        return {k: substitute(v, lookup, place=f"{place}.{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [substitute(v, lookup, place=f"{place}.{i}") for i, v in enumerate(value)]
    if not isinstance(value, str):
        return value

    def find(match: re.Match[str]) -> Any:
        found = lookup(match[1], match[2])
        if found is MISSING:
            raise ConfigurationError(
                f"{place}: {match[0]} names no value, data or system of this study; define it, or mend the name"
            )
        return found

    whole = NAME.fullmatch(value)
    return find(whole) if whole else NAME.sub(lambda match: str(find(match)), value)


def with_cases(entry: Mapping[str, Any], lookup: Lookup, *, place: str) -> dict[str, Any]:
    """An entry with those cases of its ``when`` laid over it whose conditions hold, in their order.

    ``when: [{if: {transformation: [trans+syn]}, then: {models: built-in}}]``; a condition holds if every value
    named is (one of) what it says.

    Args:
        entry: of the study.
        lookup: as for :func:`substitute`.
        place: where the entry stands, for messages.

    Raises:
        ConfigurationError: a case is written otherwise, or names an unknown value.
    """
    result = {k: v for k, v in entry.items() if k != WHEN}
    cases = entry.get(WHEN, [])
    if not isinstance(cases, list):
        raise ConfigurationError(f"{place}.when: a list is needed, [{{if: {{name: value}}, then: {{...}}}}]")
    for number, case in enumerate(cases):
        here = f"{place}.when.{number}"
        keys = set(case) if isinstance(case, Mapping) else set()
        if keys != {"if", "then"} or not all(isinstance(case[k], Mapping) for k in keys):
            raise ConfigurationError(f"{here}: `if: {{name: value}}` and `then: {{key: value}}` are needed")
        if all(_holds(name, wanted, lookup, here) for name, wanted in case["if"].items()):
            result = lay_over(result, case["then"])
    return result


def _holds(name: str, wanted: Any, lookup: Lookup, place: str) -> bool:
    value = lookup(name, None)
    if value is MISSING:
        raise ConfigurationError(f"{place}.if: {name!r} is no value of this study; define it under `values:`")
    return value in (wanted if isinstance(wanted, list) else [wanted])


def expand_variables(text: str) -> str:
    """A text with its ``${NAME}`` filled in.

    Raises:
        ConfigurationError: one is not set.
    """
    missing = [n for n in VARIABLE.findall(text) if n not in os.environ]
    if missing:
        raise ConfigurationError(
            f"{text}: environment variable {missing[0]} is not set; type `export {missing[0]}=...`"
        )
    return VARIABLE.sub(lambda m: os.environ[m[1]], text)
