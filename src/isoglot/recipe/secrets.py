"""Secrets of a recipe, such as a token of the hub: they are used, and never shown or written."""

import re
from collections.abc import Mapping
from typing import Any, Self

from isoglot.errors import Location
from isoglot.recipe.document import VARIABLE, expand

_SECRET = re.compile(
    r"(^|_)(token|secret|password|passwd|credentials?|(api|access|auth|private|secret)_?key)$", re.IGNORECASE
)


class Secret(str):
    """A text that works as one, is shown as stars, and of which a pickle holds nothing."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        return type(None), ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def names_secret(name: str) -> bool:
    """Whether a setting or an environment variable of this name holds a secret."""
    return _SECRET.search(name) is not None


def is_secret_setting(location: Location) -> bool:
    """Whether a value of a recipe is a setting of ``train`` that holds a secret."""
    return location[:1] == ("train",) and any(names_secret(str(part)) for part in location[1:])


def has_secret_variable(written: str) -> bool:
    """Whether a text names an environment variable that holds a secret."""
    return any(map(names_secret, VARIABLE.findall(written)))


def without_secrets(
    values: dict[str, Any], raw: Mapping[Location, str], texts: Mapping[Location, str], *, settings: bool
) -> dict[str, Any]:
    """A recipe's values with some texts in their places, and in those of secrets the texts with their variables.

    ``raw``: Texts in which a variable was expanded.
    ``settings``: Whether secret settings stay where they are given by variables.
    """
    own = {k: v for k, v in raw.items() if is_secret_setting(k) or has_secret_variable(v)}
    texts = {**texts, **own}

    def copied(value: Any, location: Location) -> Any:
        if location in texts:
            return texts[location]
        if isinstance(value, dict):
            return {k: copied(v, (*location, k)) for k, v in value.items() if stays((*location, k))}
        if isinstance(value, list):
            return [copied(v, (*location, i)) for i, v in enumerate(value)]
        return value

    def stays(location: Location) -> bool:
        return not is_secret_setting(location) or (settings and location in texts)

    found: dict[str, Any] = copied(values, ())
    return found


def place_of(location: Location, written: str) -> str | None:
    """The path that a text names, as it is the same on every machine; ``None`` if no variable leads to its place.

    A variable before the first slash says where a machine keeps its files, and so does one that is the whole of a
    ``path``. Any other is part of the name.
    """
    first = VARIABLE.match(written)
    if first is None:
        return None
    rest = written[first.end() :]
    leads = rest.startswith("/") or (not rest and "path" in location[-2:])
    return first[0] + expand(rest) if leads else None
