"""``--set KEY=VALUE`` of the commands without a recipe, with values typed as a recipe's are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def parse_settings(given: Sequence[str], *, example: str) -> dict[str, Any]:
    """Texts as values, by YAML 1.2: ``5e-5`` a float, ``no`` a string, ``null`` nothing, ``[1, 2]`` and ``1,2`` tuples.

    Raises:
        ConfigurationError: no ``=``, a key given twice, or a value that is not YAML.
    """
    from isoglot.errors import ConfigurationError, InputError
    from isoglot.recipe.document import parse_value

    result: dict[str, Any] = {}
    for item in given:
        key, separator, text = item.partition("=")
        if not separator or not key:
            raise ConfigurationError(f"--set {item!r} given; KEY=VALUE is needed, for example {example}")
        if key in result:
            raise ConfigurationError(f"--set {key}=... given twice; give it once")
        several = "," in text and not text.startswith(("[", "{"))
        try:
            values = [parse_value(part) for part in (text.split(",") if several else [text])]
        except InputError as error:
            raise ConfigurationError(f"--set {item!r}: the value is not YAML; quote it") from error
        value = tuple(values) if several else values[0]
        result[key] = tuple(value) if isinstance(value, list) else value
    return result
